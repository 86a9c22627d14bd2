//! How near a replay is to what was recorded.

use super::contest::{Figure, Outcome};
use crate::interval::Interval;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sums::sums_of;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_tally::Selection;
use memtoll_text::amounts::Nanoseconds;

/// What the recording says of the process's blocks.
pub struct Recorded {
    /// Calls that allocate or free, those that failed and those of null pointers among them.
    pub calls: u64,
    /// Page faults of blocks; `None` if the kernel did not show them.
    pub faults: Option<u64>,
    /// Time in the allocator, in page faults of blocks and in mappings for them: what an allocator can change, ns.
    pub time: Estimate,
    /// The highest sum of live bytes.
    pub peak_bytes: u64,
}

/// Of image number `image`, without mappings that the program makes itself.
pub fn recorded(recording: &Recording, image: usize) -> Recorded {
    let thread_filter = ThreadFilter::default().only(recording, image);
    let sums = sums_of(recording, Selection::default(), thread_filter);
    let tariff = Tariff::of(recording);
    let mut blocks = Priced::default();
    for metrics in sums.sites.iter().map(|site| site.metrics()).filter(|metrics| metrics.mappings == 0) {
        blocks.add(&metrics);
    }
    let faults = tariff.faults_of(&blocks);
    // Mappings inside the allocator's calls.
    let inside =
        tariff.mapping(&Priced { mapping_ns: Nanoseconds(tariff.ns(blocks.mapping_inside.0 as f64) as u64), ..blocks });
    let all = &sums.total;
    Recorded {
        calls: all.new_blocks + all.reallocations + all.frees + all.null_frees + all.failed,
        faults: tariff.sees().faults.then_some(blocks.small_faults + blocks.huge_faults),
        time: tariff.allocator(&blocks).plus(faults).plus(inside),
        peak_bytes: sums.total.peak_bytes.0,
    }
}

/// A figure as it was recorded, and as it was replayed without any change.
pub struct FigureBothWays {
    /// What.
    pub figure: Figure,
    pub recorded: Estimate,
    pub replayed: Interval,
}

impl FigureBothWays {
    /// How much more or less was replayed than recorded: 0.1 for 10 % more.
    pub fn difference(&self) -> Option<f64> {
        (self.recorded.value > 0.0).then(|| self.replayed.median / self.recorded.value - 1.0)
    }

    /// Whether both intervals meet.
    pub fn agree(&self) -> bool {
        self.replayed.low <= self.recorded.high && self.replayed.high >= self.recorded.low
    }
}

/// The replay of the program's own allocator beside the recording.
pub fn compare(recorded: &Recorded, replayed: &Outcome) -> Vec<FigureBothWays> {
    let beside = |figure, recorded| Some(FigureBothWays { figure, recorded, replayed: replayed.of(figure)? });
    let faults = recorded.faults.and_then(|faults| beside(Figure::Faults, Estimate::exact(faults as f64)));
    faults.into_iter().chain(beside(Figure::Cpu, recorded.time)).collect()
}
