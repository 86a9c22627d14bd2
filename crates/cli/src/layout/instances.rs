//! How many objects of a type were live when most bytes were.

use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::GroupBy;
use memtoll_model::Recording;
use memtoll_model::layout::Layout;
use memtoll_query::query::{Query, View};
use memtoll_query::{Shown, ask};
use serde::Serialize;

/// Objects of a type.
#[derive(Serialize)]
pub struct Instances {
    /// Live at the peak, in blocks whose type the recording knows: containers are counted as if they were full.
    pub at_peak: u64,
    /// Bytes of these blocks.
    pub bytes_at_peak: u64,
}

impl Instances {
    /// Of a type, in a recording. An error is a statement for the user.
    pub fn of(recording: &Recording, layout: &Layout) -> Result<Instances, String> {
        let view = View::Table { group: GroupBy::Site, limit: None };
        let query = Query { metric: Some(Metric::Peak), ..Query::of(view) };
        let answer = ask(recording, &query).map_err(|why| why.to_string())?;
        let Shown::Table(table) = &answer.shown else { return Err("the answer has no rows".to_owned()) };
        let is_of = |kind: &str| is_same(kind, &layout.name) || is_same(first_argument(kind), &layout.name);
        let rows = table.sites.iter().filter(|row| row.r#type.as_deref().is_some_and(is_of));
        let bytes: u64 = rows.filter_map(|row| row.figures.of(Metric::Peak)).sum();
        Ok(Instances { at_peak: bytes / layout.size.max(1), bytes_at_peak: bytes })
    }
}

/// The files that a recording names, the program first.
pub fn modules(recording: &Recording) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for image in &recording.images {
        for (path, _) in image.files() {
            let path = recording.frames.text(*path).to_owned();
            if path.starts_with('/') && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Whether two spellings are one name, whatever blanks they have.
fn is_same(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    letters(one) == letters(other)
}

/// `app::Row` of `std::vector<app::Row, std::allocator<app::Row> >`.
fn first_argument(kind: &str) -> &str {
    let Some((_, arguments)) = kind.split_once('<') else { return "" };
    let mut depth = 0usize;
    let end = arguments.find(|c| {
        let is_end = depth == 0 && matches!(c, ',' | '>');
        depth = match c {
            '<' | '(' | '[' => depth + 1,
            '>' | ')' | ']' => depth.saturating_sub(1),
            _ => depth,
        };
        is_end
    });
    end.map_or("", |end| &arguments[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_elements() {
        assert_eq!(first_argument("std::vector<app::Row, std::allocator<app::Row> >"), "app::Row");
        assert_eq!(first_argument("Vec<app::Pair<u8, u8>>"), "app::Pair<u8, u8>");
        assert_eq!(first_argument("app::Row"), "");
        assert!(is_same("A<B<C> >", "A<B<C>>"));
    }
}
