//! What the lines of a source file cost: of themselves, and with all that they call.

use crate::ask::Ask;
use crate::engine::{Engine, Found};
use crate::metrics::{COUNT, Values, values};
use crate::pack::Pack;
use crate::source_file;
use crate::tree::write_values;
use memtoll_analysis::names;
use memtoll_model::FrameId;
use std::collections::BTreeMap;

impl Engine<'_> {
    /// A file that the recording names: its text, if that may be shown, and its lines' sums.
    pub(crate) fn source(&mut self, found: &Found, ask: &Ask) -> Result<Pack, String> {
        let frames = &self.recording().frames;
        let file_of = |frame: FrameId| frames.frame(frame).file.map(|file| frames.text(file));
        if ask.file.is_empty() || !frames.ids().any(|frame| file_of(frame) == Some(ask.file.as_str())) {
            return Err("The recording names no such file.".to_owned());
        }
        let mut pack = Pack::new();
        match self.settings().sources {
            true => match source_file::read(&ask.file, self.recording().about.started) {
                Ok(file) => {
                    pack.set("text", file.text);
                    pack.set("is_newer", file.is_newer);
                }
                Err(why) => pack.set("why", why),
            },
            false => pack.set("why", "memtoll view --sources shows the text of source files."),
        }
        let mut own: BTreeMap<u32, Values> = BTreeMap::new();
        let mut through: BTreeMap<u32, Values> = BTreeMap::new();
        let add = |lines: &mut BTreeMap<u32, Values>, line: u32, more: &Values| {
            lines.entry(line).or_insert([0; COUNT]).iter_mut().zip(more).for_each(|(sum, value)| *sum += value);
        };
        let stacks = self.stacks(ask)?;
        let mut lines = Vec::new();
        let mut functions: BTreeMap<u32, FrameId> = BTreeMap::new();
        for site in &found.sums.sites {
            let stack = stacks.of(site.node);
            if !stack.matches {
                continue;
            }
            let path = stacks.frames(stack.path);
            let here = |frame: &FrameId| {
                (file_of(*frame) == Some(ask.file.as_str())).then(|| frames.frame(*frame).line.unwrap_or(0))
            };
            lines.clear();
            for frame in &path {
                let Some(line) = here(frame) else { continue };
                lines.push(line);
                functions.entry(line).or_insert(*frame);
            }
            if lines.is_empty() {
                continue;
            }
            let numbers = values(&site.metrics);
            if let Some(line) = path.first().and_then(here) {
                add(&mut own, line, &numbers);
            }
            // A line that calls itself counts once.
            lines.sort_unstable();
            lines.dedup();
            lines.iter().for_each(|line| add(&mut through, *line, &numbers));
        }
        let functions = functions.values().map(|frame| names::function(frames, *frame));
        pack.set("functions", functions.collect::<Vec<String>>());
        for (name, sums) in [("own", own), ("through", through)] {
            pack.column(&format!("{name}.line"), &sums.keys().map(|line| f64::from(*line)).collect::<Vec<f64>>());
            write_values(&mut pack, name, &sums.into_values().collect::<Vec<Values>>());
        }
        Ok(pack)
    }
}
