//! What looking at page faults costs, and what is not seen of them.

use crate::attributes::{self, Common};
use crate::decode::{Decoder, Meaning};
use crate::event::What;
use crate::perf::PerfEvent;
use crate::ring::Ring;
use crate::timed::Beginnings;
use crate::timeline::Clock;
use perf_event_open_sys::bindings::perf_event_attr;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::time::{ClockId, clock_gettime};
use std::ptr::null_mut;

/// Pages touched in each round: more than the first cache holds.
const PAGES: usize = 64;
const ROUNDS: usize = 5;

/// What is known of looking at a fault, from faults of one's own. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// What a sample adds to a fault.
    pub sample: f64,
    /// What a fault that nobody looks at costs beyond the time that [`What::Fault`] tells of it: the way into the kernel
    /// and back, less the sample at its beginning. It may be negative.
    pub beyond: f64,
}

impl Look {
    /// Takes some 1,000 page faults in the calling thread: 2 ms. None where the kernel refuses.
    pub fn measure() -> Option<Look> {
        // As the program's faults are looked at, if this kernel can tell how large pages are (Linux 5.11).
        let mut watched = Watched::start(true).or_else(|| Watched::start(false))?;
        let page = rustix::param::page_size();
        let rounds: Vec<[f64; 3]> = (0..=ROUNDS).filter_map(|_| watched.round(page)).skip(1).collect();
        let median = |of: fn(&[f64; 3]) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let sample = median(|[alone, sampled, _]| sampled - alone)?.max(0.0);
        Some(Look { sample, beyond: median(|[alone, _, handling]| alone - handling)? })
    }
}

/// Events of the calling thread.
struct Watched {
    ring: Ring,
    ends: PerfEvent,
    decoder: Decoder,
}

impl Watched {
    fn start(page_sizes: bool) -> Option<Watched> {
        let page = rustix::param::page_size();
        let common =
            Common { clock: Clock::Monotonic, system_calls: false, count_lost: false, page_sizes, watermark: 1 << 20 };
        let alone = |mut attr: perf_event_attr| {
            attr.set_inherit(0);
            attr.__bindgen_anon_1.sample_period = 1;
            attr
        };
        let thread = rustix::thread::gettid();
        let attr = alone(attributes::beginnings_of_faults(&common));
        let mut decoder = Decoder::new(&attr, &attr).ok()?;
        let open = |mut attr: perf_event_attr| PerfEvent::open(&mut attr, thread, None).ok();
        let begins = open(attr)?;
        decoder.learn(begins.id().ok()?, Meaning::Beginning);
        let ring = Ring::new(begins, 0, (PAGES * 3 * 64).next_power_of_two().max(page)).ok()?;
        let ends = open(alone(attributes::minor_faults(&common, 1)))?;
        ends.write_to(ring.event()).ok()?;
        decoder.learn(ends.id().ok()?, Meaning::Faults { weight: 1, major: false });
        Some(Watched { ring, ends, decoder })
    }

    /// What a fault costs alone and with one sample, and what is told of its handling, in the mean.
    fn round(&mut self, page: usize) -> Option<[f64; 3]> {
        let alone = touch(page)?;
        self.ends.enable().ok()?;
        let sampled = touch(page)?;
        self.ring.event().enable().ok()?;
        touch(page)?;
        self.ring.event().disable().ok()?;
        self.ends.disable().ok()?;
        let (mut beginnings, mut times) = (Beginnings::default(), Vec::with_capacity(PAGES));
        let decoder = &mut self.decoder;
        self.ring.read(self.ring.head(), |record| {
            if let Ok(Some(mut event)) = decoder.decode(0, record)
                && beginnings.complete(&mut event)
                && let What::Fault { handling: Some(handling), .. } = event.what
            {
                times.push(f64::from(handling));
            }
        });
        (times.len() >= PAGES / 2).then(|| [alone, sampled, times.iter().sum::<f64>() / times.len() as f64])
    }
}

/// Touches fresh pages. Returns the processor time of each, nanoseconds.
fn touch(page: usize) -> Option<f64> {
    let bytes = PAGES * page;
    // SAFETY: a fresh mapping, used only here.
    let memory =
        unsafe { mmap_anonymous(null_mut(), bytes, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE) }.ok()?;
    // SAFETY: of that mapping. Where it is refused, there are no huge pages.
    let _ = unsafe { madvise(memory, bytes, Advice::LinuxNoHugepage) };
    let before = thread_time();
    for index in 0..PAGES {
        // SAFETY: within the mapping.
        unsafe { memory.cast::<u8>().add(index * page).write_volatile(1) };
    }
    let after = thread_time();
    // SAFETY: nothing refers to it any more.
    let _ = unsafe { munmap(memory, bytes) };
    Some((after - before) as f64 / PAGES as f64)
}

fn thread_time() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_costs_something() {
        let look = Look::measure().expect("this kernel lets users see their page faults");
        assert!(0.0 < look.sample && look.sample < 100_000.0, "{look:?}");
        assert!(look.beyond.abs() < 100_000.0, "{look:?}");
    }
}
