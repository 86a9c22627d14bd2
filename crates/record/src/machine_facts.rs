//! What is the same for all processes of a run: the clock, and facts about the machine.

use crate::clock::{Clock, UNIT_TICKS_LOG2};
use crate::proc_files;
use memtoll_trace::ids::{Ticks, Units};
use memtoll_trace::meta::Machine;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

pub struct MachineFacts {
    pub clock: Clock,
    pub machine: Machine,
    pub ticks_per_microsecond: u64,
    /// Processors that this process may use.
    pub processors: usize,
    /// What a page fault takes here when nothing else happens, about.
    pub fault: Ticks,
    /// Whether the system uses huge pages without being asked.
    pub always_huge: bool,
    recorder: OnceLock<PathBuf>,
}

impl MachineFacts {
    /// Looks at the machine. `clock` says when the run began.
    pub fn look(clock: Clock) -> MachineFacts {
        let machine = proc_files::machine();
        MachineFacts {
            ticks_per_microsecond: clock.ticks_per_microsecond(),
            processors: machine.processors as usize,
            fault: Ticks(rough_fault_ticks(&clock)),
            always_huge: proc_files::always_huge_pages(),
            recorder: OnceLock::new(),
            machine,
            clock,
        }
    }

    /// Where the recorder's file lies.
    pub fn set_recorder(&self, file: &Path) {
        let _ = self.recorder.set(file.to_owned());
    }

    /// Whether this is the recorder's file.
    pub fn is_recorder(&self, path: &str) -> bool {
        self.recorder.get().is_some_and(|recorder| recorder.as_os_str() == path)
    }

    pub fn microseconds(&self, microseconds: u64) -> Ticks {
        Ticks(microseconds * self.ticks_per_microsecond)
    }

    /// An instant, as the file has it.
    #[inline(always)]
    pub fn at(&self, instant: Ticks) -> Units {
        Units(self.clock.units(instant.0))
    }
}

/// A span, as the file has it: rounded.
#[inline(always)]
pub fn span(ticks: Ticks) -> Units {
    Units((ticks.0 + (1 << (UNIT_TICKS_LOG2 - 1))) >> UNIT_TICKS_LOG2)
}

/// What a page fault costs here, about: ticks. Only used to tell what else a call did in which faults happened; reports
/// use prices that are measured with more care.
fn rough_fault_ticks(clock: &Clock) -> u64 {
    const PAGES: usize = 15;
    let bytes = PAGES * rustix::param::page_size();
    let (protection, flags) =
        (rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE, rustix::mm::MapFlags::PRIVATE);
    // SAFETY: a fresh mapping, used only here.
    let Ok(memory) = (unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags) }) else {
        return 0;
    };
    let mut spans = Vec::with_capacity(PAGES);
    for page in 0..PAGES {
        let before = clock.now();
        // SAFETY: within the mapping.
        unsafe { memory.cast::<u8>().add(page * rustix::param::page_size()).write_volatile(1) };
        spans.push(clock.now().wrapping_sub(before));
    }
    // SAFETY: nothing refers to it any more.
    let _ = unsafe { rustix::mm::munmap(memory, bytes) };
    spans.sort_unstable();
    spans[PAGES / 2]
}
