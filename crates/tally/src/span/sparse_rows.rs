//! What threads did at call stacks in a slice. Most numbers of a row are 0, and a recording has millions of rows: they are packed.

use super::{Live, plus};
use crate::{Part, Select};
use memtoll_trace::ids::{Bytes, NodeId, ThreadNo};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::sparse::{self, Sparse};

/// Rows of call stacks and threads to which something happened.
#[derive(Default)]
pub struct SparseRows {
    heads: Vec<Head>,
    numbers: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Head {
    node: Option<NodeId>,
    thread: Option<ThreadNo>,
    /// Where its numbers begin.
    numbers: u32,
    before: Live,
    change: Live,
    at_peak: Live,
}

/// What a thread did at a call stack.
#[derive(Clone, Copy)]
pub struct SparseRow<'a> {
    pub node: Option<NodeId>,
    /// Who acquired the blocks and made the calls.
    pub thread: Option<ThreadNo>,
    /// What is live when the slice begins.
    pub before: Live,
    /// What is added to that, which wraps around.
    pub change: Live,
    /// Its share of the slice's peak.
    pub at_peak: Live,
    /// All else, by the places of counts.
    pub happened: Sparse<'a>,
}

impl SparseRow<'_> {
    /// Adds the same as counts, without peaks.
    fn add_to(&self, sum: &mut Metrics) {
        self.happened.for_each(|(place, more)| sum.add_number(place, more));
        (sum.live_bytes, sum.live_blocks) = plus((sum.live_bytes, sum.live_blocks), self.change);
    }
}

impl SparseRows {
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The rows of threads that are asked for.
    pub fn of<'a>(&'a self, asked: &'a Part) -> impl Iterator<Item = SparseRow<'a>> {
        let admitted = self.heads.iter().filter(|head| asked.admits_thread(head.thread));
        admitted.map(|&Head { node, thread, numbers, before, change, at_peak }| SparseRow {
            node,
            thread,
            before,
            change,
            at_peak,
            happened: Sparse::at(&self.numbers[numbers as usize..]),
        })
    }

    /// What the threads that are asked for did together, by call stack.
    pub fn each_stack(&self, asked: &Part, mut take: impl FnMut(Option<NodeId>, &Metrics)) {
        let mut rows: Vec<SparseRow> = self.of(asked).collect();
        rows.sort_by_key(|row| row.node);
        for rows in rows.chunk_by(|one, other| one.node == other.node) {
            let mut sum = Metrics::default();
            rows.iter().for_each(|row| row.add_to(&mut sum));
            take(rows[0].node, &sum);
        }
    }

    /// Memory that they take, bytes.
    pub fn bytes(&self) -> usize {
        self.heads.capacity() * size_of::<Head>() + self.numbers.capacity()
    }
}

/// Where the rows of a slice go.
pub trait Rows: Default {
    /// A site with what was live of it when the slice began. Live bytes and blocks are what is added to that.
    fn put(&mut self, site: (Option<NodeId>, u64), before: Live, metrics: Metrics);
    /// There are no more.
    fn finish(&mut self) {}
}

impl Rows for SparseRows {
    fn put(&mut self, (node, thread): (Option<NodeId>, u64), before: Live, metrics: Metrics) {
        let thread = ThreadNo::new(thread as u32);
        let Metrics { live_bytes, live_blocks, peak_bytes, peak_blocks, .. } = metrics;
        let none = Bytes::ZERO;
        let happened = Metrics { live_bytes: none, live_blocks: 0, peak_bytes: none, peak_blocks: 0, ..metrics };
        let (change, at_peak) = ((live_bytes, live_blocks), (peak_bytes, peak_blocks));
        let numbers = self.numbers.len() as u32;
        self.heads.push(Head { node, thread, numbers, before, change, at_peak });
        sparse::pack(&mut self.numbers, &happened.values());
    }

    fn finish(&mut self) {
        self.heads.shrink_to_fit();
        self.numbers.shrink_to_fit();
    }
}

/// Few: each with all of its numbers.
impl Rows for Vec<(Option<NodeId>, Metrics)> {
    fn put(&mut self, (node, _): (Option<NodeId>, u64), _before: Live, metrics: Metrics) {
        self.push((node, metrics));
    }
}
