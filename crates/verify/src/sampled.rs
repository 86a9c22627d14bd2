//! Where a program spends its CPU time: the kernel looks at it each fraction of a millisecond.

use memtoll_kernel::{Clock, Collector, KernelEvent, Mode, Options, Period, Refused, What};
use memtoll_symbols::{AllocatorCode, ModuleFile, Resolver, calls_allocator};
use memtoll_trace::meta::{Code, Found, Samples};
use rustc_hash::FxHashMap;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use std::io;
use std::path::Path;
use std::process::Child;
use std::sync::Arc;
use std::time::Duration;

/// CPU time between two looks at a thread, ns: a prime near a quarter of a millisecond, so that programs that do
/// something each millisecond are not always met at it.
pub const PERIOD: u32 = 249_989;

/// Says of code where it belongs; remembers the files from run to run.
#[derive(Default)]
pub struct Sampler {
    files: FxHashMap<Arc<str>, AllocatorCode>,
    /// Whether code that returns there is or was called by the allocator's, by file and place.
    calls: FxHashMap<(Arc<str>, u64), bool>,
    /// Of the program's own code, how often it was found at which place in which file.
    own: FxHashMap<Arc<str>, FxHashMap<u64, u64>>,
}

/// A place in a file with code, in bytes; `None` for code that is in no known mapping.
type Place = Option<(Arc<str>, u64)>;

/// Where a thread is.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Spot {
    mode: Mode,
    /// The program's code that runs, or that entered the kernel.
    place: Place,
    /// To where it returns, if it calls nothing.
    caller: Place,
}

/// What is seen of one run.
pub(crate) struct Watch {
    collector: Collector,
    spaces: FxHashMap<u32, Vec<Mapped>>,
    /// How often a thread was found there.
    seen: FxHashMap<Spot, u64>,
}

/// Code in the memory of a process.
#[derive(Clone)]
struct Mapped {
    start: u64,
    end: u64,
    offset: u64,
    path: Arc<str>,
}

impl Watch {
    /// Of a process that has not exec'd yet.
    pub(crate) fn start(pid: Pid) -> Result<Watch, Refused> {
        let options = Options { period: Period::Never, switches: false, running: PERIOD, ..Options::default() };
        let collector = Collector::start(pid, Clock::Monotonic, &options)?;
        Ok(Watch { collector, spaces: FxHashMap::default(), seen: FxHashMap::default() })
    }

    /// Whether threads inside the kernel are seen.
    pub(crate) fn sees_kernel(&self) -> bool {
        self.collector.view().system_calls
    }

    /// Takes what happens until the program ends. What it started may go on.
    pub(crate) fn follow(&mut self, program: &Child) -> io::Result<()> {
        const LOOK: Duration = Duration::from_millis(10);
        let mut wakeup = self.collector.wakeup()?;
        let Watch { collector, spaces, seen } = self;
        let over = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while wakeup.wait(LOOK)? {
            collector.drain(&mut |event| take(spaces, seen, &event));
            let ended = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(program)), over))?;
            if ended.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Takes the rest; says where threads were.
    pub(crate) fn finish(self, sampler: &mut Sampler) -> Samples {
        let Watch { collector, mut spaces, mut seen } = self;
        collector.finish(&mut |event| take(&mut spaces, &mut seen, &event));
        let mut samples = Samples::default();
        for (spot, number) in seen {
            let found = sampler.found(&spot);
            samples.add(found, number);
            if let (Found::Program, Some((path, offset))) = (found, spot.place) {
                *sampler.own.entry(path).or_default().entry(offset).or_default() += number;
            }
        }
        samples
    }
}

fn take(spaces: &mut FxHashMap<u32, Vec<Mapped>>, seen: &mut FxHashMap<Spot, u64>, event: &KernelEvent) {
    match &event.what {
        What::Map(map) if map.is_executable() => {
            let end = map.start.saturating_add(map.length);
            let space = spaces.entry(event.pid).or_default();
            // It takes the place of what was there.
            space.retain(|code| code.end <= map.start || end <= code.start);
            space.push(Mapped { start: map.start, end, offset: map.page_offset, path: map.path.clone() });
        }
        What::Exec(_) => _ = spaces.insert(event.pid, Vec::new()),
        What::Fork { child_pid, .. } if *child_pid != event.pid => {
            let copy = spaces.get(&event.pid).cloned().unwrap_or_default();
            spaces.insert(*child_pid, copy);
        }
        What::Runs { ip, top, mode } => {
            let place = |ip: u64| {
                let code = spaces.get(&event.pid)?.iter().find(|code| (code.start..code.end).contains(&ip))?;
                Some((code.path.clone(), ip - code.start + code.offset))
            };
            let spot = Spot { mode: *mode, place: place(*ip), caller: top.and_then(place) };
            *seen.entry(spot).or_default() += 1;
        }
        _ => {}
    }
}

impl Sampler {
    /// The program's own code in which all runs were found, what was found most often first.
    pub(crate) fn code(&self) -> Vec<Code> {
        let mut all: FxHashMap<Vec<String>, u64> = FxHashMap::default();
        for (path, places) in &self.own {
            let offsets: Vec<u64> = places.keys().copied().collect();
            let module = ModuleFile { path: Path::new(&**path), build_id: &[] };
            let resolved = Resolver::new().resolve_offsets(&module, &offsets);
            for (frames, offset) in resolved.frames.into_iter().zip(&offsets) {
                let functions = frames.into_iter().map(|frame| frame.function).collect();
                *all.entry(functions).or_default() += places[offset];
            }
        }
        let mut code: Vec<Code> = all.into_iter().map(|(functions, samples)| Code { functions, samples }).collect();
        code.sort_by(|a, b| (b.samples, &a.functions).cmp(&(a.samples, &b.functions)));
        code
    }

    fn file(&mut self, path: &Arc<str>) -> &AllocatorCode {
        self.files.entry(path.clone()).or_insert_with(|| allocator_code(path))
    }

    /// Whether what returns to a place is called by the allocator, or in its stead.
    fn is_call(&mut self, caller: &(Arc<str>, u64)) -> bool {
        if let Some(known) = self.calls.get(caller) {
            return *known;
        }
        let (path, offset) = caller;
        let code = self.file(path);
        let is_call = code.has_offset(*offset) || calls_allocator(Path::new(&**path), *offset, code);
        self.calls.insert(caller.clone(), is_call);
        is_call
    }

    fn found(&mut self, Spot { mode, place, caller }: &Spot) -> Found {
        // The allocator fills and copies with functions of the C library that it shares with the program: for calloc and
        // realloc. The recorder counts them as the allocator's, too, inside of its calls.
        let may_be_shared = *mode == Mode::Program
            && place.as_ref().is_some_and(|(path, offset)| {
                let code = self.file(path);
                !code.is_empty() && !code.has_offset(*offset)
            });
        let is_its_own = may_be_shared && caller.as_ref().is_some_and(|caller| self.is_call(caller));
        let file = place.as_ref().map(|(path, offset)| (self.file(path), *offset));
        match (mode, file) {
            (Mode::Fault, _) => Found::Fault,
            (Mode::Program, Some((code, offset))) if code.has_offset(offset) || is_its_own => Found::Allocator,
            // Also generated code.
            (Mode::Program, _) => Found::Program,
            (Mode::SystemCall, Some((code, offset))) if code.maps_at_offset(offset) => Found::Mapping,
            // Also a process that starts or ends.
            (Mode::SystemCall, _) => Found::Kernel,
        }
    }
}

/// What cannot be read any more, or is no file, has no allocator that anybody could know.
fn allocator_code(path: &str) -> AllocatorCode {
    Resolver::new().allocator_code(&ModuleFile { path: Path::new(path), build_id: &[] }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[inline(never)]
    fn works_here(number: u64) -> u64 {
        std::hint::black_box(number) + 1
    }

    #[test]
    fn places_in_the_programs_code_have_the_names_of_functions() {
        let program = std::env::current_exe().unwrap();
        let mappings = std::fs::read_to_string("/proc/self/maps").unwrap();
        let address = works_here as fn(u64) -> u64 as usize as u64;
        let offset = mappings.lines().find_map(|line| {
            let mut words = line.split_whitespace();
            let (start, end) = words.next()?.split_once('-')?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            let (start, end, offset) = (number(start)?, number(end)?, number(words.nth(1)?)?);
            (start..end).contains(&address).then_some(address - start + offset)
        });
        let offset = offset.expect("a mapping with the code");
        let file: Arc<str> = program.to_str().unwrap().into();
        let mut sampler = Sampler::default();
        sampler.own.insert(file, [(offset, 3), (offset + 1, 4)].into_iter().collect());
        let code = sampler.code();
        assert_eq!(code.iter().map(|code| code.samples).sum::<u64>(), 7);
        assert!(code[0].functions.last().unwrap().ends_with("works_here"), "{code:?}");
        assert_eq!(works_here(1), 2);
    }
}
