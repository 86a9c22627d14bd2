//! `make check-costs`: what a recording says of page faults and time, against what others say of the same program.
//!
//! * Page faults: what memtoll saw one by one or by samples, against the kernel's count (getrusage) for the same run. More
//!   than 1 % apart is a failure; an ordinary user does not see those inside system calls.
//! * The same without the recorder's own faults, beside the kernel's count for the program without memtoll. Where the heap
//!   happens to lie makes a difference to both; a line says so if none of the runs with memtoll is like one without.
//! * Charged: of the faults of anonymous memory that is no stack, the share that is charged to call sites. Less than
//!   95 % is a failure.
//! * Place: of the faults that memtoll charges, the share that `perf record -e page-faults` saw in the same module, those
//!   inside the allocator in its caller (`report --paid`). Each run has its own number of faults, so memtoll's are
//!   scaled to perf's. Less than 95 % is a failure.
//! * Page faults and mappings, in ms, against samples of the plain program's stacks.
//! * The zeroing among the faults, against what it takes inside a fault if the pages are in a cache, or if not. Samples do not
//!   tell it (`zeroing.rs`). More than half beyond that is a failure.
//! * The allocator's own work, against the same samples, outside the kernel; and how many of the intervals hold that.
//! * Parts and rest together, against the processor time of the plain program; and how many of the intervals hold that.
//!   Both for recordings as they are, and for those that were calibrated by plain runs of their own (`record --calibrate`).
//!   All kinds of runs take turns, because a machine is faster at some times than at others; and all times of a round are
//!   divided by its pace ([`paces`]).
//! * The recorder's time, against samples of a recorded run.
//! * The peak resident set without the recorder, against that of plain runs; of programs that have more than this one.
//! * Mappings: how often memtoll saw the heap grow and shrink, beside strace's count of the calls for it. strace sees the
//!   loader's and the program's own calls, too.

mod figures;
mod reported;

use clap::Parser;
use figures::{Figures, Pair, Times, Zeroed};
use memtoll_bench::faults::{agreement, by_module, module_of};
use memtoll_bench::programs::{Program, cost_programs};
use memtoll_bench::run::{CommandLine, Usage, median, number};
use memtoll_bench::samples::{Samples, milliseconds, sample};
use memtoll_bench::zeroing::{self, Zeroing};
use memtoll_bench::{Common, or_exit, tables};
use reported::{Compared, ReportedTime, TrueTime};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Of a report: faults charged to call sites, and all others.
const ALL_FAULTS: [&str; 4] =
    ["/totals/minor_faults", "/totals/major_faults", "/totals/file_faults", "/totals/other_faults"];

/// One before the recorded runs, and one after them.
const PLAIN_RUNS_OF_A_ROUND: usize = 2;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Rounds for each program: a recorded run, a calibrated one, and two plain runs; medians count
    #[arg(long, default_value_t = 5)]
    rounds: usize,

    /// Plain runs of a calibrated recording
    #[arg(long, default_value_t = 3)]
    plain_runs: usize,

    /// A file for all times, one line each: what is reported, its interval, the truth and its error, as CSV, in ms at the usual pace
    #[arg(long)]
    csv: Option<PathBuf>,
}

fn recorded(command: &CommandLine, common: &Common, options: &[&str]) -> CommandLine {
    let (memtoll, file) = (common.memtoll.as_os_str(), common.folder.join("costs.memtoll"));
    let front = [memtoll, "record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref(), file.as_os_str()];
    command.under(front.into_iter().chain(options.iter().map(AsRef::as_ref)).chain(["--".as_ref()]))
}

fn report(command: &CommandLine, common: &Common, options: &[&str]) -> Result<Value, String> {
    let (memtoll, file) = (common.memtoll.as_os_str(), common.folder.join("costs.memtoll"));
    recorded(command, common, options).measure()?;
    CommandLine::new([memtoll, "report".as_ref(), "--format".as_ref(), "json".as_ref(), file.as_os_str()]).json()
}

fn mapping_calls(command: &CommandLine, common: &Common) -> Result<f64, String> {
    let log = common.folder.join("strace.txt");
    let front = ["strace".as_ref(), "-f".as_ref(), "-c".as_ref(), "-o".as_ref(), log.as_os_str()];
    let trace = ["-e".as_ref(), "trace=mmap,munmap,mremap,brk,madvise,mprotect".as_ref()];
    command.under(front.into_iter().chain(trace)).measure()?;
    let text = std::fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let total = text.lines().find(|line| line.ends_with("total"));
    // % time, seconds, usecs/call, calls, [errors,] total
    let calls = total.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    calls.ok_or_else(|| format!("strace printed no total:\n{text}"))
}

/// Compares the last recording, whose program had `faults` faults, with what perf says of a run of its own.
fn same_place(command: &CommandLine, common: &Common, faults: f64) -> Result<f64, String> {
    let (memtoll, file) = (common.memtoll.as_os_str(), common.folder.join("costs.memtoll"));
    let options = ["report", "--paid", "--group", "module", "--metric", "faults", "--format", "json"];
    let words = [memtoll].into_iter().chain(options.map(AsRef::as_ref)).chain([file.as_os_str()]);
    let report = CommandLine::new(words).json()?;
    let sites = report["sites"].as_array().ok_or("the report has no sites")?;
    let module = |site: &Value| Some(module_of(site["function"].as_str()?));
    let paid = sites
        .iter()
        .filter_map(|site| Some((module(site)?, site["minor_faults"].as_u64()? + site["file_faults"].as_u64()?)));
    // Faults of code without a name are charged to no module.
    let paid = paid.filter(|(module, _)| module != "(no stack)").collect();
    Ok(agreement(&paid, faults, &by_module(command, &common.folder, faults)?))
}

/// The times of recordings of one way, beside the truth.
fn times(way: &'static str, reports: &[Value], paces: &[f64], allocator: TrueTime, whole: TrueTime) -> Times {
    let reported = |of: fn(&Value) -> ReportedTime| {
        reports.iter().zip(paces).map(|(report, pace)| of(report).over(*pace)).collect()
    };
    Times {
        way,
        allocator: Compared {
            truth: allocator,
            reported: reported(|report| ReportedTime::of(report, "allocator_ns", "intervals")),
        },
        whole: Compared { truth: whole, reported: reported(said_of_whole) },
        recorder: reports.iter().zip(paces).map(|(report, pace)| ms(report, "recorder_ns") / pace).collect(),
    }
}

/// How long the plain runs of each round took, over the median of all: the machine's own part of what differs between rounds.
fn paces(plain: &[Usage]) -> Vec<f64> {
    let usual = median(plain.iter().map(|usage| usage.cpu));
    let mean = |runs: &[Usage]| runs.iter().map(|usage| usage.cpu).sum::<f64>() / runs.len() as f64;
    plain.chunks(PLAIN_RUNS_OF_A_ROUND).map(|runs| mean(runs) / usual.max(1e-9)).collect()
}

/// A time of the totals.
fn ms(report: &Value, name: &str) -> f64 {
    report["totals"][name].as_f64().unwrap_or(f64::NAN) / 1e6
}

/// Parts and rest together, with the interval of the rest, which has the errors of the parts, too.
fn said_of_whole(report: &Value) -> ReportedTime {
    let value = ms(report, "cpu_ns") - ms(report, "recorder_ns");
    let rest = ReportedTime::of(report, "rest_ns", "balance_intervals");
    ReportedTime { value, low: value + rest.low - rest.value, high: value + rest.high - rest.value }
}

fn measure(program: &Program, arguments: &Arguments) -> Result<Figures, String> {
    let common = &arguments.common;
    let mut zeroing = Vec::<Zeroing>::new();
    let (mut plain, mut recordings, mut calibrated) = (Vec::<Usage>::new(), Vec::<Value>::new(), Vec::<Value>::new());
    let (mut samples, mut recorded_samples): (Vec<Samples>, Vec<Samples>) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        zeroing.push(zeroing::measure()?);
        plain.push(program.command.measure()?);
        samples.push(sample(&program.command, &common.folder)?);
        recorded_samples.push(sample(&recorded(&program.command, common, &[]), &common.folder)?);
        calibrated.push(report(&program.command, common, &[&format!("--calibrate={}", arguments.plain_runs)])?);
        recordings.push(report(&program.command, common, &[])?);
        plain.push(program.command.measure()?);
        samples.push(sample(&program.command, &common.folder)?);
    }
    let faults_of_a_run = median(plain.iter().map(|usage| usage.faults as f64));
    let one = |report: &Value, pointers: &[&str]| pointers.iter().map(|p| number(report, p) as f64).sum::<f64>();
    let sum = |pointers: &[&str]| median(recordings.iter().map(|report| one(report, pointers)));
    let of = |pointer: &str| sum(&[pointer]);
    let kind = |kind: &str| of(&format!("/totals/other_faults_by_kind/{kind}"));
    let charged = sum(&["/totals/minor_faults", "/totals/major_faults", "/totals/file_faults"]);
    let paces = paces(&plain);
    let of_rounds = paces.iter().flat_map(|pace| [pace; PLAIN_RUNS_OF_A_ROUND]);
    let cpu: Vec<f64> = plain.iter().zip(of_rounds).map(|(usage, pace)| usage.cpu * 1e3 / pace).collect();
    let faults = || plain.iter().map(|usage| usage.faults as f64);
    let without = |report: &Value, kind: &str| {
        one(report, &ALL_FAULTS) - one(report, &[&format!("/totals/other_faults_by_kind/{kind}")])
    };
    let own = |report: &Value| without(report, "recorder");
    let same_place = same_place(&program.command, common, recordings.last().map_or(0.0, own))?;
    let apart = recordings.iter().flat_map(|report| faults().map(move |faults| (own(report) - faults).abs()));
    // Of each plain run, its time times the share of the samples in the next one.
    let sampled = |count: fn(&Samples) -> u64| -> Vec<f64> {
        let share = |samples: &Samples| count(samples) as f64 / samples.all.max(1) as f64;
        cpu.iter().zip(&samples).map(|(cpu, samples)| cpu * share(samples)).collect()
    };
    let beside = |reported: f64, count| Pair { reported: reported / 1e6, truth: median(sampled(count)) };
    let found = samples.iter().map(|samples| samples.allocator_itself).sum();
    let whole = TrueTime::of_rounds(&cpu, PLAIN_RUNS_OF_A_ROUND);
    let allocator = whole.sampled(&sampled(|samples| samples.allocator_itself), found);
    // The largest resident set of a process: of several, which one that was is unknown.
    let one_process = recordings.iter().all(|report| report["processes"].as_array().is_some_and(|all| all.len() == 1));
    let resident = of("/totals/resident_peak_bytes");
    let plain_resident = median(plain.iter().map(|usage| usage.peak_rss as f64));
    let own_resident = CommandLine::new(["true"]).measure()?.peak_rss as f64;
    let pages = of("/totals/touched_bytes") / of("/machine/page").max(1.0);
    let zeroing_ms = |of: fn(&Zeroing) -> f64| pages * median(zeroing.iter().map(of)) / 1e6;
    Ok(Figures {
        name: program.name,
        cpu: whole.value,
        seen: Pair {
            reported: median(recordings.iter().map(|report| without(report, "unseen"))),
            truth: of("/totals/faults_counted"),
        },
        own: Pair { reported: median(recordings.iter().map(own)), truth: faults_of_a_run },
        spread: faults().fold(0.0, f64::max) - faults().fold(f64::MAX, f64::min),
        nearest: apart.fold(f64::MAX, f64::min),
        recorder_faults: kind("recorder"),
        anonymous: charged + kind("unowned"),
        charged: charged / (charged + kind("unowned")).max(1.0),
        same_place,
        faults: beside(sum(&["/totals/fault_time_ns", "/totals/other_fault_time_ns"]), |samples| samples.faults),
        zeroing: Zeroed {
            reported: of("/totals/zeroing_ns") / 1e6,
            cached: zeroing_ms(|zeroing| zeroing.cached),
            uncached: zeroing_ms(|zeroing| zeroing.uncached),
        },
        mapping: beside(of("/totals/mapping_ns"), |samples| samples.mappings),
        recorder: Pair {
            reported: of("/totals/recorder_ns") / 1e6,
            truth: median(recorded_samples.iter().map(|samples| milliseconds(samples.recorder))),
        },
        heap_moves: Pair {
            reported: sum(&["/totals/heap_grown_calls", "/totals/heap_shrunk_calls"]),
            truth: mapping_calls(&program.command, common)?,
        },
        resident: (one_process && resident > 0.0 && plain_resident > own_resident)
            .then(|| Pair { reported: resident / f64::from(1 << 20), truth: plain_resident / f64::from(1 << 20) }),
        times: vec![
            times("recorded", &recordings, &paces, allocator, whole),
            times("calibrated", &calibrated, &paces, allocator, whole),
        ],
    })
}

/// How many of the goals are met, over all programs.
fn summary(all: &[Figures]) -> String {
    let mut text = String::new();
    for (index, way) in ["recorded", "calibrated"].into_iter().enumerate() {
        for (what, of) in [
            ("allocator", (|times| &times.allocator) as fn(&Times) -> &Compared),
            ("parts and rest", |times| &times.whole),
        ] {
            let times = || all.iter().map(|figures| of(&figures.times[index]));
            let (held, intervals) =
                (times().map(Compared::held).sum::<usize>(), times().map(|t| t.reported.len()).sum::<usize>());
            let within = |share: f64| times().filter(|time| time.apart().abs() <= share).count();
            let _ = writeln!(
                text,
                "{way}, {what}: within 5 % for {}, within 10 % for {} of {} programs; {held} of {intervals} intervals hold the truth",
                within(0.05),
                within(0.10),
                all.len()
            );
        }
    }
    text
}

fn csv(all: &[Figures]) -> String {
    let mut text = "program,way,time,reported,low,high,truth,error,recorder\n".to_owned();
    for figures in all {
        for Times { way, allocator, whole, recorder } in &figures.times {
            for (what, Compared { truth, reported }) in [("allocator", allocator), ("whole", whole)] {
                for (ReportedTime { value, low, high }, recorder) in reported.iter().zip(recorder) {
                    let (name, TrueTime { value: truth, error }) = (figures.name, truth);
                    let _ = writeln!(text, "\"{name}\",{way},{what},{value},{low},{high},{truth},{error},{recorder}");
                }
            }
        }
    }
    text
}

fn main() {
    let arguments = Arguments::parse();
    let (mut all, mut failures) = (Vec::new(), 0);
    println!(
        "Medians of {} recordings, {} calibrated ones and {} plain runs in turn; a calibrated recording has {} plain runs of\n\
         its own. In brackets: the kernel's count, samples of plain runs, strace's count.\n",
        arguments.rounds,
        arguments.rounds,
        PLAIN_RUNS_OF_A_ROUND * arguments.rounds,
        arguments.plain_runs
    );
    for program in or_exit(cost_programs(&arguments.common.folder)) {
        let program = match program {
            Ok(program) if program.name.contains(&arguments.common.only) => program,
            Ok(_) => continue,
            Err((name, why)) => {
                println!("not run: {name}: {why}");
                continue;
            }
        };
        match measure(&program, &arguments) {
            Ok(figures) => {
                println!("{}", figures.text());
                for (failure, text) in figures.complaints() {
                    println!("  {}: {text}", if failure { "FAILED" } else { "beyond the aim" });
                    failures += usize::from(failure);
                }
                all.push(figures);
            }
            Err(error) => {
                println!("FAILED: {}: {error}", program.name);
                failures += 1;
            }
        }
    }
    let header = [
        "program", "allocator", "recorded", "off", "held", "calibrated", "off", "held", "CPU", "recorded", "off",
        "held", "calibrated", "off", "held",
    ];
    let rows: Vec<Vec<String>> = all.iter().map(Figures::row).collect();
    println!("\n{}\n{}", tables::markdown(&header, 1, &rows), summary(&all));
    if let Some(file) = &arguments.csv {
        or_exit(std::fs::write(file, csv(&all)).map_err(|error| format!("{}: {error}", file.display())));
    }
    if failures > 0 {
        println!("FAILED: {failures} times");
        std::process::exit(1);
    }
}
