//! What recording costs a parallel build: many short processes that allocate a lot, on all processors.

use crate::run::{CommandLine, Usage, median};
use std::path::Path;

/// Files that are compiled at a time.
const JOBS: &str = "-j2";
/// C files of the end-to-end tests that are compiled.
const FILES: usize = 24;

/// A build, medians of the rounds.
pub struct Build {
    /// Alone, seconds from start to end.
    pub plain: f64,
    /// Recorded, as a multiple of the plain run of the round: from start to end, and CPU time.
    pub wall: f64,
    /// See `wall`.
    pub cpu: f64,
}

/// Measures `rounds` times. `record` puts a command under memtoll; `folder` takes what the build makes.
pub fn measure(rounds: usize, folder: &Path, record: &dyn Fn(&CommandLine) -> CommandLine) -> Result<Build, String> {
    let makefile = folder.join("parallel_build.mk");
    std::fs::write(&makefile, rules(folder)?).map_err(|error| format!("{}: {error}", makefile.display()))?;
    let make = ["make", "-s", "-B", JOBS, "-f"].map(std::ffi::OsString::from);
    let command = CommandLine::new(make.into_iter().chain([makefile.into_os_string()]));
    let runs: Vec<(Usage, Usage)> =
        (0..rounds).map(|_| Ok((command.measure()?, record(&command).measure()?))).collect::<Result<_, String>>()?;
    let times = |of: fn(&Usage) -> f64| median(runs.iter().map(|(plain, recorded)| of(recorded) / of(plain)));
    Ok(Build {
        plain: median(runs.iter().map(|(plain, _)| plain.wall)),
        wall: times(|usage| usage.wall),
        cpu: times(|usage| usage.cpu),
    })
}

/// A makefile that compiles each file for itself.
fn rules(folder: &Path) -> Result<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let sources = root.join("tests/e2e/programs");
    let entries = std::fs::read_dir(&sources).map_err(|error| format!("{}: {error}", sources.display()))?;
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| name.ends_with(".c"));
    names.sort();
    names.truncate(FILES);
    if names.len() < FILES {
        return Err(format!("{} has {} C files, and the build needs {FILES}", sources.display(), names.len()));
    }
    let object = |name: &String| folder.join(name).with_extension("o").display().to_string();
    let objects: Vec<String> = names.iter().map(object).collect();
    let include = root.join("remedies/include");
    let mut text = format!("all: {}\n", objects.join(" "));
    for (name, object) in names.iter().zip(&objects) {
        let source = sources.join(name);
        let [source, include] = [&source, &include].map(|path| path.display());
        text += &format!("{object}: {source}\n\tgcc -O1 -std=gnu11 -w -I{include} -c -o $@ $<\n");
    }
    Ok(text)
}

/// The measurement as a line of text.
pub fn line(build: &Build) -> String {
    let Build { plain, wall, cpu } = build;
    format!(
        "\nmake {JOBS} of {FILES} C files: plain {plain:.2} s, recorded {wall:.2} times from start to end, {cpu:.2} times the CPU\n"
    )
}
