//! What the search for lost blocks needs to know of a process image, and what becomes of what it finds.

use super::Sink;
use crate::arena::Arena;
use crate::lost_blocks::{Block, Found, Lost, Process};
use memtoll_trace::ids::Bytes;
use memtoll_trace::meta::{LeakSearch, NotSearched};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

impl Sink {
    /// What is to be searched; nothing if there are no blocks.
    pub fn process_to_search(&mut self, arena: &Arena) -> Result<Option<Process>, NotSearched> {
        let header = arena.header();
        let hides = self.own_allocators.as_ref().is_some_and(|own| !own.show_frees());
        let missing = [&header.own_allocator, &header.imports_not_patched, &header.namespaces_unknown];
        let is_missing = missing.iter().any(|missing| missing.load(Relaxed) != 0);
        if hides || is_missing || header.dropped.load(Relaxed) != 0 {
            return Err(NotSearched::HiddenBlocks);
        }
        let blocks: Vec<Block> = self.ledger.live.iter().map(|(address, kept)| Block::of(address, &kept)).collect();
        if blocks.is_empty() {
            return Ok(None);
        }
        let ran = self.time.at(self.time.now()).0.saturating_sub(self.facts.began.0);
        let milliseconds = ran / self.time.microseconds(1000).0.max(1);
        Ok(Some(Process {
            blocks,
            has_all_blocks: !self.facts.is_forked && self.attached.is_none(),
            ended_threads: self.facts.threads.ended_handles(),
            ran: Duration::from_millis(milliseconds),
        }))
    }

    /// What was found.
    pub fn is_searched(&mut self, found: Result<Found, NotSearched>) {
        (self.leak_search, self.lost) = match found {
            Ok(found) => (LeakSearch::Done { other_threads: found.other_threads }, found.blocks),
            Err(why) => (LeakSearch::Not(why), Vec::new()),
        };
    }

    /// The image is over: of what was found, counts what is still live. Of what a pool has of a block, others are charged. Returns
    /// the program's own suppressions, if something was found.
    pub(super) fn count_lost(&mut self) -> Option<String> {
        if self.lost.is_empty() {
            return None;
        }
        for Lost { block, reach } in std::mem::take(&mut self.lost) {
            let kept = self.ledger.live.get(block.address).filter(|kept| kept.number == block.number);
            let Some(kept) = kept.filter(|_| !self.ledger.pools.has_pool(block.address)) else { continue };
            let counts = reach.counts(Bytes(block.size));
            self.ledger.tally.is_lost(&kept.block, &counts);
        }
        let program = Path::new(&self.facts.executable);
        let suppressions = self.run.leak_suppressions.get(program, || memtoll_symbols::default_suppressions(program));
        Option::clone(&suppressions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lost_blocks::Reach;

    #[test]
    fn each_kind_counts_for_itself() {
        let of = |reach: Reach| {
            let counts = reach.counts(Bytes(40));
            [
                (counts.lost_blocks, counts.lost_bytes.0),
                (counts.indirectly_lost_blocks, counts.indirectly_lost_bytes.0),
                (counts.possibly_lost_blocks, counts.possibly_lost_bytes.0),
            ]
        };
        assert_eq!(of(Reach::Lost), [(1, 40), (0, 0), (0, 0)]);
        assert_eq!(of(Reach::IndirectlyLost), [(0, 0), (1, 40), (0, 0)]);
        assert_eq!(of(Reach::PossiblyLost), [(0, 0), (0, 0), (1, 40)]);
        assert_eq!(of(Reach::Reachable), [(0, 0); 3]);
    }
}
