//! What a format for other programs is.

use crate::atomic_file;
use memtoll_query::Answer;
use memtoll_query::export::Export;
use std::path::Path;

/// Why a format that says what stays cannot carry an answer in which frees are hidden; nothing, if none are.
pub(crate) fn needs_frees(answer: &Answer) -> Option<String> {
    let why = "it says what is freed and what stays, and an allocator inside the program hides frees: choose pprof or parquet";
    (!answer.basis.tariff.sees().frees).then(|| why.to_owned())
}

/// A format of files for other programs.
pub trait Format: Export {
    /// What names of its files end with, without a dot before it.
    fn extension(&self) -> &'static str;

    /// Why it cannot carry this answer at all, and what to do; nothing, if it can.
    fn refuses(&self, _answer: &Answer) -> Option<String> {
        None
    }

    /// What of this answer it cannot carry: a sentence each.
    fn lacks(&self, answer: &Answer) -> Vec<String>;

    /// Whether it is a folder of several files.
    fn is_folder(&self) -> bool {
        false
    }

    /// The same format with each event; `None`: it has only sums.
    fn with_events(&self) -> Option<&'static dyn Format> {
        None
    }

    /// Writes an answer to a file, or to a folder if it has several files. It is there as a whole, or not at all.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    fn write_to(&self, answer: &Answer, path: &Path) -> std::io::Result<()> {
        atomic_file::write(path, |out| self.write(answer, out))
    }
}
