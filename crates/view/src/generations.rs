//! What is live at an instant, the end of the selected time, by when it was acquired.

use crate::ask::{Ask, Borders};
use crate::engine::Engine;
use crate::metrics::COUNT;
use crate::pack::Pack;
use crate::profile::Sites;
use memtoll_analysis::generations::{Live, generations};
use memtoll_analysis::runners::Runners;
use memtoll_analysis::sites::{GroupBy, rows};
use memtoll_query::query;
use memtoll_trace::meta::MarkKind;
use rustc_hash::FxHashMap;
use serde_json::json;
use std::cmp::Reverse;

/// Generations that a table has room for.
const MOST: usize = 12;

/// Where a generation begins.
struct Border {
    /// Units.
    at: u64,
    /// The mark there.
    mark: Option<String>,
}

impl Engine<'_> {
    /// The live blocks of each call site, by generation.
    pub(crate) fn generations(&mut self, ask: &Ask) -> Result<Pack, String> {
        let answer = self.ask(ask, query::View::Totals)?;
        let (selection, runners) = (answer.basis.selection, answer.basis.runners);
        let sums = answer.basis.sums.ok_or("the answer has no sums")?;
        let at = selection.to.min(self.recording().ended());
        let borders = self.borders(ask, selection.from, at, &runners);
        let times: Vec<u64> = borders.iter().map(|border| border.at).collect();
        let found = generations(self.recording(), at, &times, &runners);
        let all = rows(self.stacks(ask)?, &sums, GroupBy::Site);
        let of_row = |row: &memtoll_analysis::sites::Row| {
            let mut live = vec![Live::default(); times.len() + 1];
            for of_node in row.nodes.iter().filter_map(|node| found.of_node.get(node)) {
                for (sum, one) in live.iter_mut().zip(of_node) {
                    *sum = Live { bytes: sum.bytes.saturating_add(one.bytes), blocks: sum.blocks + one.blocks };
                }
            }
            live
        };
        let live: Vec<Vec<Live>> = all.iter().map(of_row).collect();
        let bytes = |row: usize| live[row].iter().fold(0u64, |sum, one| sum.saturating_add(one.bytes));
        let mut shown: Vec<usize> = (0..all.len()).filter(|row| live[*row].iter().any(|one| one.blocks > 0)).collect();
        shown.sort_by_key(|row| (Reverse(bytes(*row)), *row));
        let mut pack = Pack::new();
        pack.set("at_ns", self.tariff().ns(at as f64));
        pack.set("begins_ns", json!(times.iter().map(|time| self.tariff().ns(*time as f64)).collect::<Vec<f64>>()));
        pack.set("marks", json!(borders.iter().map(|border| &border.mark).collect::<Vec<_>>()));
        pack.set("damage", json!(found.damage));
        for generation in 0..=times.len() {
            let column = |of: &dyn Fn(&Live) -> f64| shown.iter().map(|row| of(&live[*row][generation])).collect();
            let (bytes, blocks): (Vec<f64>, Vec<f64>) =
                (column(&|live| live.bytes as f64), column(&|live| live.blocks as f64));
            pack.column(&format!("bytes.{generation}"), &bytes);
            pack.column(&format!("blocks.{generation}"), &blocks);
        }
        let sites = Sites { values: vec![[0; COUNT]; shown.len()], shown, others: 0 };
        self.write(&mut pack, None, &all, &sites);
        Ok(pack)
    }

    /// Where generations begin after the first one, which began before all others: with the selection, and, if that is wanted,
    /// with each mark in it; where there are none, with equal parts of it.
    fn borders(&self, ask: &Ask, from: u64, at: u64, runners: &Runners) -> Vec<Border> {
        let first = (from > 0).then_some(Border { at: from, mark: None });
        if ask.borders == Borders::Selection {
            return first.into_iter().collect();
        }
        let mut marks: FxHashMap<u64, String> = FxHashMap::default();
        for (index, image) in self.recording().images.iter().enumerate() {
            let Some(threads) = runners.of(index) else { continue };
            let instants =
                image.marks.iter().filter(|mark| mark.kind == MarkKind::Instant && threads.admit(mark.thread));
            let inside = instants.filter(|mark| from < mark.time && mark.time <= at);
            marks.extend(inside.map(|mark| (mark.time, mark.name.to_string())));
        }
        let mut marks: Vec<(u64, String)> = marks.into_iter().collect();
        marks.sort_unstable();
        let room = MOST - 1;
        let within: Vec<Border> = match marks.len() {
            0 => {
                let part = |number: u64| from + (u128::from(at - from.min(at)) * u128::from(number) / 10) as u64;
                (1..10).map(|number| Border { at: part(number), mark: None }).collect()
            }
            // Of many marks, some from all over, as on the time line.
            count => (0..count.min(room))
                .map(|number| marks[number * count / count.min(room)].clone())
                .map(|(at, name)| Border { at, mark: Some(name) })
                .collect(),
        };
        first.into_iter().chain(within).collect()
    }
}
