//! Stacks as advice sees them: what serves others is no line to change, its callers are.

use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::Sums;
use memtoll_analysis::wrappers;
use memtoll_model::Recording;
use regex::Regex;

/// Names of functions that allocate for others, however few of them call: `xmalloc`, `zrealloc_usable`, `g_strdup`. And
/// libraries whose state belongs to who begins and ends it.
const WRAPPERS: &str = r"(?i)^_*[a-z0-9_]*([cmz]|re)alloc(_?(usable|array|n|f|z|0|st))?$|^([a-z]|g_|git_)?strn?dup0?$|^lib(z|z-ng|bz2|lzma|zstd)\.so";

/// The stacks of a recording without the program's wrappers of malloc: those that are called so, and those that memtoll
/// finds.
pub fn without_wrappers<'r>(recording: &'r Recording, sums: &Sums) -> Stacks<'r> {
    let found = wrappers::find(&mut Stacks::new(recording, &View::default()), sums);
    let found = found.map(|found| format!("|{}", found.pattern));
    let fold = Regex::new(&(WRAPPERS.to_owned() + &found.unwrap_or_default())).ok();
    Stacks::new(recording, &View { fold, ..View::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrappers_are_known_by_their_names() {
        let regex = Regex::new(WRAPPERS).unwrap();
        for name in [
            "xmalloc",
            "zrealloc_usable",
            "sqlite3Malloc",
            "_PyMem_RawMalloc",
            "g_malloc0",
            "xstrdup",
            "strndup",
            "libz.so.1",
        ] {
            assert!(regex.is_match(name), "{name}");
        }
        for name in
            ["allocate_pixels", "Pool::make", "alloc_table", "main", "libtcmalloc.so.4", "libzip.so.4", "struct_dup"]
        {
            assert!(!regex.is_match(name), "{name}");
        }
    }
}
