//! How much memory there is to spare: on the machine, and in the control group that memtoll belongs to.

use std::fs;
use std::path::{Path, PathBuf};

/// What memtoll frees, it uses again: its heap keeps its pages, and large buffers come from it, too. glibc would give each
/// back to the system, and the next one would cost a page fault for every 4 KiB.
pub fn keep() {
    const LARGEST_MAPPED: i32 = 32 << 20;
    // SAFETY: these settings change nothing but what the heap asks the system for.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGEST_MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 4 * LARGEST_MAPPED);
    }
}

/// Bytes that could be used without anything being swapped out or killed.
pub fn available() -> u64 {
    let text = |path: &Path| fs::read_to_string(path).ok();
    let machine = text(Path::new("/proc/meminfo")).and_then(|info| field(&info, "MemAvailable:")).map(|kib| kib * 1024);
    let groups = text(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let groups = folders(&groups).into_iter().filter_map(|folder| left_in_group(|name| text(&folder.join(name))));
    groups.chain(machine).min().unwrap_or(0)
}

/// The number behind a word at the beginning of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The folders of the control groups that limit memory, from a process's /proc/PID/cgroup: its own, and those around it.
fn folders(groups: &str) -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let root = match controllers {
            "" => root.to_owned(),
            list if list.split(',').any(|name| name == "memory") => root.join("memory"),
            _ => return None,
        };
        let own = root.join(path.trim_start_matches('/'));
        Some(own.ancestors().take_while(|folder| folder.starts_with(&root)).map(Path::to_owned).collect::<Vec<_>>())
    };
    groups.lines().filter_map(of_line).flatten().collect()
}

/// What a control group may still use, bytes; `None` without a limit. `read` gives the content of its files, of either
/// version.
fn left_in_group(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let most = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let statistics = read("memory.stat").unwrap_or_default();
    // Pages of files that were not used for long are given up first.
    let files =
        field(&statistics, "total_inactive_file ").or_else(|| field(&statistics, "inactive_file ")).unwrap_or(0);
    Some(most.saturating_sub(used.saturating_sub(files)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_control_groups_count() {
        let group = |files: &'static [(&str, &str)]| {
            move |name: &str| files.iter().find(|(known, _)| *known == name).map(|(_, content)| content.to_string())
        };
        let second = group(&[
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            ("memory.stat", "anon 5\ninactive_file 200\n"),
        ]);
        assert_eq!(left_in_group(second), Some(500));
        assert_eq!(left_in_group(group(&[("memory.max", "max\n"), ("memory.current", "700\n")])), None);
        let first = group(&[("memory.limit_in_bytes", "1000"), ("memory.usage_in_bytes", "1200")]);
        assert_eq!(left_in_group(first), Some(0));
        assert_eq!(left_in_group(group(&[])), None);
    }

    #[test]
    fn a_group_is_limited_by_those_around_it() {
        let found = folders("12:cpu,cpuacct:/x\n5:memory:/a/b\n0::/c\n");
        let expected = ["memory/a/b", "memory/a", "memory", "c", ""].map(|path| Path::new("/sys/fs/cgroup").join(path));
        assert_eq!(found, expected);
        assert!(available() > 0);
    }
}
