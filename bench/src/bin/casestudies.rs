//! Runs the case studies and writes the tables and screens in their READMEs. Times in tables are the programs' own, medians
//! of interleaved rounds, without the recorder; allocations are counted by memtoll, and screens are what it prints.

use clap::Parser;
use memtoll_bench::run::{CommandLine, median, number};
use memtoll_bench::{Common, or_exit, tables};
use std::path::Path;

#[derive(Parser)]
#[command(about = "Runs the case studies and writes the tables in their READMEs", version)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// Rounds of every measurement, of which the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

fn main() {
    or_exit(run(&Arguments::parse()));
}

fn run(arguments: &Arguments) -> Result<(), String> {
    std::fs::create_dir_all(&arguments.common.folder).map_err(|error| error.to_string())?;
    let wanted = |name: &str| name.contains(&arguments.common.only);
    if wanted("camera") {
        build("camera")?;
        let readme = Path::new("casestudies/camera/README.md");
        tables::write(readme, "variants", &camera_variants(arguments)?)?;
        tables::write(readme, "allocators", &camera_allocators(arguments)?)?;
        camera_screens(readme, arguments)?;
    }
    if wanted("serializer") {
        build("serializer")?;
        let readme = Path::new("casestudies/serializer/README.md");
        serializer_screens(readme, arguments)?;
        tables::write(readme, "writers", &serializer_writers(arguments)?)?;
    }
    if wanted("terminal") {
        build("terminal")?;
        let readme = Path::new("casestudies/terminal/README.md");
        let before = Recorded::new(&program("terminal-before", "casestudies/terminal/README.md"), arguments)?;
        tables::write(readme, "costs", &tables::screen(&before.costs()?))?;
    }
    Ok(())
}

/// `make` puts the programs where [`program`] looks for them.
fn build(name: &str) -> Result<(), String> {
    let folder = format!("casestudies/{name}");
    CommandLine::new(["make", "--silent", "--directory", &folder, "OUT=../../target/casestudies"]).measure().map(drop)
}

fn program(name: &str, options: &str) -> CommandLine {
    let path = format!("target/casestudies/{name}");
    CommandLine::new(std::iter::once(path.as_str()).chain(options.split_whitespace()))
}

/// All numbers that a program prints on standard error, in their order.
fn figures(command: &CommandLine, folder: &Path) -> Result<Vec<f64>, String> {
    let text = command.errors(&folder.join("casestudies.txt"))?;
    let words = text.split(|c: char| c.is_whitespace() || c == ',');
    Ok(words.filter_map(|word| word.parse().ok()).collect())
}

/// Medians of the figures of several programs, run in turn.
fn medians(commands: &[CommandLine], arguments: &Arguments) -> Result<Vec<Vec<f64>>, String> {
    let mut runs = vec![Vec::new(); commands.len()];
    for _ in 0..arguments.rounds {
        for (command, runs) in commands.iter().zip(&mut runs) {
            runs.push(figures(command, &arguments.common.folder)?);
        }
    }
    let column = |runs: &[Vec<f64>], index: usize| median(runs.iter().filter_map(|run| run.get(index).copied()));
    Ok(runs.iter().map(|runs| (0..runs[0].len()).map(|index| column(runs, index)).collect()).collect())
}

/// A recording by memtoll.
struct Recorded {
    memtoll: String,
    file: String,
}

impl Recorded {
    fn new(command: &CommandLine, arguments: &Arguments) -> Result<Recorded, String> {
        let memtoll = arguments.common.memtoll.display().to_string();
        let file = arguments.common.folder.join("casestudies.memtoll").display().to_string();
        command.under([memtoll.as_str(), "record", "--quiet", "-o", &file, "--"]).measure()?;
        Ok(Recorded { memtoll, file })
    }

    fn report(&self, options: &str) -> CommandLine {
        CommandLine::new([self.memtoll.as_str(), "report", &self.file].into_iter().chain(options.split_whitespace()))
    }

    /// The report's sections on costs.
    fn costs(&self) -> Result<String, String> {
        let report = self.report("").output()?;
        let sections =
            ["What memory costs", "Lines whose blocks cost most"].map(|title| tables::section(&report, title));
        let [balance, lines] = sections;
        Ok(format!("{}\n{}", balance?, lines?))
    }
}

/// What memtoll counts in a run: allocations, and calls of `free` with a null pointer.
fn counts(command: &CommandLine, arguments: &Arguments) -> Result<[u64; 2], String> {
    let report = Recorded::new(command, arguments)?.report("--format json").json()?;
    Ok(["/totals/allocations", "/totals/free_null_calls"].map(|path| number(&report, path)))
}

/// What memtoll counts for `many` more of the things that `option` asks for.
fn counts_for_each(
    name: &str,
    options: &str,
    option: &str,
    more: u64,
    arguments: &Arguments,
) -> Result<[f64; 2], String> {
    let at = |n: u64| counts(&program(name, &format!("{options} --{option} {n}")), arguments);
    let (few, many) = (at(more)?, at(2 * more)?);
    Ok([0, 1].map(|i| many[i].saturating_sub(few[i]) as f64 / more as f64))
}

fn size_of_frames(option: &str) -> &'static str {
    if option.is_empty() { "1280x720" } else { "3840x2160" }
}

fn camera_variants(arguments: &Arguments) -> Result<String, String> {
    let cases = [("before", ""), ("after", ""), ("before", "--4k"), ("after", "--4k")];
    let commands: Vec<_> = cases.iter().map(|(variant, size)| program(&format!("camera-{variant}"), size)).collect();
    let figures = medians(&commands, arguments)?;
    for (pair, (_, size)) in figures.chunks(2).zip(cases.iter().step_by(2)) {
        // The story: at least 10 of every 11 ms of the functions that deal with frames.
        let [before, after] = [0, 1].map(|variant| pair[variant][0] + pair[variant][1]);
        println!("camera, {}: {before:.1} -> {after:.1} ms CPU ({:.0}x)", size_of_frames(size), before / after);
        if after * 11.0 > before {
            return Err("camera-after saves less than 10 of every 11 ms".to_owned());
        }
    }
    let mut rows = Vec::new();
    for ((variant, size), figures) in cases.iter().zip(figures) {
        let &[capture, show, user, system, faults, _] = figures.as_slice() else {
            return Err(format!("camera-{variant} printed other figures than expected: {figures:?}"));
        };
        let [allocations, _] =
            counts_for_each(&format!("camera-{variant}"), &format!("--fps 0 {size}"), "frames", 60, arguments)?;
        rows.push(vec![
            size_of_frames(size).to_owned(),
            (*variant).to_owned(),
            format!("{allocations:.0}"),
            tables::grouped(faults as u64),
            format!("{capture:.1}"),
            format!("{show:.1}"),
            format!("{:.1}", user + system),
        ]);
    }
    let header = [
        "300 frames in 10 s",
        "variant",
        "allocations a frame",
        "minor faults",
        "capturing, ms CPU",
        "showing, ms CPU",
        "whole process, ms CPU",
    ];
    Ok(tables::markdown(&header, 2, &rows))
}

fn camera_allocators(arguments: &Arguments) -> Result<String, String> {
    let library = |name: &str| Some(("LD_PRELOAD", format!("/usr/lib/x86_64-linux-gnu/{name}")));
    let allocators = [
        ("glibc", None),
        ("glibc, `MALLOC_MMAP_THRESHOLD_=131072`", Some(("MALLOC_MMAP_THRESHOLD_", "131072".to_owned()))),
        ("jemalloc", library("libjemalloc.so.2")),
        ("tcmalloc", library("libtcmalloc_minimal.so.4")),
        ("mimalloc", library("libmimalloc.so.2")),
    ];
    let kinds = ["", "--4k"].into_iter().flat_map(|size| [0, 64, 4096].map(|alignment| (size, alignment)));
    let kinds: Vec<(&str, u32)> = kinds.collect();
    let mut rows = Vec::new();
    for (name, setting) in allocators {
        if let Some(("LD_PRELOAD", library)) = &setting
            && !Path::new(library).is_file()
        {
            return Err(format!("{library} is missing: the loader would go on without it"));
        }
        let mut row = vec![name.to_owned()];
        for (size, alignment) in &kinds {
            // Without the first frames, when the allocator takes its memory and learns.
            let faults = |frames: u32| {
                let options = format!("{size} --alignment {alignment} --frames {frames}");
                let command = program("camera-before", &options);
                let command = match &setting {
                    Some((variable, value)) => command.with(variable, value),
                    None => command,
                };
                figures(&command, &arguments.common.folder).map(|all| all.get(4).copied().unwrap_or(f64::NAN))
            };
            row.push(tables::grouped(((faults(90)? - faults(30)?) / 60.0).max(0.0).round() as u64));
        }
        rows.push(row);
    }
    let header =
        ["allocator", "720p, `malloc`", "aligned to 64", "to 4,096", "4K, `malloc`", "aligned to 64", "to 4,096"];
    Ok(tables::markdown(&header, 1, &rows))
}

/// What memtoll says of both variants, and what a captured frame costs.
fn camera_screens(readme: &Path, arguments: &Arguments) -> Result<(), String> {
    let mut regions = String::new();
    for variant in ["before", "after"] {
        let recorded = Recorded::new(&program(&format!("camera-{variant}"), ""), arguments)?;
        tables::write(readme, &format!("costs {variant}"), &tables::screen(&recorded.costs()?))?;
        let frames = recorded.report("--regions").output()?;
        regions += &format!("{variant}, {}\n", tables::section(&frames, "capture")?);
    }
    tables::write(readme, "regions", &tables::screen(&regions))
}

/// What memtoll says of the slowest writer, and the threads' lanes with it and with the one that does not use the heap.
fn serializer_screens(readme: &Path, arguments: &Arguments) -> Result<(), String> {
    for (variant, writer) in [("before", "sprintf"), ("after", "to_chars")] {
        let recorded = Recorded::new(&program("serializer-debug", &format!("--writer {writer}")), arguments)?;
        if variant == "before" {
            tables::write(readme, "costs", &tables::screen(&recorded.costs()?))?;
        }
        tables::write(readme, &format!("lanes {variant}"), &tables::screen(&recorded.report("--lanes").output()?))?;
    }
    Ok(())
}

fn serializer_writers(arguments: &Arguments) -> Result<String, String> {
    let cases: Vec<(&str, &str)> = ["debug", "release"]
        .into_iter()
        .flat_map(|build| ["sprintf", "asprintf", "ostringstream", "to_chars"].map(|writer| (build, writer)))
        .collect();
    let command = |(build, writer): &(&str, &str), threads: &str| {
        program(&format!("serializer-{build}"), &format!("--writer {writer} {threads}"))
    };
    let commands: Vec<_> = cases.iter().flat_map(|case| [command(case, "--threads 1"), command(case, "")]).collect();
    let figures = medians(&commands, arguments)?;
    let mut threads = 0.0;
    let mut rows = Vec::new();
    for (case, figures) in cases.iter().zip(figures.chunks(2)) {
        let (&[_, alone, ..], &[count, together, user, system, switches]) = (&figures[0][..], &figures[1][..]) else {
            return Err(format!("serializer {case:?} printed other figures than expected: {figures:?}"));
        };
        threads = count;
        let options = format!("--writer {} --threads 1 --pages 1", case.1);
        let [allocations, nulls] =
            counts_for_each(&format!("serializer-{}", case.0), &options, "objects", 1000, arguments)?;
        rows.push(vec![
            if case.0 == "debug" { "debug heap" } else { "glibc" }.to_owned(),
            format!("`{}`", case.1),
            format!("{allocations:.0}"),
            format!("{nulls:.0}"),
            format!("{alone:.0}"),
            format!("{together:.0}"),
            format!("{:.1}x", alone / together),
            format!("{:.0}", user + system),
            tables::grouped(switches as u64),
        ]);
    }
    let together = format!("{threads:.0} threads, ms");
    let header = [
        "heap",
        "writer",
        "allocations an object",
        "`free(nullptr)` an object",
        "1 thread, ms",
        &together,
        "faster",
        "CPU, ms",
        "switched off",
    ];
    Ok(tables::markdown(&header, 2, &rows))
}
