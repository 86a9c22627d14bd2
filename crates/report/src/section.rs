//! What the sections of the summary have in common.

use anstyle::Style;
use memtoll_analysis::estimate::Estimate;
use memtoll_text::format;
use memtoll_text::wrap;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// How much of each section is shown.
#[derive(Clone, Copy)]
pub struct Limits {
    /// Rows of a section.
    pub rows: usize,
    /// Width of the terminal, if there is one.
    pub width: Option<usize>,
}

/// Columns of a line of sentences: the terminal's, if there is one.
pub(crate) fn prose(width: Option<usize>) -> Option<usize> {
    width.or(Some(130))
}

pub(crate) fn title(text: &str) -> String {
    title_within(text, None)
}

/// A title that may be longer than a line.
pub(crate) fn title_within(text: &str, width: Option<usize>) -> String {
    let lines = wrap::lines(text, width.unwrap_or(usize::MAX));
    "\n".to_owned() + &lines.iter().map(|line| format!("{BOLD}{line}{BOLD:#}\n")).collect::<String>()
}

/// Lines with a number, a share where it is one of something, and what it is.
pub(crate) struct Lines {
    /// CPU time of which times are shares, ns.
    processor: Option<f64>,
    width: Option<usize>,
    text: String,
}

impl Lines {
    pub fn new(processor: Option<f64>, width: Option<usize>) -> Lines {
        Lines { processor, width, text: String::new() }
    }

    /// A time, ns, that is a part of the CPU time.
    pub fn add(&mut self, ns: Estimate, what: &str) {
        // Calls that waited, without switches recorded, may have taken longer than the processor did anything.
        let all = self.processor.filter(|all| (0.0..=all * 1.001).contains(&ns.value));
        let share = all.map_or(String::new(), |all| format::percent(ns.value as u64, all as u64));
        self.put(&ns.time_with_error(), &share, what);
    }

    /// A number that is no part of anything.
    pub fn beside(&mut self, number: String, what: &str) {
        self.put(&number, "", what);
    }

    fn put(&mut self, number: &str, share: &str, what: &str) {
        let numbers = format!("{number:>18} {share:>8}  ");
        self.text += &format::wrapped(&numbers, what, self.width);
    }

    pub fn text(self) -> String {
        self.text
    }
}
