//! Which allocator answered how many calls.

use memtoll_trace::event::Event;
use memtoll_trace::meta::AnsweredCalls;
use memtoll_trace::op::Effect;

/// Counts by the numbers of allocators.
#[derive(Default)]
pub struct Answered {
    of: Vec<AnsweredCalls>,
}

impl Answered {
    /// An event of the heap.
    #[inline]
    pub fn count(&mut self, allocator: u8, event: &Event) {
        if allocator == 0 {
            return; // what import tables lead to: the sums have it
        }
        let index = usize::from(allocator);
        if index >= self.of.len() {
            self.of.resize(index + 1, AnsweredCalls::default());
        }
        let counts = &mut self.of[index];
        if !event.op.is_release_half() {
            counts.calls += 1;
        }
        if event.address.is_null() {
            return;
        }
        match event.op.effect() {
            Effect::Acquire => {
                counts.allocations += 1;
                counts.bytes = counts.bytes.saturating_add(event.size.0);
            }
            Effect::Release => counts.releases += 1,
            Effect::Lend | Effect::Other => {}
        }
    }

    /// What one was asked for.
    pub fn by(&self, allocator: u8) -> AnsweredCalls {
        self.of.get(usize::from(allocator)).copied().unwrap_or_default()
    }
}
