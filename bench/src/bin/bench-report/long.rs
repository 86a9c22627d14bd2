//! Recordings of one process with very many events.

use crate::table::{Measured, Table, mebibytes, name, report, seconds};
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_analysis::timeline::timeline;
use memtoll_bench::Common;
use memtoll_bench::programs::deep_loop;
use memtoll_bench::run::CommandLine;
use memtoll_model::Recording;
use memtoll_trace::frame::{BlockKind, HEADER_BYTES};
use memtoll_trace::reader::Reader;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is asked, and how many seconds it may take of 100 million events. `FROM` and `TO` are a tenth and nine tenths of the
/// time that was recorded, `SOON` is a little later than `FROM`; `THREAD` is one of the threads.
const VIEWS: [(&[&str], f64); 17] = [
    (&[], 0.1),
    (&["--flat", "--from", "FROM", "--to", "TO"], 0.1),
    (&["--tree", "--from", "FROM", "--to", "TO"], 0.1),
    (&["--flat", "--at", "FROM"], 0.1),
    (&["--flat", "--at", "TO"], 0.1),
    (&["--lanes"], 0.1),
    (&["--lanes", "--from", "FROM", "--to", "SOON"], 0.1),
    (&["--group", "thread"], 0.1),
    (&["--group", "size"], 0.3),
    (&["--group", "size", "--from", "FROM", "--to", "TO"], 0.3),
    (&["--flat", "--min-size", "100"], 0.3),
    (&["--flat", "--min-size", "100", "--from", "FROM", "--to", "TO"], 0.3),
    (&["--flat", "--thread", "THREAD"], 0.3),
    (&["--flat", "--paid"], 0.3),
    (&["--group", "size", "--paid", "--thread", "THREAD", "--max-size", "99"], 0.3),
    (&["--regions"], 0.3),
    (&["--format", "json"], 0.3),
];
/// Millions of events from which on other goals hold.
const MANY: u64 = 1000;
/// Seconds for the summary of a billion events, and for all else.
const GOALS_OF_MANY: (f64, f64) = (1.0, 2.0);
/// Bytes that any report may take.
const MEMORY_GOAL: f64 = 500e6;
/// Intervals of a time line.
const INTERVALS: usize = 4000;
/// Seconds that one may take.
const TIMELINE_GOAL: f64 = 0.1;
/// Threads of the recordings.
const THREADS: [u64; 2] = [1, 2];
/// Pairs of calls in a region.
const PAIRS_IN_REGION: &str = "50000";
/// Percent of the file that may be there to answer questions at once.
const INDEX_GOAL: f64 = 8.0;

/// Measures reports of `millions` of events, by one thread and by two.
pub fn measure(common: &Common, millions: u64) -> Result<(), String> {
    let all: Vec<Long> =
        THREADS.iter().map(|threads| Long::record(common, millions, *threads)).collect::<Result<_, _>>()?;
    // A command that is started counts its starter's memory as its own, so what takes some here comes last.
    all.iter().try_for_each(|long| long.reports(&common.memtoll, millions))?;
    all.iter().try_for_each(Long::timelines)?;
    all.iter().try_for_each(|long| std::fs::remove_file(&long.file)).map_err(|error| error.to_string())
}

/// A recording.
struct Long {
    file: PathBuf,
    title: String,
    /// When its last event was, units.
    last: u64,
}

impl Long {
    fn record(common: &Common, millions: u64, threads: u64) -> Result<Long, String> {
        let Common { memtoll, folder, .. } = common;
        let (program, file) = (deep_loop(folder)?, folder.join(format!("long-{threads}.memtoll")));
        let front = [memtoll.as_os_str(), "record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref()];
        let front = front.into_iter().chain([file.as_os_str(), "--".as_ref(), program.as_os_str()]).map(OsString::from);
        let pairs = millions * 500_000 / threads;
        let arguments = [pairs.to_string(), threads.to_string(), "random".to_owned(), PAIRS_IN_REGION.to_owned()];
        CommandLine::new(front.chain(arguments.map(OsString::from))).measure()?;
        let reader = Reader::open(&file).map_err(|error| error.to_string())?;
        let extents = reader.blocks.iter().filter(|block| block.header.kind == BlockKind::Events);
        let last = extents.filter_map(|block| Some(block.extent?.last_time)).max().ok_or("nothing was recorded")?;
        let title = format!("{millions} million events, threads: {threads}; {} MB", reader.bytes / 1_000_000);
        Ok(Long { file, title, last: last.0 })
    }

    /// A part of the time.
    fn at(&self, share: f64) -> u64 {
        (self.last as f64 * share) as u64
    }

    fn reports(&self, memtoll: &Path, millions: u64) -> Result<(), String> {
        let recording = Recording::open(&self.file).map_err(|error| error.to_string())?;
        let thread = recording.images.iter().flat_map(|image| &image.threads).next().ok_or("there is no thread")?.tid;
        let time = |share: f64| format!("{:.6}s", recording.about.clock.seconds(self.at(share)));
        let word = |word: &&str| match *word {
            "FROM" => time(0.1),
            "TO" => time(0.9),
            "SOON" => time(0.101),
            "THREAD" => thread.to_string(),
            word => word.to_owned(),
        };
        let mut table = Table::new(&self.title, &["CPU time", "memory"]);
        let mut memory = 0;
        for (view, goal) in VIEWS {
            let words: Vec<String> = view.iter().map(word).collect();
            let usage = report(memtoll, &self.file, &words)?;
            memory = memory.max(usage.peak_rss >> 20);
            let goal = match (millions >= MANY, view.is_empty()) {
                (false, _) => goal,
                (true, true) => GOALS_OF_MANY.0,
                (true, false) => GOALS_OF_MANY.1,
            };
            let measured = Measured { value: usage.cpu, goal: Some(goal) };
            table.row(&name(view), &[seconds(&usage), mebibytes(&usage)], measured);
        }
        let measured = Measured { value: memory as f64, goal: Some((MEMORY_GOAL / (1 << 20) as f64).floor()) };
        table.row("most memory", &[String::new(), format!("{memory} MiB")], measured);
        table.print();
        Ok(())
    }

    fn timelines(&self) -> Result<(), String> {
        let recording = Recording::open(&self.file).map_err(|error| error.to_string())?;
        let mut table = Table::new(&self.title, &["CPU time"]);
        for (name, from, to) in [("all", 0.0, 1.0), ("a half", 0.1, 0.6), ("a thousandth", 0.1, 0.101)] {
            let before = processor_time();
            let view = timeline(&recording, self.at(from), self.at(to), INTERVALS, &ThreadFilter::default());
            let value = processor_time() - before;
            let name = format!("time line of {name}, {} intervals", view.intervals.len());
            table.row(&name, &[format!("{value:.3} s")], Measured { value, goal: Some(TIMELINE_GOAL) });
        }
        table.print();
        share_of_index(&Reader::open(&self.file).map_err(|error| error.to_string())?);
        Ok(())
    }
}

/// How large a share of the file is there to answer questions at once.
fn share_of_index(reader: &Reader) {
    let bytes = |kind: BlockKind| -> u64 {
        let of_kind = reader.blocks.iter().filter(|block| block.header.kind == kind);
        of_kind.map(|block| u64::from(block.header.length) + HEADER_BYTES as u64).sum()
    };
    let kinds = [
        ("chapters", bytes(BlockKind::Chapter)),
        ("parts", bytes(BlockKind::Parts)),
        ("patterns", bytes(BlockKind::Patterns)),
        ("time lines", bytes(BlockKind::Timeline)),
        ("index of blocks", reader.bytes - reader.bytes_before_index),
    ];
    let share = |bytes: u64| bytes as f64 * 100.0 / reader.bytes as f64;
    let mut table = Table::new("of the file", &["%"]);
    for (name, bytes) in kinds {
        table.row(name, &[format!("{:.1}", share(bytes))], Measured { value: share(bytes), goal: None });
    }
    let all = share(kinds.iter().map(|(_, bytes)| bytes).sum());
    table.row("together", &[format!("{all:.1}")], Measured { value: all, goal: Some(INDEX_GOAL) });
    table.print();
}

/// Time of all threads of this process, seconds.
pub fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is there on every Linux, and `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
