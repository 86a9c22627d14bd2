//! Terminal: what each step of the story changes, what other widths of the window cost, and what memtoll says.

use crate::Arguments;
use crate::programs::{Recorded, build, medians, program};
use memtoll_bench::run::{median, number};
use memtoll_bench::tables::{self, grouped};
use std::fmt::Write;
use std::path::Path;

const STEPS: [&str; 6] = ["before", "1_vector", "2_reserve", "3_inline_run", "4_inline_cells", "5_reserved_range"];

/// Any text without colours.
const TEXT: &str = "casestudies/terminal/common/text_buffer.cpp";

pub fn write(arguments: &Arguments) -> Result<(), String> {
    build("terminal")?;
    let readme = Path::new("casestudies/terminal/README.md");
    tables::write(readme, "steps", &steps(arguments)?)?;
    tables::write(readme, "columns", &columns(arguments)?)?;
    for (name, step, options) in [("before", "before", ""), ("too wide", "4_inline_cells", "--columns 160")] {
        let recorded = Recorded::new(&program(&format!("terminal-{step}"), &format!("{options} {TEXT}")), arguments)?;
        tables::write(readme, &format!("costs {name}"), &tables::screen(&recorded.costs()?))?;
    }
    Ok(())
}

/// What a step's program prints.
struct Figures {
    start_up_ms: f64,
    minor_faults: f64,
    resident_kib: f64,
    /// The size of ROW; where its attributes lie and their size; where its characters lie and theirs.
    layout: [f64; 5],
    resident_with_text_kib: f64,
}

impl Figures {
    fn of(figures: &[f64]) -> Result<Figures, String> {
        let &[start_up_ms, minor_faults, resident_kib, size, attributes, a, characters, c, resident_with_text_kib] =
            figures
        else {
            return Err(format!("the terminal printed other figures than expected: {figures:?}"));
        };
        let layout = [size, attributes, a, characters, c];
        Ok(Figures { start_up_ms, minor_faults, resident_kib, layout, resident_with_text_kib })
    }
}

fn figures(options: &[(&str, String)], arguments: &Arguments) -> Result<Vec<Figures>, String> {
    let commands: Vec<_> =
        options.iter().map(|(step, options)| program(&format!("terminal-{step}"), options)).collect();
    medians(&commands, arguments)?.iter().map(|figures| Figures::of(figures)).collect()
}

/// What memtoll counts: allocations and their bytes, and nanoseconds inside the allocator, of which the median.
fn counts(step: &str, options: &str, arguments: &Arguments) -> Result<[u64; 3], String> {
    let command = program(&format!("terminal-{step}"), options);
    let report = || Recorded::new(&command, arguments)?.report("--format json").json();
    let reports = (0..arguments.rounds).map(|_| report()).collect::<Result<Vec<_>, String>>()?;
    let of = |name| {
        let path = format!("/totals/{name}");
        median(reports.iter().map(|report| number(report, &path) as f64)) as u64
    };
    Ok(["allocations", "bytes", "allocator_ns"].map(of))
}

fn kib(kib: f64) -> String {
    grouped(kib.max(0.0) as u64)
}

fn steps(arguments: &Arguments) -> Result<String, String> {
    let full = arguments.common.folder.join("lines.txt");
    let mut text = String::new();
    for line in 0..12_000 {
        let _ = writeln!(text, "line {line} of a text that has more lines than the buffer has rows");
    }
    std::fs::write(&full, text).map_err(|error| format!("{}: {error}", full.display()))?;
    let small = figures(&STEPS.map(|step| (step, TEXT.to_owned())), arguments)?;
    let full = figures(&STEPS.map(|step| (step, full.display().to_string())), arguments)?;
    let mut before = None;
    let mut rows = Vec::new();
    for ((step, small), full) in STEPS.iter().zip(&small).zip(&full) {
        let [allocations, bytes, allocator] = counts(step, TEXT, arguments)?;
        let change = before.replace(allocations).map(|before| before.saturating_sub(allocations));
        let [size, attributes, a, characters, c] = small.layout;
        rows.push(vec![
            format!("`{step}`"),
            grouped(allocations),
            change.map_or(String::new(), |saved| format!("-{}", grouped(saved))),
            grouped(bytes),
            format!("{size}"),
            format!("{attributes}: {a}"),
            format!("{characters}: {c}"),
            format!("{:.2}", allocator as f64 / 1e6),
            grouped(small.minor_faults as u64),
            format!("{:.2}", small.start_up_ms),
            kib(small.resident_kib),
            kib(full.resident_with_text_kib),
        ]);
    }
    let header = [
        "step", "allocations", "change", "bytes", "`sizeof(ROW)`", "attributes at: bytes", "characters at: bytes",
        "in the allocator, ms", "minor faults", "start-up, ms CPU", "resident after it, KiB",
        "resident when full, KiB",
    ];
    Ok(tables::markdown(&header, 1, &rows))
}

fn columns(arguments: &Arguments) -> Result<String, String> {
    let steps = ["before", "2_reserve", "4_inline_cells", "5_reserved_range"];
    let cases: Vec<_> = [80, 120, 160, 240].into_iter().flat_map(|columns| steps.map(|step| (columns, step))).collect();
    let options: Vec<_> = cases.iter().map(|(columns, step)| (*step, format!("--columns {columns} {TEXT}"))).collect();
    let mut rows = Vec::new();
    for (((columns, step), (_, options)), figures) in cases.iter().zip(&options).zip(figures(&options, arguments)?) {
        let [allocations, bytes, _] = counts(step, options, arguments)?;
        rows.push(vec![
            format!("{columns}"),
            format!("`{step}`"),
            grouped(allocations),
            grouped(bytes),
            grouped(figures.minor_faults as u64),
            format!("{:.2}", figures.start_up_ms),
            kib(figures.resident_kib),
        ]);
    }
    let header =
        ["columns", "step", "allocations", "bytes", "minor faults", "start-up, ms CPU", "resident after it, KiB"];
    Ok(tables::markdown(&header, 2, &rows))
}
