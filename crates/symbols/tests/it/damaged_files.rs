//! Damaged files give fewer names, but never a panic, a hang or a flood of memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::common::*;
use memtoll_symbols::{ModuleFile, Resolver};
use object::{Object, ObjectSection};

/// Longest that one damaged file may take; undamaged it is some milliseconds.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Most memory that the process may ever have used, in KiB; undamaged it is some ten thousand.
const MEMORY_LIMIT_KIB: u64 = 512 * 1024;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn resolve_within_limits(program: &Path, debug_directories: Vec<PathBuf>, addresses: &[u64]) {
    let module = ModuleFile { path: program, build_id: &[] };
    let start = Instant::now();
    let resolver = Resolver::with_debug_directories(debug_directories);
    let resolved = resolver.resolve(&module, addresses);
    assert!(start.elapsed() < TIME_LIMIT, "{:?}", start.elapsed());
    assert_eq!(resolved.frames.len(), addresses.len());
    assert!(resolved.frames.iter().all(|frames| !frames.is_empty()));
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Calls `resolve` with a file damaged in many ways: anywhere, and in the headers and debug sections where it hurts most.
fn damage(victim: &Path, variants: usize, resolve: impl Fn()) {
    let whole = fs::read(victim).unwrap();
    let mut places: Vec<std::ops::Range<usize>> = vec![0..64, 0..whole.len()];
    {
        let file = object::File::parse(&*whole).unwrap();
        for section in file.sections() {
            let name = section.name().unwrap();
            let matters =
                name.starts_with(".debug") || name == ".gnu_debugdata" || name.contains("sym") || name.contains("str");
            if let Some((start, size)) = section.file_range()
                && matters
                && size > 0
            {
                let (start, size) = (start as usize, size as usize);
                places.push(start..start + size);
                // Headers of sections, and of what they hold, come first.
                places.push(start..start + size.min(48));
            }
        }
        // The section headers are at the end of the file.
        places.push(whole.len() - 64 * file.sections().count()..whole.len());
    }
    let mut numbers = Numbers(7);
    for variant in 0..variants {
        let mut bytes = whole.clone();
        for _ in 0..1 << numbers.below(5) {
            let place = places[numbers.below(places.len())].clone();
            let at = place.start + numbers.below(place.len());
            bytes[at] = match numbers.below(4) {
                0 => bytes[at] ^ (1 << numbers.below(8)),
                1 => 0,
                2 => 0xff,
                _ => numbers.below(256) as u8,
            };
        }
        if variant % 16 == 0 {
            bytes.truncate(numbers.below(bytes.len()));
        }
        fs::write(victim, bytes).unwrap();
        resolve();
    }
    assert!(peak_memory_kib() < MEMORY_LIMIT_KIB, "{}", peak_memory_kib());
}

fn damage_program(options: &[&str], compression: Option<&str>, variants: usize) {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), options);
    let addresses = all_probes(&program);
    if let Some(form) = compression {
        let option = format!("--compress-debug-sections={form}");
        run("objcopy", &[&option, text(&program)]);
    }
    damage(&program, variants, || {
        resolve_within_limits(&program, vec![], &addresses);
    });
}

fn all_probes(program: &Path) -> Vec<u64> {
    probes(program).into_values().chain([0, u64::MAX]).collect()
}

#[test]
fn dwarf_5() {
    damage_program(&["-g", "-gdwarf-5"], None, 4000);
}

#[test]
fn dwarf_4() {
    damage_program(&["-g", "-gdwarf-4"], None, 2000);
}

#[test]
fn compressed_with_zlib() {
    damage_program(&["-g"], Some("zlib"), 1000);
}

#[test]
fn compressed_with_zstd() {
    damage_program(&["-g"], Some("zstd"), 1000);
}

#[test]
fn split_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g", "-gsplit-dwarf"]);
    let addresses = all_probes(&program);
    let resolve = || resolve_within_limits(&program, vec![], &addresses);
    damage(&dwo_file(directory.path()), 1000, resolve);
}

#[test]
fn packed_split_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g", "-gsplit-dwarf", "-gdwarf-4"]);
    let addresses = all_probes(&program);
    let package = directory.path().join("shop.dwp");
    run("dwp", &["-e", text(&program), "-o", text(&package)]);
    fs::remove_file(dwo_file(directory.path())).unwrap();
    let resolve = || resolve_within_limits(&program, vec![], &addresses);
    damage(&package, 1000, resolve);
}

#[test]
fn mini_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &[]);
    let addresses = all_probes(&program);
    let mini = directory.path().join("mini");
    run("objcopy", &["--only-keep-debug", text(&program), text(&mini)]);
    run("strip", &[text(&program)]);
    // Without a check, damage gets as far as it can.
    run("xz", &["--check=none", text(&mini)]);
    let section = format!(".gnu_debugdata={}", text(&mini.with_extension("xz")));
    run("objcopy", &["--add-section", &section, text(&program)]);
    damage(&program, 600, || resolve_within_limits(&program, vec![], &addresses));
}

#[test]
fn shared_debug_information() {
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("shop.debug");
    let shared = directory.path().join(".dwz/shared.debug");
    fs::create_dir(directory.path().join(".dwz")).unwrap();
    fs::copy(dwz_data().join("shop.debug"), &program).unwrap();
    fs::copy(dwz_data().join(".dwz/shared.debug"), &shared).unwrap();
    let addresses = [dwz_address()];
    let root = directory.path().to_path_buf();
    let resolve = || resolve_within_limits(&program, vec![root.clone()], &addresses);
    damage(&shared, 1000, resolve);
}

#[test]
fn every_truncation() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let addresses = all_probes(&program);
    let whole = fs::read(&program).unwrap();
    for length in (0..whole.len()).step_by(whole.len() / 300) {
        fs::write(&program, &whole[..length]).unwrap();
        resolve_within_limits(&program, vec![], &addresses);
    }
}

/// A section whose header says that it decompresses to a terabyte.
#[test]
fn a_decompressed_size_that_cannot_be_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let program = compile_shop(directory.path(), &["-g"]);
    let address = probes(&program)["add"];
    run("objcopy", &["--compress-debug-sections=zlib", text(&program)]);
    let mut bytes = fs::read(&program).unwrap();
    let at = {
        let file = object::File::parse(&*bytes).unwrap();
        let section = file.section_by_name(".debug_info").unwrap();
        section.file_range().unwrap().0 as usize
    };
    // `ch_size` comes after `ch_type` and a reserved word.
    bytes[at + 8..at + 16].copy_from_slice(&(1u64 << 40).to_le_bytes());
    fs::write(&program, bytes).unwrap();
    let resolved = resolve_with(&program, &[], vec![], address);
    assert_eq!(chain(&resolved), ["shop::sell(int)"]);
    let problem = resolved.problem.unwrap();
    assert!(problem.contains(".debug_info"), "{problem}");
}

/// Debug information in which each function is inlined into the one before, a million times.
#[test]
fn functions_nested_without_end_do_not_overflow_the_stack() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("deep.s");
    let assembly = r#"
        .text
        .globl deep
        .type deep, @function
deep:   nop
        ret
        .size deep, .-deep
        .section .debug_abbrev,"",@progbits
        .uleb128 1, 0x11            # compile unit
        .byte 1
        .uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 2, 0x2e            # subprogram
        .byte 1
        .uleb128 0x11, 0x01, 0x12, 0x07, 0, 0
        .uleb128 3, 0x1d            # inlined subroutine
        .byte 1
        .uleb128 0, 0
        .byte 0
        .section .debug_info,"",@progbits
        .long end - start
start:  .short 4
        .long 0
        .byte 8
        .uleb128 1
        .quad deep, 2
        .uleb128 2
        .quad deep, 2
        .fill 1000000, 1, 3
        .fill 1000002, 1, 0
end:
"#;
    fs::write(&source, assembly).unwrap();
    let library = directory.path().join("libdeep.so");
    let arguments = ["-shared", "-nostdlib", "-Wl,-z,notext", text(&source), "-o", text(&library)];
    run("g++", &arguments);
    let bytes = fs::read(&library).unwrap();
    let address = {
        use object::ObjectSymbol;
        let file = object::File::parse(&*bytes).unwrap();
        file.symbol_by_name("deep").unwrap().address()
    };
    let resolved = resolve_with(&library, &[], vec![], address);
    assert_eq!(chain(&resolved), ["deep"]);
    let problem = resolved.problem.unwrap();
    assert!(problem.contains("nested"), "{problem}");
}
