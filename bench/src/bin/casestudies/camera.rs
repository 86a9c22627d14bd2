//! Camera: the variants, the allocators they run on, and what memtoll says.

use crate::Arguments;
use crate::programs::{Recorded, build, counts_for_each, figures, medians, program};
use memtoll_bench::tables;
use std::path::Path;

pub fn write(arguments: &Arguments) -> Result<(), String> {
    build("camera")?;
    let readme = Path::new("casestudies/camera/README.md");
    tables::write(readme, "variants", &variants(arguments)?)?;
    tables::write(readme, "allocators", &allocators(arguments)?)?;
    screens(readme, arguments)
}

fn size_of_frames(option: &str) -> &'static str {
    if option.is_empty() { "1280x720" } else { "3840x2160" }
}

fn variants(arguments: &Arguments) -> Result<String, String> {
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
        "300 frames in 10 s", "variant", "allocations a frame", "minor faults", "capturing, ms CPU", "showing, ms CPU",
        "whole process, ms CPU",
    ];
    Ok(tables::markdown(&header, 2, &rows))
}

fn allocators(arguments: &Arguments) -> Result<String, String> {
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
fn screens(readme: &Path, arguments: &Arguments) -> Result<(), String> {
    let mut regions = String::new();
    for variant in ["before", "after"] {
        let recorded = Recorded::new(&program(&format!("camera-{variant}"), ""), arguments)?;
        tables::write(readme, &format!("costs {variant}"), &tables::screen(&recorded.costs()?))?;
        let frames = recorded.report("--regions").output()?;
        regions += &format!("{variant}, {}\n", tables::section(&frames, "capture")?);
    }
    tables::write(readme, "regions", &tables::screen(&regions))
}
