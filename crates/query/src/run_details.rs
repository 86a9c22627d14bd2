//! What is known of a whole run beside its call sites: processes, threads, modules, prices, the recorder itself.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use crate::calibration::{self, Calibration};
use crate::figures::{Figures, RunFigures};
use crate::pools::{self, Pool};
use crate::threads::{self, Thread};
use crate::totals::{BalanceFigures, Peak, ResidentFigures};
use crate::without_tables::{self, WithoutTables};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::figures::Facts;
use memtoll_analysis::resident;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter;
use memtoll_analysis::waits::waits;
use memtoll_model::{LoadedFile, Recording};
use memtoll_trace::meta::{self, Exit, KernelAccess, Rank, Running};
use memtoll_trace::path::last_part;
use memtoll_trace::symbols::NameSource;
use serde::Serialize;

/// What is known of a run beside its call sites.
#[derive(Serialize)]
pub struct Details<'r> {
    pub prices: Option<memtoll_trace::meta::Prices>,
    pub fault_prices: FaultPrices,
    pub kernel: Option<Kernel<'r>>,
    pub processes: Vec<Process>,
    pub threads: Vec<Thread>,
    pub modules: Vec<Module<'r>>,
    pub pools: Vec<Pool<'r>>,
    pub mallocs: Vec<Malloc>,
    pub own_allocators: Vec<OwnAllocator>,
    pub without_tables: Vec<WithoutTables<'r>>,
    pub calibration: Option<Calibration>,
    pub recorder: Recorder,
}

impl<'r> Details<'r> {
    /// Of a recording, and of statements about what is missing. Reads all costs, for the waits of threads.
    pub(crate) fn new(recording: &'r Recording, sums: &Sums, tariff: &Tariff) -> (Details<'r>, Vec<String>) {
        let (waits, damage) = waits(recording, sums.selection.from, sums.selection.to, &sums.thread_filter);
        let details = Details {
            prices: recording.end.as_ref().and_then(|end| end.prices),
            fault_prices: fault_prices(tariff),
            kernel: recording
                .end
                .as_ref()
                .map(|end| Kernel { access: &end.kernel, samples: &recording.kernel.running }),
            processes: processes(recording, sums, tariff),
            threads: threads::threads(recording, &waits, sums),
            modules: recording.modules.iter().map(Module::new).collect(),
            pools: pools::pools(recording),
            mallocs: mallocs(recording),
            own_allocators: own_allocators(recording),
            without_tables: without_tables::files(recording, sums),
            calibration: calibration::calibration(recording),
            recorder: recorder(recording),
        };
        (details, damage)
    }
}

/// What the kernel let be seen, and where it saw threads run.
#[derive(Serialize)]
pub struct Kernel<'r> {
    #[serde(flatten)]
    pub access: &'r KernelAccess,
    pub samples: &'r Running,
}

/// A process image.
#[derive(Serialize)]
pub struct Process {
    pub pid: u32,
    pub parent: u32,
    pub name: String,
    pub executable: String,
    pub command: Vec<String>,
    pub title: Option<String>,
    pub exit: Option<Exit>,
    pub forked: bool,
    pub rank: Option<Rank>,
    #[serde(flatten)]
    pub figures: Figures,
    #[serde(flatten)]
    pub run: Option<RunFigures>,
    #[serde(flatten)]
    pub balance: Option<BalanceFigures>,
    #[serde(flatten)]
    pub resident: ResidentFigures,
    pub peak_with_mappings: Option<Peak>,
}

fn processes(recording: &Recording, sums: &Sums, tariff: &Tariff) -> Vec<Process> {
    let process = |(index, image): (usize, &memtoll_analysis::sums::ImageSums)| {
        let about = &recording.images[index].about;
        let balance = Balance::of_image(recording, sums, index);
        Process {
            pid: about.pid,
            parent: about.parent,
            name: about.name.clone(),
            executable: about.executable.clone(),
            command: about.command.clone(),
            title: thread_filter::title(&recording.images[index]).map(str::to_owned),
            exit: recording.images[index].end.as_ref().map(|end| end.exit),
            forked: about.forked_from.is_some(),
            rank: about.rank,
            figures: Figures::new(&image.total, tariff),
            run: Facts::of_image(recording, sums, index, tariff).as_ref().map(RunFigures::new),
            balance: balance.as_ref().map(|balance| BalanceFigures::new(balance, tariff.sees())),
            resident: ResidentFigures::new(resident::of_image(recording, index).filter(|_| !sums.is_part()), tariff),
            peak_with_mappings: image.peak_with_mappings.map(|peak| Peak::new(recording, index, &peak, tariff)),
        }
    };
    sums.counted().map(process).collect()
}

/// An allocator inside a program or a library.
#[derive(Serialize)]
pub struct OwnAllocator {
    #[serde(flatten)]
    pub about: memtoll_trace::meta::OwnAllocator,
    pub pids: Vec<u32>,
}

/// Each once, with the processes that have it and what it was asked for in all of them.
pub fn own_allocators(recording: &Recording) -> Vec<OwnAllocator> {
    let mut all: Vec<OwnAllocator> = Vec::new();
    for image in &recording.images {
        for about in &image.own_allocators.allocators {
            let pid = image.about.pid;
            let is_it =
                |known: &&mut OwnAllocator| known.about.is_the_same(about) && known.about.recorded == about.recorded;
            match all.iter_mut().find(is_it) {
                Some(known) => {
                    known.about.answered.add(&about.answered);
                    if known.pids.last() != Some(&pid) {
                        known.pids.push(pid);
                    }
                }
                None => all.push(OwnAllocator { about: about.clone(), pids: vec![pid] }),
            }
        }
    }
    all
}

/// Where the loader led calls of `malloc`.
#[derive(Serialize)]
pub struct Malloc {
    #[serde(flatten)]
    pub about: memtoll_trace::meta::Malloc,
    pub pids: Vec<u32>,
}

/// Each once, with the processes that called it.
pub fn mallocs(recording: &Recording) -> Vec<Malloc> {
    let mut all: Vec<Malloc> = Vec::new();
    for image in &recording.images {
        let Some(about) = &image.own_allocators.malloc else { continue };
        let pid = image.about.pid;
        match all.iter_mut().find(|known| known.about == *about) {
            Some(known) if known.pids.last() == Some(&pid) => {}
            Some(known) => known.pids.push(pid),
            None => all.push(Malloc { about: about.clone(), pids: vec![pid] }),
        }
    }
    all
}

/// The allocators that answered, in words: `jemalloc in rustc, glibc 2.36`. Empty: it is not known which.
pub fn answering(recording: &Recording) -> String {
    let is_seen = |own: &&meta::OwnAllocator| own.recorded == meta::RecordedCalls::All;
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    let own = own_allocators(recording);
    for own in own.iter().map(|own| &own.about).filter(is_seen).filter(|own| own.answered.calls > 0) {
        add(format!("{} in {}", own.name, last_part(&own.file)));
    }
    for image in &recording.images {
        let Some(malloc) = &image.own_allocators.malloc else { continue };
        let file = last_part(&malloc.file);
        let is_library = !["glibc", "musl"].iter().any(|name| malloc.name.starts_with(name));
        add(if is_library { format!("{} in {file}", malloc.name) } else { malloc.name.clone() });
    }
    const SHOWN: usize = 3;
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// A program or library in which calls were recorded.
#[derive(Serialize)]
pub struct Module<'a> {
    pub path: &'a str,
    pub build_id: Option<&'a str>,
    pub names: NameSource,
    pub problem: Option<&'a str>,
}

impl<'a> Module<'a> {
    fn new(module: &'a LoadedFile) -> Self {
        Module {
            path: &module.path,
            build_id: Some(module.build_id.as_str()).filter(|id| !id.is_empty()),
            names: module.source,
            problem: module.problem.as_deref(),
        }
    }
}

/// What the recorder did.
#[derive(Serialize)]
pub struct Recorder {
    pub file_bytes: u64,
    pub memtoll: String,
    pub events: u64,
    pub dropped: u64,
    pub waits: u64,
    pub wait_ns: u64,
    pub stack_walks: u64,
    pub stack_nodes: u64,
    pub late_events: u64,
    pub unwind_checked: u64,
    pub unwind_disagreed: u64,
}

/// What faults cost in this recording, ns each; `timed_faults`: the faults that were timed for it, 0: from `prices`.
#[derive(Serialize)]
pub struct FaultPrices {
    pub page_ns: f64,
    pub huge_page_ns: f64,
    pub other_ns: f64,
    pub sample_ns: f64,
    pub timed_faults: u64,
}

fn fault_prices(tariff: &Tariff) -> FaultPrices {
    let faults = tariff.faults();
    FaultPrices {
        page_ns: faults.page,
        huge_page_ns: faults.huge.value,
        other_ns: faults.other,
        sample_ns: faults.sample,
        timed_faults: faults.timed,
    }
}

pub(crate) fn recorder(recording: &Recording) -> Recorder {
    let all = &recording.recorder;
    Recorder {
        file_bytes: recording.file_bytes(),
        memtoll: recording.about.memtoll.clone(),
        events: all.events,
        dropped: all.dropped,
        waits: all.waits,
        wait_ns: (recording.about.clock.seconds(all.wait_time) * 1e9) as u64,
        stack_walks: all.walks,
        stack_nodes: all.nodes,
        late_events: all.late,
        unwind_checked: all.unwind_checked,
        unwind_disagreed: all.unwind_disagreed,
    }
}
