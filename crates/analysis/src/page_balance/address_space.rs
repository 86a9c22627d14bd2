//! To whom each address of a process belongs.

use super::chunks;
use super::program_memory::ProgramMemory;
use memtoll_model::StackId;
use memtoll_trace::meta::Module;
use memtoll_trace::snapshot::{Mapping, Snapshot};
use std::collections::BTreeMap;
use std::ops::Range;

/// Who has an address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Holder {
    Recorder,
    Stack,
    /// A mapping that the program made at this node.
    Mapping(StackId),
    Allocator,
    /// A loaded file, with the variables that follow what it holds.
    File(String),
    /// Anonymous memory, of which it must be seen what lies there.
    Anonymous,
    Other,
}

/// Ranges of addresses that do not overlap, by their start: the end, and whose they are.
pub struct AddressSpace(BTreeMap<u64, (u64, Holder)>);

impl AddressSpace {
    pub fn new(snapshot: &Snapshot, memory: &ProgramMemory, modules: &[Module]) -> AddressSpace {
        let mut space = AddressSpace(BTreeMap::new());
        for mapping in &snapshot.mappings {
            space.paint(mapping.start..mapping.end, &of_mapping(mapping));
        }
        for module in modules.iter().filter(|module| !module.path.is_empty()) {
            space.paint_where(module.start..module.end, &Holder::File(module.path.clone()), |there| {
                *there == Holder::Anonymous
            });
        }
        for (range, node) in memory.own_mappings() {
            space.paint_where(range, &Holder::Mapping(node), |there| !matches!(there, Holder::Stack));
        }
        for handle in &snapshot.threads {
            if let Some(range) = stack_of(*handle, &snapshot.mappings, snapshot.page) {
                space.paint_where(range, &Holder::Stack, |there| *there == Holder::Anonymous);
            }
        }
        for (start, bytes) in &snapshot.recorder {
            space.paint(*start..start.saturating_add(*bytes), &Holder::Recorder);
        }
        let anonymous: Vec<Range<u64>> =
            space.all().filter(|(_, holder)| **holder == Holder::Anonymous).map(|(range, _)| range).collect();
        for range in anonymous {
            let holder = if memory.had_blocks(&range) { Holder::Allocator } else { Holder::Other };
            space.paint(range, &holder);
        }
        for block in memory.blocks.iter().filter(|block| chunks::is_mapped_alone(block)) {
            space.paint_where(chunks::mapping(block), &Holder::Allocator, |there| *there == Holder::Other);
        }
        space
    }

    fn all(&self) -> impl Iterator<Item = (Range<u64>, &Holder)> {
        self.0.iter().map(|(start, (end, holder))| (*start..*end, holder))
    }

    /// Gives the whole range to `holder`, whoever had it before.
    fn paint(&mut self, range: Range<u64>, holder: &Holder) {
        if range.is_empty() {
            return;
        }
        while let Some((&from, (to, _))) = self.0.range(..range.end).next_back()
            && *to > range.start
        {
            let Some((to, old)) = self.0.remove(&from) else { break };
            if to > range.end {
                self.0.insert(range.end, (to, old.clone()));
            }
            if from < range.start {
                self.0.insert(from, (range.start, old));
            }
        }
        self.0.insert(range.start, (range.end, holder.clone()));
    }

    /// Gives `holder` those parts of the range whose present holder `replaces` accepts.
    fn paint_where(&mut self, range: Range<u64>, holder: &Holder, replaces: impl Fn(&Holder) -> bool) {
        let parts: Vec<Range<u64>> =
            self.pieces(range).filter(|(_, there)| replaces(there)).map(|(part, _)| part).collect();
        parts.into_iter().for_each(|part| self.paint(part, holder));
    }

    /// The pieces of a range by address, each with its holder. Addresses without a holder are in no piece.
    pub fn pieces(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, &Holder)> {
        let first = self.0.range(..=range.start).next_back().map_or(range.start, |(start, _)| *start);
        let (start, end) = (range.start, range.end);
        let overlapping = self.0.range(first..end.max(first)).filter(move |(_, (to, _))| *to > start);
        overlapping.map(move |(from, (to, holder))| ((*from).max(start)..(*to).min(end), holder))
    }
}

fn of_mapping(mapping: &Mapping) -> Holder {
    let path = mapping.path.as_str();
    match path {
        "" if mapping.writable && !mapping.shared => Holder::Anonymous,
        "[heap]" => Holder::Allocator,
        _ if path.starts_with("[stack") => Holder::Stack,
        _ if path.starts_with("[anon") => Holder::Anonymous,
        _ if path.starts_with("/dev/zero") || path.starts_with("/memfd:") || path.starts_with("/SYSV") => Holder::Other,
        _ if path.starts_with(['/', '[']) => Holder::File(path.to_owned()),
        _ => Holder::Other,
    }
}

/// The stack of a thread: it ends behind what the C library keeps of the thread, which is what it calls it by.
fn stack_of(handle: u64, mappings: &[Mapping], page: u64) -> Option<Range<u64>> {
    /// Longest known: struct pthread of glibc, bytes.
    const MOST: u64 = 2_560;
    let mapping =
        mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&handle) && mapping.path.is_empty())?;
    let end = handle.saturating_add(MOST).next_multiple_of(page).min(mapping.end);
    Some(mapping.start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_paint_covers_earlier_paint() {
        let mut space = AddressSpace(BTreeMap::new());
        space.paint(0..100, &Holder::Anonymous);
        space.paint(40..60, &Holder::Recorder);
        space.paint_where(50..200, &Holder::Stack, |there| *there == Holder::Anonymous);
        let found: Vec<_> = space.pieces(10..150).map(|(range, holder)| (range, holder.clone())).collect();
        let expected = [(10..40, Holder::Anonymous), (40..60, Holder::Recorder), (60..100, Holder::Stack)];
        assert_eq!(found, expected);
        assert_eq!(space.pieces(100..150).count(), 0);
    }
}
