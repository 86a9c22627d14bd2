//! What memory costs beside the calls themselves: page faults, work on mappings, waiting. Each cost is charged to the
//! call site of the block or mapping that caused it, and remembers where it was paid.
//!
//! The payload of a costs block is one zstd frame: the number of costs, then one column of varints for each field, in
//! the order of [`Cost`]; times as differences (zigzag).

use crate::Damage;
use crate::bytes::{Bytes, put_varint, unzigzag, zigzag};

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
    /// Time inside an allocator call in which the thread slept; amount: units.
    Waiting,
    /// Time inside an allocator call in which other threads had taken the processor away; amount: units.
    Preempted,
    /// Time inside an allocator call in which the thread waited for another one with the processor busy; amount: units.
    Spinning,
    /// Time without the processor outside of allocator calls; amount: units. Charged to nobody.
    OffProcessor,
    /// The heap grew inside an allocator call (by brk or mmap); amount: bytes.
    Grown,
    /// The heap shrank inside an allocator call (by brk or munmap); amount: bytes.
    Shrunk,
    /// Faults that no block or mapping caused: pages of files, code and program data; amount: faults.
    FileFault,
    /// Faults of stacks; amount: faults.
    StackFault,
    /// Faults of the recorder's own memory and code; amount: faults.
    RecorderFault,
    /// Faults of anonymous memory that no known block or mapping owned; amount: faults.
    UnownedFault,
    /// Minor faults of pages of a file that a call of the program mapped; amount: faults. Charged to that call.
    MappedFileFault,
    /// Time without the processor inside a major fault, outside of allocator calls; amount: units.
    Reading,
}

const KINDS: [CostKind; 16] = [
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
            Fault | HugeFault | MajorFault | FileFault | StackFault | RecorderFault | UnownedFault | MappedFileFault
        )
    }
}

/// One cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost {
    /// When it was paid (for a span: its end), units.
    pub time: u64,
    /// What for.
    pub kind: CostKind,
    /// Whether it was paid inside a call of an allocation function, whose duration contains it.
    pub inside: bool,
    /// The thread that paid.
    pub thread: u32,
    /// How much; see [`CostKind`].
    pub amount: u64,
    /// The stack node to which it is charged: of the block's allocation, or of the mapping; 0: nobody.
    pub node: u32,
    /// Size of the block, bytes; 0: no block.
    pub size: u64,
    /// Where it was paid: 2 × the stack node of the call, or 2 × the index of a code address (see [`Place`]) + 1; 0: not
    /// known.
    pub place: u64,
    /// For waiting: the thread that was in the allocator meanwhile; 0: nobody known.
    pub holder: u32,
}

/// Where a cost was paid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Nobody knows.
    Unknown,
    /// In a hooked call with this stack.
    Call(u32),
    /// By the code at this index of the image's list of code addresses.
    Code(u32),
}

impl Place {
    /// As it stands in the file.
    pub fn packed(self) -> u64 {
        match self {
            Place::Unknown => 0,
            Place::Call(node) => u64::from(node) << 1,
            Place::Code(index) => u64::from(index) << 1 | 1,
        }
    }
}

impl Cost {
    /// Where it was paid.
    pub fn place(&self) -> Place {
        match (self.place & 1, (self.place >> 1) as u32) {
            (0, 0) => Place::Unknown,
            (0, node) => Place::Call(node),
            (_, index) => Place::Code(index),
        }
    }

    fn fields(&self) -> [u64; FIELDS] {
        [
            self.time,
            u64::from(self.kind.number()),
            u64::from(self.inside),
            u64::from(self.thread),
            self.amount,
            u64::from(self.node),
            self.size,
            self.place,
            u64::from(self.holder),
        ]
    }

    fn of_fields(fields: [u64; FIELDS]) -> Result<Cost, Damage> {
        let [time, kind, inside, thread, amount, node, size, place, holder] = fields;
        let small = |value: u64| u32::try_from(value).map_err(|_| Damage::Value("a number beyond its range"));
        let kind = KINDS.get(kind as usize).ok_or(Damage::Value("an unknown kind of cost"))?;
        Ok(Cost {
            time,
            kind: *kind,
            inside: inside != 0,
            thread: small(thread)?,
            amount,
            node: small(node)?,
            size,
            place,
            holder: small(holder)?,
        })
    }
}

/// Packs costs, at most [`MAX_COSTS`].
pub fn encode(costs: &[Cost]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(costs.len() * 12);
    put_varint(&mut plain, costs.len() as u64);
    let mut before = 0u64;
    for cost in costs {
        put_varint(&mut plain, zigzag(cost.time.wrapping_sub(before) as i64));
        before = cost.time;
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
    let mut bytes = Bytes::new(&plain);
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
        let numbers = (any::<u64>(), 0..KINDS.len(), any::<bool>(), any::<u32>(), any::<u64>());
        let places = (any::<u32>(), any::<u64>(), any::<u64>(), any::<u32>());
        (numbers, places).prop_map(|((time, kind, inside, thread, amount), (node, size, place, holder))| Cost {
            time,
            kind: KINDS[kind],
            inside,
            thread,
            amount,
            node,
            size,
            place,
            holder,
        })
    }

    proptest! {
        #[test]
        fn costs_come_back(costs in proptest::collection::vec(any_cost(), 0..200)) {
            prop_assert_eq!(decode(&encode(&costs)).unwrap(), costs);
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let _ = decode(&crate::compress(&bytes));
        }
    }

    #[test]
    fn places_come_back() {
        let mut cost = Cost {
            time: 0,
            kind: CostKind::Fault,
            inside: false,
            thread: 1,
            amount: 1,
            node: 9,
            size: 64,
            place: 0,
            holder: 0,
        };
        for place in [Place::Unknown, Place::Call(9), Place::Code(0), Place::Code(u32::MAX)] {
            cost.place = place.packed();
            assert_eq!(cost.place(), place);
        }
    }
}
