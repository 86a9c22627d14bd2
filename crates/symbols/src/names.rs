//! Gives frames their names: which of the names known for an address is shown.

use std::rc::Rc;

use memtoll_trace::symbols::{NameSource, unnamed};
use rustc_hash::FxHashMap;

use crate::demangle::{demangle, is_mangled};
use crate::dwarf::{DebugInfo, DwarfFrame, Language};
use crate::frame::Frame;
use crate::function::Function;
use crate::function_bounds::FunctionBounds;
use crate::rust_names;
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
    bounds: Option<FunctionBounds<'a>>,
    /// Names demangled so far: the same functions are inlined again and again.
    demangled: FxHashMap<String, String>,
    /// Names of Rust made whole so far, by symbol.
    whole: FxHashMap<String, String>,
}

impl<'a> Names<'a> {
    /// `module` is the path of the file, which addresses get their names from that nothing else names. The symbols come from the module's own file where it
    /// has them, else from the `separate` debug file, else from the `mini` debug information.
    pub(crate) fn new(
        module: &'a str,
        own: Option<&object::File<'a>>,
        separate: Option<&object::File<'a>>,
        mini: Option<&object::File<'a>>,
        debug_info: Option<&'a DebugInfo<'a, 'a>>,
    ) -> Self {
        let mut tables = [own, separate, mini].into_iter().flatten().map(SymbolTable::full);
        let symbols = tables.find(|table| !table.is_empty()).unwrap_or_default();
        Names {
            module,
            debug_info,
            symbols,
            dynamic_symbols: own.map(SymbolTable::dynamic).unwrap_or_default(),
            bounds: own.and_then(FunctionBounds::of),
            demangled: FxHashMap::default(),
            whole: FxHashMap::default(),
        }
    }

    /// Where the names come from.
    pub(crate) fn source(&self) -> NameSource {
        if self.debug_info.is_some() {
            NameSource::DebugInfo
        } else if !self.symbols.is_empty() {
            NameSource::Symbols
        } else if !self.dynamic_symbols.is_empty() {
            NameSource::Exported
        } else {
            NameSource::Nothing
        }
    }

    /// The frames of an address. `chain` is what the debug information says, innermost first, and may be empty.
    pub(crate) fn frames(&mut self, address: u64, chain: &[DwarfFrame<'_>]) -> Vec<Frame> {
        if chain.is_empty() {
            return vec![Frame::without_line(self.symbol_name(address))];
        }
        let named = chain.iter().enumerate().map(|(place, frame)| {
            let callers = &chain[place + 1..];
            let function = match &frame.name {
                _ if callers.is_empty() => self.compiled(address, frame),
                Some(name) => self.debug_info_name(address, frame, name, callers),
                None => UNNAMED.to_string(),
            };
            self.located(address, function, frame)
        });
        named.collect()
    }

    /// Name of the function that was called, at the end of an inline chain.
    fn compiled(&mut self, address: u64, frame: &DwarfFrame<'_>) -> String {
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
            let (base, arguments) = rust_names::split_arguments(name);
            if !is_mangled(&demangled) && frame.language == Some(Language::Rust) {
                if demangled.ends_with(base) {
                    return rust_names::with_arguments(&demangled, &[], &arguments);
                }
                if rust_names::is_closure(base) && demangled.ends_with("{{closure}}") {
                    return rust_names::with_closure_numbers(&demangled, base);
                }
            }
            if !is_mangled(&demangled) && demangled.contains(base) {
                return demangled;
            }
        }
        self.debug_info_name(address, frame, name, &[])
    }

    /// Name of a function that is inlined into `callers`, the next one first.
    fn debug_info_name(
        &mut self,
        address: u64,
        frame: &DwarfFrame<'_>,
        name: &str,
        callers: &[DwarfFrame<'_>],
    ) -> String {
        let demangled = self.demangle(name);
        let is_enough = is_mangled(name) && !is_mangled(&demangled);
        match frame.language {
            Some(Language::Cpp) if !is_enough => self.qualified_name(address, frame).unwrap_or(demangled),
            Some(Language::Rust) if is_enough => self.rust_name(address, frame, name, demangled),
            Some(Language::Rust) => rust_plain_name(frame, name, callers).unwrap_or(demangled),
            _ => demangled,
        }
    }

    fn qualified_name(&self, address: u64, frame: &DwarfFrame<'_>) -> Option<String> {
        self.debug_info?.qualified_name(address, frame.entry?)
    }

    fn function(&self, address: u64, frame: &DwarfFrame<'_>) -> Option<Rc<Function>> {
        self.debug_info?.function(address, frame.entry?)
    }

    /// A name of Rust with the types and numbers that its symbol, `mangled`, leaves out.
    fn rust_name(&mut self, address: u64, frame: &DwarfFrame<'_>, mangled: &str, demangled: String) -> String {
        let has_closure = demangled.contains("{{closure}}");
        if mangled.starts_with("_R") || !has_closure && !demangled.contains('<') {
            return demangled;
        }
        if let Some(known) = self.whole.get(mangled) {
            return known.clone();
        }
        let mut whole = demangled;
        if let Some(function) = self.function(address, frame) {
            let plain = function.plain_name.as_deref().unwrap_or_default();
            let (_, arguments) = rust_names::split_arguments(plain);
            whole = rust_names::with_arguments(&whole, &function.parameters, &arguments);
        }
        if has_closure && let Some(numbered) = self.qualified_name(address, frame) {
            whole = rust_names::with_closure_numbers(&whole, &numbered);
        }
        self.whole.insert(mangled.to_string(), whole.clone());
        whole
    }

    fn located(&self, address: u64, function: String, frame: &DwarfFrame<'_>) -> Frame {
        let file = frame.file.filter(|file| !file.is_empty()).map(source_path::normalize);
        let (is_implicit, line) = match frame.language {
            Some(Language::Rust) => (rust_names::is_clone(&function), None),
            Some(Language::Cpp) => match self.function(address, frame) {
                Some(about) => (
                    about.is_artificial && is_special_member(&function),
                    // GCC puts everything that makes a coroutine at the end of its body.
                    about.line.filter(|_| about.makes_coroutine),
                ),
                None => (false, None),
            },
            None => (false, None),
        };
        Frame { function, file, line: line.or(frame.line), is_implicit }
    }

    fn symbol_name(&mut self, address: u64) -> String {
        match self.symbol(address) {
            Some(symbol) => self.demangle(symbol),
            // All calls of one function have one name.
            None => unnamed(self.module, self.function_start(address).unwrap_or(address)),
        }
    }

    fn symbol(&self, address: u64) -> Option<&'a str> {
        // A symbol without a size, such as a label at the end of a file's code, does not name the function behind it.
        let is_before = |start| self.function_start(address).is_some_and(|function| start < function);
        [&self.symbols, &self.dynamic_symbols].into_iter().find_map(|table| {
            let found = table.lookup(address).filter(|found| found.has_size || !is_before(found.start));
            Some(found?.name)
        })
    }

    fn function_start(&self, address: u64) -> Option<u64> {
        self.bounds.as_ref()?.start(address)
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

/// A name of Rust where the debug information has only the last part of it.
fn rust_plain_name(frame: &DwarfFrame<'_>, name: &str, callers: &[DwarfFrame<'_>]) -> Option<String> {
    let file = frame.file?;
    if !rust_names::is_closure(name) {
        return rust_names::in_type_of_file(name, file);
    }
    let is_library = |file: &str| file.contains("/rustc/") || file.contains("/rust/deps/");
    let names = callers.iter().filter_map(|caller| caller.name.as_deref());
    rust_names::closure(name, is_library(file), names).or_else(|| {
        let caller = callers.iter().find(|caller| caller.file == Some(file))?;
        let (base, _) = rust_names::split_arguments(caller.name.as_deref()?);
        let (closure, _) = rust_names::split_arguments(name);
        Some(format!("{base}::{closure}"))
    })
}

/// Whether a function of C++ is a constructor, a destructor or an assignment.
fn is_special_member(function: &str) -> bool {
    let mut depth = 0usize;
    let mut plain = String::new();
    for c in function.chars() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let mut parts = plain.rsplit("::");
    let (last, class) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    last == class || last.starts_with('~') || last == "operator="
}

#[cfg(test)]
mod tests {
    use super::is_special_member;

    #[test]
    fn special_members_are_recognised() {
        for name in [
            "Order::Order(Order const&)", "Order::~Order()", "(anonymous namespace)::Item::Item",
            "n::Pair<int, A<B> >::Pair(int)", "n::A::operator=(n::A const&)",
        ] {
            assert!(is_special_member(name), "{name}");
        }
        for name in ["main", "add", "Order::order()", "n::A::operator==(n::A const&)", "(anonymous namespace)::f()"] {
            assert!(!is_special_member(name), "{name}");
        }
    }
}
