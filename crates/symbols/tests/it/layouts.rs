//! Layouts of types, beyond what the end-to-end tests compare with compilers.

use crate::common::*;
use memtoll_symbols::DebugFolders;
use memtoll_symbols::layout::layout;
use std::fs;
use std::time::{Duration, Instant};

/// Types that consist of several of the next one have very many members in all; each type is looked at once.
#[test]
fn what_a_type_takes_is_found_once() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("deep.c"), folder.path().join("deep.o"));
    let levels = (1..16).map(|level| format!("struct L{level} {{ struct L{} a, b, c, d; }};\n", level - 1));
    let text_of = format!("struct L0 {{ short s; }};\n{}struct L15 *it;\n", levels.collect::<String>());
    fs::write(&source, text_of).unwrap();
    run("gcc", &["-g", "-c", text(&source), "-o", text(&program)]);
    let began = Instant::now();
    let found = layout(&program, "L15", &DebugFolders::of_system()).unwrap();
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let members: Vec<_> = found.members.iter().map(|member| (member.type_name.as_str(), member.alignment)).collect();
    assert_eq!((found.size, found.alignment, members), (2 << 30, 2, vec![("L14", 2); 4]));
}
