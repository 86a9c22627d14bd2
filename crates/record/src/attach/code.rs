//! The code that a process has mapped, as far as loading the recorder asks about it.

use crate::proc_files::{self, MapLine};
use crate::process_memory::ProcessMemory;
use crate::redirection::mapped::{self, Mapped};
use crate::redirection::place_of;
use memtoll_processor::{HERE, injection};
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSegment, ObjectSymbol, ReadCache};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::ops::Range;
use std::path::Path;

/// Functions in which a thread waits for others, and that are part of nothing else.
const WAITS: [&str; 10] = [
    "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "sem_wait", "sem_timedwait",
    "sem_clockwait", "pthread_join", "pthread_timedjoin_np", "pthread_barrier_wait", "syscall",
];

/// The functions of the C library that are called.
#[derive(Debug, Clone, Copy)]
pub struct Functions {
    pub mmap: u64,
    pub dlopen: u64,
    pub dlerror: u64,
    pub dlsym: u64,
    pub errno_location: u64,
}

/// What is known of a process's code.
pub struct Code {
    pub maps: Vec<MapLine>,
    pub libc: Mapped,
    pub functions: Functions,
    /// The C library's code for the end of a signal handler.
    pub restorer: u64,
    /// Where threads wait for others.
    pub waits: Vec<Range<u64>>,
    /// Functions of the C library, with addresses and sizes.
    of_libc: Vec<(String, u64, u64)>,
    /// The loader, and its variables, where its locks are.
    loader: Mapped,
    loader_state: Range<u64>,
}

/// Exported symbols of a loaded file: address in memory and size.
fn symbols(pid: u32, mapped: &Mapped, maps: &[MapLine]) -> Option<FxHashMap<String, (u64, u64)>> {
    let file = ReadCache::new(File::open(place_of(pid, mapped)?).ok()?);
    let file = object::File::parse(&file).ok()?;
    let line = maps.iter().find(|line| line.start == mapped.start)?;
    let page = proc_files::page();
    let segment = file.segments().find(|segment| segment.file_range().0 / page * page == line.offset)?;
    let bias = mapped.start.wrapping_sub(segment.address() / page * page);
    let named = |symbol: object::Symbol<'_, '_, &ReadCache<File>>| {
        let name = symbol.name().ok()?.split('@').next()?.to_owned();
        symbol.is_definition().then(|| (name, (bias.wrapping_add(symbol.address()), symbol.size())))
    };
    Some(file.dynamic_symbols().filter_map(named).collect())
}

/// The loader that the program's file asks for. What is mapped may be where links lead to.
fn interpreter(pid: u32) -> Option<String> {
    let file = ReadCache::new(File::open(format!("/proc/{pid}/exe")).ok()?);
    let header = FileHeader64::<LittleEndian>::parse(&file).ok()?;
    let segments = header.program_headers(LittleEndian, &file).ok()?;
    let text = segments.iter().find_map(|segment| segment.interpreter(LittleEndian, &file).ok().flatten())?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn file_named(files: &[Mapped], is_it: impl Fn(&str) -> bool) -> Option<Mapped> {
    let name = |file: &&Mapped| Path::new(&file.path).file_name().is_some_and(|name| is_it(&name.to_string_lossy()));
    files.iter().find(name).cloned()
}

impl Code {
    /// Of a process, or why the recorder cannot be loaded there.
    pub fn of(pid: u32, memory: &ProcessMemory) -> Result<Code, String> {
        let maps = proc_files::maps(pid);
        let files = mapped::files(&maps);
        let loader = interpreter(pid).unwrap_or_default();
        if Path::new(&loader).file_name() == Some(HERE.musl_loader_name().as_ref()) {
            return Err("its C library is musl, which cannot load the recorder into a running program; start it with \
                        memtoll record"
                .to_owned());
        }
        let libc = file_named(&files, |name| name == "libc.so.6" || name.starts_with("libc-2."))
            .ok_or("it has no dynamic C library: static programs cannot be recorded; link it dynamically")?;
        let loader = file_named(&files, |name| name == HERE.loader_name() || name.starts_with("ld-2."))
            .ok_or("it has no dynamic loader")?;
        let of_libc = symbols(pid, &libc, &maps).ok_or("the file of its C library cannot be read")?;
        // Before glibc 2.34, they are in a library of their own.
        let libdl = file_named(&files, |name| name == "libdl.so.2" || name.starts_with("libdl-2."));
        let of_libdl = libdl.and_then(|file| symbols(pid, &file, &maps)).unwrap_or_default();
        let find = |name: &str| {
            let found = of_libc.get(name).or_else(|| of_libdl.get(name)).map(|(address, _)| *address);
            found.ok_or_else(|| format!("its C library has no {name}; it would need glibc 2.34, or libdl"))
        };
        let functions = Functions {
            mmap: find("mmap")?,
            dlopen: find("dlopen")?,
            dlerror: find("dlerror")?,
            dlsym: find("dlsym")?,
            errno_location: find("__errno_location")?,
        };
        let waits = WAITS.iter().filter_map(|name| of_libc.get(*name)).map(|(at, size)| *at..*at + *size).collect();
        let restorer = restorer(memory, &libc, &maps).ok_or("its C library has no end of signal handlers")?;
        let of_loader = symbols(pid, &loader, &maps).unwrap_or_default();
        let loader_state = of_loader.get("_rtld_global").map_or(0..0, |(at, size)| *at..*at + *size);
        let of_libc = of_libc.into_iter().map(|(name, (at, size))| (name, at, size)).collect();
        Ok(Code { of_libc, maps, libc, functions, restorer, waits, loader, loader_state })
    }

    /// Whether a thread may run any function that is called there: it is in code of the program or of a library, but neither in
    /// the C library nor in the loader.
    pub fn is_programs(&self, address: u64) -> bool {
        let inside = |file: &Mapped| (file.start..file.end).contains(&address);
        let is_code = |line: &MapLine| line.executable && (line.start..line.end).contains(&address);
        self.maps.iter().any(|line| is_code(line) && line.path.starts_with('/'))
            && !inside(&self.libc)
            && !inside(&self.loader)
    }

    pub fn libc_functions(&self) -> &[(String, u64, u64)] {
        &self.of_libc
    }

    pub fn is_libcs(&self, address: u64) -> bool {
        (self.libc.start..self.libc.end).contains(&address)
    }

    /// Whether the thread with this number, in its own namespace, holds one of the loader's locks. They are recursive ones of
    /// the C library's: state, depth, owner, users, kind.
    pub fn holds_loader(&self, memory: &ProcessMemory, tid: i32) -> bool {
        const RECURSIVE: i32 = 1;
        let mut bytes = vec![0; (self.loader_state.end - self.loader_state.start) as usize];
        if memory.read(self.loader_state.start, &mut bytes).is_err() {
            return true;
        }
        let words: Vec<i32> =
            bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap_or_default())).collect();
        words
            .windows(5)
            .any(|lock| lock[0] != 0 && lock[1] > 0 && lock[2] == tid && lock[3] == 1 && lock[4] == RECURSIVE)
    }

    /// Whether a thread with this stack is inside a signal handler, which may have interrupted anything.
    pub fn is_in_handler(&self, memory: &ProcessMemory, stack: u64) -> bool {
        const MOST: usize = 1 << 20;
        const FRAME: usize = 32;
        let start = stack & !7;
        let end = self.maps.iter().find(|line| (line.start..line.end).contains(&start)).map_or(start, |line| line.end);
        let mut bytes = vec![0; MOST.min((end - start) as usize)];
        let count = memory.read_some(start, &mut bytes);
        let words: Vec<u64> = bytes[..count]
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        let is_code =
            |address: u64| self.maps.iter().any(|line| line.executable && (line.start..line.end).contains(&address));
        let returns_from_handler = |address: u64| {
            let mut code = [0; 16];
            address == self.restorer || memory.read(address, &mut code).is_ok() && injection::is_restorer(&code)
        };
        (0..words.len()).any(|at| {
            let frame = &words[at..(at + FRAME).min(words.len())];
            injection::is_signal_frame(frame) && is_code(words[at]) && returns_from_handler(words[at])
        })
    }

    /// Whether a thread that waits for a futex does so in one of the functions that are part of nothing else.
    pub fn waits_for_others(&self, memory: &ProcessMemory, instruction: u64, stack: u64) -> bool {
        let mut bytes = [0; 512];
        let count = memory.read_some(stack & !7, &mut bytes);
        let words = bytes[..count].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
        words.chain([instruction]).any(|address| self.waits.iter().any(|function| function.contains(&address)))
    }
}

fn restorer(memory: &ProcessMemory, libc: &Mapped, maps: &[MapLine]) -> Option<u64> {
    let code = maps.iter().find(|line| line.executable && (libc.start..libc.end).contains(&line.start))?;
    let mut bytes = vec![0; (code.end - code.start) as usize];
    memory.read(code.start, &mut bytes).ok()?;
    injection::find_restorer(&bytes).map(|at| code.start + at as u64)
}
