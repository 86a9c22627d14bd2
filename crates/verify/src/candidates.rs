//! What can be tried without changing the source: settings of glibc's malloc, and other allocators.

use crate::command::CommandLine;
use crate::setting::Setting;
use std::path::{Path, PathBuf};

/// Something to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Short name.
    pub name: String,
    /// What it does, in a few words.
    pub what: String,
    /// What does it.
    pub setting: Setting,
    /// The same in source or at link time, if there is a way.
    pub instead: Option<String>,
}

impl Candidate {
    /// A command under it.
    pub fn apply(&self, command: &CommandLine) -> CommandLine {
        command.clone().with(self.setting.name(), self.setting.value())
    }

    /// For the shell: `NAME=value`.
    pub fn assignment(&self) -> String {
        format!("{}={}", self.setting.name(), self.setting.value())
    }
}

/// A setting of glibc's malloc: name, tunables, what it does, the call that does the same.
struct Tunable {
    name: &'static str,
    tunables: &'static str,
    what: &'static str,
    call: Option<&'static str>,
}

/// glibc's manual, "Memory Allocation Tunables" and "Malloc Tunable Parameters".
const TUNABLES: [Tunable; 6] = [
    Tunable {
        name: "keep-heap",
        tunables: "glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864",
        what: "never trim the heap, grow it by 64 MiB",
        call: Some("mallopt(M_TRIM_THRESHOLD, INT_MAX); mallopt(M_TOP_PAD, 64 << 20);"),
    },
    Tunable {
        name: "no-mappings",
        tunables: "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864",
        what: "large blocks from the heap, too; never trim it, grow it by 64 MiB",
        call: Some("mallopt(M_MMAP_MAX, 0); mallopt(M_TRIM_THRESHOLD, INT_MAX); mallopt(M_TOP_PAD, 64 << 20);"),
    },
    Tunable {
        name: "huge-pages",
        tunables: "glibc.malloc.hugetlb=1",
        what: "ask for huge pages (madvise)",
        call: None,
    },
    Tunable {
        name: "huge-pages-kept",
        tunables: "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=4294967296:glibc.malloc.top_pad=67108864",
        what: "huge pages; large blocks from the heap, which is never trimmed",
        call: None,
    },
    Tunable {
        name: "one-arena",
        tunables: "glibc.malloc.arena_max=1",
        what: "all threads share one arena: less memory, more waiting",
        call: Some("mallopt(M_ARENA_MAX, 1);"),
    },
    Tunable {
        name: "large-cache",
        tunables: "glibc.malloc.tcache_count=2000",
        what: "each thread keeps up to 2,000 freed blocks of a size",
        call: None,
    },
];

/// Allocators that come as libraries: name, file names, how they are linked.
const ALLOCATORS: [(&str, &[&str], &str); 3] = [
    ("jemalloc", &["libjemalloc.so.2"], "-ljemalloc"),
    ("tcmalloc", &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"], "-ltcmalloc_minimal"),
    ("mimalloc", &["libmimalloc.so.2", "libmimalloc.so.3", "libmimalloc.so"], "-lmimalloc"),
];

/// What can be tried here, and the names of the allocators that are not installed.
pub fn all() -> (Vec<Candidate>, Vec<&'static str>) {
    let mut found: Vec<Candidate> = TUNABLES
        .iter()
        .map(|tunable| Candidate {
            name: tunable.name.to_owned(),
            what: tunable.what.to_owned(),
            setting: Setting::Tunables(tunable.tunables.to_owned()),
            instead: tunable.call.map(str::to_owned),
        })
        .collect();
    let mut missing = Vec::new();
    for (name, files, link) in ALLOCATORS {
        match installed(files) {
            Some(library) => found.push(Candidate {
                name: name.to_owned(),
                what: format!("{name} instead of the program's malloc"),
                setting: Setting::Library(library.display().to_string()),
                instead: Some(format!("link with {link}")),
            }),
            None => missing.push(name),
        }
    }
    (found, missing)
}

fn installed(files: &[&str]) -> Option<PathBuf> {
    let folders = memtoll_processor::HERE.library_folders();
    files
        .iter()
        .flat_map(|file| folders.iter().map(move |folder| Path::new(folder).join(file)))
        .find(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn every_allocator_is_found_or_missing() {
        let (found, missing) = all();
        assert_eq!(found.len() + missing.len(), TUNABLES.len() + ALLOCATORS.len());
    }

    /// glibc ignores a tunable that it does not know without a word; the loader lists those that it knows.
    #[test]
    fn the_loader_takes_every_tunable() {
        for tunable in &TUNABLES {
            let mut list = Command::new(memtoll_processor::HERE.loader);
            let output = list.arg("--list-tunables").env("GLIBC_TUNABLES", tunable.tunables).output().unwrap();
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            for setting in tunable.tunables.split(':') {
                let (name, value) = setting.split_once('=').unwrap();
                let line = text.lines().find(|line| line.starts_with(&format!("{name}: "))).unwrap_or_default();
                let set = line.split_whitespace().nth(1).unwrap_or_default();
                let number = set.strip_prefix("0x").map_or(set.parse(), |hex| u64::from_str_radix(hex, 16));
                assert_eq!(number.ok(), value.parse().ok(), "{setting}: {line}");
            }
        }
    }
}
