//! Which loaded file of one recording is which one of another: they are the same if they have the same name or, where a recording has
//! several files of that name, the same path.

use crate::thread_filter::program;
use memtoll_model::{Frames, Recording, TextId};
use memtoll_trace::path::last_part;
use std::collections::BTreeSet;

/// The loaded files of recordings that are compared.
pub struct LoadedFiles<'a> {
    recordings: Vec<&'a Recording>,
    /// By recording: the name of its only program that not all the others have, too.
    renamed: Vec<Option<&'a str>>,
}

impl<'a> LoadedFiles<'a> {
    pub fn of(recordings: impl IntoIterator<Item = &'a Recording>) -> Self {
        let recordings: Vec<&Recording> = recordings.into_iter().collect();
        let programs = |recording: &&'a Recording| recording.images.iter().map(program).collect::<BTreeSet<&str>>();
        let programs: Vec<BTreeSet<&str>> = recordings.iter().map(programs).collect();
        let renamed = |own: &BTreeSet<&'a str>| {
            let mut others = own.iter().filter(|name| !programs.iter().all(|programs| programs.contains(*name)));
            others.next().copied().filter(|_| others.next().is_none())
        };
        LoadedFiles { renamed: programs.iter().map(renamed).collect(), recordings }
    }

    /// What a loaded file of one of them is called, so that the same file has the same name in all. A program that was renamed has none.
    pub fn name<'f>(&self, frames: &'f Frames, module: TextId) -> &'f str {
        let path = frames.text(module);
        let name = last_part(frames.shown(path));
        let of = self.recordings.iter().position(|recording| std::ptr::eq(&recording.frames, frames));
        match of.and_then(|of| self.renamed[of]) {
            Some(renamed) if renamed == name => "",
            _ if self.recordings.iter().any(|recording| recording.frames.share_name(name)) => path,
            _ => name,
        }
    }
}
