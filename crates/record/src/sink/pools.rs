//! What the program says of its own allocators (`memtoll.h`): which memory is handed out in parts, and which parts are.
//!
//! ```text
//! heap block   |-----------------------------------------------|
//! pool            [ chunk                                    ]      level 1, lent by the heap block
//! blocks           |aaaa|   |bbbbbbbbbbbbbbbbbbbbb|  |c|
//! pool                         [ chunk         ]                    level 2, lent by block b
//! blocks                        |dd|  |eeeee|
//! ```
//!
//! Pools contain each other or are apart; blocks of one pool never overlap. What is said later holds: whatever it
//! overlaps, and does not nest in, is over.

use super::live_blocks::NumberedBlock;
use memtoll_trace::ids::NodeId;
use memtoll_trace::meta::Pool as About;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::ops::Range;

/// Names are numbers in events; when there are no more, this one is for all others.
const LAST_NAME: u16 = u16::MAX;

/// A block that is handed out.
#[derive(Clone, Copy)]
pub struct Handed {
    /// Where it begins.
    pub address: u64,
    pub kept: NumberedBlock,
    name: u16,
}

impl Handed {
    /// Empty blocks have an address of their own, too.
    fn range(&self) -> Range<u64> {
        range(self.address, self.kept.block.size().0)
    }
}

/// A block of the heap or of a pool that a pool lies in.
#[derive(Clone, Copy)]
pub struct Lender {
    start: u64,
    end: u64,
    pub kept: NumberedBlock,
}

impl Lender {
    pub fn new(start: u64, kept: NumberedBlock) -> Lender {
        Lender { start, end: start.saturating_add(kept.block.size().0), kept }
    }

    fn holds(&self, range: &Range<u64>) -> bool {
        self.start <= range.start && range.end <= self.end
    }
}

/// Where a pool begins and how deep it is nested, from 1: at one address, several may begin.
type Key = (u64, u32);

struct Pool {
    end: u64,
    parent: Option<Key>,
    name: u16,
    lender: Option<Lender>,
    blocks: Blocks,
}

/// Blocks that do not overlap, by address.
#[derive(Default)]
struct Blocks(BTreeMap<u64, Handed>);

impl Blocks {
    fn at(&self, address: u64) -> Option<Handed> {
        let (_, block) = self.0.range(..=address).next_back()?;
        block.range().contains(&address).then_some(*block)
    }

    fn holding(&self, range: &Range<u64>) -> Option<Handed> {
        self.at(range.start).filter(|block| range.end <= block.range().end)
    }

    fn overlapping(&self, range: &Range<u64>) -> Vec<Handed> {
        let before = self.at(range.start).filter(|block| block.address < range.start);
        before.into_iter().chain(self.0.range(range.clone()).map(|(_, block)| *block)).collect()
    }
}

/// Sums of the pools with one name.
#[derive(Default)]
struct Sums {
    about: About,
    nodes: FxHashSet<NodeId>,
    chunk_bytes: u64,
    live_bytes: u64,
}

/// The pools of a process image, and the blocks that it said are handed out.
pub struct Pools {
    pools: BTreeMap<Key, Pool>,
    /// Blocks that lie in no pool.
    outside: Blocks,
    /// By the number of the name; 0: no pool.
    sums: Vec<Sums>,
    by_name: FxHashMap<String, u16>,
}

/// Where a block is about to be handed out.
pub struct Place {
    /// Who lends its bytes.
    pub lender: Option<Lender>,
    /// The number of the pool's name; 0: no pool.
    pub name: u16,
}

impl Pools {
    pub fn new() -> Pools {
        Pools {
            pools: BTreeMap::new(),
            outside: Blocks::default(),
            sums: vec![Sums::default()],
            by_name: FxHashMap::default(),
        }
    }

    /// Whether nothing is handed out, nor can be from a pool.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty() && self.outside.0.is_empty()
    }

    /// The innermost pool that holds `address`.
    fn find(&self, address: u64) -> Option<Key> {
        let mut at = self.pools.range(..=(address, u32::MAX)).next_back().map(|(key, _)| *key);
        while let Some(key) = at
            && let Some(pool) = self.pools.get(&key)
            && address >= pool.end
        {
            at = pool.parent;
        }
        at
    }

    /// The pool around a pool.
    fn parent(&self, key: Key) -> Option<Key> {
        self.pools.get(&key)?.parent
    }

    fn blocks(&self, key: Option<Key>) -> &Blocks {
        key.and_then(|key| self.pools.get(&key)).map_or(&self.outside, |pool| &pool.blocks)
    }

    fn blocks_mut(&mut self, key: Option<Key>) -> &mut Blocks {
        match key.and_then(|key| self.pools.get_mut(&key)) {
            Some(pool) => &mut pool.blocks,
            None => &mut self.outside,
        }
    }

    /// The innermost block that holds `address`.
    pub fn at(&self, address: u64) -> Option<Handed> {
        let mut pool = self.find(address);
        loop {
            if let Some(block) = self.blocks(pool).at(address) {
                return Some(block);
            }
            pool = self.parent(pool?);
        }
    }

    /// A pool begins. `heap` is the block of the heap that holds its first address. Returns blocks that are thereby
    /// released, inner ones first.
    pub fn begin(&mut self, name: &str, chunk: u64, bytes: u64, heap: Option<Lender>) -> Vec<Handed> {
        let range = range(chunk, bytes);
        let mut parent = self.find(chunk);
        while let Some(key) = parent
            && self.pools.get(&key).is_some_and(|pool| pool.end < range.end)
        {
            parent = self.parent(key);
        }
        let mut holder = self.blocks(parent).holding(&range);
        let is_same = |key: &Key| key.0 == chunk && self.pools.get(key).is_some_and(|pool| pool.end == range.end);
        let mut gone = Vec::new();
        if let Some(key) = parent.filter(is_same)
            && holder.is_none()
        {
            // It begins again.
            parent = self.parent(key);
            self.end_pool(key, &mut gone);
            holder = self.blocks(parent).holding(&range);
        }
        let level = parent.map_or(1, |key| key.1 + 1);
        self.end_pools_in(&range, level, &mut gone);
        if holder.is_none() {
            self.release_overlapping(parent, &range, &mut gone);
        }
        let around = parent.and_then(|key| self.pools.get(&key)).map(|pool| pool.lender);
        let lender = match (holder, around) {
            (Some(block), _) => Some(Lender::new(block.address, block.kept)),
            (None, Some(lender)) => lender,
            (None, None) => heap,
        };
        let lender = lender.filter(|lender| lender.holds(&range));
        let name = self.name(name);
        let pool = Pool { end: range.end, parent, name, lender, blocks: Blocks::default() };
        self.pools.insert((chunk, level), pool);
        self.begins(name, bytes);
        gone
    }

    /// A pool ends. Returns the blocks that were still handed out, inner ones first.
    pub fn end(&mut self, chunk: u64) -> Vec<Handed> {
        let mut gone = Vec::new();
        let innermost = self.pools.range((chunk, 0)..=(chunk, u32::MAX)).next_back().map(|(key, _)| *key);
        if let Some(key) = innermost {
            self.end_pool(key, &mut gone);
        }
        gone
    }

    /// Memory is given back: ends the pools and releases the blocks that lie in it.
    pub fn memory_goes(&mut self, start: u64, bytes: u64) -> Vec<Handed> {
        let memory = range(start, bytes);
        let mut gone = Vec::new();
        let inside = |(key, pool): (&Key, &Pool)| (pool.end <= memory.end).then_some(*key);
        let keys: Vec<Key> = self.pools.range((start, 0)..(memory.end, 0)).filter_map(inside).collect();
        for key in keys {
            self.end_pool(key, &mut gone);
        }
        self.release_overlapping(None, &memory, &mut gone);
        gone
    }

    /// Whether `address` lies in a pool.
    pub fn has_pool(&self, address: u64) -> bool {
        self.find(address).is_some()
    }

    /// Where a block is about to be handed out, and the blocks that are thereby released, inner ones first. `heap` is the
    /// block of the heap around it, which matters where there is no pool.
    pub fn place(&mut self, address: u64, bytes: u64, heap: Option<Lender>) -> (Place, Vec<Handed>) {
        let range = range(address, bytes);
        let pool = self.find(address);
        let mut gone = Vec::new();
        self.release_overlapping(pool, &range, &mut gone);
        self.end_pools_in(&range, pool.map_or(1, |key| key.1 + 1), &mut gone);
        let (lender, name) = match pool.and_then(|key| self.pools.get(&key)) {
            Some(pool) => (pool.lender, pool.name),
            None => (heap, 0),
        };
        (Place { lender: lender.filter(|lender| lender.holds(&range)), name }, gone)
    }

    /// A block is handed out, at a place that was asked for before, by a call with the stack `node`.
    pub fn insert(&mut self, address: u64, kept: NumberedBlock, name: u16, node: Option<NodeId>) {
        let pool = self.find(address);
        self.blocks_mut(pool).0.insert(address, Handed { address, kept, name });
        let Some(sums) = self.sums.get_mut(usize::from(name)) else { return };
        sums.about.blocks += 1;
        sums.about.bytes += kept.block.size().0;
        sums.nodes.extend(node);
        sums.live_bytes += kept.block.size().0;
        if sums.live_bytes > sums.about.peak_bytes {
            sums.about.peak_bytes = sums.live_bytes;
            sums.about.chunk_bytes_at_peak = sums.chunk_bytes;
        }
    }

    /// The block at `address`.
    pub fn get(&self, address: u64) -> Option<Handed> {
        let mut pool = self.find(address);
        loop {
            if let Some(block) = self.blocks(pool).0.get(&address) {
                return Some(*block);
            }
            pool = self.parent(pool?);
        }
    }

    /// The block at `address` is given back. Returns it, behind the blocks that lie in it.
    pub fn take(&mut self, address: u64) -> Vec<Handed> {
        let mut gone = Vec::new();
        let mut pool = self.find(address);
        loop {
            if let Some(block) = self.blocks(pool).0.get(&address).copied() {
                self.release(pool, block, &mut gone);
                return gone;
            }
            let Some(key) = pool else { return gone };
            pool = self.parent(key);
        }
    }

    /// A block was still handed out when its pool ended.
    pub fn dropped(&mut self, block: &Handed) {
        if let Some(sums) = self.sums.get_mut(usize::from(block.name)) {
            sums.about.dropped += 1;
        }
    }

    /// What is known of the pools, by name.
    pub fn about(&self) -> Vec<About> {
        let mut all = Vec::new();
        for (number, sums) in self.sums.iter().enumerate() {
            let mut nodes: Vec<NodeId> = sums.nodes.iter().copied().collect();
            nodes.sort_unstable();
            let about = About { number: number as u16, nodes, ..sums.about.clone() };
            if about.begun > 0 || about.blocks > 0 {
                all.push(about);
            }
        }
        all
    }

    fn release(&mut self, pool: Option<Key>, block: Handed, gone: &mut Vec<Handed>) {
        self.end_pools_in(&block.range(), pool.map_or(1, |key| key.1 + 1), gone);
        self.blocks_mut(pool).0.remove(&block.address);
        if let Some(sums) = self.sums.get_mut(usize::from(block.name)) {
            sums.live_bytes -= block.kept.block.size().0;
        }
        gone.push(block);
    }

    fn release_overlapping(&mut self, pool: Option<Key>, range: &Range<u64>, gone: &mut Vec<Handed>) {
        for block in self.blocks(pool).overlapping(range) {
            self.release(pool, block, gone);
        }
    }

    /// Ends the pools of this and deeper levels that overlap `range`.
    fn end_pools_in(&mut self, range: &Range<u64>, level: u32, gone: &mut Vec<Handed>) {
        let mut before = self.find(range.start);
        while let Some(key) = before.filter(|key| key.1 >= level) {
            before = self.parent(key);
            self.end_pool(key, gone);
        }
        let inside = self.pools.range((range.start, 0)..(range.end, 0)).map(|(key, _)| *key);
        let keys: Vec<Key> = inside.filter(|key| key.1 >= level).collect();
        for key in keys {
            self.end_pool(key, gone);
        }
    }

    /// Ends a pool, if it is still there, and all that are in it.
    fn end_pool(&mut self, key: Key, gone: &mut Vec<Handed>) {
        let Some(pool) = self.pools.get(&key) else { return };
        let mut keys: Vec<Key> = self.pools.range(key..(pool.end, 0)).map(|(key, _)| *key).collect();
        keys.sort_by_key(|key| std::cmp::Reverse(key.1));
        for key in keys {
            let Some(pool) = self.pools.remove(&key) else { continue };
            if let Some(sums) = self.sums.get_mut(usize::from(pool.name)) {
                sums.chunk_bytes -= pool.end - key.0;
                sums.live_bytes -= pool.blocks.0.values().map(|block| block.kept.block.size().0).sum::<u64>();
            }
            gone.extend(pool.blocks.0.into_values());
        }
    }

    fn name(&mut self, name: &str) -> u16 {
        if let Some(&number) = self.by_name.get(name) {
            return number;
        }
        let name = if self.sums.len() < usize::from(LAST_NAME) { name } else { "(other pools)" };
        let number = self.by_name.get(name).copied().unwrap_or(self.sums.len() as u16);
        if usize::from(number) == self.sums.len() {
            let about = About { name: name.to_owned(), ..About::default() };
            self.sums.push(Sums { about, ..Sums::default() });
            self.by_name.insert(name.to_owned(), number);
        }
        number
    }

    fn begins(&mut self, name: u16, bytes: u64) {
        let Some(sums) = self.sums.get_mut(usize::from(name)) else { return };
        sums.about.begun += 1;
        sums.chunk_bytes += bytes.max(1);
        sums.about.most_chunk_bytes = sums.about.most_chunk_bytes.max(sums.chunk_bytes);
    }
}

fn range(start: u64, bytes: u64) -> Range<u64> {
    start..start.saturating_add(bytes.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_tally::{Everything, Tally};
    use memtoll_trace::event::{Block, Event};
    use memtoll_trace::ids::{Address, BlockNo, Bytes, ThreadNo, Units};
    use memtoll_trace::op::Op;

    /// A block of `size` bytes, number `number`.
    fn kept(number: u64, size: u64) -> NumberedBlock {
        let (op, block) = (Op::POOL_ALLOC, Block::Number(BlockNo(number)));
        let (node, thread) = (NodeId::new(9), ThreadNo::FIRST);
        let event = Event {
            time: Units(1),
            duration: Units::ZERO,
            size: Bytes(size),
            address: Address(16),
            block,
            node,
            thread,
            detail: 0,
            op,
        };
        NumberedBlock {
            number: BlockNo(number),
            block: Tally::new(Everything).acquire_pooled(&event).expect("all blocks count"),
        }
    }

    struct Program {
        pools: Pools,
        heap: Option<Lender>,
        next: u64,
    }

    fn numbers(gone: &[Handed]) -> Vec<u64> {
        gone.iter().map(|block| block.kept.number.0).collect()
    }

    impl Program {
        fn begin(&mut self, chunk: u64, bytes: u64) -> Vec<u64> {
            numbers(&self.pools.begin("pool", chunk, bytes, self.heap))
        }

        /// The number of who lends, and of those who are gone.
        fn hand_out(&mut self, address: u64, bytes: u64) -> (Option<u64>, Vec<u64>) {
            self.next += 1;
            let (place, gone) = self.pools.place(address, bytes, self.heap.filter(|_| !self.pools.has_pool(address)));
            self.pools.insert(address, kept(self.next, bytes), place.name, NodeId::new(9));
            (place.lender.map(|lender| lender.kept.number.0), numbers(&gone))
        }

        fn at(&self, address: u64) -> Option<u64> {
            self.pools.at(address).map(|block| block.kept.number.0)
        }
    }

    fn program(heap: Option<(u64, u64)>) -> Program {
        let heap = heap.map(|(start, bytes)| Lender::new(start, kept(100, bytes)));
        Program { pools: Pools::new(), heap, next: 0 }
    }

    #[test]
    fn pools_nest_and_the_innermost_block_owns_an_address() {
        let mut program = program(Some((1000, 1000)));
        assert!(program.pools.is_empty());
        assert!(program.begin(1100, 800).is_empty());
        assert_eq!(program.hand_out(1100, 400), (Some(100), vec![]));
        assert!(program.begin(1100, 400).is_empty(), "all of a block");
        assert_eq!(program.hand_out(1100, 50), (Some(1), vec![]), "where both begin");
        assert_eq!(program.hand_out(1200, 50), (Some(1), vec![]));
        assert_eq!(
            [1099, 1100, 1149, 1150, 1200, 1499, 1500].map(|address| program.at(address)),
            [None, Some(2), Some(2), Some(1), Some(3), Some(1), None]
        );
        assert_eq!(numbers(&program.pools.take(1100)), [2], "the innermost one");
        assert_eq!(numbers(&program.pools.take(1100)), [3, 1], "with what lies in it");
        assert!(program.pools.take(1100).is_empty());
        assert_eq!(program.hand_out(1890, 20), (Some(100), vec![]), "beyond its pool, but in the block around it");
        assert_eq!(numbers(&program.pools.end(1100)), [4]);
        assert!(program.pools.is_empty());
    }

    #[test]
    fn what_is_said_later_holds() {
        let mut program = program(None);
        program.begin(1000, 1000);
        program.hand_out(1000, 100);
        program.hand_out(1100, 100);
        assert_eq!(program.hand_out(1050, 100), (None, vec![1, 2]), "it overlaps both");
        assert_eq!(program.begin(1000, 1000), [3], "begins again");
        program.hand_out(1500, 100);
        assert_eq!(program.begin(1400, 150), [4], "a part of the pool and of the block");
        program.hand_out(1400, 10);
        assert_eq!(program.begin(1300, 200), [5], "overlaps a pool in the same one");
        assert!(program.begin(900, 1200).is_empty(), "and around all");
        assert_eq!(program.pools.pools.len(), 1);
        assert_eq!(program.hand_out(5000, 0), (None, vec![]), "outside, of no bytes");
        assert_eq!((program.at(5000), program.at(5001)), (Some(6), None));
        assert_eq!(numbers(&program.pools.memory_goes(800, 100_000)), [6]);
        assert!(program.pools.is_empty());
        let about = program.pools.about();
        let pool = about.iter().find(|pool| pool.name == "pool").expect("its name");
        assert_eq!((pool.begun, pool.blocks, pool.bytes, pool.peak_bytes), (5, 5, 410, 200));
        assert_eq!((pool.most_chunk_bytes, pool.nodes.as_slice()), (1200, [NodeId::new(9).unwrap()].as_slice()));
    }

    /// Whatever a program says, no byte is owned by two blocks of one level, and nothing is left when all memory goes.
    #[test]
    fn any_order_of_calls_leaves_nothing_behind() {
        let mut random = 1u64;
        let mut next = move |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        for _ in 0..200 {
            let mut program = program(Some((0x1000, 400)));
            let mut live = std::collections::BTreeSet::new();
            for _ in 0..200 {
                let (address, bytes) = (0x1000 + next(500), next(120));
                let mut handed = None;
                let gone = match next(6) {
                    0 => program.begin(address, bytes),
                    1 => numbers(&program.pools.end(address)),
                    2 => numbers(&program.pools.take(address)),
                    3 if next(10) == 0 => numbers(&program.pools.memory_goes(address, bytes)),
                    _ => {
                        let (_, gone) = program.hand_out(address, bytes);
                        handed = Some(program.next);
                        gone
                    }
                };
                for number in gone {
                    assert!(live.remove(&number), "released twice: {number}");
                }
                live.extend(handed);
                let in_pools = program.pools.pools.values().map(|pool| pool.blocks.0.len()).sum::<usize>();
                assert_eq!(in_pools + program.pools.outside.0.len(), live.len());
                for (key, pool) in &program.pools.pools {
                    let parent = pool.parent.map(|parent| (parent, program.pools.pools[&parent].end));
                    assert!(parent.is_none_or(|((start, level), end)| {
                        start <= key.0 && pool.end <= end && level + 1 == key.1
                    }));
                }
            }
            let gone = numbers(&program.pools.memory_goes(0, 1 << 20));
            assert_eq!(gone.len(), live.len());
            assert!(program.pools.is_empty());
        }
    }
}
