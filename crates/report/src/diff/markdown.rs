//! The comparison for a pull request.

use super::cells::{What, headings, of_total, rows};
use super::{allocators, capitalized, method};
use memtoll_query::comparison::Comparison;

/// For a pull request: the totals, and the table of changes folded away. `limit`: its rows.
pub fn markdown(of: &Comparison, limit: usize) -> String {
    let mut text = String::from("| | before | after | change | |\n|---|---:|---:|---:|---:|\n");
    for [before, after, change, share, name] in of.totals.iter().map(of_total) {
        text += &format!("| {name} | {before} | {after} | {change} | {share} |\n");
    }
    text.extend(allocators(of).map(|line| format!("\n{line}\n")));
    if !of.changes.is_empty() {
        let headings = headings(of);
        let numbers = "---:|".repeat(headings.len());
        text += &format!("\n<details open><summary>{}s that changed</summary>\n\n", capitalized(of.thing()));
        text += &format!("| {} | where |\n|{numbers}---|\n", headings.join(" | "));
        for (cells, what) in rows(of, limit) {
            let what = match what {
                What::Change("", name) => code(&name),
                What::Change(fate, name) => format!("{fate}: {}", code(&name)),
                What::Rest(text) => text,
            };
            text += &format!("| {} | {what} |\n", cells.join(" | "));
        }
        text += "\n</details>\n";
    } else {
        text += &format!("\nNo {} changed by more than noise.\n", of.thing());
    }
    text + &format!("\n{}\n", method(of))
}

/// Names as code: what looks like HTML or Markdown in them stays what it is.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|").replace('`', "'"))
}
