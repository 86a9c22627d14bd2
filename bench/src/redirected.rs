//! What a call costs that is led to the recorder by a jump over the function's first instructions, beside one that the dynamic
//! linker leads there: the same program with the same allocator, linked statically and as a shared library.

use crate::programs::compile;
use crate::run::{CommandLine, median};
use std::ffi::OsStr;
use std::path::Path;

/// ns a call, medians of the rounds.
pub struct Redirected {
    /// Recorded, through the dynamic linker.
    pub preloaded: f64,
    /// Recorded, redirected.
    pub redirected: f64,
    /// How much more the latter is, of the same round.
    pub more: f64,
}

/// Measures `rounds` times. `record` makes a command that runs another one under memtoll.
pub fn measure(
    rounds: usize,
    folder: &Path,
    record: &dyn Fn(&CommandLine) -> CommandLine,
) -> Result<Redirected, String> {
    let price = folder.join("redirected.ns");
    let object = folder.join("redirected.o");
    compile("g++", &["-std=c++20", "-O2", "-pthread", "-c"], "redirected.cpp", &object)?;
    let recorded = |name: &str, library: &str| -> Result<CommandLine, String> {
        let program = folder.join(name);
        let link = CommandLine::new(["g++", "-pthread", "-o"]);
        let words = [program.as_os_str(), object.as_os_str(), library.as_ref()].map(OsStr::to_owned);
        CommandLine { words: link.words.into_iter().chain(words).collect(), ..link }
            .measure()
            .map_err(|error| format!("{error}; is libjemalloc-dev installed?"))?;
        Ok(record(&CommandLine::new([program.into_os_string(), price.clone().into_os_string()])))
    };
    let preloaded = recorded("redirected-shared", "-l:libjemalloc.so")?;
    let redirected = recorded("redirected-static", "-l:libjemalloc.a")?;
    let ns = |command: &CommandLine| -> Result<f64, String> {
        command.measure()?;
        let text = std::fs::read_to_string(&price).map_err(|error| format!("{}: {error}", price.display()))?;
        text.trim().parse().map_err(|error| format!("{text}: {error}"))
    };
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        pairs.push((ns(&preloaded)?, ns(&redirected)?));
    }
    Ok(Redirected {
        preloaded: median(pairs.iter().map(|(preloaded, _)| *preloaded)),
        redirected: median(pairs.iter().map(|(_, redirected)| *redirected)),
        more: median(pairs.iter().map(|(preloaded, redirected)| redirected - preloaded)),
    })
}
