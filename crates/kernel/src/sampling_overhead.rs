//! What looking at a program costs it, and what is not seen of its page faults.

use crate::attributes::{self, Common};
use crate::clock_conversion::Clock;
use crate::decode::{Decoder, Meaning};
use crate::event::What;
use crate::fault_durations::Beginnings;
use crate::perf::PerfEvent;
use crate::ring::{self, Ring};
use perf_event_open_sys::bindings::perf_event_attr;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::time::{ClockId, clock_gettime};
use std::ptr::null_mut;

/// Pages touched in each round: more than the first cache holds.
const PAGES: usize = 64;
const ROUNDS: usize = 5;

/// Processor time between two looks at where a thread is while their price is measured, ns: so short that few ms suffice.
const OFTEN: u32 = 99_989;
const RUNNING_ROUNDS: usize = 3;
/// Turns of a loop that takes some 1 ms.
const TURNS: u64 = 800_000;

/// What is known of looking at a program, from looking at oneself. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// What a sample adds to a fault.
    pub sample: f64,
    /// What counting adds to each fault, sampled or not.
    pub counting: f64,
    /// What a fault without a sample costs beyond the time that [`What::Fault`] tells of it: the way into the kernel
    /// and back, less the sample at its beginning. It may be negative.
    pub beyond: f64,
    /// What it costs a thread when the kernel looks where it is.
    pub running: f64,
}

impl Look {
    /// Takes some 1,500 page faults in the calling thread, and computes: some 10 ms. None where the kernel refuses.
    pub fn measure() -> Option<Look> {
        // As the program's faults are looked at, if this kernel can tell how large pages are (Linux 5.11).
        let with_page_sizes = [true, false];
        let mut watched = with_page_sizes.into_iter().find_map(Watched::start)?;
        let page = rustix::param::page_size();
        let rounds: Vec<Round> = (0..=ROUNDS).filter_map(|_| watched.round(page)).skip(1).collect();
        let of_rounds = |of: fn(&Round) -> f64| median(rounds.iter().map(of));
        Some(Look {
            sample: of_rounds(|round| round.sampled - round.counted)?.max(0.0),
            counting: of_rounds(|round| round.counted - round.alone)?.max(0.0),
            beyond: of_rounds(|round| round.alone - round.handling)?,
            running: price_of_running()?.max(0.0),
        })
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// An event of the calling thread alone.
fn own(mut attr: perf_event_attr, period: u64) -> perf_event_attr {
    attr.set_inherit(0);
    attr.__bindgen_anon_1.sample_period = period;
    attr
}

/// What it costs a thread when the kernel looks where it is, ns.
fn price_of_running() -> Option<f64> {
    let common = Common {
        clock: Clock::Monotonic,
        system_calls: false,
        count_lost: false,
        page_sizes: false,
        watermark: 1 << 20,
    };
    let mut attr = own(attributes::running(&common, OFTEN), OFTEN.into());
    let event = PerfEvent::open(&mut attr, rustix::thread::gettid(), None).ok()?;
    // It only costs what it costs if there is somewhere to write to.
    let ring = Ring::new(event, 0, 64 << 10).ok()?;
    let compute = || {
        let before = thread_time();
        let mut value = before;
        for _ in 0..TURNS {
            value = std::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value >> 29);
        }
        (thread_time() - before) as f64
    };
    let round = || {
        let alone = compute();
        ring.event().enable().ok()?;
        let watched = compute();
        ring.event().disable().ok()?;
        let looks = watched / f64::from(OFTEN);
        Some((watched - alone) / looks)
    };
    let rounds: Vec<f64> = (0..=RUNNING_ROUNDS).filter_map(|_| round()).skip(1).collect();
    median(rounds.into_iter())
}

/// Of one fault in the mean, ns.
struct Round {
    /// Without any events.
    alone: f64,
    /// With events that only count.
    counted: f64,
    /// With one sample, too.
    sampled: f64,
    /// When the kernel handles it.
    handling: f64,
}

/// Events of the calling thread.
struct Watched {
    ring: Ring,
    ends: PerfEvent,
    /// As a collector has them, but with periods that nothing reaches.
    counters: [PerfEvent; 2],
    decoder: Decoder,
}

impl Watched {
    fn start(page_sizes: bool) -> Option<Watched> {
        let page = rustix::param::page_size();
        let common =
            Common { clock: Clock::Monotonic, system_calls: false, count_lost: false, page_sizes, watermark: 1 << 20 };
        let thread = rustix::thread::gettid();
        let attr = own(attributes::beginnings_of_faults(&common), 1);
        let mut decoder = Decoder::new(&attr, &attr).ok()?;
        let open = |mut attr: perf_event_attr| PerfEvent::open(&mut attr, thread, None).ok();
        let begins = open(attr)?;
        decoder.learn(begins.id().ok()?, Meaning::Beginning);
        let ring = Ring::new(begins, 0, (PAGES * 3 * 64).next_power_of_two().max(page)).ok()?;
        let ends = open(own(attributes::minor_faults(&common, 1), 1))?;
        ends.write_to(ring.event()).ok()?;
        decoder.learn(ends.id().ok()?, Meaning::Faults { weight: 1, major: false });
        let never = |attr| open(own(attr, 1 << 40));
        let counters =
            [never(attributes::beginnings_of_faults(&common))?, never(attributes::minor_faults(&common, 1))?];
        Some(Watched { ring, ends, counters, decoder })
    }

    fn round(&mut self, page: usize) -> Option<Round> {
        let alone = touch(page)?;
        self.counters.iter().try_for_each(PerfEvent::enable).ok()?;
        let counted = touch(page)?;
        // Instead of the one that only counts the same.
        self.counters[1].disable().ok()?;
        self.ends.enable().ok()?;
        let sampled = touch(page)?;
        self.counters[0].disable().ok()?;
        self.ring.event().enable().ok()?;
        touch(page)?;
        self.ring.event().disable().ok()?;
        self.ends.disable().ok()?;
        let (mut beginnings, mut times) = (Beginnings::default(), Vec::with_capacity(PAGES));
        let decoder = &mut self.decoder;
        let mut records = Vec::new();
        self.ring.take(self.ring.head(), &mut records);
        ring::read(&records, |record| {
            if let Ok(Some(mut event)) = decoder.decode(0, record)
                && beginnings.complete(&mut event)
                && let What::Fault { handling: Some(handling), .. } = event.what
            {
                times.push(f64::from(handling));
            }
        });
        let handling = times.iter().sum::<f64>() / times.len() as f64;
        (times.len() >= PAGES / 2).then_some(Round { alone, counted, sampled, handling })
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
        assert!((0.0..100_000.0).contains(&look.counting), "{look:?}");
        assert!(look.beyond.abs() < 100_000.0, "{look:?}");
        assert!(0.0 < look.running && look.running < 1e6, "{look:?}");
    }
}
