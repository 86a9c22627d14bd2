//! The frames of an answer: their names and places, each text once.

use crate::pack::Pack;
use memtoll_analysis::names;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Recording};
use rustc_hash::FxHashMap;
use serde_json::json;

/// Numbers frames in the order in which they are met.
#[derive(Default)]
pub(crate) struct FrameTable {
    ids: Vec<FrameId>,
    numbers: FxHashMap<FrameId, u32>,
}

impl FrameTable {
    pub(crate) fn number(&mut self, id: FrameId) -> u32 {
        *self.numbers.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() as u32 - 1
        })
    }

    /// Names and places: texts once, and columns of their numbers; 0: none. `prefix` begins the names of all of it.
    pub(crate) fn write(&self, recording: &Recording, prefix: &str, pack: &mut Pack) {
        let frames = &recording.frames;
        let mut texts: Vec<String> = vec![String::new()];
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        let mut text = |text: String| {
            *known.entry(text).or_insert_with_key(|text| {
                texts.push(text.clone());
                texts.len() - 1
            }) as f64
        };
        let (mut function, mut full, mut file, mut line, mut module) = (vec![], vec![], vec![], vec![], vec![]);
        for &id in &self.ids {
            let of = Texts::of(frames, id);
            function.push(text(names::function(frames, id)));
            full.push(text(of.function.to_owned()));
            file.push(of.file.map_or(0.0, |file| text(file.to_owned())));
            line.push(of.line.map_or(0.0, f64::from));
            module.push(text(of.shown_module.to_owned()));
        }
        let id: Vec<f64> = self.ids.iter().map(|id| f64::from(id.get())).collect();
        let columns =
            [("id", id), ("function", function), ("full", full), ("file", file), ("line", line), ("module", module)];
        for (name, values) in columns {
            pack.column(&format!("{prefix}frames.{name}"), &values);
        }
        pack.set(&format!("{prefix}texts"), json!(texts));
    }
}
