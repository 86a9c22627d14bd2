//! Where live blocks lie at an instant, the end of the selected time: a map of one process, that with the most live bytes,
//! and the blocks of a range of addresses.

use crate::frame_table::FrameTable;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{
    AreaColumns, BlockColumns, BlocksPack, CellColumns, FrameColumns, LiveProcess, MapPack, MapSiteColumns,
};
use crate::recordings::Recordings;
use crate::selections::{Selected, Selections};
use memtoll_analysis::live_blocks::{Block, live_blocks};
use memtoll_analysis::memory_map::{Area, map};
use memtoll_analysis::process_ends::{is_there, until};
use memtoll_analysis::thread_filter::{ThreadFilter, process_id, program};
use memtoll_model::StackId;
use memtoll_query::Query;
use memtoll_trace::ids::Bytes;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;

/// Cells of a map at the most, unless there are more areas. A screen has room for fewer.
const MOST_CELLS: usize = 1 << 15;

/// Areas of a map, those with the most live bytes. Each is as high as its text at the least, and browsers draw nothing on a
/// canvas of more than 32,767 pixels.
const MOST_AREAS: usize = 300;

/// Blocks of a range with rows of their own, at most.
const MOST_BLOCKS: usize = 1000;

/// Processes of which there could be a map.
const MOST_PROCESSES: usize = 200;

/// A row of call sites, and bytes and number of its blocks.
type SiteSum = (usize, (u64, u64));

/// The live blocks of a process that were asked for last.
pub(crate) struct LiveBlocks {
    /// The image, and the instant, units.
    of: (usize, u64),
    blocks: Vec<Block>,
    missing: Option<String>,
}

/// Call sites of blocks.
struct SitesOfBlocks {
    columns: MapSiteColumns,
    types: Vec<String>,
    frames: FrameColumns,
    texts: Vec<String>,
    /// The number of each stack's, from 1. Stacks that the filter leaves out have none.
    number_of: FxHashMap<StackId, usize>,
}

impl Recordings<'_> {
    /// The map, or the blocks of a range.
    pub(crate) fn memory(
        &self,
        selections: &Selections,
        last: &mut Option<LiveBlocks>,
        query: &Query,
        range: Option<(f64, f64)>,
    ) -> Result<Pack, NoAnswer> {
        self.needs_frees()?;
        let selected = &*selections.of(self, query)?;
        let thread_filter = &selected.sums.thread_filter;
        let at = until(self.recording(), selected.sums.selection.to, thread_filter);
        let processes = self.processes(at, thread_filter);
        let Some(&(image, _)) = processes.first() else {
            let head = self.map_head(at, None, &processes, None);
            return Ok(self.map_pack(selected, at, &[], head));
        };
        let LiveBlocks { of, blocks, missing } = match last.take().filter(|known| known.of == (image, at)) {
            Some(known) => known,
            None => {
                let (blocks, missing) = live_blocks(self.recording(), image, at);
                LiveBlocks { of: (image, at), blocks, missing: missing.map(|why| why.to_string()) }
            }
        };
        let matching = selected.matching.is_some().then(|| -> FxHashSet<StackId> {
            selected.rows.iter().flat_map(|row| row.nodes.iter().copied()).collect()
        });
        let is_shown = |block: &&Block| {
            thread_filter.admit(image, block.thread)
                && selected.sums.selection.admits_size(Bytes(block.size))
                && matching.as_ref().is_none_or(|nodes| nodes.contains(&block.node))
        };
        let shown: Vec<Block> = blocks.iter().filter(is_shown).copied().collect();
        let head = self.map_head(at, Some(image), &processes, missing.as_ref());
        *last = Some(LiveBlocks { of, blocks, missing });
        Ok(match range {
            Some((from, to)) => {
                let (from, to) = (from.max(0.0) as u64, to.max(0.0) as u64);
                let is_in =
                    |block: &&Block| block.address < to && block.address.saturating_add(block.size.max(1)) > from;
                let inside: Vec<Block> = shown.iter().filter(is_in).copied().collect();
                self.blocks_pack(selected, at, &inside)
            }
            None => self.map_pack(selected, at, &shown, head),
        })
    }

    /// What is known of a map before it is drawn.
    fn map_head(&self, at: u64, image: Option<usize>, live: &[(usize, u64)], missing: Option<&String>) -> MapPack {
        let about = |&(image, live): &(usize, u64)| {
            let of = &self.recording().images[image];
            LiveProcess { id: process_id(self.recording(), image), program: program(of).to_owned(), live }
        };
        MapPack {
            at_ns: self.tariff.ns(at as f64),
            process: image.map(|image| process_id(self.recording(), image)),
            processes: live.iter().take(MOST_PROCESSES).map(about).collect(),
            cell: 0,
            live: 0,
            blocks: 0,
            areas_left_out: 0,
            damage: missing.into_iter().cloned().collect(),
            types: Vec::new(),
            texts: Vec::new(),
        }
    }

    /// Images that are there then, and about how many bytes were live in them, most first.
    fn processes(&self, at: u64, thread_filter: &ThreadFilter) -> Vec<(usize, u64)> {
        let recording = self.recording();
        let mut all = Vec::new();
        for index in 0..recording.images.len() {
            if !is_there(recording, index, at) || thread_filter.of(index).is_none() {
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

    /// The call sites of blocks, those with the most bytes first.
    fn sites_of(&self, selected: &Selected, blocks: &[Block]) -> SitesOfBlocks {
        let all = &selected.rows;
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
        let mut number = |row: usize| all[row].frame.map_or(0.0, |frame| f64::from(frames.number(frame)) + 1.0);
        let columns = MapSiteColumns {
            frame: order.iter().map(|(row, _)| number(*row)).collect(),
            live: order.iter().map(|(_, (bytes, _))| *bytes as f64).collect(),
            blocks: order.iter().map(|(_, (_, blocks))| *blocks as f64).collect(),
        };
        let types = order.iter().map(|(row, _)| all[*row].type_name.clone().unwrap_or_default()).collect();
        let (frames, texts) = frames.columns(self.recording());
        let numbers: FxHashMap<usize, usize> =
            order.iter().enumerate().map(|(number, (row, _))| (*row, number + 1)).collect();
        row_of.retain(|_, row| {
            numbers.get(row).is_some_and(|number| {
                *row = *number;
                true
            })
        });
        SitesOfBlocks { columns, types, frames, texts, number_of: row_of }
    }

    fn map_pack(&self, selected: &Selected, at: u64, blocks: &[Block], head: MapPack) -> Pack {
        let sites = self.sites_of(selected, blocks);
        let map = map(blocks, MOST_CELLS);
        let are_shown = largest(&map.areas, MOST_AREAS);
        let mut pack = Pack::new(&MapPack {
            cell: map.cell,
            live: live_bytes(blocks),
            blocks: blocks.len(),
            areas_left_out: are_shown.iter().filter(|is_shown| !**is_shown).count(),
            types: sites.types,
            texts: sites.texts,
            ..head
        });
        pack.columns("sites", &sites.columns);
        pack.columns("frames", &sites.frames);
        let cells_of = |area: &Area| (area.addresses.end - area.addresses.start) / map.cell;
        let shown = || map.areas.iter().zip(&are_shown).filter(|(_, is_shown)| **is_shown).map(|(area, _)| area);
        pack.columns(
            "areas",
            &AreaColumns {
                from: shown().map(|area| area.addresses.start as f64).collect(),
                cells: shown().map(|area| cells_of(area) as f64).collect(),
                live: shown().map(|area| area.live as f64).collect(),
                blocks: shown().map(|area| area.blocks.len() as f64).collect(),
            },
        );
        // Cells are numbered anew, without those of areas that are left out.
        let mut columns = CellColumns::default();
        let (mut cells, mut before, mut after) = (map.cells.iter().peekable(), 0, 0);
        for (area, &is_shown) in map.areas.iter().zip(&are_shown) {
            let count = cells_of(area) as usize;
            while let Some(cell) = cells.next_if(|cell| cell.number < before + count) {
                if is_shown {
                    let block = &blocks[cell.block];
                    columns.number.push((cell.number - before + after) as f64);
                    columns.live.push(cell.live as f64);
                    columns.site.push(sites.number_of.get(&block.node).map_or(0.0, |number| *number as f64));
                    columns.age.push(self.age(at, block));
                }
            }
            before += count;
            if is_shown {
                after += count;
            }
        }
        pack.columns("cells", &columns);
        pack
    }

    fn blocks_pack(&self, selected: &Selected, at: u64, blocks: &[Block]) -> Pack {
        let SitesOfBlocks { columns, types, frames, texts, number_of } = self.sites_of(selected, blocks);
        let told = &blocks[..blocks.len().min(MOST_BLOCKS)];
        let mut pack = Pack::new(&BlocksPack { blocks: blocks.len(), live: live_bytes(blocks), types, texts });
        pack.columns("sites", &columns);
        pack.columns("frames", &frames);
        let site = |block: &Block| number_of.get(&block.node).map_or(0.0, |number| *number as f64);
        pack.columns(
            "blocks",
            &BlockColumns {
                address: told.iter().map(|block| block.address as f64).collect(),
                size: told.iter().map(|block| block.size as f64).collect(),
                age: told.iter().map(|block| self.age(at, block)).collect(),
                site: told.iter().map(site).collect(),
            },
        );
        pack
    }

    /// How long a block had lived, ns.
    fn age(&self, at: u64, block: &Block) -> f64 {
        self.tariff.ns(at.saturating_sub(block.time) as f64).round()
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
