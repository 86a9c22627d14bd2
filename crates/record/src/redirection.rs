//! Allocators that no import table leads to: inside the program, or in a library that binds its own functions. Their functions
//! are redirected to the recorder's hooks (`recorder/src/hooks/own_allocators.hpp`).
//!
//! * `mapped`: the files of code that a process has mapped, and where there is room beside them
//! * `interposed`: what is redirected of a process that was running before: all that a preloaded recorder interposes
//! * `plan`: what is to be changed there, as the recorder reads it
//!
//! Here: which allocators the files have, which the recorder has redirected, and their numbers, which stand in events.

mod interposed;
pub mod mapped;
mod plan;

use crate::own_allocators::OwnAllocators;
use crate::proc_files;
use crate::process_memory::ProcessMemory;
use crate::wire::{self, PlanFunction, placed};
use mapped::Mapped;
use memtoll_symbols::{OpenFiles, OwnAllocator};
use memtoll_trace::ids::ImageNo;
use memtoll_trace::meta::{self, AnsweredCalls, RecordedCalls};
pub use plan::PLAN_NAME;
use plan::{Earlier, Plan, Wanted};
use rustc_hash::FxHashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Numbers stand in a byte of each event; 0 is what import tables lead to.
const MOST: usize = 255;

/// Whether the recorder sees the calls of an allocator, and if not, why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// All its calls come through hooks.
    Redirected,
    /// Stripped: its functions have no names.
    NoNames,
    /// One of its functions cannot be redirected: its name, and why.
    Immovable(String),
    /// What is in memory is not what the file says.
    OtherCode,
    /// The system allows no new code in the process.
    NoMemory,
    /// The system allows no change of its code.
    NotWritable,
    /// The processor watches calls, which some of its functions would make in another way.
    ShadowStack,
    /// Other threads were at work.
    Threads,
    /// The compiler made a copy of one of its functions, with this name, and other code calls that.
    Copied(String),
}

impl Seen {
    /// What stands in the way.
    fn why(&self) -> Option<String> {
        let text = match self {
            Seen::Redirected => return None,
            Seen::Immovable(why) => return Some(format!("its functions cannot be redirected: {why}")),
            Seen::Copied(name) => {
                return Some(format!("the compiler made copies of its functions, and code calls {name}"));
            }
            Seen::NoNames => "it was stripped of the names of its functions",
            Seen::OtherCode => "another tool has changed its code, or its file",
            Seen::NoMemory => "the system gives no memory for code near it",
            Seen::NotWritable => "the system forbids changes of its code",
            Seen::ShadowStack => "the processor watches where its functions return to",
            Seen::Threads => "threads were at work when it was found",
        };
        Some(text.to_owned())
    }
}

/// An allocator of a process image.
#[derive(Clone)]
struct OfImage {
    /// Its number in events.
    number: u8,
    /// Its name.
    name: &'static str,
    /// The file that it is in.
    path: String,
    /// Whether other files call it for `malloc`.
    is_exported: bool,
    /// Whether its calls are seen.
    seen: Seen,
    /// One of the jumps that lead to the recorder, if all were to be written.
    jump: Option<PlanFunction>,
}

impl OfImage {
    /// Whether its calls come through hooks already. A library may have been unloaded, and loaded again, since its jumps were
    /// written.
    fn is_redirected_in(&self, memory: &ProcessMemory) -> bool {
        let Some(jump) = self.jump.filter(|_| self.seen == Seen::Redirected) else { return false };
        let mut now = [0; wire::MOST_PATCHED];
        let now = &mut now[..jump.bytes as usize];
        memory.read(jump.at, now).is_ok() && *now == jump.after[..now.len()]
    }

    fn described(self, answered: AnsweredCalls) -> meta::OwnAllocator {
        meta::OwnAllocator {
            file: self.path,
            name: self.name.to_owned(),
            is_exported: self.is_exported,
            recorded: if self.seen == Seen::Redirected { RecordedCalls::All } else { RecordedCalls::None },
            why: self.seen.why(),
            answered,
        }
    }
}

/// The allocators inside a program, as far as its file tells what will become of them.
pub fn expected(program: &Path, found: &[OwnAllocator]) -> Vec<meta::OwnAllocator> {
    let described = |allocator: &OwnAllocator| {
        let seen = match plan::rehearse(program, allocator) {
            _ if !allocator.is_named() => Seen::NoNames,
            Ok(_) => Seen::Redirected,
            Err(why) => why,
        };
        let (name, path) = (allocator.family.name(), program.to_string_lossy().into_owned());
        let is_exported = allocator.is_exported;
        OfImage { number: 0, name, path, is_exported, seen, jump: None }.described(AnsweredCalls::default())
    };
    found.iter().map(described).collect()
}

#[derive(Default)]
struct Known {
    /// By file and name; the first has number 1.
    numbers: Vec<(String, &'static str)>,
    images: FxHashMap<ImageNo, Vec<OfImage>>,
    jumps: FxHashMap<ImageNo, Result<Vec<PlanFunction>, Seen>>,
}

/// What a process that was running before asks for.
#[derive(Clone, Copy)]
pub struct RunningBefore {
    /// Where its recorder's list of functions is.
    pub list: u64,
    /// How many there are.
    pub count: u64,
}

/// The redirected allocators of a run.
#[derive(Default)]
pub struct Redirections(Mutex<Known>);

/// A plan for a process, and what it is about: a region each.
pub struct Planned {
    pub plan: Plan,
    /// Of each region; none of those that have what a preloaded recorder interposes.
    about: Vec<Option<OfImage>>,
    image: ImageNo,
    /// Whether the jumps are the supervisor's to write.
    was_running: bool,
}

impl Redirections {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How to redirect what the process has mapped of `allocators`, less what is redirected. `hooks` are the addresses of the
    /// recorder's.
    pub fn plan(
        &self,
        allocators: &OwnAllocators,
        pid: u32,
        image: ImageNo,
        hooks: &[u64],
        was_running: Option<RunningBefore>,
    ) -> Option<Planned> {
        let maps = proc_files::maps(pid);
        let memory = ProcessMemory::open(pid).ok();
        let mut wanted = Vec::new();
        let mut about = Vec::new();
        for mapped in mapped::files(&maps) {
            let is_loader = Path::new(&mapped.path).file_name() == Some(memtoll_processor::HERE.loader_name().as_ref());
            let is_recorder = hooks.iter().any(|hook| (mapped.start..mapped.end).contains(hook));
            if is_loader || is_recorder {
                continue;
            }
            let Some(place) = place_of(pid, &mapped) else { continue };
            for allocator in allocators.in_file(&place, OpenFiles::default).own.iter() {
                let Some(number) = self.number(&mapped.path, allocator.family.name()) else { continue };
                if memory.as_ref().is_some_and(|memory| self.is_redirected(image, number, memory)) {
                    continue;
                }
                let mut of_image = OfImage {
                    number,
                    name: allocator.family.name(),
                    path: mapped.path.clone(),
                    is_exported: allocator.is_exported,
                    seen: Seen::Redirected,
                    jump: None,
                };
                match Wanted::new(&place, &mapped, allocator, number, &maps) {
                    _ if !allocator.is_named() => of_image.seen = Seen::NoNames,
                    Ok(one) => {
                        wanted.push(one);
                        about.push(of_image);
                        continue;
                    }
                    Err(why) => of_image.seen = why,
                }
                self.remember(image, of_image);
            }
        }
        let mut about: Vec<Option<OfImage>> = about.into_iter().map(Some).collect();
        if let Some(before) = was_running {
            match interposed_by(pid, before, &maps, &wanted) {
                Ok(more) => {
                    about.resize(about.len() + more.len(), None);
                    wanted.extend(more);
                }
                Err(why) => {
                    self.known().jumps.insert(image, Err(why));
                    return None;
                }
            }
        }
        if wanted.is_empty() {
            return None;
        }
        if was_running.is_none() && !others_wait(pid) {
            let about = about.into_iter().flatten();
            about.for_each(|one| self.remember(image, OfImage { seen: Seen::Threads, ..one }));
            return None;
        }
        // Not all that was wanted may have room.
        let earlier = was_running.map(|_| earlier_plans(pid, &maps)).unwrap_or_default();
        let (plan, planned) = Plan::new(wanted, hooks, &maps, &earlier)?;
        let mut regions = Vec::new();
        for (one, is_planned) in about.into_iter().zip(planned) {
            match (is_planned, one) {
                (Ok(()), one) => {
                    let jump = plan.functions.get(regions.len()).and_then(|functions| functions.first()).copied();
                    let one = one.map(|one| OfImage { jump, ..one });
                    // Until the process says otherwise: it may be over before that is heard.
                    one.iter().for_each(|one| self.remember(image, one.clone()));
                    regions.push(one);
                }
                (Err(seen), Some(one)) => self.remember(image, OfImage { seen, ..one }),
                (Err(seen), None) => {
                    self.known().jumps.insert(image, Err(seen));
                    return None;
                }
            }
        }
        Some(Planned { plan, about: regions, image, was_running: was_running.is_some() })
    }

    /// The jumps that are to be written into a process that was running before, or why not. None: that is not known yet.
    pub fn jumps(&self, image: ImageNo) -> Option<Result<Vec<PlanFunction>, String>> {
        let jumps = self.known().jumps.remove(&image)?;
        Some(jumps.map_err(|seen| seen.why().unwrap_or_default()))
    }

    /// The recorder has answered for each region of a plan.
    pub fn placed(&self, planned: Planned, answers: &[u8]) {
        let mut jumps = Ok(Vec::new());
        for (index, (of_image, functions)) in planned.about.into_iter().zip(planned.plan.functions).enumerate() {
            let seen = match answers.get(index).copied() {
                Some(placed::PLACED) => Seen::Redirected,
                Some(placed::PLACED_BEFORE) => continue,
                Some(placed::OTHER_CODE) => Seen::OtherCode,
                Some(placed::NOT_WRITABLE) => Seen::NotWritable,
                Some(placed::SHADOW_STACK) => Seen::ShadowStack,
                _ => Seen::NoMemory,
            };
            if let (Seen::Redirected, Ok(jumps)) = (&seen, &mut jumps) {
                jumps.extend(functions);
            }
            match of_image {
                Some(of_image) => self.remember(planned.image, OfImage { seen, ..of_image }),
                None if seen != Seen::Redirected => jumps = Err(seen),
                None => {}
            }
        }
        if planned.was_running {
            self.known().jumps.insert(planned.image, jumps);
        }
    }

    /// A forked child has what its parent had.
    pub fn inherits(&self, child: ImageNo, parent: ImageNo) {
        let mut known = self.known();
        if let Some(parents) = known.images.get(&parent).cloned() {
            known.images.insert(child, parents);
        }
    }

    /// The allocators of an image, with what each was asked for, by its number. Those whose calls are not seen say why.
    pub fn of_image(&self, image: ImageNo, answered: impl Fn(u8) -> AnsweredCalls) -> Vec<meta::OwnAllocator> {
        let all = self.known().images.get(&image).cloned().unwrap_or_default();
        all.into_iter()
            .map(|one| {
                let answered = answered(one.number);
                one.described(answered)
            })
            .collect()
    }

    fn is_redirected(&self, image: ImageNo, number: u8, memory: &ProcessMemory) -> bool {
        let known = self.known();
        let all = known.images.get(&image).into_iter().flatten();
        all.filter(|known| known.number == number).any(|known| known.is_redirected_in(memory))
    }

    fn remember(&self, image: ImageNo, of_image: OfImage) {
        let mut known = self.known();
        let all = known.images.entry(image).or_default();
        match all.iter_mut().find(|known| known.number == of_image.number) {
            // A file that was unloaded and loaded again.
            Some(known) => *known = of_image,
            None => all.push(of_image),
        }
    }

    fn number(&self, path: &str, name: &'static str) -> Option<u8> {
        let numbers = &mut self.known().numbers;
        let is_it = |known: &(String, &str)| known.0 == path && known.1 == name;
        let index = numbers.iter().position(is_it).unwrap_or_else(|| {
            numbers.push((path.to_owned(), name));
            numbers.len() - 1
        });
        u8::try_from(index + 1).ok().filter(|number| usize::from(*number) <= MOST)
    }
}

/// What is to be redirected of a process that was running before, beside the allocators that it has `already`.
fn interposed_by(
    pid: u32,
    before: RunningBefore,
    maps: &[proc_files::MapLine],
    already: &[Wanted],
) -> Result<Vec<Wanted>, Seen> {
    let memory = ProcessMemory::open(pid).map_err(|_| Seen::NotWritable)?;
    let list = interposed::read_list(&memory, before.list, before.count);
    let is_taken = |entry| already.iter().any(|wanted| wanted.has(entry));
    let found = interposed::by_file(pid, &memory, &list, maps, is_taken)?;
    Ok(found.into_iter().map(Wanted::interposed).collect())
}

/// What plans of earlier memtolls have put into a process.
fn earlier_plans(pid: u32, maps: &[proc_files::MapLine]) -> Vec<Earlier> {
    let Ok(memory) = ProcessMemory::open(pid) else { return Vec::new() };
    let content = |line: &proc_files::MapLine| {
        let mut content = vec![0; (line.end - line.start) as usize];
        memory.read(line.start, &mut content).ok()?;
        Some(Earlier { address: line.start, content })
    };
    let is_plan = |line: &&proc_files::MapLine| line.executable && line.path.contains(PLAN_NAME);
    maps.iter().filter(is_plan).filter_map(content).collect()
}

/// Where this process finds the file.
pub fn place_of(pid: u32, mapped: &Mapped) -> Option<PathBuf> {
    let in_process = PathBuf::from(format!("/proc/{pid}/root{}", mapped.path));
    let exe = PathBuf::from(format!("/proc/{pid}/exe"));
    let is_exe = fs::read_link(&exe).is_ok_and(|path| path == Path::new(&mapped.path));
    [is_exe.then_some(exe), Some(in_process), Some(PathBuf::from(&mapped.path))]
        .into_iter()
        .flatten()
        .find(|place| fs::metadata(place).is_ok_and(|about| about.is_file()))
}

/// Whether all threads but one wait in the kernel, so that none is in the middle of what changes. A thread that is not is given
/// some time.
fn others_wait(pid: u32) -> bool {
    const PATIENCE: Duration = Duration::from_millis(200);
    let begin = Instant::now();
    loop {
        let tasks: Vec<_> = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().collect();
        if tasks.len() == 1 {
            return true;
        }
        // The one that asks waits for the answer. A thread that ends meanwhile is no longer there to be read.
        let is_at_work = |task: &&fs::DirEntry| match fs::read_to_string(task.path().join("syscall")) {
            Ok(call) => call.starts_with("running"),
            Err(_) => task.path().exists(),
        };
        let at_work = tasks.iter().filter(is_at_work);
        if at_work.count() == 0 {
            return true;
        }
        if begin.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Libraries of the system, where they are installed: all their functions can be redirected.
    #[test]
    fn allocators_of_the_system_can_be_redirected() {
        let folders = memtoll_processor::HERE.library_folders();
        for (file, name) in [
            ("libjemalloc.so.2", "jemalloc"),
            ("libmimalloc.so.2", "mimalloc"),
            ("libtcmalloc_minimal.so.4", "tcmalloc"),
        ] {
            let path = folders.iter().map(|folder| Path::new(folder).join(file)).find(|path| path.exists());
            let path = path.unwrap_or_else(|| panic!("{file} is not installed"));
            let all = OwnAllocators::new(memtoll_symbols::DebugFolders::of_system());
            let found = expected(&path, &all.in_file(&path, OpenFiles::default).own);
            assert!(found.iter().any(|own| own.name == name), "{found:?}");
            assert!(found.iter().all(|own| own.recorded == RecordedCalls::All), "{found:?}");
        }
    }
}
