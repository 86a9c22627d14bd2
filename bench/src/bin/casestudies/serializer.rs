//! Serialiser: writers and heaps, and who waits for whom.

use crate::Arguments;
use crate::programs::{Recorded, build, counts_for_each, medians, program};
use memtoll_bench::tables;
use std::path::Path;

pub fn write(arguments: &Arguments) -> Result<(), String> {
    build("serializer")?;
    let readme = Path::new("casestudies/serializer/README.md");
    screens(readme, arguments)?;
    tables::write(readme, "writers", &writers(arguments)?)
}

/// What memtoll says of the slowest writer, and the threads' lanes with it and with the one that does not use the heap.
fn screens(readme: &Path, arguments: &Arguments) -> Result<(), String> {
    for (variant, writer) in [("before", "sprintf"), ("after", "to_chars")] {
        let recorded = Recorded::new(&program("serializer-debug", &format!("--writer {writer}")), arguments)?;
        if variant == "before" {
            tables::write(readme, "costs", &tables::screen(&recorded.costs()?))?;
        }
        tables::write(readme, &format!("lanes {variant}"), &tables::screen(&recorded.report("--lanes").output()?))?;
    }
    Ok(())
}

fn writers(arguments: &Arguments) -> Result<String, String> {
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
        "heap", "writer", "allocations an object", "`free(nullptr)` an object", "1 thread, ms", &together, "faster",
        "CPU, ms", "switched off",
    ];
    Ok(tables::markdown(&header, 2, &rows))
}
