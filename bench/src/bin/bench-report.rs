//! `make bench-report`: what `memtoll report` takes for recordings of very many processes. One recording of short
//! processes is made, and its processes are written again and again, each time at other addresses, as the kernel loads them;
//! and 10,000 processes are recorded. And of recordings of one process with very many events, by one thread and by two: `--events`, 100 million where nothing else is asked for.
//!
//! Times are processor time of all threads. Where there is a goal, it says whether that is met; the goals of the long
//! recording are those for 100 million events.

use clap::Parser;
use memtoll_analysis::runners::Runners;
use memtoll_analysis::timeline::timeline;
use memtoll_bench::programs::deep_loop;
use memtoll_bench::run::CommandLine;
use memtoll_bench::{Common, or_exit};
use memtoll_model::Recording;
use memtoll_trace::frame::{BlockKind, HEADER_BYTES};
use memtoll_trace::nodes;
use memtoll_trace::reader::{BlockRef, Reader};
use memtoll_trace::writer::Writer;
use serde_json::Value;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

const PROCESSES: [u32; 3] = [1000, 3000, 10_000];
/// What is asked, and how many seconds a report of 10,000 processes may take, where there is a goal.
const VIEWS: [(&[&str], Option<f64>); 8] = [
    (&[], Some(2.0)),
    (&["--flat"], Some(2.0)),
    (&["--tree"], Some(2.0)),
    (&["--group", "process"], None),
    (&["--lanes"], None),
    (&["--regions"], None),
    (&["--format", "json"], None),
    (&["--format", "csv"], None),
];
/// What is asked of very many events, and how many seconds that may take if there are 100 million of them: `FROM` and `TO`
/// are a tenth and nine tenths of the time that was recorded, `SOON` is a little later than `FROM`.
const LONG_VIEWS: [(&[&str], f64); 13] = [
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
    (&["--regions"], 0.3),
    (&["--format", "json"], 0.3),
];
/// Intervals of a time line.
const INTERVALS: usize = 4000;
/// Seconds that one may take.
const TIMELINE_GOAL: f64 = 0.1;
/// Short processes, which all do the same.
const SCRIPT: &str =
    "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git rev-parse HEAD; git log -1; done";
/// As many processes as the last of [`PROCESSES`], each of them recorded.
const MANY: &str = "i=0; while [ $i -lt 5000 ]; do /bin/true; git rev-parse HEAD; i=$((i + 1)); done";
/// Threads of the long recordings.
const THREADS: [u64; 2] = [1, 2];
/// Pairs of calls in a region of the long recordings.
const PAIRS_IN_REGION: &str = "50000";

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,
    /// Events of the long recording, in millions
    #[arg(long, default_value_t = 100, value_name = "MILLIONS")]
    events: u64,
}

/// A recording with `processes` processes, made of those of `from`.
fn multiply(from: &Reader, to: &Path, processes: u32) -> Result<(), String> {
    let (whole, images): (Vec<&BlockRef>, Vec<&BlockRef>) =
        from.blocks.iter().partition(|block| block.header.image == 0);
    let (last, first): (Vec<&BlockRef>, Vec<&BlockRef>) =
        whole.into_iter().partition(|block| matches!(block.header.kind, BlockKind::Symbols | BlockKind::End));
    let in_one = images.iter().map(|block| block.header.image).max().ok_or("nothing was recorded")?;
    let file = File::create(to).map_err(|error| error.to_string())?;
    let mut writer = Writer::new(BufWriter::new(file)).map_err(|error| error.to_string())?;
    let mut write = |block: &BlockRef, round: u32| -> Result<(), String> {
        let mut payload = Vec::new();
        from.payload(block, &mut payload)?;
        let kind = block.header.kind;
        let number = if block.header.image == 0 { 0 } else { block.header.image + round * in_one };
        let shift = u64::from(round) << 16;
        if number > processes {
            return Ok(());
        }
        match kind {
            BlockKind::Image => change(&mut payload, |image| {
                image["image"] = number.into();
                image["pid"] = (number + 1000).into();
            })?,
            BlockKind::Modules => change(&mut payload, |modules| {
                for module in modules.as_array_mut().into_iter().flatten() {
                    for field in ["start", "end", "bias"] {
                        module[field] = module[field].as_u64().unwrap_or(0).wrapping_add(shift).into();
                    }
                }
            })?,
            BlockKind::Nodes | BlockKind::Places => {
                let mut found = nodes::decode(&payload).map_err(|error| error.to_string())?;
                let known = found.iter_mut().filter(|node| node.module != 0);
                known.for_each(|node| node.address = node.address.wrapping_add(shift));
                payload = nodes::encode(&found);
            }
            _ => {}
        }
        writer.block_of(kind, number, &payload, block.extent).map_err(|error| error.to_string())
    };
    first.iter().try_for_each(|block| write(block, 0))?;
    for round in 0..processes.div_ceil(in_one) {
        images.iter().try_for_each(|block| write(block, round))?;
    }
    last.iter().try_for_each(|block| write(block, 0))?;
    writer.index().and_then(|()| writer.flush()).map_err(|error| error.to_string())
}

fn change(payload: &mut Vec<u8>, action: impl FnOnce(&mut Value)) -> Result<(), String> {
    let mut value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
    action(&mut value);
    *payload = serde_json::to_vec(&value).map_err(|error| error.to_string())?;
    Ok(())
}

/// Makes a recording of one process with very many events by so many threads, and measures views of it.
fn run_long(arguments: &Arguments, threads: u64) -> Result<(), String> {
    let (memtoll, folder) = (&arguments.common.memtoll, &arguments.common.folder);
    let (memtoll, program) = (memtoll.to_string_lossy().into_owned(), deep_loop(folder)?);
    let file = folder.join("long.memtoll").to_string_lossy().into_owned();
    let pairs = (arguments.events * 500_000 / threads).to_string();
    let record = [memtoll.as_str(), "record", "-q", "--force", "-o", &file, "--"];
    let count = threads.to_string();
    let command = [&*program.to_string_lossy(), &pairs, &count, "random", PAIRS_IN_REGION].map(str::to_owned);
    CommandLine::new(record.map(str::to_owned).into_iter().chain(command)).measure()?;
    let reader = Reader::open(Path::new(&file)).map_err(|error| error.to_string())?;
    let extents = || reader.blocks.iter().filter(|block| block.header.kind == BlockKind::Events);
    let last = extents().filter_map(|block| Some(block.extent?.last_time)).max().ok_or("nothing was recorded")?;
    let about: memtoll_trace::meta::Recording = reader.json(&reader.blocks[0])?;
    let share = |share: f64| format!("{:.6}s", last as f64 / about.clock.units_per_second * share);
    let (from, to, soon) = (share(0.1), share(0.9), share(0.101));
    println!(
        "\n{:<44}{:>12}  {} MB",
        format!("{} million events, {threads} threads", arguments.events),
        "",
        reader.bytes / 1_000_000
    );
    for (view, goal) in LONG_VIEWS {
        let words = view.iter().map(|word| match *word {
            "FROM" => from.clone(),
            "TO" => to.clone(),
            "SOON" => soon.clone(),
            word => word.to_owned(),
        });
        let command = [memtoll.clone(), "report".into(), file.clone()];
        let usage = CommandLine::new(command.into_iter().chain(words)).measure()?;
        let name = if view.is_empty() { "summary".to_owned() } else { view.join(" ") };
        println!("{name:<44}{:>10.3} s {:>6} MiB{}", usage.cpu, usage.peak_rss >> 20, goal_text(usage.cpu, goal));
    }
    let recording = Recording::open(Path::new(&file)).map_err(|error| error.to_string())?;
    let at = |share: f64| (last as f64 * share) as u64;
    for (name, from, to) in [("all", 0, last), ("a half", at(0.1), at(0.6)), ("a thousandth", at(0.1), at(0.101))] {
        let before = processor_time();
        let view = timeline(&recording, from, to, INTERVALS, &Runners::default());
        let taken = processor_time() - before;
        let name = format!("time line of {name}, {} intervals", view.intervals.len());
        println!("{name:<44}{taken:>10.3} s           {}", goal_text(taken, TIMELINE_GOAL));
    }
    share_of_index(&reader);
    std::fs::remove_file(&file).map_err(|error| error.to_string())
}

/// How large a share of the file is there to answer questions at once.
fn share_of_index(reader: &Reader) {
    let bytes = |kinds: &[BlockKind]| -> u64 {
        let of_kinds = reader.blocks.iter().filter(|block| kinds.contains(&block.header.kind));
        of_kinds.map(|block| u64::from(block.header.length) + HEADER_BYTES as u64).sum()
    };
    let index = reader.bytes - reader.bytes_before_index;
    let share = |bytes: u64| bytes as f64 * 100.0 / reader.bytes as f64;
    let kinds = [
        ("chapters", BlockKind::Chapter),
        ("parts", BlockKind::Parts),
        ("patterns", BlockKind::Patterns),
        ("time lines", BlockKind::Timeline),
    ];
    for (name, kind) in kinds {
        println!("{name:<44}{:>10.1} % of the file", share(bytes(&[kind])));
    }
    let all = share(bytes(&kinds.map(|(_, kind)| kind)) + index);
    println!("{:<44}{all:>10.1} % of the file{}", "all of these and the index", goal_text(all, INDEX_GOAL));
}

/// Percent of the file that they may take.
const INDEX_GOAL: f64 = 8.0;

fn goal_text(value: f64, goal: f64) -> String {
    format!("  goal {goal}: {}", if value <= goal { "met" } else { "not met" })
}

/// Time of all threads of this process, seconds.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is there on every Linux, and `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let (memtoll, folder) = (&arguments.common.memtoll, &arguments.common.folder);
    std::fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let file = folder.join("short.memtoll");
    let words = ["record", "-q", "--force", "-o", &file.to_string_lossy(), "--", "sh", "-c", SCRIPT].map(str::to_owned);
    CommandLine::new([memtoll.to_string_lossy().into_owned()].into_iter().chain(words)).measure()?;
    let reader = Reader::open(&file).map_err(|error| error.to_string())?;
    let titles = PROCESSES.map(|number| format!("{number:>22}")).concat();
    println!("{:<18}{titles}{:>22}", "processes", "10000, each recorded");
    let mut many = PROCESSES.map(|number| folder.join(format!("{number}.memtoll"))).to_vec();
    for (number, path) in PROCESSES.iter().zip(&many) {
        multiply(&reader, path, *number)?;
    }
    let recorded = folder.join("recorded.memtoll");
    let words = ["record", "-q", "--force", "-o", &recorded.to_string_lossy(), "--", "sh", "-c", MANY];
    let words = words.map(str::to_owned);
    CommandLine::new([memtoll.to_string_lossy().into_owned()].into_iter().chain(words)).measure()?;
    many.push(recorded);
    for (view, goal) in VIEWS {
        let mut row = format!("{:<18}", if view.is_empty() { "summary".to_owned() } else { view.join(" ") });
        let mut taken = 0.0f64;
        for path in &many {
            let words = [memtoll.to_string_lossy().into_owned(), "report".into(), path.to_string_lossy().into_owned()];
            let command = CommandLine::new(words.into_iter().chain(view.iter().map(|word| word.to_string())));
            let usage = command.measure()?;
            row += &format!("{:>10.2} s {:>6} MiB", usage.cpu, usage.peak_rss >> 20);
            taken = taken.max(usage.cpu);
        }
        println!("{row}{}", goal.map_or(String::new(), |goal| goal_text(taken, goal)));
    }
    Ok(())
}

fn main() {
    let arguments = Arguments::parse();
    let long = || THREADS.iter().try_for_each(|threads| run_long(&arguments, *threads));
    or_exit(run(&arguments).and_then(|()| long()));
}
