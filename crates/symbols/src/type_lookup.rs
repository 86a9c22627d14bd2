//! From the names of types to what has to be looked for, and back to sizes.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::builtin_type::{array, builtin_size};
use crate::canonical_type::canonical;
use crate::wanted_types::{ScopeId, WantedTypes};

/// Longest chain of arrays of arrays.
const MOST_DIMENSIONS: usize = 16;

/// Names that were asked for.
pub(crate) struct TypeLookup<'n> {
    /// Those which only the debug information can tell.
    pub(crate) wanted: WantedTypes,
    answers: Vec<(&'n str, Answer)>,
}

enum Answer {
    /// Bytes.
    Known(u64),
    /// An array of this many, or one, of a wanted type.
    Times(ScopeId, u64),
}

impl<'n> TypeLookup<'n> {
    pub(crate) fn new(names: &'n BTreeSet<String>) -> Self {
        let mut wanted = WantedTypes::new();
        let answers = names.iter().filter_map(|name| Some((name.as_str(), answer(name, &mut wanted)?))).collect();
        TypeLookup { wanted, answers }
    }

    /// The sizes of all that were found, bytes.
    pub(crate) fn sizes(&self) -> FxHashMap<String, u64> {
        let size = |answer: &Answer| match answer {
            Answer::Known(size) => Some(*size),
            Answer::Times(element, count) => self.wanted.size(*element)?.checked_mul(*count),
        };
        self.answers.iter().filter_map(|(name, answer)| Some(((*name).to_string(), size(answer)?))).collect()
    }
}

fn answer(name: &str, wanted: &mut WantedTypes) -> Option<Answer> {
    let canonical = canonical(name)?;
    let mut name = canonical.as_str();
    while let Some(unqualified) = name.strip_suffix(" const").or_else(|| name.strip_suffix(" volatile")) {
        name = unqualified;
    }
    let mut count = 1u64;
    for _ in 0..MOST_DIMENSIONS {
        let Some((element, length)) = array(name) else { break };
        name = element;
        count = count.checked_mul(length)?;
    }
    match builtin_size(name) {
        Some(size) => Some(Answer::Known(size.checked_mul(count)?)),
        None => Some(Answer::Times(wanted.add(name), count)),
    }
}
