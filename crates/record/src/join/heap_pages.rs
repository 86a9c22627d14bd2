//! Whose faults brought the pages of the heap that grows by `brk`: when its end moves down, the code that brought a page
//! pays for giving it back, not the code that frees last.

use super::Owner;
use memtoll_trace::ids::{Bytes, NodeId};
use std::collections::BTreeMap;

/// A fault on a page of the heap.
struct HeapFault {
    by: Owner,
    /// What it stands for: its page, and others whose faults were not seen.
    bytes: Bytes,
}

/// What one call stack brought of what was given back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub node: Option<NodeId>,
    /// Of a block, if one is known.
    pub size: Bytes,
    /// Of the pages that it brought.
    pub bytes: Bytes,
}

/// The pages of the heap, as far as their faults were seen.
#[derive(Default)]
pub struct HeapPages {
    /// Where the heap lies: from where it first grew to its end now.
    start: u64,
    end: u64,
    brought: BTreeMap<u64, HeapFault>,
}

impl HeapPages {
    /// A fault brought the page at `page`, or made it anew.
    pub fn touched(&mut self, page: u64, by: Owner, bytes: Bytes) {
        if (self.start..self.end).contains(&page) {
            self.brought.insert(page, HeapFault { by, bytes });
        }
    }

    /// The end of the heap moves. Returns who brought what is given back, if it moves down.
    pub fn end_moves(&mut self, from: u64, to: u64) -> Vec<Share> {
        if self.end == 0 {
            self.start = from.min(to);
        }
        self.end = to;
        let gone = self.brought.split_off(&to);
        let mut shares = BTreeMap::new();
        for HeapFault { by, bytes } in gone.into_values() {
            let (size, sum) = shares.entry(by.node).or_insert((by.size, Bytes::ZERO));
            *size = by.size.max(*size);
            *sum += bytes;
        }
        shares.into_iter().map(|(node, (size, bytes))| Share { node, size, bytes }).collect()
    }
}

/// Divides an amount among shares, without a rest.
pub fn divide(amount: u64, shares: &[Share]) -> impl Iterator<Item = (Share, u64)> + '_ {
    let all: Bytes = shares.iter().map(|share| share.bytes).sum();
    let up_to = move |bytes: Bytes| (u128::from(amount) * u128::from(bytes.0) / u128::from(all.0.max(1))) as u64;
    shares.iter().scan(Bytes::ZERO, move |before, share| {
        let from = up_to(*before);
        *before += share.bytes;
        Some((*share, up_to(*before) - from))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(node: u32) -> Owner {
        Owner { node: NodeId::new(node), size: Bytes(64) }
    }

    fn share(node: u32, bytes: u64) -> Share {
        Share { node: NodeId::new(node), size: Bytes(64), bytes: Bytes(bytes) }
    }

    #[test]
    fn whoever_brought_pages_has_a_share_in_giving_them_back() {
        let mut heap = HeapPages::default();
        heap.touched(0x1000, by(9), Bytes(1));
        assert_eq!(heap.end_moves(0x10000, 0x20000), [], "nothing is given back where the heap grows");
        heap.touched(0x0ff0, by(9), Bytes(1)); // not of the heap
        heap.touched(0x10000, by(1), Bytes(1));
        heap.touched(0x11000, by(2), Bytes(17));
        heap.touched(0x12000, by(1), Bytes(3));
        heap.touched(0x20000, by(9), Bytes(1));
        assert_eq!(heap.end_moves(0x20000, 0x11000), [share(1, 3), share(2, 17)]);
        assert_eq!(heap.end_moves(0x11000, 0x20000), []);
        heap.touched(0x11000, by(3), Bytes(1));
        assert_eq!(heap.end_moves(0x20000, 0x10000), [share(1, 1), share(3, 1)], "pages that stayed");
    }

    #[test]
    fn the_parts_are_the_whole() {
        let shares = [share(1, 1), share(2, 17), share(3, 3)];
        for amount in [0, 1, 20, 21, 1_000_003, u64::MAX] {
            let parts: Vec<u64> = divide(amount, &shares).map(|(_, part)| part).collect();
            assert_eq!(parts.iter().sum::<u64>(), amount);
            let exact = |bytes: u64| (u128::from(amount) * u128::from(bytes) / 21) as u64;
            assert!(parts.iter().zip([1, 17, 3]).all(|(part, bytes)| part.abs_diff(exact(bytes)) <= 1), "{parts:?}");
        }
        assert_eq!(divide(5, &[]).count(), 0);
    }
}
