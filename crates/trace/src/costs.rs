//! What memory costs beside the calls themselves: page faults, work on mappings, waiting. Each cost is charged to the
//! call site of the block or mapping that caused it, and remembers where it was paid.
//!
//! The payload of a costs block is one zstd frame: the number of costs, then one column of varints for each field, in
//! the order of [`Cost`]; times as differences (zigzag).

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::{Bytes, NodeId, ThreadNo, Units};
use crate::metrics::Metrics;

/// Costs of one block at the most.
pub const MAX_COSTS: usize = 1 << 16;
/// Bytes of a field at the most.
const MAX_FIELD: usize = 10;
const FIELDS: usize = 9;

/// What was paid for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum CostKind {
    /// Minor faults of pages of a block or mapping; amount: faults.
    Fault,
    /// Minor faults of huge pages (2 MiB) of a block or mapping; amount: faults.
    HugeFault,
    /// Major faults of pages of a block or mapping: they were read from a disk; amount: faults.
    MajorFault,
    /// Time in a call for mappings, or the share of an allocator call that went into mappings; amount: units.
    Mapping,
    /// Time inside an allocator call in which the thread slept, and another thread was in the allocator when it fell asleep;
    /// amount: units.
    Waiting,
    /// Time inside an allocator call in which other threads had taken the processor away; amount: units.
    Preempted,
    /// Time inside an allocator call in which the thread waited for another one with the processor busy; amount: units.
    Spinning,
    /// Time without the processor outside of allocator calls; amount: units. Charged to no stack.
    OffProcessor,
    /// The heap grew inside an allocator call (by brk or mmap); amount: bytes.
    Grown,
    /// The heap shrank inside an allocator call (by brk or munmap); amount: bytes.
    Shrunk,
    /// Faults of pages of files that no call of the program mapped: code and constants of programs and libraries; amount:
    /// faults.
    FileFault,
    /// Faults of stacks, with the thread-local storage that lies there; amount: faults.
    StackFault,
    /// Faults of the recorder's own memory and code; amount: faults.
    RecorderFault,
    /// Faults of memory that no known block or mapping owned, and of which nothing else is known; amount: faults.
    UnownedFault,
    /// Minor faults of pages of a file that a call of the program mapped; amount: faults. Charged to that call.
    MappedFileFault,
    /// Time without the processor inside a major fault, outside of allocator calls; amount: units.
    Reading,
    /// Time inside an allocator call in which the thread slept, and no other thread was in the allocator: it was stopped or
    /// throttled, or waited for the kernel, as for a page from a disk; amount: units.
    Halted,
    /// Faults of the global variables of programs and libraries, zero-initialised ones too; amount: faults.
    GlobalFault,
    /// Faults of anonymous memory from before the program's first instruction: the loader's lists, the first thread's
    /// thread-local storage; amount: faults.
    LoaderFault,
    /// Faults of shared memory that no call of the program is known to have mapped (`shmat`); amount: faults.
    SharedFault,
    /// Time in which the release of another site's block gave back pages of the heap that this site had brought; amount: units.
    GivenBack,
    /// The same time, at the site of the released block: other sites pay it, so it is not the allocator's work there; amount: units.
    GivingBack,
}

const KINDS: [CostKind; 22] = [
    CostKind::Fault,
    CostKind::HugeFault,
    CostKind::MajorFault,
    CostKind::Mapping,
    CostKind::Waiting,
    CostKind::Preempted,
    CostKind::Spinning,
    CostKind::OffProcessor,
    CostKind::Grown,
    CostKind::Shrunk,
    CostKind::FileFault,
    CostKind::StackFault,
    CostKind::RecorderFault,
    CostKind::UnownedFault,
    CostKind::MappedFileFault,
    CostKind::Reading,
    CostKind::Halted,
    CostKind::GlobalFault,
    CostKind::LoaderFault,
    CostKind::SharedFault,
    CostKind::GivenBack,
    CostKind::GivingBack,
];

impl CostKind {
    /// The number in the file.
    pub fn number(self) -> u8 {
        KINDS.iter().position(|kind| *kind == self).map_or(0, |at| at as u8)
    }

    /// Whether the amount is a number of faults.
    pub fn is_fault(self) -> bool {
        use CostKind::*;
        matches!(
            self,
            Fault
                | HugeFault
                | MajorFault
                | FileFault
                | StackFault
                | RecorderFault
                | UnownedFault
                | MappedFileFault
                | GlobalFault
                | LoaderFault
                | SharedFault
        )
    }

    /// Whether the amount is a time, which ends when the cost is paid.
    pub fn is_time(self) -> bool {
        use CostKind::*;
        matches!(
            self,
            Mapping | Waiting | Preempted | Spinning | OffProcessor | Reading | Halted | GivenBack | GivingBack
        )
    }

    /// Whose faults these are, if they are charged to no call site.
    pub fn uncharged(self) -> Option<Uncharged> {
        Some(match self {
            CostKind::FileFault => Uncharged::Files,
            CostKind::GlobalFault => Uncharged::Globals,
            CostKind::StackFault => Uncharged::Stacks,
            CostKind::LoaderFault => Uncharged::Loader,
            CostKind::SharedFault => Uncharged::Shared,
            CostKind::RecorderFault => Uncharged::Recorder,
            CostKind::UnownedFault => Uncharged::Unowned,
            _ => return None,
        })
    }
}

/// Memory whose faults are charged to no call site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncharged {
    /// Code and constants.
    Files,
    /// Global variables.
    Globals,
    /// Stacks.
    Stacks,
    /// The loader's.
    Loader,
    /// Shared memory.
    Shared,
    /// The recorder's.
    Recorder,
    /// Any other.
    Unowned,
}

impl Uncharged {
    /// How many there are.
    pub const COUNT: usize = Uncharged::Unowned as usize + 1;
}

/// One cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// When it was paid (for a span: its end).
    pub time: Units,
    /// What for.
    pub kind: CostKind,
    /// Where it was paid inside a call of an allocation function, whose duration contains it: when that call counts (see
    /// [`crate::event::Event::time`]).
    pub inside: Option<Units>,
    /// The thread that paid, if that is known.
    pub thread: Option<ThreadNo>,
    /// How much; see [`CostKind`].
    pub amount: u64,
    /// The stack to which it is charged: of the block's allocation, or of the mapping; `None`: none.
    pub node: Option<NodeId>,
    /// Size of the block; 0: no block.
    pub size: Bytes,
    /// Where it was paid.
    pub place: Place,
    /// For waiting: the thread that was in the allocator meanwhile, if one is known.
    pub holder: Option<ThreadNo>,
}

impl Cost {
    /// One outside of calls, which nothing is charged with.
    pub fn of(kind: CostKind, time: Units, amount: u64) -> Cost {
        Cost {
            time,
            kind,
            inside: None,
            thread: None,
            amount,
            node: None,
            size: Bytes::ZERO,
            place: Place::Unknown,
            holder: None,
        }
    }

    /// When it counts, with its call.
    pub fn counts_at(&self) -> Units {
        self.inside.unwrap_or(self.time)
    }

    /// When it began.
    pub fn began(&self) -> Units {
        self.time.saturating_sub(Units(if self.kind.is_time() { self.amount } else { 0 }))
    }

    /// The first and the last time that it is about.
    pub fn times(&self) -> (Units, Units) {
        let counts_at = self.counts_at();
        (self.began().min(counts_at), self.time.max(counts_at))
    }

    /// Whether it is paid with its call between two times, both included.
    fn counts_between(&self, from: Units, to: Units) -> bool {
        (from..=to).contains(&self.counts_at())
    }

    /// How much of it is paid between two times, both included: a time while it lasts, all else with the call.
    pub fn amount_between(&self, from: Units, to: Units) -> u64 {
        match self.kind.is_time() {
            true => {
                let end = Units(to.0.saturating_add(1));
                let (before, behind) = (from.saturating_sub(self.began()), self.time.saturating_sub(end));
                self.amount.saturating_sub(before.0.saturating_add(behind.0))
            }
            false if self.counts_between(from, to) => self.amount,
            false => 0,
        }
    }

    /// The part of it that is paid between two times, both included.
    pub fn part_between(&self, from: Units, to: Units) -> Option<Cost> {
        let amount = self.amount_between(from, to);
        let time = if self.kind.is_time() { self.time.min(Units(to.0.saturating_add(1))) } else { self.time };
        (amount > 0).then_some(Cost { time, amount, ..*self })
    }

    /// Whether any of it counts between two times, both included.
    pub fn meets(&self, from: Units, to: Units) -> bool {
        self.counts_between(from, to) || self.amount_between(from, to) > 0
    }

    /// Adds what is paid of it between two times, both included, to what the site counts that is charged with it. What lasts inside a
    /// call is a part of the call that counts while it lasts, too. Numbers of a damaged file may be beyond all sums.
    pub fn add_to(&self, from: Units, to: Units, counts: &mut Metrics) {
        let paid = self.amount_between(from, to);
        let counted = if self.counts_between(from, to) { self.amount } else { 0 };
        let (sum, inside) = match self.kind {
            CostKind::Fault => (&mut counts.small_faults, Some(&mut counts.small_faults_inside)),
            CostKind::HugeFault => (&mut counts.huge_faults, Some(&mut counts.huge_faults_inside)),
            CostKind::MajorFault => (&mut counts.major_faults, None),
            CostKind::MappedFileFault => (&mut counts.file_faults, None),
            CostKind::Reading => (&mut counts.reading_time.0, None),
            CostKind::Grown => (&mut counts.grown_bytes.0, None),
            CostKind::Mapping => (&mut counts.mapping_time.0, Some(&mut counts.mapping_inside.0)),
            CostKind::GivenBack => (&mut counts.mapping_time.0, None),
            CostKind::GivingBack => (&mut counts.mapping_inside.0, None),
            CostKind::Waiting | CostKind::Spinning => (&mut counts.waiting_time.0, None),
            // Not the allocator's doing, but part of the time in its calls.
            CostKind::Preempted | CostKind::Halted => (&mut counts.preempted_time.0, None),
            _ => return,
        };
        *sum = sum.wrapping_add(paid);
        if let Some(inside) = inside.filter(|_| self.inside.is_some()) {
            *inside = inside.wrapping_add(paid);
        }
        // Events say only whether the call counts here. Of what was given back, another site's call has the time.
        if self.inside.is_some() && self.kind.is_time() && self.kind != CostKind::GivenBack {
            counts.allocator_time.0 = counts.allocator_time.0.wrapping_add(paid.wrapping_sub(counted));
        }
        if counted > 0 {
            counts.grown_calls += u64::from(self.kind == CostKind::Grown);
            counts.samples_inside += u64::from(self.kind == CostKind::Fault && self.inside.is_some());
        }
    }
}

/// Who is charged for a cost.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Charge {
    /// The call site that allocated the block or made the mapping.
    #[default]
    Allocation,
    /// The place where it was paid: the call itself, or the code that touched a page.
    Payment,
}

impl Charge {
    /// How many there are.
    pub const COUNT: usize = Charge::Payment as usize + 1;
}

/// Where a cost was paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Unknown.
    Unknown,
    /// In a hooked call with this stack.
    Call(NodeId),
    /// By the code at this index of the image's list of code addresses.
    Code(u32),
}

impl Place {
    /// Of a call with a stack, if it has one.
    pub fn call(node: Option<NodeId>) -> Place {
        node.map_or(Place::Unknown, Place::Call)
    }

    /// As it stands in the file.
    fn packed(self) -> u64 {
        match self {
            Place::Unknown => 0,
            Place::Call(node) => u64::from(node.get()) << 1,
            Place::Code(index) => u64::from(index) << 1 | 1,
        }
    }

    fn unpacked(packed: u64) -> Result<Place, Damage> {
        let number = small(packed >> 1)?;
        Ok(if packed & 1 != 0 { Place::Code(number) } else { Place::call(NodeId::new(number)) })
    }
}

fn small(value: u64) -> Result<u32, Damage> {
    u32::try_from(value).map_err(|_| Damage::Value("a number beyond its range"))
}

impl Cost {
    fn fields(&self) -> [u64; FIELDS] {
        [
            self.time.0,
            u64::from(self.kind.number()),
            self.inside.map_or(0, |at| zigzag(at.wrapping_sub(self.time).0 as i64).wrapping_add(1)),
            u64::from(ThreadNo::or_zero(self.thread)),
            self.amount,
            u64::from(NodeId::or_zero(self.node)),
            self.size.0,
            self.place.packed(),
            u64::from(ThreadNo::or_zero(self.holder)),
        ]
    }

    fn of_fields(fields: [u64; FIELDS]) -> Result<Cost, Damage> {
        let [time, kind, inside, thread, amount, node, size, place, holder] = fields;
        let kind = KINDS.get(kind as usize).ok_or(Damage::Value("an unknown kind of cost"))?;
        Ok(Cost {
            time: Units(time),
            kind: *kind,
            inside: inside.checked_sub(1).map(|apart| Units(time.wrapping_add(unzigzag(apart) as u64))),
            thread: ThreadNo::new(small(thread)?),
            amount,
            node: NodeId::new(small(node)?),
            size: Bytes(size),
            place: Place::unpacked(place)?,
            holder: ThreadNo::new(small(holder)?),
        })
    }
}

/// Packs costs, at most [`MAX_COSTS`].
pub fn encode(costs: &[Cost]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(costs.len() * 12);
    put_varint(&mut plain, costs.len() as u64);
    let mut before = 0u64;
    for cost in costs {
        put_varint(&mut plain, zigzag(cost.time.wrapping_sub(Units(before)).0 as i64));
        before = cost.time.0;
    }
    for field in 1..FIELDS {
        for cost in costs {
            put_varint(&mut plain, cost.fields()[field]);
        }
    }
    crate::compress(&plain)
}

/// The costs of a payload.
pub fn decode(payload: &[u8]) -> Result<Vec<Cost>, Damage> {
    let plain = crate::decompress(payload, MAX_COSTS * MAX_FIELD * FIELDS)?;
    let mut bytes = Unread::new(&plain);
    let count = bytes.varint()? as usize;
    if count > MAX_COSTS || count * FIELDS > bytes.remaining() {
        return Err(Damage::Value("more costs than the block can hold"));
    }
    let mut rows = vec![[0u64; FIELDS]; count];
    let mut before = 0u64;
    for row in &mut rows {
        before = before.wrapping_add(unzigzag(bytes.varint()?) as u64);
        row[0] = before;
    }
    for field in 1..FIELDS {
        for row in &mut rows {
            row[field] = bytes.varint()?;
        }
    }
    rows.into_iter().map(Cost::of_fields).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_cost() -> impl Strategy<Value = Cost> {
        let numbers = (any::<u64>(), 0..KINDS.len(), proptest::option::of(any::<u32>()), any::<u32>(), any::<u64>());
        let place = prop_oneof![
            any::<u32>().prop_map(|node| Place::call(NodeId::new(node))),
            any::<u32>().prop_map(Place::Code)
        ];
        let places = (any::<u32>(), any::<u64>(), place, any::<u32>());
        (numbers, places).prop_map(|((time, kind, inside, thread, amount), (node, size, place, holder))| Cost {
            time: Units(time),
            kind: KINDS[kind],
            inside: inside.map(|apart| Units(time.wrapping_sub(u64::from(apart)))),
            thread: ThreadNo::new(thread),
            amount,
            node: NodeId::new(node),
            size: Bytes(size),
            place,
            holder: ThreadNo::new(holder),
        })
    }

    proptest! {
        #[test]
        fn costs_come_back(costs in proptest::collection::vec(any_cost(), 0..200)) {
            prop_assert_eq!(decode(&encode(&costs)).unwrap(), costs);
        }

        /// However time is cut, the parts have the whole, and each has no more of a wait than it lasts.
        #[test]
        fn parts_of_time_add_up_to_the_whole(
            cost in any_cost(), times in (1u64..100, 0u64..20, 0u64..40),
            cuts in proptest::collection::btree_set(1u64..120, 0..6),
        ) {
            let (time, apart, amount) = times;
            let amount = amount.min(time);
            let inside = cost.inside.map(|_| Units(time.saturating_sub(apart)));
            let cost = Cost { time: Units(time), inside, amount, ..cost };
            let mut whole = Metrics::default();
            cost.add_to(Units::ZERO, Units::MAX, &mut whole);
            prop_assert_eq!(whole.allocator_time, Units::ZERO);
            let (mut sum, mut last) = (Metrics::default(), 0);
            for cut in cuts.into_iter().chain([u64::MAX]) {
                let (from, to) = (Units(last), Units(if cut == u64::MAX { cut } else { cut - 1 }));
                let mut part = Metrics::default();
                cost.add_to(from, to, &mut part);
                prop_assert!(part == Metrics::default() || cost.meets(from, to));
                prop_assert_eq!(cost.part_between(from, to).map_or(0, |part| part.amount), cost.amount_between(from, to));
                prop_assert!(part.waiting_time.0 <= cut - last);
                sum.add(&part);
                last = cut;
            }
            prop_assert_eq!(sum, whole);
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = decode(&crate::compress(&bytes));
        }
    }

    #[test]
    fn places_come_back() {
        for place in [Place::Unknown, Place::call(NodeId::new(9)), Place::Code(0), Place::Code(u32::MAX)] {
            assert_eq!(Place::unpacked(place.packed()), Ok(place));
        }
        assert!(Place::unpacked(1 << 33).is_err());
    }
}
