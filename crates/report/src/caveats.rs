//! What the reader must know to trust the numbers.

use memtoll_analysis::sums::Sums;
use memtoll_model::Recording;
use memtoll_query::{Answer, notes};
use memtoll_text::format;

/// Statements about what is not in the recording, or cannot be read of it: the first thing to know.
pub fn statements<'a>(recording: &'a Recording, sums: &'a Sums) -> impl Iterator<Item = &'a String> {
    let found_later = sums.damage.iter().filter(|statement| !recording.damage.contains(statement));
    recording.damage.iter().chain(found_later).chain(recording.missing_in(|index| sums.images[index].counts))
}

/// What is missing in the recording: the first lines of a report.
pub fn missing(recording: &Recording, sums: &Sums, width: Option<usize>) -> String {
    let text: String = statements(recording, sums).map(|line| format::wrapped("incomplete: ", line, width)).collect();
    if text.is_empty() { text } else { text + "\n" }
}

/// The notes below the first screen; `hints` come last. `width`: that of the terminal, if there is one.
pub fn section(notes: &[String], hints: Vec<String>, width: Option<usize>) -> String {
    let lines = notes.iter().chain(&hints).map(|line| format::wrapped("note: ", line, width));
    lines.map(|line| format!("\n{line}")).collect()
}

/// The line below a table or a tree that says whose callers lead in it; nothing where nothing is folded.
pub fn folded(answer: &Answer, width: Option<usize>) -> String {
    let of = answer.wrappers.as_ref().zip(answer.basis.sums.as_ref());
    of.map_or(String::new(), |(folded, sums)| format::wrapped("note: ", &notes::folded(folded, sums), width))
}
