//! What single operations cost on this machine: measured once for many short runs.
//!
//! Measuring takes some 25 ms of processor time, more than most of the programs that a build or a shell script starts. So the
//! results are kept in a file for the runs of the next minutes. A long run measures again, as that is nothing beside it, and
//! so does one whose own page faults took much longer or shorter than the file says.
//!
//! The file is only used and written where it is the user's own: prices from others would be lies about this user's
//! programs. Whatever is wrong with it, the costs are measured.

use memtoll_kernel::Look;
use memtoll_trace::meta::{Looking, Machine, Prices, TimedFaults};
use rustix::fs::{Mode, OFlags};
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Costs are kept for so long.
const KEPT_FOR: Duration = Duration::from_secs(600);
/// Beside a run with this processor time, measuring takes less than a hundredth.
const LONG_RUN: Duration = Duration::from_secs(2);
/// So many timed faults tell what a fault costs.
const ENOUGH_FAULTS: u64 = 12;
/// The program's faults may take so many times what the file says, or a part as small.
const TOLERANCE: f64 = 2.0;
/// No such file is longer, bytes.
const LONGEST: u64 = 1 << 16;

/// What is known of this machine.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    pub prices: Option<Prices>,
    pub looking: Option<Looking>,
}

/// What costs are wanted for.
pub struct Asked<'a> {
    pub machine: &'a Machine,
    /// Of this version of memtoll.
    pub version: &'a str,
    /// Prices are wanted.
    pub prices: bool,
    /// What looking at the program costs is wanted.
    pub looking: bool,
    /// The program's processor time.
    pub ran: Duration,
    /// The program's own page faults.
    pub faults: TimedFaults,
}

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    version: String,
    build: Build,
    /// Another one after each boot.
    boot: String,
    kernel: String,
    processor: String,
    processors: u32,
    /// When it was measured, seconds since 1970.
    measured: u64,
    costs: Costs,
}

/// The file of this program. Another build may measure in another way.
#[derive(Clone, Copy, Default, Debug, PartialEq, Serialize, Deserialize)]
struct Build {
    bytes: u64,
    /// When it was written, seconds since 1970.
    written: i64,
}

impl Build {
    fn own() -> Build {
        let own = fs::metadata("/proc/self/exe");
        own.map_or(Build::default(), |file| Build { bytes: file.len(), written: file.mtime() })
    }
}

/// What is asked for, from the file or measured now.
pub fn find(asked: &Asked) -> Costs {
    Known::here().find(asked, measure)
}

/// What is kept for later runs on this machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeptCosts {
    /// What was measured.
    Measured {
        /// Where it is kept.
        file: PathBuf,
        /// How long ago that was, seconds.
        age: u64,
        /// For how long it is used, seconds.
        left: u64,
    },
    /// Nothing that could be used: the next run measures.
    Nothing {
        /// Where it is going to be kept.
        file: PathBuf,
    },
    /// Nothing can be kept: each run measures.
    Nowhere,
}

/// What is kept, for a `version` of memtoll on a `machine`.
pub fn kept(machine: &Machine, version: &str) -> KeptCosts {
    Known::here().kept(machine, version)
}

fn measure(asked: &Asked) -> Costs {
    let look = if asked.looking { Look::measure() } else { None };
    Costs {
        prices: if asked.prices { memtoll_machine::prices().ok() } else { None },
        looking: look.map(|look| Looking {
            fault_sample: look.sample,
            fault_counting: look.counting,
            fault_beyond: look.beyond,
            running_sample: look.running,
        }),
    }
}

/// Where files of programs belong that may go missing.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")))?;
    Some(caches.join("memtoll"))
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// What earlier runs know.
struct Known {
    folder: Option<PathBuf>,
    boot: String,
    build: Build,
    now: u64,
}

impl Known {
    fn here() -> Known {
        Known { folder: folder(|name| std::env::var_os(name)), boot: boot(), build: Build::own(), now: now() }
    }

    fn kept(&self, machine: &Machine, version: &str) -> KeptCosts {
        let Some(file) = self.file() else { return KeptCosts::Nowhere };
        match self.read(machine, version) {
            Some(Kept { measured, .. }) => {
                let age = self.now - measured;
                KeptCosts::Measured { file, age, left: KEPT_FOR.as_secs() - age }
            }
            None if file.parent().is_some_and(may_make) => KeptCosts::Nothing { file },
            None => KeptCosts::Nowhere,
        }
    }

    fn find(&self, asked: &Asked, measure: impl FnOnce(&Asked) -> Costs) -> Costs {
        let kept = self.read(asked.machine, asked.version).map(|kept| kept.costs).unwrap_or_default();
        let has_all = (kept.prices.is_some() || !asked.prices) && (kept.looking.is_some() || !asked.looking);
        if has_all && asked.ran < LONG_RUN && agrees(&kept, &asked.faults) {
            return kept;
        }
        let measured = measure(asked);
        if measured.prices.is_some() || measured.looking.is_some() {
            self.write(asked, &measured);
        }
        measured
    }

    fn file(&self) -> Option<PathBuf> {
        // Without it, nobody knows whether the machine is still the same.
        (!self.boot.is_empty()).then_some(self.folder.as_ref()?.join("machine.json"))
    }

    fn read(&self, machine: &Machine, version: &str) -> Option<Kept> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(self.file()?, flags, Mode::empty()).ok()?);
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file() && is_own(metadata))?;
        let mut text = String::new();
        file.take(LONGEST.min(metadata.len())).read_to_string(&mut text).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        let is_recent = (kept.measured..kept.measured.saturating_add(KEPT_FOR.as_secs())).contains(&self.now);
        let Machine { kernel, processor, processors, .. } = machine;
        let is_of_here = (kept.version.as_str(), kept.build) == (version, self.build)
            && kept.boot == self.boot
            && (&kept.kernel, &kept.processor, &kept.processors) == (kernel, processor, processors);
        (is_recent && is_of_here).then_some(kept)
    }

    /// Runs that end at the same time each replace the file as a whole. Where it cannot be written, the next run measures.
    fn write(&self, asked: &Asked, costs: &Costs) {
        let Machine { kernel, processor, processors, .. } = asked.machine.clone();
        let (version, build, boot) = (asked.version.to_owned(), self.build, self.boot.clone());
        let kept = Kept { version, build, boot, kernel, processor, processors, measured: self.now, costs: *costs };
        let replace = || {
            let path = self.file()?;
            let folder = path.parent()?;
            make_own(folder)?;
            let mut file = tempfile::Builder::new().prefix(".machine-").tempfile_in(folder).ok()?;
            file.write_all(&serde_json::to_vec(&kept).ok()?).ok()?;
            file.persist(&path).ok()
        };
        let _ = replace();
    }
}

/// Whether a file or folder belongs to this user, and nobody else may write to it.
fn is_own(metadata: &fs::Metadata) -> bool {
    metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Makes a folder, and the one for caches around it, if the innermost one that exists is this user's: memtoll that is run by
/// sudo leaves nothing of root's in the home of somebody else, and nobody gets a home that was not there.
fn make_own(folder: &Path) -> Option<()> {
    may_make(folder).then(|| DirBuilder::new().recursive(true).mode(0o700).create(folder).ok())?
}

fn may_make(folder: &Path) -> bool {
    let there = folder.ancestors().take(3).find_map(|folder| fs::metadata(folder).ok());
    there.is_some_and(|there| there.is_dir() && there.uid() == geteuid().as_raw())
}

/// Whether what is known of faults is about what those of the program took.
fn agrees(costs: &Costs, faults: &TimedFaults) -> bool {
    let (Some(prices), Some(looking)) = (costs.prices, costs.looking) else { return true };
    if faults.samples < ENOUGH_FAULTS || faults.faults == 0 {
        return true;
    }
    let took = faults.time as f64 / faults.faults as f64;
    let expected = prices.minor_fault.median - looking.fault_beyond;
    (expected / TOLERANCE..=expected * TOLERANCE).contains(&took)
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::meta::Price;
    use std::cell::Cell;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn price(median: f64) -> Price {
        Price { median, p10: median, p90: median }
    }

    fn costs(fault: f64) -> Costs {
        let prices = Prices { minor_fault: price(fault), ..Prices::default() };
        let looking = Looking { fault_sample: 600.0, fault_beyond: 500.0, ..Looking::default() };
        Costs { prices: Some(prices), looking: Some(looking) }
    }

    fn machine() -> Machine {
        Machine { kernel: "Linux 6".to_owned(), processor: "Fast".to_owned(), processors: 2, ..Machine::default() }
    }

    fn asked(machine: &Machine) -> Asked<'_> {
        let (ran, faults) = (Duration::from_millis(5), TimedFaults::default());
        Asked { machine, version: "1", prices: true, looking: true, ran, faults }
    }

    fn known(folder: &Path) -> Known {
        let build = Build { bytes: 7, written: 1 };
        Known { folder: Some(folder.join("cache/memtoll")), boot: "b".to_owned(), build, now: 1000 }
    }

    /// Whether it is measured, which then gives faults of 1,500 ns.
    fn is_measured(known: &Known, asked: &Asked) -> bool {
        let measured = Cell::new(false);
        let found = known.find(asked, |_| {
            measured.set(true);
            costs(1500.0)
        });
        assert_eq!(found, costs(1500.0));
        measured.get()
    }

    #[test]
    fn costs_are_measured_once() {
        let folder = tempfile::tempdir().unwrap();
        let (known, machine) = (known(folder.path()), machine());
        assert!(is_measured(&known, &asked(&machine)));
        assert!(!is_measured(&known, &asked(&machine)));
        let entries: Vec<_> = fs::read_dir(folder.path().join("cache/memtoll")).unwrap().collect();
        assert_eq!(entries.len(), 1, "no other files are left");
        let later = Known { now: 1100, ..self::known(folder.path()) };
        let file = known.file().unwrap();
        assert_eq!(later.kept(&machine, "1"), KeptCosts::Measured { file: file.clone(), age: 100, left: 500 });
        assert_eq!(known.kept(&machine, "2"), KeptCosts::Nothing { file });
        let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().mode() & 0o777;
        assert_eq!((mode("cache/memtoll"), mode("cache/memtoll/machine.json")), (0o700, 0o600));
    }

    #[test]
    fn costs_are_measured_again_where_they_may_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        let (known, here) = (known(folder.path()), machine());
        let at = |now: u64, boot: &str| Known { now, boot: boot.to_owned(), ..self::known(folder.path()) };
        let again = |later: &Known, asked: &Asked| {
            known.write(&self::asked(&here), &costs(1500.0));
            is_measured(later, asked)
        };
        let plain = asked(&here);
        assert!(!again(&known, &plain));
        assert!(!again(&at(1599, "b"), &plain));
        assert!(again(&at(1600, "b"), &plain), "they are old");
        assert!(again(&at(999, "b"), &plain), "the clock was set");
        assert!(again(&at(1000, "c"), &plain), "it was booted");
        assert!(again(&known, &Asked { version: "2", ..asked(&here) }));
        let rebuilt = Build { bytes: 7, written: 2 };
        assert!(again(&Known { build: rebuilt, ..self::known(folder.path()) }, &plain));
        for other in [
            Machine { kernel: "Linux 7".to_owned(), ..machine() },
            Machine { processor: "Slow".to_owned(), ..machine() },
            Machine { processors: 1, ..machine() },
        ] {
            assert!(again(&known, &asked(&other)));
        }
        assert!(again(&known, &Asked { ran: LONG_RUN, ..asked(&here) }));
        // Handling takes 500 ns less than the whole fault.
        let took = |ns: u64, samples| TimedFaults { samples, faults: 100, time: ns * 100 };
        for (faults, expected) in [
            (took(1000, 12), false),
            (took(1900, 12), false),
            (took(2100, 12), true),
            (took(2100, 11), false),
            (took(490, 12), true),
        ] {
            assert_eq!(again(&known, &Asked { faults, ..asked(&here) }), expected, "{faults:?}");
        }
    }

    #[test]
    fn what_was_not_measured_before_is_measured() {
        let folder = tempfile::tempdir().unwrap();
        let (known, machine) = (known(folder.path()), machine());
        known.write(&asked(&machine), &Costs { prices: None, ..costs(1500.0) });
        let without = Asked { prices: false, ..asked(&machine) };
        assert_eq!(known.find(&without, |_| unreachable!()), Costs { prices: None, ..costs(1500.0) });
        assert!(is_measured(&known, &asked(&machine)));
    }

    #[test]
    fn the_files_of_others_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (known, machine) = (known(folder.path()), machine());
        assert!(is_measured(&known, &asked(&machine)));
        let file = known.file().unwrap();
        // Everybody could have written it.
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(is_measured(&known, &asked(&machine)));
        assert!(!is_measured(&known, &asked(&machine)), "it was replaced");
        let elsewhere = folder.path().join("elsewhere");
        fs::rename(&file, &elsewhere).unwrap();
        symlink(&elsewhere, &file).unwrap();
        assert!(is_measured(&known, &asked(&machine)), "a link could lead anywhere");
        assert!(!is_measured(&known, &asked(&machine)));
        fs::write(&file, "{").unwrap();
        assert!(is_measured(&known, &asked(&machine)));
    }

    #[test]
    fn without_a_place_it_is_measured_each_time() {
        let folder = tempfile::tempdir().unwrap();
        let machine = machine();
        fs::write(folder.path().join("cache"), "a file").unwrap();
        let no_home = folder.path().join("home");
        for known in [known(folder.path()), known(&no_home), Known { folder: None, ..known(folder.path()) }] {
            assert_eq!(known.kept(&machine, "1"), KeptCosts::Nowhere);
            assert!(is_measured(&known, &asked(&machine)));
            assert!(is_measured(&known, &asked(&machine)));
        }
        assert!(!no_home.exists());
    }

    #[test]
    fn the_folder_is_that_of_caches() {
        let of = |variables: &[(&str, &str)]| {
            folder(|name| Some(OsString::from(variables.iter().find(|(known, _)| *known == name)?.1)))
        };
        assert_eq!(of(&[("HOME", "/h")]), Some("/h/.cache/memtoll".into()));
        assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/c")]), Some("/c/memtoll".into()));
        assert_eq!(of(&[("HOME", "/h"), ("XDG_CACHE_HOME", "relative")]), Some("/h/.cache/memtoll".into()));
        assert_eq!(of(&[]), None);
    }
}
