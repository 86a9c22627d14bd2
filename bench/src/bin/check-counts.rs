//! `make check-counts`: allocations, frees and bytes against Valgrind's "total heap usage", to the event.

use clap::Parser;
use memtoll_bench::programs::{Program, count_programs};
use memtoll_bench::run::{CommandLine, number};
use memtoll_bench::{Common, or_exit};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// As Valgrind counts: a reallocation is an allocation and a free.
#[derive(PartialEq, Eq, Debug, Clone, Copy)]
struct Counts {
    allocations: u64,
    frees: u64,
    bytes: u64,
}

fn with_valgrind(program: &Program, common: &Common) -> Result<Counts, String> {
    let log = common.folder.join("valgrind.txt");
    // The libraries free their own memory at the end only under Valgrind.
    let front = [
        "valgrind", "--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", "--run-libc-freeres=no",
        "--run-cxx-freeres=no",
    ];
    let text = program.command.under(front).errors(&log)?;
    let line = text.lines().find(|line| line.contains("total heap usage:"));
    let line = line.ok_or_else(|| format!("valgrind printed no \"total heap usage\" for {}", program.name))?;
    let words = line.split("usage:").nth(1).unwrap_or_default().split_whitespace();
    let numbers: Vec<u64> = words.filter_map(|word| word.replace(',', "").parse().ok()).collect();
    match numbers[..] {
        [allocations, frees, bytes] => Ok(Counts { allocations, frees, bytes }),
        _ => Err(format!("cannot read valgrind's line: {line}")),
    }
}

fn with_memtoll(program: &Program, common: &Common) -> Result<Counts, String> {
    let memtoll = common.memtoll.as_os_str();
    let file = common.folder.join("counts.memtoll");
    // What Valgrind adds to the environment: some programs copy all of it, the loader allocates for its paths.
    let same = [("GLIBCPP_FORCE_NEW", "1"), ("GLIBCXX_FORCE_NEW", "1"), ("LD_LIBRARY_PATH", "/usr/lib/debug")];
    same.iter()
        .fold(program.command.clone(), |command, (name, value)| command.with(name, value))
        .under([
            memtoll,
            "record".as_ref(),
            "-q".as_ref(),
            "--force".as_ref(),
            "-o".as_ref(),
            file.as_os_str(),
            "--".as_ref(),
        ])
        .measure()?;
    let report = CommandLine::new([memtoll, "report".as_ref(), "--format".as_ref(), "json".as_ref(), file.as_os_str()])
        .json()?;
    let total = |name: &str| number(&report, &format!("/totals/{name}"));
    let counts = Counts {
        allocations: total("allocations"),
        frees: total("frees") + total("reallocations"),
        bytes: total("bytes"),
    };
    Ok(counts)
}

/// How much longer LD_PRELOAD is under memtoll, bytes: programs that copy their environment see the difference.
fn preload_difference(common: &Common) -> Result<i64, String> {
    let show = CommandLine::new(["sh", "-c", "printf %s \"$LD_PRELOAD\" >&2"]);
    let log = common.folder.join("preload.txt");
    let file = common.folder.join("preload.memtoll");
    let record = ["record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref(), file.as_os_str(), "--".as_ref()];
    let memtoll = show.under([common.memtoll.as_os_str()].into_iter().chain(record)).errors(&log)?;
    let valgrind = show.under(["valgrind", "-q"]).errors(&log)?;
    Ok(memtoll.len() as i64 - valgrind.len() as i64)
}

fn main() {
    let arguments = Arguments::parse();
    let programs = or_exit(count_programs(&arguments.common.folder));
    let longer = or_exit(preload_difference(&arguments.common));
    let mut different = 0;
    println!("{:<16} {:>12} {:>12} {:>14}  against Valgrind", "program", "allocations", "frees", "bytes");
    for program in programs.iter().filter(|program| program.name.contains(&arguments.common.only)) {
        let valgrind = or_exit(with_valgrind(program, &arguments.common));
        let memtoll = or_exit(with_memtoll(program, &arguments.common));
        let by = |a: u64, b: u64| a as i64 - b as i64;
        let bytes = by(memtoll.bytes, valgrind.bytes);
        let same_counts = memtoll.allocations == valgrind.allocations && memtoll.frees == valgrind.frees;
        let copies = if longer != 0 && bytes % longer == 0 { bytes / longer } else { 0 };
        let verdict = if memtoll == valgrind {
            "equal".to_owned()
        } else if same_counts && (1..=8).contains(&copies) {
            format!("equal, but for {copies} copies of LD_PRELOAD, which differs by {longer} bytes")
        } else {
            different += 1;
            let (allocations, frees) =
                (by(memtoll.allocations, valgrind.allocations), by(memtoll.frees, valgrind.frees));
            format!("DIFFERENT: {allocations:+} allocations, {frees:+} frees, {bytes:+} bytes")
        };
        println!(
            "{:<16} {:>12} {:>12} {:>14}  {verdict}",
            program.name, memtoll.allocations, memtoll.frees, memtoll.bytes
        );
    }
    if different > 0 {
        println!("{different} programs differ");
        std::process::exit(1);
    }
}
