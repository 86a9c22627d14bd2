//! `make check-unwind`: every stack of real programs against an independent unwinder (libgcc's), frame by frame.

use clap::Parser;
use memtoll_bench::programs::{bench_programs, count_programs, hard_programs};
use memtoll_bench::run::{CommandLine, number};
use memtoll_bench::{Common, or_exit};
use std::path::PathBuf;

/// Share of stacks that must agree, percent.
const LEAST: f64 = 99.9;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,

    /// The recorder that compares (recorder/CMakeLists.txt, CHECK_UNWIND)
    #[arg(long)]
    recorder: PathBuf,
}

fn check(name: &str, command: &CommandLine, arguments: &Arguments) -> Result<(u64, u64), String> {
    let common = &arguments.common;
    let memtoll = common.memtoll.as_os_str();
    let file = common.folder.join("unwind.memtoll");
    let log = common.folder.join(format!("unwind-{}.txt", name.replace(' ', "-")));
    let _ = std::fs::remove_file(&log);
    let recorder = arguments.recorder.as_os_str();
    let front = [
        memtoll,
        "record".as_ref(),
        "-q".as_ref(),
        "--recorder".as_ref(),
        recorder,
        "--force".as_ref(),
        "-o".as_ref(),
        file.as_os_str(),
        "--".as_ref(),
    ];
    command.under(front).with("MEMTOLL_UNWIND_LOG", &log.to_string_lossy()).measure()?;
    let report = CommandLine::new([memtoll, "report".as_ref(), "--format".as_ref(), "json".as_ref(), file.as_os_str()])
        .json()?;
    Ok((number(&report, "/recorder/unwind_checked"), number(&report, "/recorder/unwind_disagreed")))
}

fn main() {
    let arguments = Arguments::parse();
    let folder = &arguments.common.folder;
    let mut programs = or_exit(hard_programs(folder));
    let real = or_exit(count_programs(folder)).into_iter().chain(or_exit(bench_programs(folder)));
    programs.extend(real.map(|program| (program.name.to_owned(), program.command)));
    let mut failed = false;
    println!("{:<44} {:>12} {:>10} {:>12}", "program", "stacks", "disagree", "agreement");
    for (name, command) in programs.iter().filter(|(name, _)| name.contains(&arguments.common.only)) {
        let (checked, disagreed) = or_exit(check(name, command, &arguments));
        let agreement = 100.0 - disagreed as f64 * 100.0 / checked.max(1) as f64;
        // A check that checked nothing has failed.
        let bad = checked == 0 || agreement < LEAST;
        failed |= bad;
        println!("{name:<44} {checked:>12} {disagreed:>10} {agreement:>10.4} %{}", if bad { "  TOO LOW" } else { "" });
    }
    println!("disagreements are listed in {}/unwind-*.txt", folder.display());
    if failed {
        std::process::exit(1);
    }
}
