//! `make bench-growth`: whether memtoll takes four times as long where a program does something four times as often. What grows
//! faster is fast in every test, and takes minutes in the one program that does it a hundred thousand times.

use clap::Parser;
use comfy_table::{Table, presets};
use memtoll_bench::programs::many;
use memtoll_bench::run::CommandLine;
use memtoll_bench::tables::grouped;
use memtoll_bench::{Common, or_exit};
use std::ffi::OsString;
use std::path::Path;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    common: Common,
}

/// How much more often.
const MORE: u32 = 4;

/// How much longer that may take.
const LONGER: f64 = 8.0;

/// What takes less, in seconds, says nothing about how it grows.
const LEAST: f64 = 0.4;
/// What took less before is counted as this, seconds: the time that memtoll takes whatever it is asked.
const FIXED: f64 = 0.03;

/// The commands that are measured, without and with memtoll.
const STEPS: [&str; 4] = ["plain", "record", "report", "advise"];

/// Seconds of CPU time that each step takes.
fn measure(common: &Common, program: &Path, way: &str, times: u32) -> Result<[f64; STEPS.len()], String> {
    let file = common.folder.join("growth.memtoll");
    let plain = CommandLine::new([program.as_os_str(), way.as_ref(), times.to_string().as_ref()]);
    let memtoll = |words: &[&str], behind: &[OsString]| {
        let words = words.iter().map(OsString::from).chain(behind.iter().cloned());
        CommandLine::new([common.memtoll.clone().into_os_string()].into_iter().chain(words))
    };
    let to = ["-o".into(), file.clone().into_os_string(), "--".into()];
    let record = memtoll(&["record", "-q", "--force"], &[&to[..], &plain.words].concat());
    let asked = |command: &str| memtoll(&[command], &[file.clone().into_os_string()]);
    let alone = plain.measure()?.cpu;
    let recorded = (record.measure()?.cpu - alone).max(0.0);
    Ok([alone, recorded, asked("report").measure()?.cpu, asked("advise").measure()?.cpu])
}

/// What the program does, each with the first number of times.
fn ways(program: &Path, only: &str) -> Result<Vec<(String, u32)>, String> {
    let list = CommandLine::new([program]).output()?;
    let way = |line: &str| -> Result<(String, u32), String> {
        let (way, times) = line.split_once(' ').ok_or_else(|| format!("expected a way and a number, found {line}"))?;
        Ok((way.to_owned(), times.parse().map_err(|error| format!("{line}: {error}"))?))
    };
    let all = list.lines().map(way).collect::<Result<Vec<_>, String>>()?;
    let chosen: Vec<_> = all.into_iter().filter(|(way, _)| way.contains(only)).collect();
    if chosen.is_empty() { Err(format!("no way has {only} in its name, of:\n{list}")) } else { Ok(chosen) }
}

fn run(Arguments { common }: &Arguments) -> Result<(), String> {
    std::fs::create_dir_all(&common.folder).map_err(|error| format!("{}: {error}", common.folder.display()))?;
    let program = many(&common.folder)?;
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["what", "times"].into_iter().chain(STEPS));
    let mut grown = Vec::new();
    for (way, times) in ways(&program, &common.only)? {
        let (few, many) = (measure(common, &program, &way, times)?, measure(common, &program, &way, times * MORE)?);
        let step = |(few, many): (&f64, &f64)| format!("{few:.2} {many:.2}");
        let times = [times, times * MORE].map(|times| grouped(times.into())).join(" ");
        table.add_row([way.clone(), times].into_iter().chain(few.iter().zip(&many).map(step)));
        // The plain program's is its own.
        for (step, (few, many)) in STEPS.iter().zip(few.iter().zip(&many)).skip(1) {
            if *many > LEAST && *many > LONGER * few.max(FIXED) {
                grown.push(format!("{way}: {step} takes {:.0} times as long", many / few.max(FIXED)));
            }
        }
    }
    println!("Seconds of CPU time; record: what it adds\n{table}");
    match grown.is_empty() {
        true => Ok(()),
        false => Err(format!("{MORE} times as often, and more than {LONGER} times as long:\n{}", grown.join("\n"))),
    }
}

fn main() {
    or_exit(run(&Arguments::parse()));
}
