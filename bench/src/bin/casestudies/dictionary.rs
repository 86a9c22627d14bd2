//! Dictionary: what each step of the story takes, what it allocates, and what memtoll says.

use crate::Arguments;
use crate::programs::{Recorded, build, medians, program};
use memtoll_bench::run::{CommandLine, number};
use memtoll_bench::tables::{self, grouped};
use std::path::{Path, PathBuf};

const STEPS: [&str; 6] = ["1_stream", "2_mapped", "3_one_conversion", "4_new", "5_pool", "6_views"];

pub fn write(arguments: &Arguments) -> Result<(), String> {
    build("dictionary")?;
    let readme = Path::new("casestudies/dictionary/README.md");
    let generated = generated(arguments)?;
    tables::write(readme, "counts", &counts(&generated, arguments)?)?;
    tables::write(readme, "times generated", &times(&generated, arguments)?)?;
    let Some(real) = fetched(arguments) else {
        println!("dictionary: the tables of the real file stay as they are");
        return Ok(());
    };
    tables::write(readme, "times", &times(&real, arguments)?)?;
    for step in ["1_stream", "4_new", "5_pool"] {
        let recorded = Recorded::new(&load(step, &real), arguments)?;
        tables::write(readme, &format!("costs {step}"), &tables::screen(&recorded.costs()?))?;
    }
    tables::write(readme, "regions", &regions(&real, arguments)?)
}

fn load(step: &str, file: &Path) -> CommandLine {
    program(&format!("dictionary-{step}"), &format!("--file {}", file.display()))
}

/// The file that is made the same everywhere.
fn generated(arguments: &Arguments) -> Result<PathBuf, String> {
    let file = arguments.common.folder.join("generated.u8");
    let text = program("dictionary-generate", "").output()?;
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}

/// The real file, if there is a network or it is here already.
fn fetched(arguments: &Arguments) -> Option<PathBuf> {
    let file = arguments.common.folder.join("cedict_ts.u8");
    let fetch = CommandLine::new(["casestudies/dictionary/fetch".into(), file.clone().into_os_string()]);
    match fetch.measure() {
        Ok(_) => Some(file),
        Err(error) => {
            println!("dictionary: no real file: {error}");
            None
        }
    }
}

fn times(file: &Path, arguments: &Arguments) -> Result<String, String> {
    let figures = medians(&STEPS.map(|step| load(step, file)), arguments)?;
    let mut taken = Vec::new();
    for figures in &figures {
        let &[load, faults, destroy] = figures.as_slice() else {
            return Err(format!("the loader printed other figures than expected: {figures:?}"));
        };
        taken.push((load, load + destroy, faults));
    }
    let row = |(index, (step, &(load, together, faults))): (usize, (&&str, &(f64, f64, f64)))| {
        let faster = |time: f64, than: f64| format!("{:.1}x", than / time);
        let before = taken[index.saturating_sub(1)];
        vec![
            format!("`{step}`"),
            grouped(faults as u64),
            format!("{load:.1}"),
            format!("{together:.1}"),
            if index == 0 { String::new() } else { faster(load, before.0) },
            if index == 0 { String::new() } else { faster(together, before.1) },
            if index == 0 { String::new() } else { faster(load, taken[0].0) },
        ]
    };
    let rows: Vec<_> = STEPS.iter().zip(&taken).enumerate().map(row).collect();
    let header = [
        "step", "minor faults", "loading, ms CPU", "with destruction, ms CPU", "loading faster",
        "with destruction faster", "loading faster than at first",
    ];
    Ok(tables::markdown(&header, 1, &rows))
}

fn counts(file: &Path, arguments: &Arguments) -> Result<String, String> {
    let mut rows = Vec::new();
    for step in STEPS {
        let report = Recorded::new(&load(step, file), arguments)?.report("--format json").json()?;
        let total = |name: &str| grouped(number(&report, &format!("/totals/{name}")));
        rows.push(vec![format!("`{step}`"), total("allocations"), total("bytes"), total("peak_bytes")]);
    }
    Ok(tables::markdown(&["step", "allocations", "bytes", "live at the peak, bytes"], 1, &rows))
}

/// What loading and destroying cost, with new[] and with the pool.
fn regions(file: &Path, arguments: &Arguments) -> Result<String, String> {
    let mut screen = String::new();
    for step in ["4_new", "5_pool"] {
        let report = Recorded::new(&load(step, file), arguments)?.report("--regions").output()?;
        for region in ["load", "destroy"] {
            screen += &format!("{step}, {}\n", tables::section(&report, region)?);
        }
    }
    Ok(tables::screen(&screen))
}
