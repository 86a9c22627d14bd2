//! What threads do in regions: each begin and end of one says what its thread has done so far, so that a reader needs no
//! events between them.

use memtoll_trace::event::Event;
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::meta::Work;
use memtoll_trace::op::Effect;

/// What each thread has done since the first region of the process began: most programs have none, and pay one comparison an
/// event.
#[derive(Default)]
pub(super) struct WorkOfThreads {
    /// By thread, once there is a region.
    threads: Option<Vec<Work>>,
}

impl WorkOfThreads {
    /// An event becomes a part of the file.
    #[inline(always)]
    pub fn push(&mut self, event: &Event, effect: Effect) {
        if let Some(threads) = &mut self.threads {
            add(threads, event, effect);
        }
    }

    /// What a thread has done so far.
    pub fn of(&mut self, thread: ThreadNo) -> Work {
        let threads = self.threads.get_or_insert_default();
        threads.get(thread.index()).copied().unwrap_or_default()
    }
}

fn add(threads: &mut Vec<Work>, event: &Event, effect: Effect) {
    if event.op.is_release_half() || effect == Effect::Other {
        return;
    }
    let thread = event.thread.index();
    if thread >= threads.len() {
        threads.resize(thread + 1, Work::default());
    }
    let work = &mut threads[thread];
    work.calls += u64::from(!event.op.is_pooled());
    work.time = work.time.wrapping_add(event.duration.0);
    if effect == Effect::Acquire {
        work.acquired += 1;
        work.bytes = work.bytes.wrapping_add(event.size.0);
    }
}
