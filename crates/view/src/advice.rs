//! What to change, as `memtoll advise` has it.

use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::AdvicePack;
use crate::recordings::Recordings;
use crate::source_file;
use memtoll_advise::{Place, Root, Wish, advise_in, read_sources};
use memtoll_analysis::event_pass::EventPass;
use memtoll_analysis::stacks::View;
use memtoll_analysis::sums::Sums;
use std::path::Path;

impl Recordings<'_> {
    /// What to change, of the whole run, whose sums these are: savings are predicted for runs. The pass over the events may have
    /// other readers. Where sources may be read, snippets have their names.
    pub(crate) fn advice(
        &self,
        pass: &mut EventPass,
        (sums, view): (&Sums, &View),
        reads_sources: bool,
    ) -> Result<Pack, NoAnswer> {
        let recording = self.recording();
        let mut advice = advise_in(pass, recording, sums, &mut self.stacks(view), &Wish::default());
        if reads_sources {
            let root = Root::of(recording, &advice.findings);
            // Only what is a source file is read, whatever the recording names.
            let may_read = |place: &Place| {
                let path = place.file.as_deref().map(|file| Path::new(&recording.about.directory).join(file));
                let path = path.as_deref().and_then(Path::to_str);
                path.is_some_and(|path| source_file::read(path, recording.about.started).is_ok())
            };
            read_sources(recording, &mut advice, &root, may_read);
        }
        let advice = serde_json::to_value(&advice).map_err(|error| NoAnswer::Json { what: "the advice", error })?;
        Ok(Pack::new(&AdvicePack { advice }))
    }
}
