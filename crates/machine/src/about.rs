//! The machine, as far as it matters to what memory costs.

use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// The machine on which was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Processor's name; empty if unknown.
    pub processor: String,
    /// Processors that memtoll may use.
    pub processors: u32,
    /// Kernel name and release.
    pub kernel: String,
    /// Memory, bytes.
    pub memory: u64,
    /// Swap, bytes.
    pub swap: u64,
    /// Which memory gets transparent huge pages: `always`, `madvise` or `never`; empty if the kernel has none.
    pub transparent_huge_pages: String,
}

fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the line `NAME : VALUE`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':')).map(str::trim)
}

/// Bytes of a line `NAME: N kB`.
fn kib(text: &str, name: &str) -> Option<u64> {
    field(text, name)?.split(' ').next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

impl About {
    /// The machine that this runs on.
    pub(crate) fn this() -> About {
        let names = rustix::system::uname();
        let memory = text("/proc/meminfo");
        let huge = text("/sys/kernel/mm/transparent_hugepage/enabled");
        About {
            processor: field(&text("/proc/cpuinfo"), memtoll_processor::HERE.description.model)
                .unwrap_or_default()
                .to_owned(),
            processors: std::thread::available_parallelism().map_or(1, |count| count.get() as u32),
            kernel: format!("{} {}", names.sysname().to_string_lossy(), names.release().to_string_lossy()),
            memory: kib(&memory, "MemTotal").unwrap_or(0),
            swap: kib(&memory, "SwapTotal").unwrap_or(0),
            transparent_huge_pages: chosen(&huge).to_owned(),
        }
    }
}

/// The setting in brackets.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or("", |(word, _)| word)
}

/// Memory that this process can get without driving others out, bytes: what the kernel says is available, or less where
/// a control group sets a limit. `None` if unknown.
pub(crate) fn available_memory() -> Option<u64> {
    let machine = kib(&text("/proc/meminfo"), "MemAvailable");
    let groups = text("/proc/self/cgroup");
    let group = groups.lines().find_map(|line| line.strip_prefix("0::")).map(|group| {
        Path::new("/sys/fs/cgroup").join(group.trim_start_matches('/')).ancestors().filter_map(room_in_group).min()
    });
    machine.into_iter().chain(group.flatten()).min()
}

/// What a control group (version 2) may still take, bytes; `None` if it has no limit.
fn room_in_group(folder: &Path) -> Option<u64> {
    let number = |name: &str| text(folder.join(name)).trim().parse::<u64>().ok();
    let (limit, used) = (number("memory.max")?, number("memory.current")?);
    let statistics = text(folder.join("memory.stat"));
    let cache = statistics.lines().find_map(|line| line.strip_prefix("file ")?.parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_kernel() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen(""), "");
        assert_eq!(kib("MemTotal:  10 kB\nMemFree: 5 kB\n", "MemFree"), Some(5120));
        assert_eq!(field("model name\t: A B\n", "model name"), Some("A B"));
        assert_eq!(field("", "model name"), None);
    }

    #[test]
    fn groups_with_and_without_a_limit() {
        let folder = std::env::temp_dir().join(format!("memtoll-group-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        assert_eq!(room_in_group(&folder), None);
        fs::write(folder.join("memory.max"), "max\n").unwrap();
        fs::write(folder.join("memory.current"), "700\n").unwrap();
        assert_eq!(room_in_group(&folder), None);
        fs::write(folder.join("memory.max"), "1000\n").unwrap();
        assert_eq!(room_in_group(&folder), Some(300));
        fs::write(folder.join("memory.stat"), "anon 1\nfile 200\n").unwrap();
        assert_eq!(room_in_group(&folder), Some(500));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn this_machine() {
        let about = About::this();
        assert!(about.memory > 0 && about.processors > 0 && about.kernel.starts_with("Linux "), "{about:?}");
        assert!(available_memory().unwrap() <= about.memory);
    }
}
