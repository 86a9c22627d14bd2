//! The comparison for a pull request.

use super::Diff;
use super::text::{more, place};
use crate::format;
use memtoll_analysis::diff::Change;

impl Diff<'_> {
    /// For a pull request: tables, those of the call paths folded away. `limit`: rows of each.
    pub fn markdown(&self, limit: usize) -> String {
        let mut text = String::from("| | before | after | change | |\n|---|---:|---:|---:|---:|\n");
        for [before, after, change, share, name] in self.total_cells() {
            text += &format!("| {name} | {before} | {after} | {change} | {share} |\n");
        }
        for (what, list) in self.sorted(&self.functions).lists() {
            text += &format!("\n**{what}**\n\n{}", self.markdown_table(&list, "function", limit));
        }
        for (what, list) in self.sorted(&self.paths).lists() {
            let table = self.markdown_table(&list, "call path", limit);
            text += &format!("\n<details><summary>{what}, by call path</summary>\n\n{table}\n</details>\n");
        }
        text
    }

    fn markdown_table(&self, changes: &[&Change], by: &str, limit: usize) -> String {
        let mut text = format!("| {} | bytes | peak | cost | {by} |\n|---:|---:|---:|---:|---|\n", self.acquisitions());
        for change in changes.iter().take(limit) {
            text += &format!(
                "| {} | {} | {} | {} | `{}` |\n",
                format::signed_count(change.difference(super::acquired)),
                format::signed_bytes(change.difference(|m| m.bytes_allocated)),
                format::signed_bytes(change.difference(|m| m.peak_bytes)),
                format::signed_seconds(self.cost_difference(change)),
                place(change).replace('|', "\\|")
            );
        }
        match more(changes.len(), limit) {
            more if more.is_empty() => text,
            more => format!("{text}\n{more}"),
        }
    }
}
