//! What is live at an instant, the end of the selected time, by when it was acquired.

use crate::ask::Borders;
use crate::frame_table::FrameTable;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::GenerationsPack;
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_analysis::generations::{Live, generations};
use memtoll_analysis::process_ends::until;
use memtoll_analysis::sites::Row;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_trace::meta::MarkKind;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Generations that a table has room for.
const MOST: usize = 12;

/// Where a generation begins.
struct Border {
    /// Units.
    at: u64,
    mark: Option<String>,
}

impl Recordings<'_> {
    /// Fails where nothing is known of what is live.
    pub(crate) fn needs_frees(&self) -> Result<(), NoAnswer> {
        if self.recording().sees_frees() { Ok(()) } else { Err(NoAnswer::HiddenFrees) }
    }

    /// The live blocks of each call site, by generation.
    pub(crate) fn generations(&self, selected: &Selected, borders: Borders) -> Result<Pack, NoAnswer> {
        self.needs_frees()?;
        let Selected { sums, rows: all, .. } = selected;
        let (selection, thread_filter) = (sums.selection, &sums.thread_filter);
        let at = until(self.recording(), selection.to, thread_filter);
        let borders = self.borders(borders, selection.from.0, at, thread_filter);
        let times: Vec<u64> = borders.iter().map(|border| border.at).collect();
        let found = generations(self.recording(), at, &times, &selection, thread_filter);
        let of_row = |row: &Row| {
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
        let sites = self.site_columns(&mut FrameTable::default(), all, &shown, 0);
        let mut pack = Pack::new(&GenerationsPack {
            at_ns: self.tariff.ns(at as f64),
            begins_ns: times.iter().map(|time| self.tariff.ns(*time as f64)).collect(),
            marks: borders.into_iter().map(|border| border.mark).collect(),
            damage: found.damage,
            types: sites.types,
            site_others: 0,
            texts: sites.texts,
        });
        pack.columns("sites", &sites.columns);
        pack.columns("frames", &sites.frames);
        for generation in 0..=times.len() {
            let column = |of: &dyn Fn(&Live) -> f64| shown.iter().map(|row| of(&live[*row][generation])).collect();
            let (bytes, blocks): (Vec<f64>, Vec<f64>) =
                (column(&|live| live.bytes as f64), column(&|live| live.blocks as f64));
            pack.member("bytes", &generation.to_string(), &bytes);
            pack.member("blocks", &generation.to_string(), &blocks);
        }
        Ok(pack)
    }

    /// Where generations begin after the first one, which began before all others: with the selection, and, if that is wanted,
    /// with each mark in it; where there are none, with equal parts of it.
    fn borders(&self, wanted: Borders, from: u64, at: u64, thread_filter: &ThreadFilter) -> Vec<Border> {
        let first = (from > 0).then_some(Border { at: from, mark: None });
        if wanted == Borders::Selection {
            return first.into_iter().collect();
        }
        let mut marks: FxHashMap<u64, String> = FxHashMap::default();
        for (index, image) in self.recording().images.iter().enumerate() {
            let Some(threads) = thread_filter.of(index) else { continue };
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
