//! What tells programs and libraries without a build id apart: the first functions that they have unwinding rules for.

use memtoll_trace::fnv::fnv32;
use object::read::elf::{ElfFile64, ProgramHeader};
use object::{Endianness, elf};

/// Bytes of `.eh_frame_hdr` at the most, as in the recorder (`modules.cpp`).
const MOST: u64 = 4096;

/// A digest of the beginning of `.eh_frame_hdr` and of what is loaded behind it. 0: there is none.
pub(crate) fn functions_hash(content: &[u8]) -> u32 {
    found(content).map_or(0, fnv32)
}

fn found(content: &[u8]) -> Option<&[u8]> {
    let file = ElfFile64::<Endianness>::parse(content).ok()?;
    let endian = file.endian();
    let segments = file.elf_program_headers();
    let header = segments.iter().find(|segment| segment.p_type(endian) == elf::PT_GNU_EH_FRAME)?;
    let at = header.p_vaddr(endian);
    let holds = |segment: &&elf::ProgramHeader64<Endianness>| {
        let inside = at.checked_sub(segment.p_vaddr(endian));
        segment.p_type(endian) == elf::PT_LOAD && inside.is_some_and(|inside| inside < segment.p_filesz(endian))
    };
    let segment = segments.iter().find(holds)?;
    let inside = at - segment.p_vaddr(endian);
    let length = (segment.p_filesz(endian) - inside).min(MOST);
    let start = segment.p_offset(endian).checked_add(inside)?;
    content.get(usize::try_from(start).ok()?..usize::try_from(start.checked_add(length)?).ok()?)
}
