//! Who takes a program's page faults, as `perf record -e page-faults` sees it: an account that owes nothing to memtoll.

use crate::run::CommandLine;
use crate::stacks::{self, allocation, is_programs};
use std::collections::HashMap;
use std::path::Path;

/// Faults by module: the file's name, without a version behind `.so`. A fault inside the C library's allocator counts for whoever called that, as it does
/// in memtoll's `--paid`.
pub type ByModule = HashMap<String, u64>;

/// Faults in the C library's memmove and the like, from where perf finds no way to the caller: the program may have called it,
/// or the allocator.
const UNKNOWN: &str = "(unknown caller)";

/// perf takes a copy of the stack at each fault that it looks at. It loses some where there are more than so many.
const MOST: f64 = 10_000.0;

/// Runs a program that has so many faults, and counts those outside of system calls: each, or one in several.
pub fn by_module(command: &CommandLine, folder: &Path, faults: f64) -> Result<ByModule, String> {
    // Odd, so that faults that take turns are all met.
    let one_in = (faults / MOST) as u64 / 2 * 2 + 1;
    let options = ["-m", "16M", "-e", "page-faults:u", "-c", &one_in.to_string()];
    let mut modules = sort(&stacks::record(command, &folder.join("faults.data"), &options)?);
    modules.values_mut().for_each(|faults| *faults *= one_in);
    Ok(modules)
}

/// The module that a file is. perf and memtoll find it by different links.
pub fn module_of(path: &str) -> String {
    let real = std::fs::canonicalize(path).ok();
    let path = real.as_deref().and_then(Path::to_str).unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or_default();
    if name.starts_with("perf-") && name.ends_with(".map") {
        return "(generated code)".to_owned(); // as memtoll calls it
    }
    name.find(".so.").map_or(name, |at| &name[..at]).to_owned()
}

/// The share of memtoll's faults for which there is one of perf's in the same module, or one of which perf cannot tell.
pub fn agreement(memtoll: &ByModule, perf: &ByModule) -> f64 {
    let all: u64 = memtoll.values().sum();
    let of = |module: &str| perf.get(module).copied().unwrap_or(0);
    let shared: u64 = memtoll.iter().map(|(module, faults)| (*faults).min(of(module))).sum();
    (shared + of(UNKNOWN)).min(all) as f64 / all.max(1) as f64
}

fn sort(text: &str) -> ByModule {
    let mut modules = ByModule::new();
    for frames in stacks::each(text) {
        let module = |frame: &str| Some(module_of(frame.rsplit_once('(')?.1.trim_end_matches(')')));
        let call = allocation(&frames);
        if call.is_none() && frames.len() == 1 && !is_programs(frames[0]) {
            *modules.entry(UNKNOWN.to_owned()).or_default() += 1;
            continue;
        }
        let payer = call.map_or(0, |call| call + 1);
        if let Some(module) = frames.get(payer).and_then(|frame| module(frame)) {
            *modules.entry(module).or_default() += 1;
        }
    }
    modules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_inside_the_allocator_is_its_callers() {
        let libc = "(/usr/lib/libc.so.6)";
        let text = format!(
            "\n\t 1 sysmalloc {libc}\n\t 2 _int_malloc {libc}\n\t 3 malloc {libc}\n\t 4 work (/opt/program)\n\n\n\
             \t 5 __memset_avx2 {libc}\n\t 4 work (/opt/program)\n\n\n\t 6 [unknown] (/opt/program)\n"
        );
        let found = sort(&text);
        assert_eq!(found, ByModule::from([("program".to_owned(), 2), ("libc".to_owned(), 1)]));
        assert_eq!(sort("\n\t 7 __memmove_avx2 (/usr/lib/libc.so.6)\n\n"), ByModule::from([(UNKNOWN.to_owned(), 1)]));
        let memtoll = ByModule::from([("program".to_owned(), 3), ("libc".to_owned(), 1)]);
        assert_eq!(agreement(&memtoll, &found), 0.75);
    }
}
