//! The comparison for a pull request.

use super::cells::What;
use super::{Diff, capitalized};

impl Diff<'_> {
    /// For a pull request: the totals, and the table of changes folded away. `limit`: its rows.
    pub fn markdown(&self, limit: usize) -> String {
        let mut text = String::from("| | before | after | change | |\n|---|---:|---:|---:|---:|\n");
        for [before, after, change, share, name] in self.totals.iter().map(|total| total.cells()) {
            text += &format!("| {name} | {before} | {after} | {change} | {share} |\n");
        }
        if self.is_any() {
            let headings = self.headings();
            let numbers = "---:|".repeat(headings.len());
            text += &format!("\n<details open><summary>{}s that changed</summary>\n\n", capitalized(self.thing()));
            text += &format!("| {} | where |\n|{numbers}---|\n", headings.join(" | "));
            for (cells, what) in self.rows(limit) {
                let what = match what {
                    What::Change("", name) => code(&name),
                    What::Change(fate, name) => format!("{fate}: {}", code(&name)),
                    What::Rest(text) => text,
                };
                text += &format!("| {} | {what} |\n", cells.join(" | "));
            }
            text += "\n</details>\n";
        } else {
            text += &format!("\nNo {} changed by more than noise.\n", self.thing());
        }
        text + &format!("\n{}\n", self.method())
    }
}

/// Names as code: what looks like HTML or Markdown in them stays what it is.
fn code(name: &str) -> String {
    format!("`{}`", name.replace('|', "\\|").replace('`', "'"))
}
