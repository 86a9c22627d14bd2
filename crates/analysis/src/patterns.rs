//! How call sites use memory: sizes, lifetimes, growth, threads. The supervisor counts it while it records; of some times,
//! threads or sizes, it is found in the events.

use crate::chapters::chapters_of;
use crate::container_elements::Element;
use crate::element_counts::elements_of;
use crate::finer_chapters::OfImage;
use crate::parallel;
use crate::sites::Row;
use crate::stacks::Stacks;
use crate::sums::Sums;
use crate::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_tally::{Aggregator, Selection, Threads, span};
use memtoll_trace::cells::Cells;
use memtoll_trace::histogram::Histogram;
use memtoll_trace::ids::NodeId;
use memtoll_trace::pattern::{Growth, Pattern, ThreadSet};
use memtoll_trace::unreadable::Unreadable;
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Threads, at least.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ThreadCount {
    /// How many.
    pub count: u64,
    /// Whether there may be more.
    pub is_least: bool,
}

impl ThreadCount {
    fn add(&mut self, threads: ThreadSet) {
        self.count += u64::from(threads.count());
        self.is_least |= threads.is_capped();
    }
}

/// How the call sites of a row use memory.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct RowPattern {
    /// When they acquired their first block, units; `None` if they acquired none.
    pub first: Option<u64>,
    /// When they acquired the last one, units.
    pub last: u64,
    /// Sizes of the blocks that they acquired, bytes.
    pub sizes: Histogram,
    /// Elements of these blocks, where their type is known to be a container and the size of its elements is known.
    pub elements: Option<Histogram>,
    /// Lifetimes of the blocks that were released, units.
    pub lifetimes: Histogram,
    /// The same blocks by size and lifetime.
    pub cells: Cells,
    /// Threads that acquired blocks.
    pub acquiring: ThreadCount,
    /// Threads that released these blocks.
    pub releasing: ThreadCount,
    /// Blocks that another thread released than the one that had acquired them.
    pub released_elsewhere: u64,
    /// How blocks grew by reallocation.
    pub reallocated: Growth,
    /// How they grew otherwise: the same line acquired a larger block, and released the smaller one before its thread
    /// acquired anything else.
    pub replaced: Growth,
}

/// The patterns of rows, in their order.
pub struct Patterns {
    pub rows: Vec<RowPattern>,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

/// How the call sites of `rows` use memory, of which `sums` are the sums. They must not be split.
pub fn patterns(stacks: &mut Stacks, sums: &Sums, rows: &[Row]) -> Patterns {
    let recording = stacks.recording();
    let mut row_of = vec![NO_ROW; recording.stacks.len()];
    for (number, row) in rows.iter().enumerate() {
        row.nodes.iter().for_each(|node| row_of[node.index()] = number as u32);
    }
    let mut found = Patterns { rows: vec![RowPattern::default(); rows.len()], damage: Vec::new() };
    for (index, image) in recording.images.iter().enumerate() {
        let Some(threads) = sums.thread_filter.of(index) else { continue };
        let row_of = |node| row_of[image.node(node).index()];
        let ByRow { rows, replaced } = match of_image(recording, index, sums.selection, threads, &row_of) {
            Ok(by_row) => by_row,
            Err(why) => {
                found.damage.push(why.to_string());
                continue;
            }
        };
        for (node, replaced) in replaced {
            let leading = stacks.leading(image.node(node)).leading;
            for (release, growth) in &replaced {
                // What another line releases is another buffer.
                if stacks.leading(image.node(*release)).leading == leading {
                    found.rows[row_of(node) as usize].replaced.add(growth);
                }
            }
        }
        let hides_frees = sums.images[index].hides_frees;
        rows.iter().for_each(|(number, pattern)| found.rows[*number as usize].add(pattern, hides_frees));
    }
    for (row, of) in found.rows.iter_mut().zip(rows) {
        row.elements = of.element.map(|element| elements(&row.sizes, element));
    }
    found
}

fn elements(sizes: &Histogram, element: Element) -> Histogram {
    sizes.map(|size| elements_of(size, element))
}

impl RowPattern {
    fn add(&mut self, pattern: &Pattern, hides_frees: bool) {
        self.first = self.first.into_iter().chain(pattern.first).min();
        self.last = self.last.max(pattern.last);
        self.sizes.add(&pattern.sizes);
        self.reallocated.add(&pattern.reallocated);
        // Threads have numbers of their own in each image.
        self.acquiring.add(pattern.acquiring);
        if hides_frees {
            return;
        }
        self.releasing.add(pattern.releasing);
        self.lifetimes.add(&pattern.lifetimes);
        self.cells.add(&pattern.cells);
        self.released_elsewhere = self.released_elsewhere.wrapping_add(pattern.released_elsewhere);
    }
}

/// The number of no row.
const NO_ROW: u32 = u32::MAX;

/// How the call sites of rows use memory in one image.
#[derive(Default)]
struct ByRow {
    /// By the number of the row.
    rows: FxHashMap<u32, Pattern>,
    /// By stack node: how blocks may have grown by hand.
    replaced: Vec<(Option<NodeId>, Replaced)>,
}

/// As [`Pattern::replaced`] has it.
type Replaced = Vec<(Option<NodeId>, Growth)>;

impl ByRow {
    fn add(&mut self, row_of: impl Fn(Option<NodeId>) -> u32, patterns: Vec<(Option<NodeId>, Pattern)>) {
        for (node, mut pattern) in patterns {
            let row = row_of(node);
            if row == NO_ROW {
                continue;
            }
            if !pattern.replaced.is_empty() {
                self.replaced.push((node, std::mem::take(&mut pattern.replaced)));
            }
            self.rows.entry(row).or_default().add(&pattern);
        }
    }

    fn merge(&mut self, other: ByRow) {
        other.rows.iter().for_each(|(row, pattern)| self.rows.entry(*row).or_default().add(pattern));
        self.replaced.extend(other.replaced);
    }
}

/// How call sites of an image use memory. `row_of` says which row a stack node of the image belongs to.
fn of_image(
    recording: &Recording,
    index: usize,
    selection: Selection,
    threads: &Threads,
    row_of: &(impl Fn(Option<NodeId>) -> u32 + Sync),
) -> Result<ByRow, Unreadable> {
    let is_whole = *threads == Threads::All;
    if is_whole
        && selection.is_stored()
        && let Some(stored) = recording.patterns(index)
        && let part = (|sum: &mut ByRow, part| {
            sum.add(row_of, stored.read(part)?);
            Ok(())
        })
        && let Ok(sum) = parallel::fold(stored.parts(), part, ByRow::merge)
    {
        return Ok(sum);
    }
    if is_whole
        && selection.is_of_all_sizes()
        && let Some(chapters) = chapters_of(recording, index)
    {
        let part = |sum: &mut ByRow, number| {
            sum.add(row_of, span::patterns(&OfImage::plain(&chapters), selection, number)?);
            Ok(())
        };
        // What is damaged is not missed: the events say all.
        if let Ok(sum) = parallel::fold(chapters.times().len(), part, ByRow::merge) {
            return Ok(sum);
        }
    }
    let mut aggregator = Aggregator::of(selection, threads.clone());
    aggregator.keep_patterns();
    let mut sum = ByRow::default();
    let mut waiting = 0usize;
    recording.for_each_events(index, |events| {
        events.iter().for_each(|event| aggregator.push(event));
        waiting += events.len();
        // Before any count could be too large for it.
        if waiting > MOST_COUNTED && aggregator.has_begun() {
            sum.add(row_of, aggregator.take_patterns());
            waiting = 0;
        }
        match events.last() {
            Some(event) if event.time > selection.to => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    sum.add(row_of, aggregator.take_patterns());
    Ok(sum)
}

/// Events after which counts are added up.
const MOST_COUNTED: usize = 1 << 30;

/// Threads for whom patterns are known without reading events.
pub fn are_stored(selection: &Selection, thread_filter: &ThreadFilter) -> bool {
    selection.is_stored() && thread_filter.are_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::golden;

    /// A recording that was cut off has no cells.
    #[test]
    fn events_say_what_patterns_of_cut_off_files_lack() {
        let recording = golden("killed");
        assert!(recording.patterns(0).is_none_or(|patterns| patterns.read(0).is_err()));
        let row_of = |node| NodeId::index_of(node) as u32;
        let found = of_image(&recording, 0, Selection::default(), &Threads::All, &row_of).unwrap().rows;
        assert!(found.values().any(|pattern| !pattern.lifetimes.is_empty()));
        for pattern in found.values() {
            assert_eq!(pattern.cells.iter().map(|(.., count)| count).sum::<u64>(), pattern.lifetimes.total());
        }
    }
}
