//! The tables in the READMEs of case studies, which tests hold the programs to.

use crate::build::workspace;
use std::fs;

/// The cells of a table that `make casestudies` wrote, without its header.
pub fn table(file: &str, name: &str) -> Vec<Vec<String>> {
    let text = fs::read_to_string(workspace().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let begin = text.find(&format!("<!-- table: {name} -->")).unwrap_or_else(|| panic!("{file} has no table {name}"));
    let table = text[begin..].split("<!-- end of table -->").next().unwrap_or_default();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()).collect()
}
