//! What a program tells LeakSanitizer not to report: the text that its function `__lsan_default_suppressions` returns.
//!
//! Nothing of the program is called. Nearly always, the function returns the address of a constant, which its few instructions
//! tell; of another one, nothing is known.

use memmap2::Mmap;
use memtoll_processor::HERE;
use object::{Object, ObjectSection, ObjectSymbol};
use std::fs::File;
use std::path::Path;

const FUNCTION: &str = "__lsan_default_suppressions";
/// Bytes at most: of the function that are read, and of the text.
const LONGEST_FUNCTION: u64 = 64;
const LONGEST_TEXT: u64 = 64 << 10;

/// The text, if the program in this file has one that can be read.
pub fn default_suppressions(program: &Path) -> Option<String> {
    // SAFETY: the file may change meanwhile; then what is read is wrong, or this process is told so by the kernel, as with all debug files.
    let file = unsafe { Mmap::map(&File::open(program).ok()?) }.ok()?;
    in_file(&file)
}

fn in_file(file: &[u8]) -> Option<String> {
    let file = object::File::parse(file).ok()?;
    let mut symbols = file.dynamic_symbols().chain(file.symbols());
    let function = symbols.find(|symbol| symbol.is_definition() && symbol.name_bytes() == Ok(FUNCTION.as_bytes()))?;
    let at = |address: u64, longest: u64| {
        let section = file.sections().find(|section| {
            let start = section.address();
            start != 0 && address >= start && address < start.saturating_add(section.size())
        })?;
        let bytes = section.data().ok()?.get((address - section.address()) as usize..)?;
        Some(&bytes[..bytes.len().min(longest as usize)])
    };
    let address = function.address();
    let text = (HERE.constant_returned)(at(address, LONGEST_FUNCTION)?, address)?;
    let text = at(text, LONGEST_TEXT)?.split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}
