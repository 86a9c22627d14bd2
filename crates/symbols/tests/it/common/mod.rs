//! Programs to resolve: compiled, stripped and run by the tests.
#![allow(dead_code)] // Each test file uses a part.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use memtoll_symbols::{Frame, ModuleFile, Resolved, Resolver};
use object::Object;

/// Directory of the sources of the test programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Runs a tool that must succeed, and returns what it printed.
pub fn run(tool: impl AsRef<OsStr>, arguments: &[&str]) -> String {
    let tool = tool.as_ref();
    let output =
        Command::new(tool).args(arguments).output().unwrap_or_else(|error| panic!("{}: {error}", tool.display()));
    assert!(output.status.success(), "{} {arguments:?}: {}", tool.display(), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Compiles `shop.cpp` with optimization; `options` choose the form of the debug information.
pub fn compile_shop(directory: &Path, options: &[&str]) -> PathBuf {
    compile_cpp(directory, "shop", options)
}

/// Compiles one of the C++ programs with optimization.
pub fn compile_cpp(directory: &Path, name: &str, options: &[&str]) -> PathBuf {
    let program = directory.join(name);
    let source = programs().join(format!("{name}.cpp"));
    let mut arguments = vec!["-O2", "-pie", "-fPIE", "-Wl,--build-id=sha1"];
    arguments.extend(options);
    arguments.extend([text(&source), "-o", text(&program)]);
    run("g++", &arguments);
    program
}

/// Runs a program that prints lines of `NAME ADDRESS`.
pub fn probes(program: &Path) -> HashMap<String, u64> {
    run(program, &[])
        .lines()
        .map(|line| {
            let (name, address) = line.split_once(' ').unwrap();
            (name.to_string(), u64::from_str_radix(address, 16).unwrap())
        })
        .collect()
}

/// Where a function lies, as the symbol table says, which is gone when the program is stripped.
pub fn functions(program: &Path) -> Vec<(String, Range<u64>)> {
    let hex = |digits: &str| u64::from_str_radix(digits, 16).unwrap();
    let line = |line: &str| match line.split(' ').collect::<Vec<_>>()[..] {
        [start, size, _, name] => Some((name.to_owned(), hex(start)..hex(start) + hex(size))),
        _ => None,
    };
    run("nm", &["-S", "--defined-only", text(program)]).lines().filter_map(line).collect()
}

/// The first address of the one around an address.
pub fn function_around(program: &Path, address: u64) -> u64 {
    functions(program).into_iter().find(|(_, range)| range.contains(&address)).expect("a function").1.start
}

/// That of this name.
pub fn function(program: &Path, name: &str) -> Range<u64> {
    functions(program).into_iter().find(|(found, _)| found == name).expect("the function").1
}

/// Number of the line that ends in a marker.
pub fn line_of(source: &str, marker: &str) -> u32 {
    let text = fs::read_to_string(programs().join(source)).unwrap();
    let marker = format!("// {marker}");
    let index = text.lines().position(|line| line.ends_with(&marker));
    index.unwrap_or_else(|| panic!("{source} has no {marker}")) as u32 + 1
}

pub fn build_id(program: &Path) -> Vec<u8> {
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.build_id().unwrap().unwrap_or_default().to_vec()
}

/// Resolves one address without any debug directory.
pub fn resolve(program: &Path, address: u64) -> Resolved {
    resolve_with(program, &build_id(program), vec![], address)
}

pub fn resolve_with(program: &Path, build_id: &[u8], debug_directories: Vec<PathBuf>, address: u64) -> Resolved {
    let module = ModuleFile { path: program, build_id };
    Resolver::with_debug_directories(debug_directories).resolve(&module, &[address])
}

/// The frames of the only address asked for, as `function file-name:line`.
pub fn chain(resolved: &Resolved) -> Vec<String> {
    assert_eq!(resolved.frames.len(), 1);
    resolved.frames[0].iter().map(show).collect()
}

fn show(frame: &Frame) -> String {
    let file = frame.file.as_deref().map(Path::new);
    let file = file.and_then(|file| file.file_name()).map(text);
    match (file, frame.line) {
        (Some(file), Some(line)) => format!("{} {file}:{line}", frame.function),
        (None, None) => frame.function.clone(),
        other => panic!("{}: {other:?}", frame.function),
    }
}

/// `function shop.cpp:line`, the line given by a marker.
pub fn shop(function: &str, marker: &str) -> String {
    format!("{function} shop.cpp:{}", line_of("shop.cpp", marker))
}

/// The chain at the probe `add`: two functions inlined into a third.
pub fn add_chain() -> Vec<String> {
    vec![
        shop("shop::Cart<long>::add(long)", "add:probe"),
        shop("void shop::fill<long>(shop::Cart<long>&)", "fill:add"),
        shop("shop::sell(int)", "sell:fill"),
    ]
}

pub fn text(path: &(impl AsRef<OsStr> + ?Sized)) -> &str {
    path.as_ref().to_str().unwrap()
}

/// The file of split debug information in a directory.
pub fn dwo_file(directory: &Path) -> PathBuf {
    fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "dwo"))
        .expect("the compiler writes a .dwo file")
}

/// Directory of debug information that `dwz` split: its `README` says how it was made.
pub fn dwz_data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dwz")
}

/// Address of the probe `add` in it.
pub fn dwz_address() -> u64 {
    let address = fs::read_to_string(dwz_data().join("address")).unwrap();
    u64::from_str_radix(address.trim(), 16).unwrap()
}
