//! Which frames names match. Each function is compared once, however many frames it has.

use super::Texts;
use super::names::{Named, Names};
use crate::library::qualified_name;
use memtoll_model::{Frame, TextId};
use rustc_hash::FxHashMap;

pub(super) struct ByFunction<'v> {
    all: Vec<&'v Names>,
    known: FxHashMap<(TextId, TextId), Named>,
}

impl<'v> ByFunction<'v> {
    pub fn new(all: impl IntoIterator<Item = &'v Names>) -> Self {
        ByFunction { all: all.into_iter().collect(), known: FxHashMap::default() }
    }

    pub fn of(&mut self, frame: &Frame, texts: &Texts) -> Named {
        let all = &self.all;
        if all.is_empty() {
            return Named::default();
        }
        *self.known.entry((frame.function, frame.module)).or_insert_with(|| {
            all.iter().fold(Named::default(), |found, names| {
                let named = names.of(qualified_name(texts.function), [texts.module, texts.shown_module]);
                Named { function: found.function || named.function, module: found.module || named.module }
            })
        })
    }
}
