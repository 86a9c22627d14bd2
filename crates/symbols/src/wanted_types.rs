//! The types whose sizes are asked for, by the scopes around them, so that a scope without any is passed over.

use rustc_hash::FxHashMap;

use crate::canonical_type::{UNNAMED_NAMESPACE, canonical, parts};

/// The scope around all others.
pub(crate) const OUTERMOST: ScopeId = ScopeId(0);

/// A scope that holds a wanted type, or a wanted type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScopeId(usize);

/// Wanted types, and the sizes found so far.
#[derive(Debug)]
pub(crate) struct WantedTypes {
    scopes: Vec<Scope>,
    /// Number of types for which it is worth looking on.
    open: usize,
}

#[derive(Debug, Default)]
struct Scope {
    /// By the first word of the name, so that most names are told apart without a closer look.
    inner: FxHashMap<Vec<u8>, Vec<(String, ScopeId)>>,
    size: Size,
    /// Whether several files may have a type of this name, each its own.
    local: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Size {
    #[default]
    NotWanted,
    Unknown,
    /// Bytes.
    Known(u64),
    /// Two types of one name differ.
    Ambiguous,
}

impl WantedTypes {
    pub(crate) fn new() -> Self {
        WantedTypes { scopes: vec![Scope::default()], open: 0 }
    }

    /// Adds a type by its canonical name.
    pub(crate) fn add(&mut self, name: &str) -> ScopeId {
        let mut at = OUTERMOST;
        let mut local = false;
        for part in parts(name) {
            local |= part == UNNAMED_NAMESPACE;
            let next = ScopeId(self.scopes.len());
            let same_word = self.scopes[at.0].inner.entry(first_word(part.as_bytes()).to_vec()).or_default();
            at = match same_word.iter().find(|(known, _)| known == part) {
                Some((_, known)) => *known,
                None => {
                    same_word.push((part.to_string(), next));
                    self.scopes.push(Scope { local, ..Scope::default() });
                    next
                }
            };
        }
        let scope = &mut self.scopes[at.0];
        if scope.size == Size::NotWanted {
            scope.size = Size::Unknown;
            self.open += 1;
        }
        at
    }

    /// Whether looking on can find nothing more.
    pub(crate) fn is_complete(&self) -> bool {
        self.open == 0
    }

    /// The scope or type of this name, as the debug information spells it, in another.
    pub(crate) fn inner(&self, outer: ScopeId, name: &[u8]) -> Option<ScopeId> {
        let same_word = self.scopes[outer.0].inner.get(first_word(name))?;
        let name = std::str::from_utf8(name).ok()?;
        let exact = |name: &str| same_word.iter().find(|(known, _)| known == name).map(|(_, id)| *id);
        exact(name).or_else(|| exact(&canonical(name)?))
    }

    /// Whether wanted types lie in it.
    pub(crate) fn has_inner(&self, id: ScopeId) -> bool {
        !self.scopes[id.0].inner.is_empty()
    }

    /// Whether a size, in bytes, for it would be new.
    pub(crate) fn needs_size(&self, id: ScopeId) -> bool {
        let scope = &self.scopes[id.0];
        match scope.size {
            Size::Unknown => true,
            Size::Known(_) => scope.local,
            Size::NotWanted | Size::Ambiguous => false,
        }
    }

    /// Notes the size of a type, bytes.
    pub(crate) fn set_size(&mut self, id: ScopeId, size: u64) {
        let scope = &mut self.scopes[id.0];
        match scope.size {
            Size::Unknown => {
                scope.size = Size::Known(size);
                // A type that every file may have its own of is looked for to the end.
                if !scope.local {
                    self.open -= 1;
                }
            }
            Size::Known(known) if scope.local && known != size => {
                scope.size = Size::Ambiguous;
                self.open -= 1;
            }
            _ => {}
        }
    }

    /// The size of a type, bytes, if one was found and only one.
    pub(crate) fn size(&self, id: ScopeId) -> Option<u64> {
        match self.scopes[id.0].size {
            Size::Known(size) => Some(size),
            _ => None,
        }
    }
}

/// Letters and digits up to the first other character; other characters before them do not count.
fn first_word(name: &[u8]) -> &[u8] {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let start = name.iter().position(is_word).unwrap_or(name.len());
    let end = name[start..].iter().position(|byte| !is_word(byte)).map_or(name.len(), |length| start + length);
    &name[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_lead_to_types() {
        let mut wanted = WantedTypes::new();
        let run = wanted.add("text::Run<int>");
        let inner = wanted.add("text::Run<int>::Part");
        let text = wanted.inner(OUTERMOST, b"text").unwrap();
        assert_eq!(wanted.inner(text, b"Run<int >"), Some(run));
        assert_eq!(wanted.inner(run, b"Part"), Some(inner));
        assert_eq!(wanted.inner(text, b"Run<long>"), None);
        assert_eq!(wanted.inner(OUTERMOST, b"Run<int>"), None);
        assert!(!wanted.needs_size(text) && wanted.has_inner(run) && !wanted.has_inner(inner));
        wanted.set_size(run, 16);
        wanted.set_size(run, 24);
        assert_eq!(wanted.size(run), Some(16), "the first counts");
        assert!(!wanted.is_complete());
        wanted.set_size(inner, 4);
        assert!(wanted.is_complete());
    }

    #[test]
    fn types_of_one_file_may_differ_from_those_of_another() {
        let mut wanted = WantedTypes::new();
        let id = wanted.add("(anonymous namespace)::Row");
        wanted.set_size(id, 16);
        wanted.set_size(id, 16);
        assert_eq!(wanted.size(id), Some(16));
        assert!(!wanted.is_complete());
        wanted.set_size(id, 24);
        assert_eq!(wanted.size(id), None);
        assert!(wanted.is_complete());
    }
}
