//! What the lines of a source file cost: of themselves, and with all that they call.

use crate::metrics::{self, NOTHING, Values, values};
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{LineColumns, SourcePack};
use crate::recordings::Recordings;
use crate::selections::Selected;
use crate::source_file::{self, NotRead, SourceFile};
use memtoll_analysis::names;
use memtoll_model::FrameId;
use std::collections::BTreeMap;

impl Recordings<'_> {
    /// A file that the recording names: its text, if that may be shown, and its lines' sums.
    pub(crate) fn source(&self, selected: &Selected, named: &str) -> Result<Pack, NoAnswer> {
        let frames = &self.recording().frames;
        let file_of = |frame: FrameId| frames.frame(frame).file.map(|file| frames.text(file));
        if named.is_empty() || !frames.ids().any(|frame| file_of(frame) == Some(named)) {
            return Err(NoAnswer::NoFile);
        }
        let read = match self.settings.sources {
            true => source_file::read(named, self.recording().about.started),
            false => Err(NotRead::NotAsked),
        };
        let mut own: BTreeMap<u32, Values> = BTreeMap::new();
        let mut through: BTreeMap<u32, Values> = BTreeMap::new();
        let add = |lines: &mut BTreeMap<u32, Values>, line: u32, more: &Values| {
            metrics::add(lines.entry(line).or_insert(NOTHING), more);
        };
        let mut stacks = self.stacks(&selected.view);
        let mut lines = Vec::new();
        let mut functions: BTreeMap<u32, FrameId> = BTreeMap::new();
        for site in &selected.sums.sites {
            let stack = stacks.of(site.node);
            if !stack.matches {
                continue;
            }
            let path = stacks.frames(stack.path);
            let here =
                |frame: &FrameId| (file_of(*frame) == Some(named)).then(|| frames.frame(*frame).line.unwrap_or(0));
            lines.clear();
            for frame in &path {
                let Some(line) = here(frame) else { continue };
                lines.push(line);
                functions.entry(line).or_insert(*frame);
            }
            if lines.is_empty() {
                continue;
            }
            let numbers = values(&site.metrics(), &self.tariff);
            if let Some(line) = path.first().and_then(here) {
                add(&mut own, line, &numbers);
            }
            // A line that calls itself counts once.
            lines.sort_unstable();
            lines.dedup();
            lines.iter().for_each(|line| add(&mut through, *line, &numbers));
        }
        let functions = functions.values().map(|frame| names::function(frames, *frame)).collect();
        let mut pack = Pack::new(&match read {
            Ok(SourceFile { text, is_newer }) => SourcePack { text: Some(text), why: None, is_newer, functions },
            Err(why) => SourcePack { text: None, why: Some(why.to_string()), is_newer: false, functions },
        });
        for (name, sums) in [("own", own), ("through", through)] {
            pack.columns(name, &LineColumns { line: sums.keys().map(|line| f64::from(*line)).collect() });
            metrics::write(&mut pack, name, &sums.into_values().collect::<Vec<Values>>());
        }
        Ok(pack)
    }
}
