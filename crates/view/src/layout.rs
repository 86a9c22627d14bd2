//! How types lie in memory: from the debug information of the recorded program, when somebody asks.

use crate::ask::Ask;
use crate::engine::{Engine, Found};
use crate::pack::Pack;
use memtoll_query::layout::{TypeLayout, element_of, find, is_newer};
use rustc_hash::FxHashMap;
use serde_json::json;
use std::cmp::Reverse;

/// Types that are listed.
const MOST_TYPES: usize = 500;

/// A type that was looked up: reading debug information takes long.
pub(crate) struct Remembered {
    name: String,
    layout: Result<TypeLayout, String>,
    /// The file that has it, if it is newer than the recording.
    newer: Option<String>,
}

impl Engine<'_> {
    /// The types of the selected blocks, and the layout of the one that is asked for.
    pub(crate) fn layout(&mut self, found: &Found, ask: &Ask) -> Result<Pack, String> {
        let mut pack = Pack::new();
        let mut types: FxHashMap<&str, (u64, u64)> = FxHashMap::default();
        for row in &found.rows {
            let Some(name) = row.type_name.as_deref() else { continue };
            let (peak, live) = types.entry(name).or_default();
            *peak = peak.saturating_add(row.metrics.peak_bytes);
            *live = live.saturating_add(row.metrics.live_bytes);
        }
        let mut types: Vec<(&str, (u64, u64))> = types.into_iter().collect();
        types.sort_by_key(|(name, (peak, live))| (Reverse(*peak), Reverse(*live), *name));
        types.truncate(MOST_TYPES);
        let listed = types.iter().map(|(name, (peak, live))| {
            let element = element_of(name).trim();
            json!({ "name": name, "asked": if element.is_empty() { name } else { element }, "peak": peak, "live": live })
        });
        pack.set("types", json!(listed.collect::<Vec<_>>()));
        let known = (!ask.type_name.is_empty()).then(|| self.looked_up(&ask.type_name));
        let (layout, newer, why) = match known {
            Some(Remembered { layout: Ok(layout), newer, .. }) => {
                layout.count(&found.rows);
                (json!(layout), json!(newer), json!(""))
            }
            Some(Remembered { layout: Err(why), .. }) => (json!(null), json!(null), json!(why)),
            None => (json!(null), json!(null), json!("")),
        };
        pack.set("layout", layout);
        pack.set("newer", newer);
        pack.set("why", why);
        Ok(pack)
    }

    /// The type with this name, which is looked up if it was not the last one.
    fn looked_up(&mut self, name: &str) -> &mut Remembered {
        let known = self.looked_up.take().filter(|known| known.name == name);
        let known = known.unwrap_or_else(|| self.look_up(name));
        self.looked_up.insert(known)
    }

    fn look_up(&self, name: &str) -> Remembered {
        let recording = self.recording();
        let (layout, newer) = match find(recording, name, &self.settings().folders) {
            Ok((layout, path)) => {
                let newer = is_newer(&path, recording).then(|| path.display().to_string());
                (Ok(TypeLayout::new(layout)), newer)
            }
            Err(Some(why)) => (Err(why.to_string()), None),
            Err(None) => (Err("The files of the recorded program are not on this machine.".to_owned()), None),
        };
        Remembered { name: name.to_owned(), layout, newer }
    }
}
