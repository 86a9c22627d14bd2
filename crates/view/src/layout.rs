//! How types lie in memory: from the debug information of the recorded program, when somebody asks.

use crate::pack::Pack;
use crate::packs::{LayoutPack, ListedType};
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_model::layout::LayoutError;
use memtoll_query::layout::{TypeLayout, element_of, find, is_newer};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Types that are listed.
const MOST_TYPES: usize = 500;

/// A type that was looked up: reading debug information takes long.
pub(crate) struct LookedUp {
    name: String,
    /// `None`: none of the program's files is here.
    layout: Result<TypeLayout, Option<LayoutError>>,
    /// The file that has it, if it is newer than the recording.
    newer: Option<String>,
}

impl Recordings<'_> {
    /// The types of the selected blocks, and the layout of the one that is asked for.
    pub(crate) fn layout(&self, selected: &Selected, last: &mut Option<LookedUp>, of: Option<&str>) -> Pack {
        let mut types: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
        // Types are listed by what was live of them.
        for row in selected.rows.iter().filter(|_| self.recording().sees_frees()) {
            let Some(name) = row.type_name.as_deref() else { continue };
            let (peak, live) = types.entry(name).or_default();
            *peak = peak.saturating_add(row.metrics.peak_bytes.0);
            *live = live.saturating_add(row.metrics.live_bytes.0);
        }
        let mut types: Vec<(&str, (u64, u64))> = types.into_iter().collect();
        types.sort_by_key(|(name, (peak, live))| (Reverse(*peak), Reverse(*live), *name));
        types.truncate(MOST_TYPES);
        let listed = types.into_iter().map(|(name, (peak, live))| {
            let element = element_of(name).trim();
            let asked = if element.is_empty() { name } else { element };
            ListedType { name: name.to_owned(), asked: asked.to_owned(), peak, live }
        });
        let types = listed.collect();
        let known = of.map(|name| {
            let known = last.take().filter(|known| known.name == name);
            last.insert(known.unwrap_or_else(|| self.look_up(name)))
        });
        let none = LayoutPack { types, layout: Value::Null, newer: None, why: String::new(), similar: Vec::new() };
        Pack::new(&match known {
            Some(LookedUp { layout: Ok(layout), newer, .. }) => {
                if self.recording().sees_frees() {
                    layout.count(&selected.rows);
                }
                LayoutPack { layout: json!(layout), newer: newer.clone(), ..none }
            }
            Some(LookedUp { layout: Err(Some(why)), .. }) => {
                LayoutPack { why: why.to_string(), similar: why.names().to_vec(), ..none }
            }
            Some(LookedUp { layout: Err(None), .. }) => {
                LayoutPack { why: "The files of the recorded program are not on this machine.".to_owned(), ..none }
            }
            None => none,
        })
    }

    fn look_up(&self, name: &str) -> LookedUp {
        let recording = self.recording();
        let (layout, newer) = match find(recording, name, &self.settings.folders) {
            Ok((layout, path)) => {
                let newer = is_newer(&path, recording).then(|| path.display().to_string());
                (Ok(TypeLayout::new(layout)), newer)
            }
            Err(why) => (Err(why), None),
        };
        LookedUp { name: name.to_owned(), layout, newer }
    }
}
