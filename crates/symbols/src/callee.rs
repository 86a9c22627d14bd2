//! The function that a call calls, read from the code of its file. A function that ends with a jump to another one leaves no
//! frame: the stack goes from the other one right to its caller, whose call tells who was called.

use crate::allocator_code::{AllocatorCode, allocates};
use crate::elf::{MappedFiles, build_id};
use crate::frame::{Frame, ModuleFile};
use crate::resolver::Resolver;
use memtoll_processor::Called;
use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol, ObjectSymbolTable, RelocationTarget};
use std::path::Path;

/// The function that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// One of the same file: where it begins there, with its name and line.
    Own {
        /// The address in the file.
        address: u64,
        /// The function, at the line where it begins.
        frame: Frame,
    },
    /// One of another file, by its name there.
    Other(String),
}

/// Where a call goes.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Address(u64),
    Name(String),
}

impl Resolver {
    /// What the call at an address of a module calls. `None` where that cannot be read: the call goes through a pointer, the
    /// file is another one than the module was, or it is for another processor.
    pub fn callee(&self, module: &ModuleFile<'_>, call: u64) -> Option<Callee> {
        let files = MappedFiles::default();
        let file = files.open(module.path).ok()?;
        if build_id(&file) != module.build_id || module.build_id.is_empty() {
            return None;
        }
        match target(&file, call)? {
            Target::Name(name) => Some(Callee::Other(crate::demangle(&name))),
            Target::Address(address) => {
                let frame = self.resolve(module, &[address]).frames.pop()?.pop()?;
                Some(Callee::Own { address, frame })
            }
        }
    }
}

/// Whether code that returns to a place in a file, in bytes, was called as an allocation function. One that ends with a jump to
/// memset, such as calloc, leaves nothing else of itself. `own` is what the file has of an allocator.
pub fn calls_allocator(path: &Path, returns_to: u64, own: &AllocatorCode) -> bool {
    let files = MappedFiles::default();
    let Ok(file) = files.open(path) else { return false };
    let address = file.segments().find_map(|segment| {
        let (offset, length) = segment.file_range();
        let within = returns_to.checked_sub(offset).filter(|within| *within < length)?;
        segment.address().checked_add(within)
    });
    match address.and_then(|address| target(&file, address.checked_sub(1)?)) {
        Some(Target::Name(name)) => allocates(&name),
        Some(Target::Address(address)) => own.has_address(address),
        None => false,
    }
}

/// Where the call goes whose last byte is at an address, as stacks have it.
fn target(file: &object::File<'_>, call: u64) -> Option<Target> {
    let processor = memtoll_processor::of(file.architecture())?;
    let code = |at: u64, length: u64| file.sections().find_map(|section| section.data_range(at, length).ok().flatten());
    match (processor.call_before)(&code, call.checked_add(1)?)? {
        Called::Slot(slot) => imported(file, slot),
        Called::Address(to) => match (processor.stub_at)(&code, to) {
            Some(slot) => imported(file, slot).or(Some(Target::Address(to))),
            None => Some(Target::Address(to)),
        },
    }
}

/// The function whose address the loader puts into a slot.
fn imported(file: &object::File<'_>, slot: u64) -> Option<Target> {
    let (_, relocation) = file.dynamic_relocations()?.find(|(at, _)| *at == slot)?;
    let RelocationTarget::Symbol(index) = relocation.target() else { return None };
    let symbol = file.dynamic_symbol_table()?.symbol_by_index(index).ok()?;
    match symbol.is_definition() {
        true => Some(Target::Address(symbol.address())),
        false => Some(Target::Name(symbol.name().ok()?.to_owned())),
    }
}
