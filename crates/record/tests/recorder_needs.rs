//! What the recorder needs of a C library: programs with an old one must start under it.

use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::FileHeader;

static RECORDER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmemtoll.so"));

/// The library that is needed, and a version of its symbols.
fn version_needs() -> Vec<(String, String)> {
    let header = FileHeader64::<LittleEndian>::parse(RECORDER).unwrap();
    let sections = header.sections(LittleEndian, RECORDER).unwrap();
    let (mut needs, strings) = sections.gnu_verneed(LittleEndian, RECORDER).unwrap().unwrap();
    let strings = sections.strings(LittleEndian, RECORDER, strings).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut found = Vec::new();
    while let Some((need, mut versions)) = needs.next().unwrap() {
        let library = text(need.file(LittleEndian, strings).unwrap());
        while let Some(version) = versions.next().unwrap() {
            found.push((library.clone(), text(version.name(LittleEndian, strings).unwrap())));
        }
    }
    found
}

/// `GLIBC_2.17` as (2, 17, 0).
fn glibc(version: &str) -> (u32, u32, u32) {
    let numbers = version.strip_prefix("GLIBC_").unwrap_or_else(|| panic!("not glibc's: {version}"));
    let mut numbers = numbers.split('.').map(|number| number.parse().unwrap());
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next(), next())
}

/// Functions of later versions are looked for at run time (`recorder/src/dynamic_section.hpp`). A weak symbol is no way out: the
/// loader refuses a file that needs a version that the library lacks, even if nothing uses it.
#[test]
fn glibc_2_17_has_all_that_the_recorder_needs() {
    let needs = version_needs();
    assert!(!needs.is_empty(), "no version is needed");
    for (library, version) in &needs {
        assert!(
            ["libc.so.6", memtoll_processor::HERE.loader_name()].contains(&library.as_str()),
            "{library} {version}"
        );
        assert!(glibc(version) <= (2, 17, 0), "{library} {version}; of all: {needs:?}");
    }
}
