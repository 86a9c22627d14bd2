//! The recordings that `view` and `html` show: one, and what it is compared with.

use crate::debug_file_options::NameArguments;
use crate::exit;
use clap::ValueHint;
use memtoll_model::Recording;
use memtoll_trace::reader::Error;
use memtoll_view::Compared;
use std::path::PathBuf;

/// Which recordings. One of `file` and `before` is there: a command with these arguments has a group that says so.
#[derive(clap::Args)]
pub struct ShownArguments {
    /// The recording; of two, the one before a change
    #[arg(value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// The recording after the change
    #[arg(value_name = "AFTER", requires = "file", value_hint = ValueHint::FilePath)]
    second: Option<PathBuf>,

    /// Recordings before a change; with several, figures are means with 95 % intervals
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after", value_hint = ValueHint::FilePath)]
    before: Vec<PathBuf>,

    /// Recordings after it; the first one is shown
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before", value_hint = ValueHint::FilePath)]
    after: Vec<PathBuf>,
}

/// These recordings, opened.
pub struct Shown {
    pub recording: Recording,
    before: Vec<Recording>,
    after: Vec<Recording>,
}

impl ShownArguments {
    /// The files before a change, and the others.
    fn files(&self) -> [Vec<&PathBuf>; 2] {
        match (&self.file, &self.second) {
            (Some(before), Some(after)) => [vec![before], vec![after]],
            (Some(only), None) => [Vec::new(), vec![only]],
            (None, _) => [&self.before, &self.after].map(|files| files.iter().collect()),
        }
    }

    /// The file of the recording that is shown; `None` if there are no arguments.
    pub fn file(&self) -> Option<&PathBuf> {
        self.files()[1].first().copied()
    }

    /// Opens the recordings, and says what is wrong with them. `None` if there are no arguments.
    pub fn open(&self, names: &NameArguments) -> Result<Option<Shown>, Error> {
        let open = |files: Vec<&PathBuf>| files.into_iter().map(|file| names.open(file)).collect::<Result<Vec<_>, _>>();
        let [before, after] = self.files().map(open);
        let (before, mut after) = (before?, after?);
        if after.is_empty() {
            return Ok(None);
        }
        let shown = Shown { recording: after.remove(0), before, after };
        shown.all().flat_map(|of| of.damage.iter().chain(&of.missing)).for_each(exit::say);
        Ok(Some(shown))
    }
}

impl Shown {
    fn all(&self) -> impl Iterator<Item = &Recording> {
        std::iter::once(&self.recording).chain(&self.before).chain(&self.after)
    }

    /// Whether any of them is damaged.
    pub fn is_damaged(&self) -> bool {
        self.all().any(|of| !of.damage.is_empty())
    }

    /// What the recording is compared with.
    pub fn compared(&self) -> Compared<'_> {
        Compared { before: &self.before, after: &self.after }
    }
}
