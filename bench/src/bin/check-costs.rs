//! `make check-costs`: what a recording says of page faults and time, against what others say of the same program.
//!
//! * Page faults: what memtoll saw one by one or by samples, against the kernel's count (getrusage) for the same run. More
//!   than 1 % apart is a failure; an ordinary user does not see those inside system calls.
//! * The same without the recorder's own faults, beside the kernel's count for the program without memtoll. Where the heap
//!   happens to lie makes a difference to both; it is said if none of the runs with memtoll is like one without.
//! * Charged: of the faults of anonymous memory that is no stack, the share that is charged to call sites. Less than
//!   95 % is a failure.
//! * Time: allocator, mappings and page faults, and the zeroing among these, against samples of the plain program's stacks.
//! * The allocator's own work, against the same samples, outside the kernel; and whether its interval holds what they say.
//! * Parts and rest together, against the processor time of the plain program; and whether the interval holds that.
//! * The recorder's time, against samples of a recorded run.
//! * Place: of the faults that memtoll charges, the share that `perf record -e page-faults` saw in the same module, those
//!   inside the allocator in whoever called it (`report --paid`). Less than 95 % is a failure.
//! * Mappings: how often memtoll saw the heap grow and shrink, beside strace's count of the calls for it. strace sees the
//!   loader's and the program's own calls, too.

use clap::Parser;
use comfy_table::{Cell, CellAlignment, Table, presets};
use memtoll_bench::faults::{agreement, by_module, module_of};
use memtoll_bench::programs::{Program, cost_programs};
use memtoll_bench::run::{CommandLine, Usage, median, number};
use memtoll_bench::samples::{Samples, milliseconds, sample};
use memtoll_bench::{Common, or_exit};
use serde_json::Value;

/// The larger of these is allowed: faults (a process's start has about 30 that no event shows), share.
const FEW: f64 = 50.0;
const APART: f64 = 0.01;
/// Of a report: faults charged to call sites, and all others.
const ALL_FAULTS: [&str; 4] =
    ["/totals/page_faults", "/totals/major_faults", "/totals/file_faults", "/totals/other_faults"];
const CHARGED: f64 = 0.95;
const SAME_PLACE: f64 = 0.95;
const TIME_APART: f64 = 0.10;
const WHOLE_APART: f64 = 0.05;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Runs of each program, with and without memtoll; medians count
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// Medians of some runs of a program.
struct Figures {
    name: &'static str,
    /// Faults of the plain runs.
    plain: f64,
    /// By how much they differ from each other.
    spread: f64,
    /// Faults under memtoll: all but the recorder's own.
    own: f64,
    recorder: f64,
    /// Between a plain run and one under memtoll, at least.
    nearest: f64,
    /// Faults that memtoll saw, and those that the kernel counted in the same run.
    seen: f64,
    counted: f64,
    /// Faults of anonymous memory that is no stack, and the share of them that is charged.
    anonymous: f64,
    charged: f64,
    /// Share of the charged faults that perf saw in the same module.
    same_place: f64,
    /// Of the plain runs, ms.
    cpu: f64,
    /// What memtoll says, ms.
    allocator: f64,
    faults: f64,
    zeroing: f64,
    /// What samples of the plain program say, ms.
    sampled_allocator: f64,
    sampled_faults: f64,
    sampled_zeroing: f64,
    /// The recorder's time, by memtoll and by samples of a recorded run, ms.
    recorder_time: f64,
    /// The allocator's own work: by memtoll, in ms; by samples of the plain program; in how many of the recordings the
    /// interval holds that.
    itself: f64,
    sampled_itself: f64,
    itself_held: usize,
    /// Parts and rest together, ms, without the recorder; in how many of the recordings the interval holds the time of the
    /// plain program.
    explained: f64,
    explained_held: usize,
    rounds: usize,
    sampled_recorder: f64,
    heap_moves: f64,
    mapping_calls: f64,
}

fn recorded(command: &CommandLine, common: &Common) -> CommandLine {
    let (memtoll, file) = (common.memtoll.as_os_str(), common.folder.join("costs.memtoll"));
    command.under([
        memtoll,
        "record".as_ref(),
        "-q".as_ref(),
        "--force".as_ref(),
        "-o".as_ref(),
        file.as_os_str(),
        "--".as_ref(),
    ])
}

fn report(command: &CommandLine, common: &Common) -> Result<Value, String> {
    let (memtoll, file) = (common.memtoll.as_os_str(), common.folder.join("costs.memtoll"));
    recorded(command, common).measure()?;
    CommandLine::new([memtoll, "report".as_ref(), "--format".as_ref(), "json".as_ref(), file.as_os_str()]).json()
}

fn mapping_calls(command: &CommandLine, common: &Common) -> Result<f64, String> {
    let log = common.folder.join("strace.txt");
    let front = ["strace".as_ref(), "-f".as_ref(), "-c".as_ref(), "-o".as_ref(), log.as_os_str()];
    let trace = ["-e".as_ref(), "trace=mmap,munmap,mremap,brk,madvise".as_ref()];
    command.under(front.into_iter().chain(trace)).measure()?;
    let text = std::fs::read_to_string(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let total = text.lines().find(|line| line.ends_with("total"));
    // % time, seconds, usecs/call, calls, [errors,] total
    let calls = total.and_then(|line| line.split_whitespace().nth(3)?.parse().ok());
    calls.ok_or_else(|| format!("strace printed no total:\n{text}"))
}

/// Compares the last recording with what perf says of a run of its own.
fn same_place(command: &CommandLine, common: &Common) -> Result<f64, String> {
    let (memtoll, file) = (common.memtoll.as_os_str(), common.folder.join("costs.memtoll"));
    let options = ["report", "--paid", "--group", "module", "--sort", "faults", "--format", "json"];
    let words = [memtoll].into_iter().chain(options.map(AsRef::as_ref)).chain([file.as_os_str()]);
    let report = CommandLine::new(words).json()?;
    let sites = report["sites"].as_array().ok_or("the report has no sites")?;
    let module = |site: &Value| Some(module_of(site["function"].as_str()?));
    let paid = sites
        .iter()
        .filter_map(|site| Some((module(site)?, site["page_faults"].as_u64()? + site["file_faults"].as_u64()?)));
    // Faults of code that could not be named are nobody's.
    let paid = paid.filter(|(module, _)| module != "(no stack)").collect();
    Ok(agreement(&paid, &by_module(command, &common.folder)?))
}

fn measure(program: &Program, arguments: &Arguments) -> Result<Figures, String> {
    let (mut plain, mut recordings): (Vec<Usage>, Vec<Value>) = (Vec::new(), Vec::new());
    let (mut samples, mut recorded_samples): (Vec<Samples>, Vec<Samples>) = (Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        plain.push(program.command.measure()?);
        recorded_samples.push(sample(&recorded(&program.command, &arguments.common), &arguments.common.folder)?);
        recordings.push(report(&program.command, &arguments.common)?);
        samples.push(sample(&program.command, &arguments.common.folder)?);
    }
    let of = |pointer: &str| median(recordings.iter().map(|report| number(report, pointer) as f64));
    let sum = |pointers: &[&str]| {
        median(recordings.iter().map(|report| pointers.iter().map(|p| number(report, p) as f64).sum::<f64>()))
    };
    let kind = |kind: &str| of(&format!("/totals/other_faults_by_kind/{kind}"));
    let charged = sum(&["/totals/page_faults", "/totals/major_faults", "/totals/file_faults"]);
    let cpu = median(plain.iter().map(|usage| usage.cpu * 1e3));
    let faults = || plain.iter().map(|usage| usage.faults as f64);
    let one = |report: &Value, pointers: &[&str]| pointers.iter().map(|p| number(report, p) as f64).sum::<f64>();
    let seen = |report: &Value| one(report, &ALL_FAULTS) - one(report, &["/totals/other_faults_by_kind/unseen"]);
    let own = |report: &Value| one(report, &ALL_FAULTS) - one(report, &["/totals/other_faults_by_kind/recorder"]);
    let apart = recordings.iter().flat_map(|report| faults().map(move |faults| (own(report) - faults).abs()));
    // Of each round, the plain run's time times the share of the samples.
    let sampled = |count: fn(&Samples) -> u64| {
        let share = |samples: &Samples| count(samples) as f64 / samples.all.max(1) as f64;
        median(plain.iter().zip(&samples).map(|(plain, samples)| plain.cpu * 1e3 * share(samples)))
    };
    let sampled_itself = sampled(|samples| samples.allocator_itself);
    let interval = |report: &Value, name: &str, end: &str, kind: &str| {
        report.pointer(&format!("/totals/{kind}/{name}/{end}")).and_then(Value::as_f64).unwrap_or(f64::NAN) / 1e6
    };
    let holds = |low: f64, high: f64, truth: f64| low <= truth && truth <= high;
    let itself_held = recordings.iter().filter(|report| {
        let end = |end| interval(report, "allocator_ns", end, "intervals");
        holds(end("low"), end("high"), sampled_itself)
    });
    let signed = |report: &Value, name: &str| report["totals"][name].as_f64().unwrap_or(0.0) / 1e6;
    let explained = |report: &Value| signed(report, "cpu_ns") - signed(report, "recorder_ns");
    // Errors of the parts and of the rest cancel out, but for what the rest says of the recorder.
    let explained_held = recordings.iter().filter(|report| {
        let rest =
            |end| explained(report) - signed(report, "rest_ns") + interval(report, "rest_ns", end, "balance_intervals");
        holds(rest("low"), rest("high"), cpu)
    });
    Ok(Figures {
        name: program.name,
        itself: of("/totals/allocator_ns") / 1e6,
        sampled_itself,
        itself_held: itself_held.count(),
        explained: median(recordings.iter().map(explained)),
        explained_held: explained_held.count(),
        rounds: recordings.len(),
        plain: median(faults()),
        spread: faults().fold(0.0, f64::max) - faults().fold(f64::MAX, f64::min),
        own: median(recordings.iter().map(own)),
        recorder: kind("recorder"),
        nearest: apart.fold(f64::MAX, f64::min),
        seen: median(recordings.iter().map(seen)),
        counted: of("/totals/faults_counted"),
        anonymous: charged + kind("unowned"),
        charged: charged / (charged + kind("unowned")).max(1.0),
        cpu,
        allocator: sum(&["/totals/allocator_ns", "/totals/mapping_ns"]) / 1e6,
        faults: sum(&["/totals/fault_ns", "/totals/other_fault_ns"]) / 1e6,
        zeroing: sum(&["/totals/zeroing_ns"]) / 1e6,
        sampled_zeroing: sampled(|samples| samples.zeroing),
        sampled_allocator: sampled(|samples| samples.allocator + samples.mappings),
        sampled_faults: sampled(|samples| samples.faults),
        same_place: same_place(&program.command, &arguments.common)?,
        recorder_time: of("/totals/recorder_ns") / 1e6,
        sampled_recorder: median(recorded_samples.iter().map(|samples| milliseconds(samples.recorder))),
        heap_moves: sum(&["/totals/heap_grown_calls", "/totals/heap_shrunk_calls"]),
        mapping_calls: mapping_calls(&program.command, &arguments.common)?,
    })
}

impl Figures {
    /// How far memtoll's count is from the kernel's.
    fn apart(&self) -> f64 {
        (self.seen - self.counted) / self.counted.max(1.0)
    }

    /// How far memtoll's time is from that of the samples.
    fn time_apart(&self) -> f64 {
        let sampled = self.sampled_allocator + self.sampled_faults;
        (self.allocator + self.faults - sampled) / sampled.max(1e-9)
    }

    /// How far the allocator's own time is from that of the samples, as a share of it.
    fn itself_apart(&self) -> f64 {
        (self.itself - self.sampled_itself) / self.sampled_itself.max(1e-9)
    }

    /// How far parts and rest are from the time of the plain program, as a share of it.
    fn explained_apart(&self) -> f64 {
        (self.explained - self.cpu) / self.cpu.max(1e-9)
    }

    /// What is wrong, and whether that is a failure.
    fn complaints(&self) -> Vec<(bool, String)> {
        let mut all = Vec::new();
        if (self.seen - self.counted).abs() > FEW.max(self.counted * APART) {
            let text =
                format!("{}: {:.0} faults seen, {:.0} counted by the kernel", self.name, self.seen, self.counted);
            all.push((true, text));
        }
        if self.nearest > FEW.max(self.plain * APART) {
            let text = format!("{}: no run without memtoll has about as many faults as one with it", self.name);
            all.push((false, text));
        }
        if self.charged < CHARGED && self.anonymous > FEW {
            let text = format!("{}: only {:.1} % of the anonymous faults are charged", self.name, self.charged * 100.0);
            all.push((true, text));
        }
        if self.same_place < SAME_PLACE {
            let place = self.same_place * 100.0;
            all.push((true, format!("{}: perf saw only {place:.1} % of the faults in the same place", self.name)));
        }
        let apart = self.itself_apart();
        if apart.abs() > TIME_APART {
            all.push((false, format!("{}: the allocator's time differs by {:+.0} %", self.name, apart * 100.0)));
        }
        let apart = self.explained_apart();
        if apart.abs() > WHOLE_APART {
            all.push((
                false,
                format!("{}: parts and rest differ by {:+.0} % from the plain run", self.name, apart * 100.0),
            ));
        }
        // Of five recordings, one interval may miss the truth.
        for (held, what) in [(self.itself_held, "the allocator's time"), (self.explained_held, "the plain run's time")]
        {
            if held * 5 < self.rounds * 4 {
                let text =
                    format!("{}: {what} is outside of {} of {} intervals", self.name, self.rounds - held, self.rounds);
                all.push((false, text));
            }
        }
        if self.time_apart().abs() > TIME_APART {
            let text = format!("{}: time differs by {:+.0} % from the samples'", self.name, self.time_apart() * 100.0);
            all.push((false, text));
        }
        all
    }

    fn row(&self) -> Vec<String> {
        let time = |memtoll: f64, samples: f64| format!("{memtoll:.1} / {samples:.1}");
        vec![
            self.name.to_owned(),
            format!("{:.0} / {:.0}", self.seen, self.counted),
            format!("{:+.2} %", self.apart() * 100.0),
            format!("{:.0} / {:.0} ± {:.0}", self.own, self.plain, self.spread / 2.0),
            format!("{:.0}", self.recorder),
            format!("{:.1} %", self.charged * 100.0),
            format!("{:.1} %", self.same_place * 100.0),
            format!("{:.0}", self.cpu),
            time(self.allocator, self.sampled_allocator),
            time(self.faults, self.sampled_faults),
            time(self.zeroing, self.sampled_zeroing),
            format!("{:+.0} %", self.time_apart() * 100.0),
            time(self.itself, self.sampled_itself),
            format!("{:+.0} %", self.itself_apart() * 100.0),
            format!("{}/{}", self.itself_held, self.rounds),
            time(self.explained, self.cpu),
            format!("{:+.0} %", self.explained_apart() * 100.0),
            format!("{}/{}", self.explained_held, self.rounds),
            time(self.recorder_time, self.sampled_recorder),
            format!("{:.0} / {:.0}", self.heap_moves, self.mapping_calls),
        ]
    }
}

fn main() {
    let arguments = Arguments::parse();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(
        [
            "program",
            "faults / kernel",
            "apart",
            "own / plain runs",
            "recorder's",
            "charged",
            "same place",
            "CPU ms",
            "allocator ms / samples",
            "faults ms / samples",
            "zeroing ms / samples",
            "apart",
            "allocator itself ms / samples",
            "apart",
            "held",
            "parts + rest ms / plain",
            "apart",
            "held",
            "recorder ms / samples",
            "heap moves / strace",
        ]
        .map(Cell::new),
    );
    let (mut complaints, mut left_out) = (Vec::new(), Vec::new());
    for program in or_exit(cost_programs(&arguments.common.folder)) {
        match program {
            Ok(program) if program.name.contains(&arguments.common.only) => {
                eprintln!("measuring {} …", program.name);
                let figures = or_exit(measure(&program, &arguments));
                table.add_row(figures.row());
                complaints.extend(figures.complaints());
            }
            Ok(_) => {}
            Err((name, why)) => left_out.push(format!("not run: {name}: {why}")),
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}\n\nmedians of {} runs; strace's count is of one", arguments.rounds);
    for (failure, text) in &complaints {
        println!("{}: {text}", if *failure { "FAILED" } else { "beyond the aim" });
    }
    left_out.iter().for_each(|line| println!("{line}"));
    if complaints.iter().any(|(failure, _)| *failure) {
        std::process::exit(1);
    }
}
