//! What the file of a program says of how it was built.

use gimli::{BaseAddresses, CieOrFde, EhFrame, EndianSlice, LittleEndian, UnwindSection};
use memtoll_analysis::library::{Owner, owner};
use memtoll_record::{ExpectedAllocators, Verdict, find_program, inspect_program};
use memtoll_symbols::{ModuleFile, Resolver};
use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSymbol};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Why a program cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no such program.
    #[error("cannot look at \"{}\": {source}", path.display())]
    Program {
        /// As it was given.
        path: PathBuf,
        /// What is wrong.
        source: io::Error,
    },
    /// It is no program that Linux loads.
    #[error("{} is not an ELF program: {why}; expected a compiled program or a script", path.display())]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
}

/// What a program is written in, as far as its file tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Language {
    Rust,
    Cxx,
    C,
    Go,
}

/// How many of the functions that were looked at have what.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sample {
    /// Functions that were looked at.
    pub functions: usize,
    /// Those with a name.
    pub named: usize,
    /// Those that are not a library's.
    pub own: usize,
    /// Those of them with a line.
    pub own_with_line: usize,
}

/// What is known of a program.
pub struct Binary {
    /// The file that is executed: of a script, its interpreter's.
    pub path: PathBuf,
    /// The script, if it is one.
    pub script: Option<PathBuf>,
    pub verdict: Verdict,
    pub language: Language,
    /// The compilers' marks.
    pub compilers: Vec<String>,
    /// Whether it has a table of symbols.
    pub has_symbols: bool,
    pub sample: Sample,
    /// The share of its code for which frames can be found, from 0 to 1.
    pub unwindable: f64,
    /// Names of functions that it defines itself.
    pub defined: BTreeSet<String>,
    /// Names of functions that it imports.
    pub imported: BTreeSet<String>,
    /// Allocators inside it and its libraries, and whose malloc they call.
    pub allocators: ExpectedAllocators,
}

/// The names that are of interest.
fn is_of_interest(name: &str) -> bool {
    name.ends_with("malloc") || name == "_Znwm"
}

impl Binary {
    /// Reads the program that `name` would start.
    pub fn read(name: &Path) -> Result<Binary, Error> {
        let given = find_program(name).map_err(|source| Error::Program { path: name.to_owned(), source })?;
        let verdict = inspect_program(&given);
        let path = interpreter(&given).unwrap_or_else(|| given.clone());
        let broken = |why: &dyn std::fmt::Display| Error::Format { path: path.clone(), why: why.to_string() };
        let unreadable = |source| Error::Program { path: path.clone(), source };
        let cache = ReadCache::new(File::open(&path).map_err(unreadable)?);
        let file = object::File::parse(&cache).map_err(|error| broken(&error))?;
        let section = |name: &str| file.section_by_name(name);
        let comment = section(".comment").and_then(|section| section.uncompressed_data().ok()).unwrap_or_default();
        let comment = String::from_utf8_lossy(&comment).into_owned();
        let mut compilers: Vec<String> = comment
            .split('\0')
            .filter(|text| !text.is_empty() && !text.starts_with("Linker"))
            .map(str::to_owned)
            .collect();
        compilers.sort();
        compilers.dedup();
        let (mut defined, mut imported) = (BTreeSet::new(), BTreeSet::new());
        for symbol in file.symbols().chain(file.dynamic_symbols()) {
            if let Ok(name) = symbol.name()
                && is_of_interest(name)
            {
                if symbol.is_undefined() { &mut imported } else { &mut defined }.insert(name.to_owned());
            }
        }
        let (functions, unwindable) = frames(&file);
        let (sample, is_cxx) = sample(&path, &functions);
        let language = match () {
            () if compilers.iter().any(|compiler| compiler.starts_with("rustc")) => Language::Rust,
            () if section(".go.buildinfo").is_some() => Language::Go,
            () if is_cxx || imported.contains("_Znwm") => Language::Cxx,
            () => Language::C,
        };
        Ok(Binary {
            script: (path != given).then_some(given),
            verdict,
            language,
            compilers,
            has_symbols: file.symbols().next().is_some(),
            sample,
            unwindable,
            defined,
            imported,
            allocators: memtoll_record::expected_allocators(&path),
            path: path.clone(),
        })
    }
}

/// The interpreter of a script, through those that are scripts themselves.
fn interpreter(path: &Path) -> Option<PathBuf> {
    const DEEPEST: usize = 4;
    let mut found = None;
    let mut path = path.to_owned();
    for _ in 0..DEEPEST {
        let mut line = Vec::new();
        let file = BufReader::new(File::open(&path).ok()?).take(4096);
        { file }.read_until(b'\n', &mut line).ok()?;
        let Some(line) = line.strip_prefix(b"#!") else { break };
        let line = String::from_utf8_lossy(line).into_owned();
        let mut words = line.split_whitespace();
        let first = words.next()?;
        // `#!/usr/bin/env python3` runs what env finds.
        let name =
            if first.ends_with("/env") { words.find(|word| !word.starts_with('-')).unwrap_or(first) } else { first };
        path = find_program(Path::new(name)).ok()?;
        found = Some(path.clone());
    }
    found
}

/// Where functions begin, and the share of the code that has frames.
fn frames<'a>(file: &object::File<'a, &'a ReadCache<File>>) -> (Vec<u64>, f64) {
    let Some(section) = file.section_by_name(".eh_frame") else { return (Vec::new(), 0.0) };
    let data = section.uncompressed_data().unwrap_or_default();
    let frames = EhFrame::new(&data, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let bases = file.section_by_name(".text").map_or(bases.clone(), |text| bases.set_text(text.address()));
    let (mut starts, mut covered) = (Vec::new(), 0u64);
    let mut entries = frames.entries(&bases);
    while let Ok(Some(entry)) = entries.next() {
        if let CieOrFde::Fde(partial) = entry
            && let Ok(entry) = partial.parse(|frames: &EhFrame<EndianSlice<'_, LittleEndian>>, bases, offset| {
                frames.cie_from_offset(bases, offset)
            })
        {
            starts.push(entry.initial_address());
            covered = covered.saturating_add(entry.len());
        }
    }
    // Functions that the compiler adds to every program have no frames: deregister_tm_clones, frame_dummy and the like.
    const ADDED: u64 = 256;
    let code = file.section_by_name(".text").map_or(0, |text| text.size().saturating_sub(ADDED));
    let share = if code > 0 { (covered as f64 / code as f64).min(1.0) } else { 1.0 };
    (starts, share)
}

/// Looks at some functions, as a recording would. Also whether some have C++'s names.
fn sample(path: &Path, functions: &[u64]) -> (Sample, bool) {
    const ENOUGH: usize = 4000;
    let step = functions.len().div_ceil(ENOUGH).max(1);
    // Not the first instruction: it belongs to the line of the opening brace, wherever that is.
    let addresses: Vec<u64> = functions.iter().step_by(step).map(|start| start + 1).collect();
    let canonical = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let module = ModuleFile { path: &canonical, build_id: &[] };
    let resolved = Resolver::new().resolve(&module, &addresses);
    let name = canonical.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut sample = Sample { functions: addresses.len(), ..Sample::default() };
    let mut is_cxx = false;
    for frame in resolved.frames.iter().filter_map(|chain| chain.last()) {
        let is_named = !frame.function.starts_with(&format!("{name}+0x"));
        sample.named += usize::from(is_named);
        is_cxx |= is_named && frame.function.contains("::");
        if owner(&frame.function, frame.file.as_deref(), &name) == Owner::Program {
            sample.own += 1;
            sample.own_with_line += usize::from(frame.line.is_some());
        }
    }
    (sample, is_cxx)
}
