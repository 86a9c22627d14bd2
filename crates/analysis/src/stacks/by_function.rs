//! Which frames names match. Each function is compared once, however many frames it has.

use super::Texts;
use super::names::{Named, Names, NamesOfFrame};
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
            let names_of_frame = NamesOfFrame {
                functions: [texts.function, qualified_name(texts.function)],
                paths: [texts.module, texts.shown_module],
            };
            all.iter().fold(Named::default(), |found, names| {
                let named = names.of(&names_of_frame);
                Named { function: found.function || named.function, module: found.module || named.module }
            })
        })
    }
}
