//! What is to be changed in a process, as the recorder reads it.

use super::Seen;
use super::interposed::Found;
use super::mapped::{Mapped, room};
use crate::proc_files::{self, MapLine};
use crate::wire::{self, PlanFunction, PlanHeader, PlanRegion, Redirected, own_hook};
use memtoll_processor::{Function, HERE, Redirection};
use memtoll_symbols::{AllocatorFunction, Form, OwnAllocator, Signature};
use object::{Object, ObjectSegment, ReadCache};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::Path;

/// A file that is read piece by piece.
type InFile<'a> = object::File<'a, &'a ReadCache<File>>;

/// Bytes of a region for each function: what its hook reads, the stub, the function's first instructions.
const SLOT: u64 = 256;
/// A plan reads no more bytes of a function.
const LONGEST: u64 = 64 << 10;
/// Padding behind a function, at the most.
const PADDING: u64 = 16;

/// A function that is to be redirected.
struct Target {
    name: String,
    entry: u64,
    code: Vec<u8>,
    behind: Vec<u8>,
    leads_to: LeadsTo,
    /// Whether all are left alone where it cannot be redirected.
    is_needed: bool,
}

/// Where calls of a function go.
enum LeadsTo {
    /// To one of the hooks for all allocators, which is told what the function does.
    OwnHook(Signature),
    /// To a hook with the function's own arguments, at this address.
    Hook(u64),
}

/// What is to be redirected in a file: an allocator, or what a preloaded recorder interposes.
pub struct Wanted {
    number: u8,
    targets: Vec<Target>,
    code: Range<u64>,
}

impl Wanted {
    /// Of the file at `place`. What stands in the way may be found already here.
    pub fn new(
        place: &Path,
        mapped: &Mapped,
        allocator: &OwnAllocator,
        number: u8,
        maps: &[MapLine],
    ) -> Result<Wanted, Seen> {
        Self::at(place, allocator, number, |file| bias_of(file, mapped, maps))
    }

    fn at(
        place: &Path,
        allocator: &OwnAllocator,
        number: u8,
        bias: impl FnOnce(&InFile<'_>) -> Option<u64>,
    ) -> Result<Wanted, Seen> {
        if let Some(copy) = &allocator.called_copy {
            return Err(Seen::Copied(copy.clone()));
        }
        let file = File::open(place).map_err(|_| Seen::OtherCode)?;
        let file = ReadCache::new(file);
        let file = object::File::parse(&file).map_err(|_| Seen::OtherCode)?;
        let bias = bias(&file).ok_or(Seen::OtherCode)?;
        let mut targets: Vec<Target> = Vec::new();
        let starts: Vec<u64> = allocator.functions.iter().map(|function| function.address).collect();
        for (address, function, signature) in by_address(allocator) {
            let next = starts.iter().copied().find(|start| *start > address);
            let room = next.map_or(LONGEST, |next| next - address).min(LONGEST);
            let size = if function.size == 0 { room.min(64) } else { function.size.min(LONGEST) };
            let read = |at: u64, bytes: u64| {
                let segment = file.segments().find(|one| (one.address()..one.address() + one.size()).contains(&at))?;
                let bytes = bytes.min(segment.address() + segment.file_range().1 - at);
                segment.data_range(at, bytes).ok().flatten().map(<[u8]>::to_vec)
            };
            let code = read(address, size).ok_or(Seen::OtherCode)?;
            let behind = read(address + size, PADDING.min(room.saturating_sub(size))).unwrap_or_default();
            targets.push(Target {
                name: function.name.clone(),
                entry: bias.wrapping_add(address),
                code,
                behind,
                leads_to: LeadsTo::OwnHook(signature),
                is_needed: true,
            });
        }
        if targets.is_empty() {
            return Err(Seen::NoNames);
        }
        Ok(Wanted::of(number, targets))
    }

    fn of(number: u8, targets: Vec<Target>) -> Wanted {
        let entries = || targets.iter().map(|target| target.entry);
        let code = entries().min().unwrap_or_default()..entries().max().unwrap_or_default() + LONGEST;
        Wanted { number, targets, code }
    }

    /// Functions of a file, each with a hook of its own.
    pub fn interposed(found: Vec<Found>) -> Wanted {
        let target = |one: Found| Target {
            name: one.name,
            entry: one.entry,
            code: one.code,
            behind: one.behind,
            leads_to: LeadsTo::Hook(one.hook),
            is_needed: one.is_needed,
        };
        Wanted::of(0, found.into_iter().map(target).collect())
    }

    /// Whether this function is among them.
    pub fn has(&self, entry: u64) -> bool {
        self.targets.iter().any(|target| target.entry == entry)
    }

    fn bytes(&self) -> u64 {
        (self.targets.len() as u64 * SLOT).next_multiple_of(proc_files::page())
    }
}

/// Each function once, with the name that says most of it: C's own, otherwise the shortest.
fn by_address(allocator: &OwnAllocator) -> Vec<(u64, &AllocatorFunction, Signature)> {
    let known = allocator.functions.iter().map(|function| (function.address, function, function.signature));
    let mut all: Vec<_> = known.collect();
    all.sort_by_key(|(address, function, signature)| {
        (*address, function.name != signature.op.symbol(), function.name.len(), &function.name)
    });
    all.dedup_by_key(|(address, ..)| *address);
    all
}

/// Where a file is in memory, less where it says that it is.
fn bias_of(file: &InFile<'_>, mapped: &Mapped, maps: &[MapLine]) -> Option<u64> {
    let line = maps.iter().find(|line| line.start == mapped.start)?;
    let page = proc_files::page();
    let segment = file.segments().find(|segment| segment.file_range().0 / page * page == line.offset)?;
    Some(mapped.start.wrapping_sub(segment.address() / page * page))
}

/// What an earlier plan has put into a process.
pub struct Earlier {
    pub address: u64,
    pub content: Vec<u8>,
}

/// How the memory of plans is called.
pub const PLAN_NAME: &str = "memtoll-plan";

/// A plan, in memory that the process maps.
pub struct Plan {
    pub memory: OwnedFd,
    pub bytes: u64,
    /// The functions of each region.
    pub functions: Vec<Vec<PlanFunction>>,
}

/// What the recorder does with a region.
struct Region {
    address: u64,
    content: Vec<u8>,
    functions: Vec<PlanFunction>,
    /// Whether an earlier plan has put it there.
    is_there: bool,
}

impl Plan {
    /// For all that is wanted; of each, whether it is a part of the plan.
    /// `earlier`: what earlier plans have put into the process, and is used again where it is the same.
    pub fn new(
        wanted: Vec<Wanted>,
        hooks: &[u64],
        maps: &[MapLine],
        earlier: &[Earlier],
    ) -> Option<(Plan, Vec<Result<(), Seen>>)> {
        let mut taken: Vec<Range<u64>> = Vec::new();
        let mut regions = Vec::new();
        let mut planned = Vec::new();
        for one in &wanted {
            planned.push(region(one, hooks, maps, &taken, earlier).map(|region| {
                taken.push(region.address..region.address + region.content.len() as u64);
                regions.push(region);
            }));
        }
        let bytes = write(&regions);
        let plan = move || -> io::Result<Plan> {
            let memory = memfd_create(PLAN_NAME, MemfdFlags::CLOEXEC)?;
            File::from(memory.try_clone()?).write_all(&bytes)?;
            let functions = regions.into_iter().map(|region| region.functions).collect();
            Ok(Plan { memory, bytes: bytes.len() as u64, functions })
        };
        Some((plan().ok()?, planned))
    }
}

/// The region of an allocator. If one function cannot be redirected, none is: whoever sees a release must have seen the allocation.
fn region(
    wanted: &Wanted,
    hooks: &[u64],
    maps: &[MapLine],
    taken: &[Range<u64>],
    earlier: &[Earlier],
) -> Result<Region, Seen> {
    let again = |old: &Earlier| {
        let region = region_at(wanted, hooks, old.address).ok()?;
        (region.content == old.content).then_some(Region { is_there: true, ..region })
    };
    if let Some(region) = earlier.iter().find_map(again) {
        return Ok(region);
    }
    region_at(wanted, hooks, room(maps, taken, &wanted.code, wanted.bytes()).ok_or(Seen::NoMemory)?)
}

fn region_at(wanted: &Wanted, hooks: &[u64], address: u64) -> Result<Region, Seen> {
    let mut content = vec![0; wanted.bytes() as usize];
    let mut functions = Vec::new();
    for (index, target) in wanted.targets.iter().enumerate() {
        let slot = address + index as u64 * SLOT;
        let room = slot + size_of::<Redirected>() as u64;
        let (hook, argument) = match &target.leads_to {
            LeadsTo::OwnHook(signature) => {
                let hook = hooks.get(hook_of(signature) as usize).copied();
                (hook.ok_or_else(|| Seen::Immovable(target.name.clone()))?, Some(slot))
            }
            LeadsTo::Hook(hook) => (*hook, None),
        };
        let made = (HERE.redirect)(&Function {
            entry: target.entry,
            code: &target.code,
            behind: &target.behind,
            room,
            argument,
            hook,
        });
        let made = match made {
            Err(_) if !target.is_needed => continue,
            made => made.map_err(|why| Seen::Immovable(format!("{} {why}", target.name)))?,
        };
        let original = room + made.original as u64;
        let for_hook = match &target.leads_to {
            LeadsTo::OwnHook(signature) => for_hook(signature, original, wanted.number),
            LeadsTo::Hook(_) => vec![0; size_of::<Redirected>()],
        };
        let at = (slot - address) as usize;
        let whole: Vec<u8> = for_hook.into_iter().chain(made.code.iter().copied()).collect();
        let place = content
            .get_mut(at..at + whole.len())
            .filter(|_| whole.len() as u64 <= SLOT)
            .ok_or_else(|| Seen::Immovable(target.name.clone()))?;
        place.copy_from_slice(&whole);
        functions.push(function(target.entry, original, &made).ok_or_else(|| Seen::Immovable(target.name.clone()))?);
    }
    Ok(Region { address, content, functions, is_there: false })
}

/// What would change in a file that is loaded where it says: the function, and its first bytes now and then.
pub fn rehearse(place: &Path, allocator: &OwnAllocator) -> Result<Vec<PlanFunction>, Seen> {
    const FAR: u64 = 1 << 40;
    let wanted = Wanted::at(place, allocator, 1, |_| Some(FAR))?;
    let hooks = [0; own_hook::OWN_HOOKS as usize];
    region(&wanted, &hooks, &[], &[], &[]).map(|region| region.functions)
}

fn hook_of(signature: &Signature) -> u32 {
    match signature.form {
        Form::Acquires if signature.arguments <= 3 => own_hook::OWN_ACQUIRE,
        Form::Acquires => own_hook::OWN_ACQUIRE_WIDE,
        Form::Reallocates => own_hook::OWN_REALLOCATE,
        Form::Releases => own_hook::OWN_RELEASE,
        Form::PosixMemalign => own_hook::OWN_POSIX_MEMALIGN,
        Form::Xallocx => own_hook::OWN_XALLOCX,
    }
}

/// What the hook reads of its function.
fn for_hook(signature: &Signature, original: u64, allocator: u8) -> Vec<u8> {
    let argument = |which: Option<u8>| which.unwrap_or(wire::NO_ARGUMENT);
    bytes_of(&Redirected {
        original,
        kind: signature.op.0,
        allocator,
        size: argument(signature.size),
        count: argument(signature.count),
        alignment: argument(signature.alignment),
        flags: argument(signature.flags),
        block: argument(signature.block),
        _unused: 0,
    })
}

fn function(entry: u64, original: u64, made: &Redirection) -> Option<PlanFunction> {
    let padded = |bytes: &[u8]| {
        let mut padded = [0; wire::MOST_PATCHED];
        padded.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(padded)
    };
    Some(PlanFunction {
        entry,
        original,
        at: made.at,
        bytes: made.after.len() as u32,
        pushes_return: made.pushes_return.into(),
        before: padded(&made.before)?,
        after: padded(&made.after)?,
    })
}

/// A structure of the wire's as the recorder reads it.
fn bytes_of<T: Copy>(value: &T) -> Vec<u8> {
    // SAFETY: the wire's structures are integers without gaps.
    unsafe { std::slice::from_raw_parts((&raw const *value).cast::<u8>(), size_of::<T>()) }.to_vec()
}

/// The plan's bytes: tables, then the content of each region from a page's begin on.
fn write(regions: &[Region]) -> Vec<u8> {
    let page = proc_files::page() as usize;
    let functions: usize = regions.iter().map(|region| region.functions.len()).sum();
    let tables =
        size_of::<PlanHeader>() + regions.len() * size_of::<PlanRegion>() + functions * size_of::<PlanFunction>();
    let mut all =
        bytes_of(&PlanHeader { magic: wire::MAGIC, regions: regions.len() as u32, functions: functions as u32 });
    let (mut offset, mut first) = (tables.next_multiple_of(page), 0);
    for region in regions {
        all.extend(bytes_of(&PlanRegion {
            address: region.address,
            offset: if region.is_there { 0 } else { offset as u64 },
            bytes: region.content.len() as u64,
            first_function: first,
            functions: region.functions.len() as u32,
        }));
        offset += region.content.len();
        first += region.functions.len() as u32;
    }
    all.extend(regions.iter().flat_map(|region| &region.functions).flat_map(bytes_of));
    all.resize(tables.next_multiple_of(page), 0);
    regions.iter().for_each(|region| all.extend(&region.content));
    all
}
