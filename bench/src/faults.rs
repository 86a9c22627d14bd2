//! Who takes a program's page faults, as `perf record -e page-faults` sees it: an account that owes nothing to memtoll.

use crate::run::CommandLine;
use crate::stacks::{self, allocation, is_kernels, is_memset, is_programs};
use std::collections::HashMap;
use std::path::Path;

/// Faults by module: the file's name, without a version behind `.so`. A fault inside the C library's allocator counts for
/// its caller, as it does in memtoll's `--paid`.
pub type ByModule = HashMap<String, u64>;

/// What perf sees, and what it cannot tell.
#[derive(Default, PartialEq, Debug)]
pub struct Seen {
    /// Faults of which it knows the module.
    certain: ByModule,
    /// Faults in the C library's memset, by the module that seems to have called it: calloc jumps there and leaves no frame,
    /// so the library pays if that module called memset, and the module itself if it called calloc.
    zeroing: ByModule,
    /// Faults in the C library's memmove and the like, from where perf finds no way to the caller: the program may have
    /// called it, or the allocator.
    unknown: u64,
    /// Faults inside system calls. memtoll goes by the address, perf by the code: they are counted, and no module is compared.
    in_system_calls: u64,
}

impl Seen {
    fn all(&self) -> u64 {
        let placed = self.certain.values().chain(self.zeroing.values()).sum::<u64>();
        placed + self.unknown + self.in_system_calls
    }
}

/// The C library, as a module.
const LIBC: &str = "libc";

/// perf takes a copy of the stack at each fault that it looks at. It loses some where there are more than this.
const MOST: f64 = 10_000.0;

/// Runs a program with a number of faults, and counts them: each, or one in several.
pub fn by_module(command: &CommandLine, folder: &Path, faults: f64) -> Result<Seen, String> {
    // Odd, so that faults that take turns are all met.
    let one_in = (faults / MOST) as u64 / 2 * 2 + 1;
    let options = ["-m", "16M", "-e", "page-faults", "-c", &one_in.to_string()];
    Ok(sort(&stacks::record(command, &folder.join("faults.data"), &options)?, one_in))
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

/// The share of the faults that memtoll charges, of `memtoll_run` faults in its run, for which perf saw one in the same module
/// or one that it cannot place. Each run has its own number of faults (with threads, they differ by half), which are compared
/// elsewhere: here, those of memtoll's run are taken for as many as those of perf's.
pub fn agreement(charged: &ByModule, memtoll_run: f64, perf: &Seen) -> f64 {
    let all: f64 = charged.values().map(|faults| *faults as f64).sum();
    if all == 0.0 {
        return 1.0;
    }
    let scale = perf.all() as f64 / memtoll_run.max(all);
    let mut missing: HashMap<&str, f64> =
        charged.iter().map(|(module, faults)| (module.as_str(), *faults as f64 * scale)).collect();
    let mut meet = |module: &str, faults: f64| {
        let Some(open) = missing.get_mut(module) else { return faults };
        let met = faults.min(*open);
        *open -= met;
        faults - met
    };
    for (module, faults) in &perf.certain {
        meet(module, *faults as f64);
    }
    for (module, faults) in &perf.zeroing {
        let left = meet(module, *faults as f64);
        meet(LIBC, left);
    }
    let missing: f64 = missing.values().sum();
    if scale == 0.0 { 0.0 } else { 1.0 - (missing - perf.unknown as f64).max(0.0) / (all * scale) }
}

/// The faults in the text of `perf script`, which shows one in `one_in`.
fn sort(text: &str, one_in: u64) -> Seen {
    let mut seen = Seen::default();
    for frames in stacks::each(text) {
        let module = |at: usize| Some(module_of(frames.get(at)?.rsplit_once('(')?.1.trim_end_matches(')')));
        if frames.first().is_some_and(|frame| is_kernels(frame)) {
            seen.in_system_calls += one_in;
            continue;
        }
        let call = allocation(&frames);
        if call.is_none() && frames.len() == 1 && !is_programs(frames[0]) {
            seen.unknown += one_in;
            continue;
        }
        let may_be_calloc =
            call.is_none() && is_memset(frames[0]) && frames.get(1).is_some_and(|frame| is_programs(frame));
        let (faults, payer) = match call {
            _ if may_be_calloc => (&mut seen.zeroing, 1),
            call => (&mut seen.certain, call.map_or(0, |call| call + 1)),
        };
        if let Some(module) = module(payer) {
            *faults.entry(module).or_default() += one_in;
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_inside_the_allocator_is_its_callers() {
        let libc = "(/usr/lib/libc.so.6)";
        let text = format!(
            "\n\t 1 sysmalloc {libc}\n\t 2 _int_malloc {libc}\n\t 3 malloc {libc}\n\t 4 work (/opt/program)\n\n\n\
             \t 5 __memset_avx2 {libc}\n\t 4 work (/opt/program)\n\n\n\t 6 [unknown] (/opt/program)\n\n\n\
             \t 7 clear_user ([kernel.kallsyms])\n\t 8 read {libc}\n\t 4 work (/opt/program)\n"
        );
        let found = sort(&text, 1);
        let certain = ByModule::from([("program".to_owned(), 2)]);
        let zeroing = ByModule::from([("program".to_owned(), 1)]);
        assert_eq!(found, Seen { certain, zeroing, unknown: 0, in_system_calls: 1 });
        let agrees = |charged: &ByModule, run: u64, perf: &Seen, share: f64| {
            let found = agreement(charged, run as f64, perf);
            assert!((found - share).abs() < 1e-9, "{found}");
        };
        // Of three faults outside of system calls, two are certainly the program's and one is the program's or the library's.
        let both =
            |program: u64, libc: u64| ByModule::from([("program".to_owned(), program), ("libc".to_owned(), libc)]);
        agrees(&both(3, 0), 4, &found, 1.0);
        agrees(&both(2, 1), 4, &found, 1.0);
        agrees(&both(1, 2), 4, &found, 2.0 / 3.0);
        agrees(&both(0, 3), 4, &found, 1.0 / 3.0);
        // Most of a short run's faults are the loader's, which memtoll charges to no site.
        agrees(&both(1, 0), 4, &found, 1.0);
        agrees(&both(0, 1), 4, &found, 1.0);
        agrees(&both(0, 2), 4, &found, 0.5);
        // Another run has as many again, in the same places or in others.
        agrees(&both(4, 2), 8, &found, 1.0);
        agrees(&both(2, 4), 8, &found, 2.0 / 3.0);
        agrees(&ByModule::new(), 4, &found, 1.0);
        agrees(&both(1, 0), 1, &Seen::default(), 0.0);
        let found = sort("\n\t 7 __memmove_avx2 (/usr/lib/libc.so.6)\n\n", 3);
        assert_eq!(found, Seen { unknown: 3, ..Seen::default() });
        agrees(&both(4, 2), 6, &found, 1.0);
        let found = Seen { certain: ByModule::from([("libc".to_owned(), 3)]), unknown: 1, ..Seen::default() };
        agrees(&both(8, 0), 8, &found, 0.25);
    }
}
