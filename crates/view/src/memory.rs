//! Where live blocks lie at an instant, the end of the selected time: a map of one process, that with the most live bytes,
//! and the blocks of a range of addresses.

use crate::ask::Ask;
use crate::engine::Engine;
use crate::frames::FrameTable;
use crate::pack::Pack;
use memtoll_analysis::memory_map::{Area, Block, live_blocks, map};
use memtoll_analysis::runners::{Runners, program};
use memtoll_analysis::sites::{GroupBy, rows};
use memtoll_model::StackId;
use memtoll_query::query;
use rustc_hash::FxHashMap;
use serde_json::json;
use std::cmp::Reverse;

/// Cells of a map at the most, unless there are more areas. A screen has room for fewer.
const MOST_CELLS: usize = 1 << 15;

/// Areas of a map, those with the most live bytes. Each is as high as its text at the least, and browsers draw nothing on a
/// canvas of more than 32,767 pixels.
const MOST_AREAS: usize = 300;

/// Blocks of a range that are told one by one.
const MOST_BLOCKS: usize = 1000;

/// Processes of which there could be a map.
const MOST_PROCESSES: usize = 200;

/// A row of call sites, and bytes and number of its blocks.
type SiteSum = (usize, (u64, u64));

/// The live blocks of a process that were asked for last.
pub(crate) struct Remembered {
    /// The image, and the instant, units.
    of: (usize, u64),
    blocks: Vec<Block>,
    missing: Option<String>,
}

impl Engine<'_> {
    /// The map, or the blocks of a range.
    pub(crate) fn memory(&mut self, ask: &Ask) -> Result<Pack, String> {
        let basis = self.ask(ask, query::View::List { of: query::List::Marks })?.basis;
        let (at, runners) = (basis.selection.to.min(self.recording().ended()), basis.runners);
        let processes = self.processes(at, &runners);
        let mut pack = Pack::new();
        let about = |&(image, live): &(usize, u64)| {
            let of = &self.recording().images[image];
            json!({ "pid": of.about.pid, "program": program(of), "live": live })
        };
        pack.set("processes", json!(processes.iter().take(MOST_PROCESSES).map(about).collect::<Vec<_>>()));
        pack.set("at_ns", self.tariff().ns(at as f64));
        let Some(&(image, _)) = processes.first() else {
            pack.set("damage", json!([]));
            self.write_map(ask, at, &[], &mut pack)?;
            return Ok(pack);
        };
        pack.set("pid", self.recording().images[image].about.pid);
        let Remembered { of, blocks, missing } = match self.blocks.take().filter(|known| known.of == (image, at)) {
            Some(known) => known,
            None => {
                let (blocks, missing) = live_blocks(self.recording(), image, at);
                Remembered { of: (image, at), blocks, missing }
            }
        };
        pack.set("damage", json!(missing.iter().collect::<Vec<_>>()));
        let is_of_thread = |block: &&Block| runners.admit(image, block.thread);
        let shown: Vec<Block> = blocks.iter().filter(is_of_thread).copied().collect();
        self.blocks = Some(Remembered { of, blocks, missing });
        match (ask.memory.from, ask.memory.to) {
            (Some(from), Some(to)) => {
                let (from, to) = (from.max(0.0) as u64, to.max(0.0) as u64);
                let is_in =
                    |block: &&Block| block.address < to && block.address.saturating_add(block.size.max(1)) > from;
                let inside: Vec<Block> = shown.iter().filter(is_in).copied().collect();
                self.write_blocks(ask, at, &inside, &mut pack)?;
            }
            _ => self.write_map(ask, at, &shown, &mut pack)?,
        }
        Ok(pack)
    }

    /// Images that began until then, and about how many bytes were live in them, most first.
    fn processes(&self, at: u64, runners: &Runners) -> Vec<(usize, u64)> {
        let recording = self.recording();
        let mut all = Vec::new();
        for (index, image) in recording.images.iter().enumerate() {
            if image.about.began > at || runners.of(index).is_none() {
                continue;
            }
            let live = recording.summary(index).ok().flatten().and_then(|summary| {
                let curve = summary.curve;
                let place = (at.saturating_sub(curve.start) / curve.width.max(1)) as usize;
                curve.highest.get(place.min(curve.highest.len().saturating_sub(1))).copied()
            });
            all.push((index, live.unwrap_or(0)));
        }
        all.sort_by_key(|(index, live)| (Reverse(*live), *index));
        all
    }

    /// The call sites of blocks, those with the most bytes first, and the number of each stack's, from 1. Stacks that the filter
    /// leaves out have none.
    fn sites_of(&mut self, ask: &Ask, blocks: &[Block], pack: &mut Pack) -> Result<FxHashMap<StackId, usize>, String> {
        let sums = self.ask(ask, query::View::Totals)?.basis.sums.ok_or("the answer has no sums")?;
        let all = rows(self.stacks(ask)?, &sums, GroupBy::Site);
        let mut row_of: FxHashMap<StackId, usize> = FxHashMap::default();
        for (number, row) in all.iter().enumerate() {
            row_of.extend(row.nodes.iter().map(|node| (*node, number)));
        }
        let mut sums: FxHashMap<usize, (u64, u64)> = FxHashMap::default();
        for block in blocks {
            if let Some(row) = row_of.get(&block.node) {
                let sum = sums.entry(*row).or_default();
                *sum = (sum.0.saturating_add(block.size), sum.1 + 1);
            }
        }
        let mut order: Vec<SiteSum> = sums.into_iter().collect();
        order.sort_by_key(|(row, (bytes, _))| (Reverse(*bytes), *row));
        let mut frames = FrameTable::default();
        let mut column = |name: &str, of: &mut dyn FnMut(&SiteSum) -> f64| {
            pack.column(name, &order.iter().map(of).collect::<Vec<f64>>());
        };
        column("sites.frame", &mut |(row, _)| {
            all[*row].frame.map_or(0.0, |frame| f64::from(frames.number(frame)) + 1.0)
        });
        column("sites.live", &mut |(_, (bytes, _))| *bytes as f64);
        column("sites.blocks", &mut |(_, (_, blocks))| *blocks as f64);
        let types: Vec<_> = order.iter().map(|(row, _)| all[*row].type_name.clone().unwrap_or_default()).collect();
        pack.set("types", json!(types));
        frames.write(self.recording(), "", pack);
        let numbers: FxHashMap<usize, usize> =
            order.iter().enumerate().map(|(number, (row, _))| (*row, number + 1)).collect();
        row_of.retain(|_, row| {
            numbers.get(row).is_some_and(|number| {
                *row = *number;
                true
            })
        });
        Ok(row_of)
    }

    fn write_map(&mut self, ask: &Ask, at: u64, blocks: &[Block], pack: &mut Pack) -> Result<(), String> {
        let site_of = self.sites_of(ask, blocks, pack)?;
        let map = map(blocks, MOST_CELLS);
        let are_shown = largest(&map.areas, MOST_AREAS);
        pack.set("cell", map.cell);
        pack.set("live", live_bytes(blocks));
        pack.set("blocks", blocks.len());
        pack.set("areas_left_out", are_shown.iter().filter(|is_shown| !**is_shown).count());
        let shown = || map.areas.iter().zip(&are_shown).filter(|(_, is_shown)| **is_shown).map(|(area, _)| area);
        let column = |of: &dyn Fn(&Area) -> f64| shown().map(of).collect::<Vec<f64>>();
        pack.column("areas.from", &column(&|area| area.addresses.start as f64));
        pack.column("areas.cells", &column(&|area| ((area.addresses.end - area.addresses.start) / map.cell) as f64));
        pack.column("areas.live", &column(&|area| area.live as f64));
        pack.column("areas.blocks", &column(&|area| area.blocks.len() as f64));
        // Cells are numbered anew, without those of areas that are left out.
        let mut columns: [Vec<f64>; 4] = Default::default();
        let (mut cells, mut before, mut after) = (map.cells.iter().peekable(), 0, 0);
        for (area, &is_shown) in map.areas.iter().zip(&are_shown) {
            let count = ((area.addresses.end - area.addresses.start) / map.cell) as usize;
            while let Some(cell) = cells.next_if(|cell| cell.number < before + count) {
                if is_shown {
                    let block = &blocks[cell.block];
                    let site = site_of.get(&block.node).map_or(0.0, |number| *number as f64);
                    let age = self.tariff().ns(at.saturating_sub(block.time) as f64).round();
                    let values = [(cell.number - before + after) as f64, cell.live as f64, site, age];
                    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                }
            }
            before += count;
            if is_shown {
                after += count;
            }
        }
        for (name, column) in ["number", "live", "site", "age"].iter().zip(&columns) {
            pack.column(&format!("cells.{name}"), column);
        }
        Ok(())
    }

    fn write_blocks(&mut self, ask: &Ask, at: u64, blocks: &[Block], pack: &mut Pack) -> Result<(), String> {
        let site_of = self.sites_of(ask, blocks, pack)?;
        let told = &blocks[..blocks.len().min(MOST_BLOCKS)];
        let column = |of: &dyn Fn(&Block) -> f64| told.iter().map(of).collect::<Vec<f64>>();
        pack.column("blocks.address", &column(&|block| block.address as f64));
        pack.column("blocks.size", &column(&|block| block.size as f64));
        pack.column("blocks.age", &column(&|block| self.tariff().ns(at.saturating_sub(block.time) as f64).round()));
        pack.column("blocks.site", &column(&|block| site_of.get(&block.node).map_or(0.0, |number| *number as f64)));
        pack.set("blocks", blocks.len());
        pack.set("live", live_bytes(blocks));
        Ok(())
    }
}

/// Sizes of a damaged file may be beyond all sums.
fn live_bytes(blocks: &[Block]) -> u64 {
    blocks.iter().fold(0, |sum, block| sum.saturating_add(block.size))
}

/// Which areas are among the `most` with the most live bytes.
fn largest(areas: &[Area], most: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..areas.len()).collect();
    order.sort_by_key(|index| Reverse(areas[*index].live));
    let mut are_among = vec![false; areas.len()];
    order.iter().take(most).for_each(|index| are_among[*index] = true);
    are_among
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_areas_that_are_equal_the_first_ones_are_shown() {
        let area = |live| Area { addresses: 0..16, live, blocks: 0..1 };
        let areas = [area(1), area(8), area(1), area(1), area(9)];
        assert_eq!(largest(&areas, 3), [true, true, false, false, true]);
        assert_eq!(largest(&areas, 9), [true; 5]);
    }
}
