//! `make bench`: what recording costs, measured side by side with heaptrack.
//!
//! Every round runs each variant of a program once, one after the other, so that a slow moment of the machine hits all
//! of them; figures are medians of the rounds' differences to the plain run of the same round.

use clap::{Parser, Subcommand};
use comfy_table::{Cell, CellAlignment, Table, presets};
use memtoll_bench::builds::{self, Build};
use memtoll_bench::burst::{self, Burst, Recorded};
use memtoll_bench::programs::{Program, bench_programs, deep_loop};
use memtoll_bench::redirected::{self, Redirected};
use memtoll_bench::run::{CommandLine, Usage, median, number};
use memtoll_bench::short::{self, Short};
use memtoll_bench::{Common, or_exit};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Rounds
    #[arg(long, default_value_t = 5)]
    rounds: usize,

    /// Leave heaptrack out
    #[arg(long)]
    without_heaptrack: bool,

    /// Another memtoll, of before a change, measured in the same rounds
    #[arg(long)]
    before: Option<PathBuf>,

    #[command(subcommand)]
    inner: Option<Inner>,
}

#[derive(Subcommand)]
enum Inner {
    /// Run a command and write what it took into a file (the bench does this under memtoll, to see the target alone)
    Timed {
        file: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Run a command this number of times, one after the other
    Repeat {
        count: usize,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
}

/// The measurements of one variant, by round.
#[derive(Default)]
struct Variant {
    usage: Vec<Usage>,
    target: Vec<Usage>,
    file_bytes: u64,
    reports: Vec<Usage>,
}

struct Result {
    name: &'static str,
    is_loop: bool,
    events: u64,
    plain: Vec<Usage>,
    memtoll: Variant,
    /// By the memtoll of before a change.
    before: Option<Variant>,
    /// Without asking the kernel for faults, switches and mappings.
    without_costs: Vec<Usage>,
    heaptrack_raw: Option<Variant>,
    heaptrack: Option<Variant>,
}

fn timed(file: &Path, command: Vec<OsString>) -> std::result::Result<(), String> {
    let usage = CommandLine::new(command).measure()?;
    let text = format!("{} {} {}", usage.cpu, usage.wall, usage.peak_rss);
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}

fn read_timed(file: &Path) -> std::result::Result<Usage, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let fields: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match fields[..] {
        [cpu, wall, rss] => Ok(Usage { cpu, wall, peak_rss: rss as u64, ..Usage::default() }),
        _ => Err(format!("{} holds no measurement", file.display())),
    }
}

/// The command under `memtoll record`, with all costs or only with calls.
fn recorded(command: &CommandLine, arguments: &Arguments, costs: bool) -> CommandLine {
    let option: &[&OsStr] = if costs { &[] } else { &["--no-kernel".as_ref()] };
    recorded_by(&arguments.common.memtoll, command, &recording(arguments), option)
}

/// The file that each recording replaces.
fn recording(arguments: &Arguments) -> PathBuf {
    arguments.common.folder.join("bench.memtoll")
}

fn recorded_by(memtoll: &Path, command: &CommandLine, file: &Path, options: &[&OsStr]) -> CommandLine {
    let front =
        [memtoll.as_os_str(), "record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref(), file.as_os_str()];
    command.under(front.iter().chain(options).copied().chain(["--".as_ref()]))
}

/// The program with the most page faults: CPU time with all costs as multiples of that without them, and of the plain
/// run's.
fn camera(arguments: &Arguments) -> std::result::Result<(f64, f64), String> {
    let folder = "casestudies/camera";
    CommandLine::new(["make", "--silent", "--directory", folder, "OUT=../../target/casestudies"]).measure()?;
    let words = ["target/casestudies/camera-before", "--fps", "0", "--seconds", "60"];
    let command = CommandLine::new(words);
    let (mut plain, mut without, mut with) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..arguments.rounds {
        plain.push(command.measure()?);
        without.push(recorded(&command, arguments, false).measure()?);
        with.push(recorded(&command, arguments, true).measure()?);
    }
    Ok((ratio(&with, &without, |usage| usage.cpu), ratio(&with, &plain, |usage| usage.cpu)))
}

fn short_processes(arguments: &Arguments) -> std::result::Result<Vec<Short>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let times = arguments.common.folder.join("times");
    let record = |command: &CommandLine| recorded(command, arguments, true);
    let target = |command: &CommandLine| {
        record(&command.under([own.as_os_str(), "timed".as_ref(), times.as_os_str()])).measure()?;
        read_timed(&times)
    };
    short::measure(arguments.rounds, &own, !arguments.without_heaptrack, &record, &target)
}

fn whole_recording(arguments: &Arguments) -> std::result::Result<f64, String> {
    short::whole_recording(arguments.rounds, &|command| recorded(command, arguments, true))
}

fn build(arguments: &Arguments) -> std::result::Result<Build, String> {
    builds::measure(arguments.rounds, &arguments.common.folder, &|command| recorded(command, arguments, true))
}

fn bursts(loops: &'static [burst::Loop], arguments: &Arguments) -> std::result::Result<Vec<Burst>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let times = arguments.common.folder.join("times");
    let program = deep_loop(&arguments.common.folder)?;
    burst::measure(arguments.rounds, loops, &program.to_string_lossy(), &|command| {
        let timed = command.under([own.as_os_str(), "timed".as_ref(), times.as_os_str()]);
        let whole = recorded(&timed, arguments, true).measure()?;
        Ok(Recorded { program: read_timed(&times)?, whole })
    })
}

fn measure(program: &Program, arguments: &Arguments) -> std::result::Result<Result, String> {
    let (folder, file) = (&arguments.common.folder, recording(arguments));
    let mut result = Result {
        name: program.name,
        is_loop: program.is_loop,
        events: 0,
        plain: Vec::new(),
        memtoll: Variant::default(),
        before: arguments.before.is_some().then(Variant::default),
        without_costs: Vec::new(),
        heaptrack_raw: (!arguments.without_heaptrack).then(Variant::default),
        heaptrack: (!arguments.without_heaptrack).then(Variant::default),
    };
    for _ in 0..arguments.rounds {
        result.plain.push(program.command.measure()?);
        result.without_costs.push(recorded(&program.command, arguments, false).measure()?);
        memtoll(program, &arguments.common.memtoll, &file, folder, &mut result.memtoll)?;
        if let Some((variant, before)) = result.before.as_mut().zip(arguments.before.as_deref()) {
            memtoll(program, before, &folder.join("before.memtoll"), folder, variant)?;
        }
        for (variant, raw) in [(&mut result.heaptrack_raw, true), (&mut result.heaptrack, false)] {
            if let Some(variant) = variant {
                heaptrack(program, folder, raw, variant)?;
            }
        }
    }
    let report = [arguments.common.memtoll.as_os_str(), "report".as_ref(), "--format".as_ref(), "json".as_ref()];
    let report = CommandLine::new(report.into_iter().chain([file.as_os_str()])).json()?;
    result.events = number(&report, "/totals/events");
    Ok(result)
}

/// One round of one memtoll: the program by itself inside a recording, a whole recording, its report.
fn memtoll(
    program: &Program,
    by: &Path,
    file: &Path,
    folder: &Path,
    variant: &mut Variant,
) -> std::result::Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let times = folder.join("times");
    let timed = program.command.under([own.as_os_str(), "timed".as_ref(), times.as_os_str()]);
    recorded_by(by, &timed, file, &[]).measure()?;
    variant.target.push(read_timed(&times)?);
    variant.usage.push(recorded_by(by, &program.command, file, &[]).measure()?);
    variant.file_bytes = std::fs::metadata(file).map_or(0, |data| data.len());
    variant.reports.push(CommandLine::new([by.as_os_str(), "report".as_ref(), file.as_os_str()]).measure()?);
    Ok(())
}

fn heaptrack(program: &Program, folder: &Path, raw: bool, variant: &mut Variant) -> std::result::Result<(), String> {
    let output = folder.join(if raw { "heaptrack-raw" } else { "heaptrack" });
    let found = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let prefix = output.file_name().unwrap_or_default().to_string_lossy().into_owned() + ".";
        entries
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&prefix)))
            .collect::<Vec<_>>()
    };
    for old in found(folder) {
        let _ = std::fs::remove_file(old);
    }
    let mode: &[&str] = if raw { &["heaptrack", "--raw", "-o"] } else { &["heaptrack", "-o"] };
    let front = mode.iter().map(OsString::from).chain([output.clone().into_os_string()]);
    let command = program.command.under(front);
    // heaptrack 1.4 can use all memory there is: 10 GB of address space are its limit here.
    let limited = command.under(["sh", "-c", "ulimit -v 10000000; exec \"$@\"", "sh"]);
    variant.usage.push(limited.measure()?);
    let Some(made) = found(folder).into_iter().next() else { return Err("heaptrack wrote no file".to_owned()) };
    variant.file_bytes = std::fs::metadata(&made).map_or(0, |data| data.len());
    if !raw {
        variant
            .reports
            .push(CommandLine::new(["heaptrack_print".as_ref(), "-f".as_ref(), made.as_os_str()]).measure()?);
    }
    Ok(())
}

/// CPU time that a variant adds, ns for each event.
fn added(variant: &[Usage], plain: &[Usage], events: u64) -> f64 {
    median(variant.iter().zip(plain).map(|(with, without)| (with.cpu - without.cpu) * 1e9 / events as f64))
}

fn ratio(variant: &[Usage], plain: &[Usage], of: impl Fn(&Usage) -> f64) -> f64 {
    median(variant.iter().zip(plain).map(|(with, without)| of(with) / of(without)))
}

fn row(table: &mut Table, result: &Result, name: &str, variant: &Variant) {
    let events = result.events;
    let target = match variant.target.is_empty() {
        true => String::new(),
        false => format!("{:.0}", added(&variant.target, &result.plain, events)),
    };
    let mib = |usage: &[Usage]| median(usage.iter().map(|usage| usage.peak_rss as f64 / 1048576.0));
    let rss = if variant.target.is_empty() { &variant.usage } else { &variant.target };
    let reports = &variant.reports;
    let report = median(reports.iter().map(|usage| usage.wall));
    let report = if report.is_nan() { String::new() } else { format!("{report:.2} ({:.0})", mib(reports)) };
    table.add_row([
        result.name.to_owned(),
        name.to_owned(),
        format!("{events}"),
        format!("{:.2}", ratio(&variant.usage, &result.plain, |usage| usage.cpu)),
        format!("{:.2}", ratio(&variant.usage, &result.plain, |usage| usage.wall)),
        target,
        format!("{:.0}", added(&variant.usage, &result.plain, events)),
        format!("{:.2}", variant.file_bytes as f64 / events as f64),
        format!("{:.0} ({:.0})", mib(rss), mib(&result.plain)),
        report,
    ]);
}

/// All that was measured; what `--only` left out is missing.
struct Measured {
    results: Vec<Result>,
    /// See [`camera`].
    camera: Option<(f64, f64)>,
    short: Vec<Short>,
    /// See [`short::whole_recording`].
    whole_recording: Option<f64>,
    build: Option<Build>,
    /// See [`burst::FOUR`] and [`burst::CROWD`].
    four: Vec<Burst>,
    crowd: Vec<Burst>,
    redirected: Option<Redirected>,
}

/// The figures that the project promises, and what was measured.
fn goals(measured: &Measured) {
    let Measured { results, camera, short, whole_recording, build, four, crowd, redirected } = measured;
    let loops = || results.iter().filter(|result| result.is_loop);
    let real = || results.iter().filter(|result| !result.is_loop);
    let target = |result: &Result| added(&result.memtoll.target, &result.plain, result.events);
    let whole = |result: &Result| added(&result.memtoll.usage, &result.plain, result.events);
    let bytes = |result: &Result| result.memtoll.file_bytes as f64 / result.events as f64;
    let worst = |values: Vec<f64>| values.into_iter().fold(f64::NAN, f64::max);
    let mut lines = vec![
        ("ns added in the target, loops (worst)", worst(loops().map(target).collect()), 40.0, true),
        ("ns added in the target, real programs (median)", median(real().map(target)), 50.0, true),
        ("ns of CPU for the whole, loops (worst)", worst(loops().map(whole).collect()), 75.0, true),
        ("ns of CPU for the whole, real programs (median)", median(real().map(whole)), 110.0, true),
        ("bytes per event, loops (worst)", worst(loops().map(bytes).collect()), 2.5, true),
        ("bytes per event, real programs (median)", median(real().map(bytes)), 2.0, true),
    ];
    if let Some(compiler) = results.iter().find(|result| result.name == "cc1plus") {
        lines.push(("ns added in the target, cc1plus", target(compiler), 350.0, true));
        lines.push(("ns of CPU for the whole, cc1plus", whole(compiler), 550.0, true));
    }
    let costs = |result: &Result| added(&result.memtoll.usage, &result.without_costs, result.events);
    lines.push((
        "ns of CPU more for page faults, mappings and waiting, loops (worst)",
        worst(loops().map(costs).collect()),
        15.0,
        true,
    ));
    lines.push((
        "ns of CPU more for page faults, mappings and waiting, real programs (median)",
        median(real().map(costs)),
        15.0,
        true,
    ));
    if let Some((with, of_plain)) = *camera {
        lines.push(("times the CPU for them, camera-before at full speed", with, 1.1, true));
        lines.push(("times the CPU of the plain run, camera-before at full speed", of_plain, 1.1, true));
    }
    if let Some(short) = short.first() {
        lines.push(("ms of CPU added to a process that is over at once", short.whole, 1.0, true));
    }
    if let Some(recording) = *whole_recording {
        lines.push(("ms of CPU for a whole recording of /bin/true", recording, 3.0, true));
    }
    if let Some(build) = build {
        lines.push(("times the wall time of a parallel build", build.wall, 1.2, true));
    }
    for (name, measured, most) in [
        ("times the wall time of four threads that only allocate (worst)", four, 2.0),
        ("times the wall time of 1,000 threads that begin at once", crowd, 5.0),
    ] {
        if let Some(worst) = measured.iter().map(|burst| burst.times).reduce(f64::max) {
            lines.push((name, worst, most, true));
        }
    }
    if let Some(redirected) = redirected {
        lines.push(("ns more for a redirected call than for a preloaded one", redirected.more, 2.0, true));
    }
    let times = |pick: fn(&Result) -> &Option<Variant>, result: &Result| {
        pick(result).as_ref().map(|variant| added(&variant.usage, &result.plain, result.events) / whole(result))
    };
    for (name, pick, least) in [
        ("times cheaper than heaptrack --raw", (|r| &r.heaptrack_raw) as fn(&Result) -> &Option<Variant>, 3.5),
        ("times cheaper than heaptrack", |r| &r.heaptrack, 4.5),
    ] {
        let first_loop = loops().next().and_then(|result| times(pick, result));
        let programs: Vec<f64> = real().filter_map(|result| times(pick, result)).collect();
        if let Some(value) = first_loop {
            lines.push((name, value, least, false));
        }
        if !programs.is_empty() {
            lines.push((name, median(programs), least, false));
        }
    }
    println!("\ngoals");
    for (name, value, limit, at_most) in lines.into_iter().filter(|(_, value, ..)| !value.is_nan()) {
        let reached = if at_most { value <= limit } else { value >= limit };
        let sign = if at_most { "at most" } else { "at least" };
        println!("  {}  {value:8.2}  {sign} {limit}: {name}", if reached { "reached" } else { "MISSED " });
    }
}

fn main() {
    let arguments = Arguments::parse();
    match arguments.inner {
        Some(Inner::Timed { file, command }) => return or_exit(timed(&file, command)),
        Some(Inner::Repeat { count, command }) => return or_exit(short::repeat(count, &CommandLine::new(command))),
        None => {}
    }
    let programs = or_exit(bench_programs(&arguments.common.folder));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(
        [
            "program", "recorder", "events", "CPU x", "wall x", "target ns/event", "whole ns/event", "B/event",
            "peak MiB (plain)", "report s (MiB)",
        ]
        .map(Cell::new),
    );
    let mut results = Vec::new();
    for program in programs.iter().filter(|program| program.name.contains(&arguments.common.only)) {
        eprintln!("measuring {} …", program.name);
        let result = or_exit(measure(program, &arguments));
        row(&mut table, &result, "memtoll", &result.memtoll);
        let others =
            [("before", &result.before), ("heaptrack --raw", &result.heaptrack_raw), ("heaptrack", &result.heaptrack)];
        for (name, variant) in others {
            if let Some(variant) = variant {
                row(&mut table, &result, name, variant);
            }
        }
        results.push(result);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    println!(
        "\n{} rounds, interleaved; ratios and differences are medians against the plain run of the same round",
        arguments.rounds
    );
    println!("heaptrack records the first process only; its events are taken to be memtoll's");
    let is_wanted = |name: &str| name.contains(&arguments.common.only);
    let camera = is_wanted("camera").then(|| {
        eprintln!("measuring camera …");
        or_exit(camera(&arguments))
    });
    let (mut short, mut recording) = (Vec::new(), None);
    if is_wanted("short processes") {
        eprintln!("measuring short processes …");
        short = or_exit(short_processes(&arguments));
        print!("{}", short::lines(&short));
        let ms = or_exit(whole_recording(&arguments));
        println!("  a whole recording of one: memtoll adds {ms:.1}");
        recording = Some(ms);
    }
    let build = is_wanted("parallel build").then(|| {
        eprintln!("measuring a parallel build …");
        or_exit(build(&arguments))
    });
    print!("{}", build.as_ref().map(builds::line).unwrap_or_default());
    let measure_loops = |name: &str, loops: &'static [burst::Loop]| {
        if !is_wanted(name) {
            return Vec::new();
        }
        eprintln!("measuring {name} …");
        let measured = or_exit(bursts(loops, &arguments));
        print!("{}", burst::lines(&measured));
        measured
    };
    let four = measure_loops("four threads that only allocate", &burst::FOUR);
    let crowd = measure_loops("a crowd of threads", &burst::CROWD);
    let redirected = is_wanted("redirected calls").then(|| {
        eprintln!("measuring redirected calls …");
        let record = |command: &CommandLine| recorded(command, &arguments, true);
        let measured = or_exit(redirected::measure(arguments.rounds, &arguments.common.folder, &record));
        let Redirected { preloaded, redirected, more } = &measured;
        println!(
            "\na recorded call of jemalloc, ns: preloaded {preloaded:.1}, redirected {redirected:.1} ({more:+.1})"
        );
        measured
    });
    goals(&Measured { results, camera, short, whole_recording: recording, build, four, crowd, redirected });
}
