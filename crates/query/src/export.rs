//! Forms of an answer for other programs. Each one is a small file of its own, and tells the same sums.

use crate::{Answer, Impossible, View};
use std::io::Write;

/// A form of an answer.
pub trait Export: Sync {
    /// What an option calls it.
    fn name(&self) -> &'static str;

    fn help(&self) -> &'static str;

    /// The view to ask for where the user asked for this one; `Totals` if it was for nothing in particular.
    /// The error says what it can show.
    fn view(&self, asked: View) -> Result<View, &'static str>;

    /// Whether it shows the findings and the details of the run, so that these are to be asked for.
    fn has_details(&self) -> bool {
        false
    }

    /// What it has in the place of an answer, where there is none; nothing, if it has no form for that.
    fn refusal(&self, _why: &Impossible) -> Option<String> {
        None
    }

    /// Writes an answer to a question with such a view.
    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()>;
}
