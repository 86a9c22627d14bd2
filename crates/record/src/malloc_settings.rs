//! Settings of malloc in the environment: they decide how fast it is, and nothing in the program shows them.

use memtoll_trace::meta::MallocSetting;
use std::ffi::OsString;

/// Beginnings of the names of variables that C libraries, allocators and runtimes read.
const NAMES: [&str; 10] = [
    "MALLOC_", "GLIBC_TUNABLES", "LD_PRELOAD", "MIMALLOC_", "TCMALLOC_", "JE_MALLOC_CONF", "_RJEM_MALLOC_CONF",
    "PYTHONMALLOC", "G_SLICE", "GLIBCXX_FORCE_NEW",
];

/// Those that are set, in the order of their names.
pub fn of(variables: impl Iterator<Item = (OsString, OsString)>) -> Vec<MallocSetting> {
    let text = |text: OsString| text.to_string_lossy().into_owned();
    let mut found: Vec<MallocSetting> = variables
        .map(|(name, value)| MallocSetting { name: text(name), value: text(value) })
        .filter(|setting| !setting.value.is_empty() && NAMES.iter().any(|name| setting.name.starts_with(name)))
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_malloc_are_told_from_all_else() {
        let variables = [
            ("PATH", "/bin"),
            ("MALLOC_ARENA_MAX", "1"),
            ("LD_PRELOAD", ""),
            ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
            ("MALLOCATED", "1"),
        ];
        let found = of(variables.iter().map(|(name, value)| ((*name).into(), (*value).into())));
        let found: Vec<(&str, &str)> =
            found.iter().map(|setting| (setting.name.as_str(), setting.value.as_str())).collect();
        assert_eq!(found, [("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"), ("MALLOC_ARENA_MAX", "1")]);
    }
}
