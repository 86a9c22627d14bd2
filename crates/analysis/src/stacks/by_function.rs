//! Functions that regular expressions name.

use super::Texts;
use crate::library::qualified_name;
use memtoll_model::{Frame, TextId};
use regex::Regex;
use rustc_hash::FxHashMap;

/// What of a frame expressions name.
#[derive(Clone, Copy, Default)]
pub(super) struct Named {
    pub function: bool,
    /// The loaded file.
    pub module: bool,
}

impl Named {
    pub fn is_any(self) -> bool {
        self.function || self.module
    }
}

/// Looks at each function once.
pub(super) struct ByFunction<'v> {
    all: Vec<&'v Regex>,
    known: FxHashMap<(TextId, TextId), Named>,
}

impl<'v> ByFunction<'v> {
    pub fn new(all: impl IntoIterator<Item = &'v Regex>) -> Self {
        ByFunction { all: all.into_iter().collect(), known: FxHashMap::default() }
    }

    pub fn of(&mut self, frame: &Frame, texts: &Texts) -> Named {
        let all = &self.all;
        if all.is_empty() {
            return Named::default();
        }
        *self.known.entry((frame.function, frame.module)).or_insert_with(|| {
            let is = |text: &str| all.iter().any(|name| name.is_match(text));
            Named { function: is(qualified_name(texts.function)), module: is(texts.module_name()) }
        })
    }
}
