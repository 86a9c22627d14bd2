//! What lies where in a process: the mappings that the kernel tells of, with the call sites that made them.

use memtoll_trace::ids::{Bytes, NodeId, Ticks};
use rangemap::RangeMap;
use std::collections::BTreeMap;
use std::ops::Range;

pub const HUGE_PAGE: Bytes = Bytes(2 << 20);

/// What a mapping is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Pages of a file: code and constants, or what a call of the program mapped.
    File,
    /// Pages of a program's or library's file that it may write to, and the anonymous ones behind: its global variables.
    Globals,
    /// Anonymous memory: heaps, arenas, blocks of their own.
    Anonymous,
    /// Anonymous memory of the loader, from before the program's first instruction.
    Loader,
    /// Memory that processes share.
    Shared,
    /// A thread's stack.
    Stack,
    /// The recorder's file or its shared memory.
    Recorder,
}

/// Whether the program may use memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It may not.
    None,
    /// It may, by a call with this stack, if that is known.
    OpenedBy(Option<NodeId>),
}

/// Which pages the program asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pages {
    /// Those that the system chooses.
    Usual,
    /// Huge ones.
    Huge,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mapping {
    /// Address behind it.
    pub end: u64,
    /// What it is.
    pub kind: Kind,
    /// The stack of the call that made it, if that was seen.
    pub node: Option<NodeId>,
    /// Which pages were asked for.
    pub pages: Pages,
    /// Whether it is only reserved: the program has no access.
    pub reserved: bool,
    /// When the call that made it returned, if that was seen.
    pub since: Option<Ticks>,
}

impl Mapping {
    /// Whether it stays what it is in anonymous memory that ends at `end`.
    fn stays_in(&self, end: u64) -> bool {
        match self.kind {
            Kind::Anonymous | Kind::Stack | Kind::Loader => true,
            // Zero-initialised variables that are joined with what lies behind them.
            Kind::Globals => self.end <= end,
            Kind::File | Kind::Shared | Kind::Recorder => false,
        }
    }
}

/// The mappings of a process, which do not overlap, by their first addresses.
#[derive(Clone, Default)]
pub struct AddressSpace {
    mappings: BTreeMap<u64, Mapping>,
    /// Spans of anonymous memory that the kernel told of, without what was unmapped since. Each has a number of its own, or the map
    /// would join neighbors.
    told: RangeMap<u64, u64>,
    /// The next span's number.
    next_told: u64,
}

impl AddressSpace {
    /// The same mappings without owners.
    pub fn forget_owners(&mut self) {
        self.mappings.values_mut().for_each(|mapping| mapping.node = None);
        self.told.clear();
    }

    /// The mapping that holds `address`, and where it begins.
    pub fn find(&self, address: u64) -> Option<(u64, &Mapping)> {
        let (start, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end).then_some((*start, mapping))
    }

    /// Memory was mapped. What was there before is gone.
    pub fn map(&mut self, start: u64, length: Bytes, kind: Kind) {
        let Some(end) = start.checked_add(length.0) else { return };
        // The kernel joins a mapping with its neighbours; what is known of parts stays known.
        if let Kind::Anonymous | Kind::Loader = kind {
            // Zero-initialised variables lie behind the pages of the file, and are anonymous.
            let is_behind_file = self.mappings.range(..start).next_back().is_some_and(|(_, before)| {
                before.end == start && matches!(before.kind, Kind::File | Kind::Globals) && before.node.is_none()
            });
            return self.join(start, end, if is_behind_file { Kind::Globals } else { kind }, kind);
        }
        self.unmap(start, length);
        self.mappings
            .insert(start, Mapping { end, kind, node: None, pages: Pages::Usual, reserved: false, since: None });
    }

    /// The kernel tells of anonymous memory at `start..end`. It joins neighbors and tells of the whole, so an allocator that maps page
    /// after page makes it tell of all its pages each time. Only the gaps between spans that are known already are filled.
    fn join(&mut self, start: u64, end: u64, first: Kind, rest: Kind) {
        if start == end {
            return;
        }
        if let Some((at, mapping)) = self.find(end - 1)
            && !mapping.stays_in(end)
        {
            self.told.remove(at.max(start)..end);
        }
        let is_within = |span: &Range<u64>| start <= span.start && span.end <= end;
        let all = start..end;
        let known = self.told.overlapping(&all).map(|(span, _)| span.clone()).filter(is_within);
        let known: Vec<_> = known.chain(std::iter::once(end..end)).collect();
        let mut at = start;
        for known in known {
            // A gap, with the parts on both sides of it: those without an owner become one with what fills it.
            let before = self.find(at.saturating_sub(1)).filter(|_| start < at);
            let from = before.map_or(at, |(begin, _)| begin.max(start));
            let behind = self.find(known.start).filter(|_| known.start < end);
            let to = behind.map_or(known.start, |(_, mapping)| mapping.end.min(end));
            let is_edge = at == known.start && (at == start || at == end);
            if !is_edge {
                self.fill(from, to, if from == start { first } else { rest }, rest);
            }
            at = known.end;
        }
        self.told.insert(all, self.next_told);
        self.next_told += 1;
    }

    /// Anonymous memory is at `start..end`: parts of which the call that made them is known, and stacks, stay. Parts
    /// without an owner become one: each time that a heap grows, the kernel tells of all of it. `first`: what is at `start`,
    /// if nothing is known of that; `rest`: of what else nothing is known.
    fn fill(&mut self, start: u64, end: u64, first: Kind, rest: Kind) {
        let within = |(at, mapping): (&u64, &Mapping)| (*at, *mapping);
        let mut before: Vec<(u64, Mapping)> = self.mappings.range(start..end).map(within).collect();
        if let Some((at, mapping)) = self.find(start)
            && at < start
        {
            before.insert(0, (at, *mapping));
        }
        self.unmap(start, Bytes(end - start));
        let nobodys = |at, end| {
            let kind = if at == start { first } else { rest };
            Mapping { end, kind, node: None, pages: Pages::Usual, reserved: false, since: None }
        };
        let mut parts: Vec<(u64, Mapping)> = Vec::new();
        let mut add = |from: u64, part: Mapping| match parts.last_mut() {
            Some((_, last)) if *last == (Mapping { end: from, ..part }) && part.node.is_none() => last.end = part.end,
            _ => parts.push((from, part)),
        };
        let mut at = start;
        for (from, old) in before.into_iter().filter(|(_, mapping)| mapping.stays_in(end)) {
            let from = from.max(start);
            if at < from {
                add(at, nobodys(at, from));
            }
            at = old.end.min(end);
            add(from, Mapping { end: at, ..old });
        }
        if at < end {
            add(at, nobodys(at, end));
        }
        self.mappings.extend(parts);
    }

    /// A call of the program made a mapping. The kernel has told of it already, or does not tell at all.
    pub fn owned(&mut self, start: u64, length: Bytes, node: Option<NodeId>, kind: Kind, since: Ticks) {
        self.unmap(start, length);
        let end = start.saturating_add(length.0);
        self.mappings
            .insert(start, Mapping { end, kind, node, pages: Pages::Usual, reserved: false, since: Some(since) });
    }

    /// The program has no access from now on to anonymous memory that a call made, or again. What was only reserved belongs
    /// to the call that opens it: that is who asks for memory.
    pub fn protect(&mut self, start: u64, length: Bytes, access: Access) {
        let end = start.saturating_add(length.0);
        self.split(start);
        self.split(end);
        let made = |mapping: &&mut Mapping| mapping.kind == Kind::Anonymous && mapping.node.is_some();
        for mapping in self.mappings.range_mut(start..end).map(|(_, mapping)| mapping).filter(made) {
            if mapping.reserved
                && let Access::OpenedBy(node) = access
            {
                mapping.node = node.or(mapping.node);
            }
            mapping.reserved = access == Access::None;
        }
    }

    /// No mapping lies on both sides of `address`.
    fn split(&mut self, address: u64) {
        if let Some((at, mapping)) = self.find(address)
            && at < address
        {
            let mapping = *mapping;
            self.mappings.insert(at, Mapping { end: address, ..mapping });
            self.mappings.insert(address, mapping);
            self.told.remove(address - 1..address + 1);
        }
    }

    /// A call gave back memory that it knew when it began. What another thread has got at the same place
    /// before the call returned stays.
    pub fn given_back(&mut self, start: u64, length: Bytes, began: Ticks) {
        let end = start.saturating_add(length.0);
        let began = Some(began);
        let newer = |(at, mapping): (&u64, &Mapping)| (mapping.since > began).then_some((*at, *mapping));
        let mut newer: Vec<(u64, Mapping)> = self.mappings.range(start..end).filter_map(newer).collect();
        if let Some((at, mapping)) = self.find(start)
            && at < start
            && mapping.since > began
        {
            newer.push((start, *mapping));
        }
        self.unmap(start, length);
        for (at, mapping) in newer {
            self.mappings.insert(at, Mapping { end: mapping.end.min(end), ..mapping });
        }
    }

    /// Memory was given back.
    pub fn unmap(&mut self, start: u64, length: Bytes) {
        let end = start.saturating_add(length.0);
        if start < end {
            self.told.remove(start..end);
        }
        if let Some((at, mapping)) = self.find(start)
            && at < start
        {
            let mapping = *mapping;
            self.mappings.insert(at, Mapping { end: start, ..mapping });
            if mapping.end > end {
                self.mappings.insert(end, mapping);
            }
        }
        let inside: Vec<u64> = self.mappings.range(start..end).map(|(at, _)| *at).collect();
        for at in inside {
            if let Some(mapping) = self.mappings.remove(&at)
                && mapping.end > end
            {
                self.mappings.insert(end, mapping);
            }
        }
    }

    /// The mapping at `address` is a thread's stack.
    pub fn is_stack(&mut self, address: u64) {
        self.change(address, |mapping| mapping.kind = Kind::Stack);
    }

    /// Such pages were asked for from `address` on.
    pub fn advise(&mut self, address: u64, pages: Pages) {
        self.change(address, |mapping| mapping.pages = pages);
    }

    fn change(&mut self, address: u64, change: impl FnOnce(&mut Mapping)) {
        if let Some((at, _)) = self.find(address)
            && let Some(mapping) = self.mappings.get_mut(&at)
        {
            change(mapping);
        }
    }

    /// Whether the page at `address` can be a huge one: all of it lies in a mapping that wants such pages. `always` says
    /// that the system uses them without being asked.
    pub fn may_be_huge(&self, address: u64, always: bool) -> bool {
        let page = address & !(HUGE_PAGE.0 - 1);
        self.find(address).is_some_and(|(start, mapping)| {
            (mapping.pages == Pages::Huge || always)
                && mapping.kind == Kind::Anonymous
                && start <= page
                && mapping.end - page >= HUGE_PAGE.0
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kinds(space: &AddressSpace) -> Vec<(u64, u64, Kind, u32)> {
        space.mappings.iter().map(|(start, m)| (*start, m.end, m.kind, NodeId::or_zero(m.node))).collect()
    }

    /// Memory that the code of a node mapped before all else.
    fn own(space: &mut AddressSpace, start: u64, size: u64, node: u32) {
        space.owned(start, Bytes(size), NodeId::new(node), Kind::Anonymous, Ticks(0));
    }

    #[test]
    fn a_hole_leaves_both_ends() {
        let mut space = AddressSpace::default();
        own(&mut space, 0x10000, 0x8000, 7);
        space.unmap(0x12000, Bytes(0x2000));
        assert_eq!(kinds(&space), [(0x10000, 0x12000, Kind::Anonymous, 7), (0x14000, 0x18000, Kind::Anonymous, 7)]);
        space.unmap(0, Bytes(u64::MAX));
        assert!(space.mappings.is_empty());
    }

    #[test]
    fn reserved_memory_belongs_to_who_opens_it() {
        let mut space = AddressSpace::default();
        own(&mut space, 0x10000, 0x8000, 7);
        space.protect(0x10000, Bytes(0x8000), Access::None);
        space.map(0x18000, Bytes(0x1000), Kind::Anonymous);
        space.protect(0x12000, Bytes(0x2000), Access::OpenedBy(NodeId::new(8)));
        // What is open already stays its opener's, and memory without an owner stays so.
        space.protect(0x13000, Bytes(0x6000), Access::OpenedBy(NodeId::new(9)));
        let expected = [
            (0x10000, 0x12000, Kind::Anonymous, 7),
            (0x12000, 0x13000, Kind::Anonymous, 8),
            (0x13000, 0x14000, Kind::Anonymous, 8),
            (0x14000, 0x18000, Kind::Anonymous, 9),
            (0x18000, 0x19000, Kind::Anonymous, 0),
        ];
        assert_eq!(kinds(&space), expected);
        space.protect(0x12000, Bytes(0x1000), Access::None);
        space.protect(0x12000, Bytes(0x1000), Access::OpenedBy(NodeId::new(3)));
        assert_eq!(space.find(0x12800).unwrap().1.node, NodeId::new(3));
    }

    #[test]
    fn what_another_thread_got_at_once_stays() {
        let mut space = AddressSpace::default();
        // One thread's munmap lasts from 100 to 300; at 200, another one has the second half of the memory.
        space.owned(0x10000, Bytes(0x8000), NodeId::new(7), Kind::Anonymous, Ticks(50));
        space.owned(0x14000, Bytes(0x8000), NodeId::new(8), Kind::Anonymous, Ticks(200));
        space.given_back(0x10000, Bytes(0x8000), Ticks(100));
        let kept = [(0x14000, 0x18000, Kind::Anonymous, 8), (0x18000, 0x1c000, Kind::Anonymous, 8)];
        assert_eq!(kinds(&space), kept);
        space.given_back(0x16000, Bytes(0x2000), Ticks(150));
        assert_eq!(space.find(0x17000).unwrap().1.node, NodeId::new(8));
        space.given_back(0x14000, Bytes(0x8000), Ticks(400));
        assert!(space.mappings.is_empty());
    }

    #[test]
    fn joined_anonymous_memory_keeps_the_owners_of_its_parts() {
        let mut space = AddressSpace::default();
        own(&mut space, 0x12000, 0x1000, 7);
        // A new mapping touches it, so the kernel tells of one that spans both.
        space.map(0x10000, Bytes(0x8000), Kind::Anonymous);
        assert_eq!(
            kinds(&space),
            [
                (0x10000, 0x12000, Kind::Anonymous, 0),
                (0x12000, 0x13000, Kind::Anonymous, 7),
                (0x13000, 0x18000, Kind::Anonymous, 0)
            ]
        );
        assert_eq!(space.find(0x12fff).unwrap().1.node, NodeId::new(7));
        assert!(space.find(0x18000).is_none());
    }

    #[test]
    fn a_heap_that_grows_stays_one_mapping() {
        let mut space = AddressSpace::default();
        for grown in 1..=1000 {
            space.map(0x10000, Bytes(grown * 0x1000), Kind::Anonymous);
        }
        assert_eq!(kinds(&space), [(0x10000, 0x10000 + 1000 * 0x1000, Kind::Anonymous, 0)]);
        // Beside a mapping with an owner, and where huge pages were asked for, it ends.
        own(&mut space, 0x12000, 0x1000, 7);
        space.advise(0x13000, Pages::Huge);
        space.map(0x10000, Bytes(1001 * 0x1000), Kind::Anonymous);
        assert_eq!(space.mappings.len(), 4);
    }

    #[test]
    fn data_behind_a_file_belong_to_the_program() {
        let mut space = AddressSpace::default();
        space.map(0x10000, Bytes(0x2000), Kind::File);
        space.map(0x12000, Bytes(0x1000), Kind::Anonymous);
        space.map(0x20000, Bytes(0x1000), Kind::Anonymous);
        assert_eq!(space.find(0x12800).unwrap().1.kind, Kind::Globals);
        assert_eq!(space.find(0x20000).unwrap().1.kind, Kind::Anonymous);
        // What follows them directly is told together with them, and is something else.
        own(&mut space, 0x13000, 0x1000, 7);
        space.map(0x12000, Bytes(0x3000), Kind::Anonymous);
        let expected = [
            (0x10000, 0x12000, Kind::File, 0),
            (0x12000, 0x13000, Kind::Globals, 0),
            (0x13000, 0x14000, Kind::Anonymous, 7),
            (0x14000, 0x15000, Kind::Anonymous, 0),
            (0x20000, 0x21000, Kind::Anonymous, 0),
        ];
        assert_eq!(kinds(&space), expected);
    }

    const HUGE: u64 = HUGE_PAGE.0;

    #[test]
    fn a_huge_page_lies_in_one_mapping_as_a_whole() {
        let mut space = AddressSpace::default();
        own(&mut space, HUGE - 0x1000, 2 * HUGE, 1);
        assert!(!space.may_be_huge(HUGE, false));
        space.advise(HUGE, Pages::Huge);
        assert!(space.may_be_huge(HUGE + 5, false));
        assert!(!space.may_be_huge(HUGE - 1, false));
        assert!(!space.may_be_huge(2 * HUGE, true));
    }
    #[derive(Clone, Copy, Debug)]
    enum Change {
        Map(Kind),
        Owned(u32),
        GivenBack,
        Unmap,
        Protect,
        IsStack,
    }

    const PAGE: u64 = 0x1000;

    fn changes() -> impl Strategy<Value = (u64, Bytes, Change)> {
        let kinds = [Kind::Anonymous, Kind::Loader, Kind::File, Kind::Globals].map(Change::Map);
        let others = [Change::GivenBack, Change::Unmap, Change::Protect, Change::IsStack];
        let change = prop_oneof![
            4 => Just(Change::Map(Kind::Anonymous)),
            2 => proptest::sample::select(kinds.to_vec()),
            3 => (1..4u32).prop_map(Change::Owned),
            1 => proptest::sample::select(others.to_vec()),
        ];
        // Many changes begin where others do. All lie at pages, as the kernel's do.
        let start = prop_oneof![Just(4), 0..30u64].prop_map(|page| page * PAGE);
        (start, (1..12u64).prop_map(|pages| Bytes(pages * PAGE)), change)
    }

    proptest! {
        #[test]
        fn what_the_kernel_told_before_changes_nothing(changes in proptest::collection::vec(changes(), 1..40)) {
            let (mut space, mut plain) = (AddressSpace::default(), AddressSpace::default());
            for (number, (start, length, change)) in changes.into_iter().enumerate() {
                plain.told = RangeMap::new();
                for space in [&mut space, &mut plain] {
                    let at = Ticks(number as u64);
                    match change {
                        Change::Map(kind) => space.map(start, length, kind),
                        Change::Owned(node) => space.owned(start, length, NodeId::new(node), Kind::Anonymous, at),
                        Change::GivenBack => space.given_back(start, length, at),
                        Change::Unmap => space.unmap(start, length),
                        Change::Protect => space.protect(start, length, Access::None),
                        Change::IsStack => space.is_stack(start),
                    }
                }
                let known = |space: &AddressSpace, page| space.find(page * PAGE).map(|(_, mapping)| Mapping { end: 0, ..*mapping });
                for page in 0..64 {
                    prop_assert_eq!(known(&space, page), known(&plain, page), "page {}", page);
                }
            }
        }
    }
}
