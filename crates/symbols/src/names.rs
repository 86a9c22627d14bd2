//! Gives frames their names: which of the names known for an address is shown.

use rustc_hash::FxHashMap;

use crate::demangle::{demangle, is_mangled};
use crate::dwarf::{DebugInfo, DwarfFrame};
use crate::frame::Frame;
use crate::source_path;
use crate::symbol_table::SymbolTable;

/// What a function of an inline chain is called where the debug information has lost its name.
const UNNAMED: &str = "(unnamed function)";

/// The names of one module.
pub(crate) struct Names<'a> {
    module: &'a str,
    debug_info: Option<&'a DebugInfo<'a, 'a>>,
    symbols: SymbolTable<'a>,
    dynamic_symbols: SymbolTable<'a>,
    /// Names demangled so far: the same functions are inlined again and again.
    demangled: FxHashMap<String, String>,
}

impl<'a> Names<'a> {
    /// `module` is the name for addresses that nothing else names. The symbols come from the module's own file where it
    /// has them, else from the `separate` debug file.
    pub(crate) fn new(
        module: &'a str,
        own: Option<&object::File<'a>>,
        separate: Option<&object::File<'a>>,
        debug_info: Option<&'a DebugInfo<'a, 'a>>,
    ) -> Self {
        let symbols = own
            .map(SymbolTable::full)
            .filter(|table| !table.is_empty())
            .or_else(|| separate.map(SymbolTable::full))
            .unwrap_or_default();
        Names {
            module,
            debug_info,
            symbols,
            dynamic_symbols: own.map(SymbolTable::dynamic).unwrap_or_default(),
            demangled: FxHashMap::default(),
        }
    }

    /// The frames of an address. `chain` is what the debug information says, innermost first, and may be empty.
    pub(crate) fn frames(&mut self, address: u64, chain: &[DwarfFrame<'_>]) -> Vec<Frame> {
        let Some((physical, inlined)) = chain.split_last() else {
            return vec![Frame { function: self.symbol_name(address), file: None, line: None }];
        };
        let mut frames = Vec::with_capacity(chain.len());
        for frame in inlined {
            let function = match &frame.name {
                Some(name) => self.debug_info_name(address, frame, name),
                None => UNNAMED.to_string(),
            };
            frames.push(located(function, frame));
        }
        let function = self.physical(address, physical);
        frames.push(located(function, physical));
        frames
    }

    /// Name of the function that was called, at the end of an inline chain.
    fn physical(&mut self, address: u64, frame: &DwarfFrame<'_>) -> String {
        let Some(name) = frame.name.as_deref() else {
            return self.symbol_name(address);
        };
        // Where there is only a plain name, the symbol of the same function may be mangled and then knows the namespace
        // and the arguments.
        if !is_mangled(name)
            && let Some(symbol) = self.symbol(address)
            && is_mangled(symbol)
        {
            let demangled = self.demangle(symbol);
            let base = name.split('<').next().unwrap_or(name);
            if !is_mangled(&demangled) && demangled.contains(base) {
                return demangled;
            }
        }
        self.debug_info_name(address, frame, name)
    }

    fn debug_info_name(&mut self, address: u64, frame: &DwarfFrame<'_>, name: &str) -> String {
        let demangled = self.demangle(name);
        let is_enough = is_mangled(name) && !is_mangled(&demangled);
        if !is_enough
            && let Some(entry) = frame.cpp_entry
            && let Some(debug_info) = self.debug_info
            && let Some(qualified) = debug_info.qualified_name(address, entry)
        {
            return qualified;
        }
        demangled
    }

    fn symbol_name(&mut self, address: u64) -> String {
        match self.symbol(address) {
            Some(symbol) => self.demangle(symbol),
            None => format!("{}+{address:#x}", self.module),
        }
    }

    fn symbol(&self, address: u64) -> Option<&'a str> {
        self.symbols.lookup(address).or_else(|| self.dynamic_symbols.lookup(address))
    }

    fn demangle(&mut self, name: &str) -> String {
        if let Some(known) = self.demangled.get(name) {
            return known.clone();
        }
        let demangled = demangle(name);
        self.demangled.insert(name.to_string(), demangled.clone());
        demangled
    }
}

fn located(function: String, frame: &DwarfFrame<'_>) -> Frame {
    Frame { function, file: frame.file.filter(|file| !file.is_empty()).map(source_path::normalize), line: frame.line }
}
