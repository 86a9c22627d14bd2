//! What this machine lets memtoll do.

use super::checks::{Check, Finding, Outcome, run};
use memtoll_kernel::{Clock, Collector, Options, Refused, View};
use memtoll_record::KeptCosts;
use rustix::fs::{Access, MemfdFlags, access, ftruncate, memfd_create, statvfs};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What several checks look at.
struct Machine {
    /// Whether the kernel tells of page faults, asked about this process.
    kernel: Result<View, Refused>,
}

const CHECKS: [Check<Machine>; 14] = [
    ("page faults", page_faults),
    ("kernel buffers", kernel_buffers),
    ("clock", clock),
    ("recorder's folder", folder),
    ("kept prices", kept_prices),
    ("shared memory", shared_memory),
    ("open files", open_files),
    ("processes", processes),
    ("address space", address_space),
    ("file size", file_size),
    ("disk space", disk_space),
    ("memory", memory),
    ("huge pages", huge_pages),
    ("debug files", debug_files),
];

/// Looks at this machine.
pub fn machine() -> Vec<Finding> {
    let collector = Collector::start(rustix::process::getpid(), Clock::Monotonic, &Options::default());
    let kernel = collector.map(|collector| collector.view());
    run(&CHECKS, &Machine { kernel })
}

/// A small file of the kernel's.
fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim().to_owned())
}

fn page_faults(machine: &Machine) -> Option<Outcome> {
    let paranoid = || read("/proc/sys/kernel/perf_event_paranoid").unwrap_or_else(|| "unknown".to_owned());
    Some(match &machine.kernel {
        Ok(view) if !view.switches => Outcome::missing("the kernel tells of page faults, but not of threads that wait"),
        Ok(view) if !view.system_calls => Outcome::note(format!(
            "charged to their lines, except those inside system calls (perf_event_paranoid is {})",
            paranoid()
        ))
        .helped_by("sudo sysctl kernel.perf_event_paranoid=1"),
        Ok(_) => Outcome::ok("charged to their lines, inside system calls too"),
        Err(refused) => {
            let what = |why: &str| Outcome::missing(format!("page faults and waiting are not seen: {why}"));
            match refused {
                Refused::Paranoid { paranoid, .. } => what(&format!("perf_event_paranoid is {paranoid}"))
                    .helped_by("sudo sysctl kernel.perf_event_paranoid=2"),
                Refused::Filtered { .. } => what("a seccomp filter refuses perf_event_open, most likely a container's")
                    .helped_by("docker run --cap-add PERFMON …"),
                Refused::Files { needed, .. } => what(&format!("they take {needed} open files"))
                    .helped_by(format!("ulimit -n {}", (needed + 1024).next_power_of_two())),
                Refused::Memory { needed, .. } => what("too little memory may be locked")
                    .helped_by(format!("ulimit -l {}", (*needed as u64).div_ceil(1024))),
                Refused::Missing { .. } => what("this kernel has no perf events"),
                Refused::Threads { .. } | Refused::Other { .. } => what(&refused.to_string()),
            }
        }
    })
}

fn kernel_buffers(machine: &Machine) -> Option<Outcome> {
    let view = machine.kernel.as_ref().ok()?;
    let wanted = Options::default().ring_bytes.next_power_of_two();
    Some(match view.ring_bytes < wanted {
        false => Outcome::ok(format!("{} a processor", memtoll_text::format::bytes(view.ring_bytes as u64))),
        true => Outcome::note(format!(
            "{} a processor instead of {}: page faults in bursts may get lost (and counted as such)",
            memtoll_text::format::bytes(view.ring_bytes as u64),
            memtoll_text::format::bytes(wanted as u64)
        ))
        .helped_by(format!("sudo sysctl kernel.perf_event_mlock_kb={}", wanted / 1024 + 4)),
    })
}

fn clock(_: &Machine) -> Option<Outcome> {
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let source = source.unwrap_or_else(|| "unknown".to_owned());
    // The C library reads these without asking the kernel.
    let is_fast = ["tsc", "kvm-clock", "hyperv"].iter().any(|fast| source.starts_with(fast));
    Some(match (memtoll_record::has_steady_counter(), is_fast) {
        (true, _) => Outcome::ok("the processor's time stamp counter, some 10 ns a look"),
        (false, true) => Outcome::note(format!("clock_gettime (source {source}), some 30 ns a look")),
        (false, false) => Outcome::note(format!(
            "each look at the clock is a system call (source {source}): recording costs several times as much"
        )),
    })
}

fn folder(_: &Machine) -> Option<Outcome> {
    Some(match memtoll_record::temporary_folder() {
        Ok(folder) => Outcome::ok(format!("{} allows execution", folder.display())),
        Err(error) => Outcome::missing(format!("nothing can be recorded: {error}"))
            .helped_by("mkdir -p ~/.cache/memtoll && export TMPDIR=~/.cache/memtoll"),
    })
}

fn kept_prices(_: &Machine) -> Option<Outcome> {
    // All crates have one version.
    Some(match memtoll_record::kept_costs(env!("CARGO_PKG_VERSION")) {
        KeptCosts::Measured { file, times, age, left } => {
            let often = memtoll_text::format::often(times as u64);
            let measured = format!("measured {often}, last {age} s ago");
            let next = match left {
                Some(left) => format!("runs of less than 10 s of CPU time need not measure for {left} s"),
                None => "the next run measures, too".to_owned(),
            };
            Outcome::ok(format!("{measured}; {next}: {}", file.display()))
        }
        KeptCosts::Nothing { file } => {
            Outcome::ok(format!("none; the next recording measures what page faults cost, for {}", file.display()))
        }
        KeptCosts::Nowhere => Outcome::note(
            "each recording measures what page faults cost, some 25 ms: the folder for caches is not this user's own",
        )
        .helped_by("export XDG_CACHE_HOME=$(mktemp -d)"),
    })
}

fn shared_memory(_: &Machine) -> Option<Outcome> {
    let made = memfd_create("memtoll-doctor", MemfdFlags::CLOEXEC).and_then(|file| ftruncate(&file, GIB));
    Some(match made {
        Ok(()) => Outcome::ok("memfd_create works"),
        Err(error) => Outcome::missing(format!("nothing can be recorded: memfd_create: {error}")),
    })
}

/// A limit as `ulimit` sets it; `None` if there is none.
fn limit(resource: Resource) -> Option<u64> {
    getrlimit(resource).current
}

fn open_files(_: &Machine) -> Option<Outcome> {
    const ENOUGH: u64 = 1024;
    // memtoll raises its own limit as far as this one allows.
    Some(match getrlimit(Resource::Nofile).maximum {
        Some(most) if most < ENOUGH => Outcome::missing(format!("at most {most}: enough for few processes only"))
            .helped_by("sudo prlimit --pid $$ --nofile=65536"),
        Some(most) => Outcome::ok(format!("up to {most}")),
        None => Outcome::ok("unlimited"),
    })
}

fn processes(_: &Machine) -> Option<Outcome> {
    const ENOUGH: u64 = 256;
    let of_user = limit(Resource::Nproc).map(|most| (most, format!("ulimit -u {}", 4 * ENOUGH)));
    let of_group = limit_of_control_group()
        .map(|(most, file)| (most, format!("echo {} | sudo tee {}", 4 * ENOUGH, file.display())));
    Some(match of_user.into_iter().chain(of_group).min() {
        Some((most, remedy)) if most < ENOUGH => Outcome::missing(format!(
            "at most {most} processes and threads; memtoll has three for each process that it records"
        ))
        .helped_by(remedy),
        Some((most, _)) => Outcome::ok(format!("up to {most}, threads included")),
        None => Outcome::ok("unlimited"),
    })
}

/// The fewest processes and threads that the control group, or one around it, may have, and the file that says so.
fn limit_of_control_group() -> Option<(u64, PathBuf)> {
    let groups = read("/proc/self/cgroup")?;
    let files = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        // Version 2 has one hierarchy for all controllers, version 1 one for each.
        let is_it = controllers.is_empty() || controllers.split(',').any(|name| name == "pids");
        let root = Path::new("/sys/fs/cgroup").join(controllers);
        let group = root.join(group.trim_start_matches('/'));
        let groups: Vec<PathBuf> =
            group.ancestors().take_while(|one| one.starts_with(&root)).map(PathBuf::from).collect();
        groups.into_iter().filter(move |_| is_it).map(|one| one.join("pids.max"))
    });
    files.filter_map(|file| Some((read(file.to_str()?)?.parse().ok()?, file))).min()
}

fn address_space(_: &Machine) -> Option<Outcome> {
    Some(match limit(Resource::As) {
        Some(most) => {
            let text =
                format!("limited to {}, which the recorder shares with the program", memtoll_text::format::bytes(most));
            let outcome = if most < GIB { Outcome::missing(text) } else { Outcome::note(text) };
            outcome.helped_by("ulimit -v unlimited")
        }
        None => Outcome::ok("unlimited"),
    })
}

fn file_size(_: &Machine) -> Option<Outcome> {
    Some(match getrlimit(Resource::Fsize).maximum {
        Some(most) => Outcome::note(format!("recordings end at {}", memtoll_text::format::bytes(most)))
            .helped_by("ulimit -f unlimited"),
        None => Outcome::ok("unlimited"),
    })
}

fn disk_space(_: &Machine) -> Option<Outcome> {
    if access(".", Access::WRITE_OK).is_err() {
        return Some(
            Outcome::missing("this directory cannot be written to").helped_by("memtoll record -o /tmp/FILE …"),
        );
    }
    let disk = statvfs(".").ok()?;
    let free = disk.f_bavail * disk.f_frsize;
    let text =
        format!("{} free here; a recording takes some 5 to 10 bytes an event", memtoll_text::format::bytes(free));
    Some(match free {
        free if free < 100 * MIB => Outcome::missing(text).helped_by("memtoll record -o /another/disk/FILE …"),
        free if free < GIB => Outcome::note(text),
        _ => Outcome::ok(text),
    })
}

fn memory(_: &Machine) -> Option<Outcome> {
    let number = |path: &str| read(path)?.parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    let info = read("/proc/meminfo")?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024;
    let available = group.map_or(available, |group| group.min(available));
    let text = format!(
        "{} available; memtoll takes 50 MB and more for programs with many call paths",
        memtoll_text::format::bytes(available)
    );
    Some(if available < 256 * MIB { Outcome::note(text) } else { Outcome::ok(text) })
}

fn huge_pages(_: &Machine) -> Option<Outcome> {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
    let setting = read(FILE)?;
    let chosen = setting.split(['[', ']']).nth(1).unwrap_or("unknown");
    Some(match chosen {
        "always" => Outcome::ok("always: programs get them unasked"),
        "madvise" => Outcome::ok("madvise: programs get them if they ask"),
        other => Outcome::note(format!("{other}: programs get none, even if they ask"))
            .helped_by(format!("echo madvise | sudo tee {FILE}")),
    })
}

fn debug_files(_: &Machine) -> Option<Outcome> {
    if std::env::var_os("DEBUGINFOD_URLS").is_some_and(|urls| !urls.is_empty()) {
        return Some(Outcome::ok("fetched from DEBUGINFOD_URLS when names are missing"));
    }
    let folder = Path::new("/usr/lib/debug/.build-id");
    let is_any = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    Some(match is_any {
        true => Outcome::ok(format!("some in {}", folder.display())),
        false => Outcome::note("none for the system's libraries: their inner functions have no names")
            .helped_by(super::program::server_command()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::checks::Status;

    #[test]
    fn every_check_has_a_name_of_its_own_and_says_something() {
        let findings = machine();
        let mut names: Vec<_> = findings.iter().map(|finding| finding.check).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), findings.len());
        assert!(findings.len() >= 10, "{findings:?}");
        assert!(findings.iter().all(|finding| !finding.found.is_empty()));
    }

    #[test]
    fn each_refusal_has_a_command() {
        let error = || "Permission denied".to_owned();
        let refusals = [
            (Refused::Paranoid { paranoid: 3, error: error() }, "sysctl kernel.perf_event_paranoid=2"),
            (Refused::Filtered { error: error() }, "--cap-add PERFMON"),
            (Refused::Files { needed: 26, error: error() }, "ulimit -n 2048"),
            (Refused::Memory { needed: 81920, error: error() }, "ulimit -l 80"),
        ];
        for (refused, command) in refusals {
            let outcome = page_faults(&Machine { kernel: Err(refused) }).unwrap();
            assert_eq!(outcome.status, Status::Missing);
            assert!(outcome.remedy.unwrap().contains(command), "{command}");
        }
        let view = View { system_calls: false, switches: true, ring_bytes: 1 << 16 };
        let machine = Machine { kernel: Ok(view) };
        assert_eq!(page_faults(&machine).unwrap().status, Status::Note);
        assert!(kernel_buffers(&machine).unwrap().remedy.unwrap().contains("perf_event_mlock_kb"));
    }
}
