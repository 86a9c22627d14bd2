//! The frames of an answer: their names and places, each text once.

use crate::packs::FrameColumns;
use memtoll_analysis::alike::Alike;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::names;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Recording};
use rustc_hash::FxHashMap;

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

    /// Names and places: columns of the numbers of texts, and these, each once.
    pub(crate) fn columns(&self, recording: &Recording) -> (FrameColumns, Vec<String>) {
        let frames = &recording.frames;
        let mut texts: Vec<String> = vec![String::new()];
        let mut known: FxHashMap<String, usize> = FxHashMap::default();
        let mut text = |text: String| {
            *known.entry(text).or_insert_with_key(|text| {
                texts.push(text.clone());
                texts.len() - 1
            }) as f64
        };
        let alike = Alike::among(self.ids.iter().map(|id| Texts::of(frames, *id).function));
        let mut columns = FrameColumns::default();
        for &id in &self.ids {
            let of = Texts::of(frames, id);
            columns.id.push(f64::from(id.get()));
            columns.function.push(text(names::function(frames, id)));
            columns.full.push(text(of.function.to_owned()));
            columns.qualified.push(text(qualified_name(of.function).to_owned()));
            columns.parameters.push(text(alike.behind(of.function).to_owned()));
            columns.file.push(of.file.map_or(0.0, |file| text(file.to_owned())));
            columns.line.push(of.line.map_or(0.0, f64::from));
            columns.module.push(text(of.shown_module.to_owned()));
            columns.module_name.push(text(frames.short_path(frames.frame(id).module).to_owned()));
            columns.unique_module.push(text(frames.unique_name(frames.frame(id).module).to_owned()));
            columns.shared.push(f64::from(u8::from(frames.share_function(frames.frame(id).function))));
            columns.shared_source.push(f64::from(u8::from(frames.share_source(id))));
            columns.without_tables.push(f64::from(u8::from(frames.is_without_tables(id))));
        }
        (columns, texts)
    }
}
