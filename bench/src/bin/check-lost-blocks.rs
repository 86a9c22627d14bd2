//! `make check-lost-blocks`: blocks that are lost, indirectly lost, possibly lost and still reachable at the end, against the leak
//! summary of Valgrind's memcheck.

use clap::Parser;
use memtoll_bench::programs::{Program, leaving_programs};
use memtoll_bench::run::{CommandLine, number};
use memtoll_bench::{Common, or_exit};

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// What memcheck calls each kind, and what memtoll's JSON does; what is left of live blocks is reachable.
const KINDS: [(&str, &str); 3] =
    [("definitely lost:", "lost"), ("indirectly lost:", "indirectly_lost"), ("possibly lost:", "possibly_lost")];
const REACHABLE: &str = "still reachable:";

/// Of each kind, and of what is reachable: blocks and bytes.
type Left = [(u64, u64); 4];

/// Variables that memcheck sets itself: the programs' blocks have copies of them.
const SAME: [(&str, &str); 3] =
    [("GLIBCPP_FORCE_NEW", "1"), ("GLIBCXX_FORCE_NEW", "1"), ("LD_LIBRARY_PATH", "/usr/lib/debug")];

fn with_memcheck(program: &Program, common: &Common) -> Result<Left, String> {
    let log = common.folder.join("memcheck.txt");
    let front = [
        "valgrind", "--tool=memcheck", "--leak-check=full", "--show-leak-kinds=all", "--undef-value-errors=no",
        "--run-libc-freeres=no", "--run-cxx-freeres=no",
    ];
    let text = program.command.under(front).errors(&log)?;
    // All blocks were freed: there is no summary then.
    if text.contains("All heap blocks were freed") {
        return Ok(Left::default());
    }
    let mut left = Left::default();
    for (place, kind) in left.iter_mut().zip(KINDS.iter().map(|kind| kind.0).chain([REACHABLE])) {
        let line = text.lines().filter_map(|line| line.split_once(kind)).next_back();
        let (_, line) = line.ok_or_else(|| format!("valgrind printed no \"{kind}\" for {}", program.name))?;
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok()).collect();
        match numbers[..] {
            [bytes, blocks, ..] => *place = (blocks, bytes),
            _ => return Err(format!("cannot read valgrind's line: {line}")),
        }
    }
    Ok(left)
}

fn with_memtoll(program: &Program, common: &Common) -> Result<Left, String> {
    let memtoll = common.memtoll.as_os_str();
    let file = common.folder.join("lost.memtoll");
    let record = ["record".as_ref(), "-q".as_ref(), "--force".as_ref(), "-o".as_ref(), file.as_os_str(), "--".as_ref()];
    let command = SAME.iter().fold(program.command.clone(), |command, (name, value)| command.with(name, value));
    command.under([memtoll].into_iter().chain(record)).measure()?;
    let report = CommandLine::new([memtoll, "report".as_ref(), "--format".as_ref(), "json".as_ref(), file.as_os_str()]);
    let report = report.json()?;
    let total = |name: &str| number(&report, &format!("/totals/{name}"));
    let mut left = Left::default();
    let (mut blocks, mut bytes) = (total("live_blocks"), total("live_bytes"));
    for (place, (_, kind)) in left.iter_mut().zip(KINDS) {
        *place = (total(&format!("{kind}_blocks")), total(&format!("{kind}_bytes")));
        (blocks, bytes) = (blocks - place.0, bytes - place.1);
    }
    left[KINDS.len()] = (blocks, bytes);
    Ok(left)
}

fn main() {
    let arguments = Arguments::parse();
    let programs = or_exit(leaving_programs(&arguments.common.folder));
    let mut wrong = 0;
    println!("{:<14} {:>16} {:>16} {:>16} {:>16}", "program", "lost", "indirectly", "possibly", "reachable");
    for program in programs.iter().filter(|program| program.name.contains(&arguments.common.only)) {
        let memcheck = or_exit(with_memcheck(program, &arguments.common));
        let memtoll = or_exit(with_memtoll(program, &arguments.common));
        let cell = |(blocks, bytes): (u64, u64)| format!("{blocks} ({bytes} B)");
        let row = |name: &str, left: Left| {
            let cells: Vec<String> = left.iter().map(|of| format!("{:>16}", cell(*of))).collect();
            println!("{name:<14} {}", cells.join(" "));
        };
        row(program.name, memtoll);
        // The environment is longer under memtoll, and the recorder is one more file with variables of threads: blocks that hold
        // either are larger.
        let [of_memtoll, of_memcheck] = [memtoll, memcheck].map(|left| left.map(|(blocks, _)| blocks));
        if of_memtoll != of_memcheck {
            row("  memcheck", memcheck);
        }
        // memcheck knows which words were never written. memtoll takes them for pointers, so it may find less, and never more.
        let lost = |blocks: [u64; 4]| blocks[0] + blocks[1];
        if lost(of_memtoll) > lost(of_memcheck) || program.is_loop && of_memtoll != of_memcheck {
            wrong += 1;
            println!("  WRONG");
        }
    }
    if wrong > 0 {
        println!(
            "{wrong} programs are wrong: memtoll calls blocks lost that memcheck reaches, or misses some of a known program"
        );
        std::process::exit(1);
    }
}
