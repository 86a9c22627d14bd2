//! The types of a line's blocks, in words.

use memtoll_analysis::names;
use memtoll_analysis::sites::Row;
use memtoll_text::format;

/// ` (280,000 × String, 91 × Vec<Rec>, 3 more types and 20 blocks of unknown type)`, where a line's blocks are of several types; those
/// that cost most first.
pub(crate) fn listed(parts: &[Row]) -> String {
    const SHOWN: usize = 3;
    let mut types: Vec<(&str, u64)> = Vec::new();
    let mut unknown = 0;
    for part in parts.iter().filter(|part| part.metrics.allocations() > 0) {
        let number = part.metrics.allocations();
        match (&part.type_name, types.iter_mut().find(|(known, _)| part.type_name.as_deref() == Some(*known))) {
            (None, _) => unknown += number,
            (Some(_), Some((_, all))) => *all += number,
            (Some(name), None) => types.push((name, number)),
        }
    }
    if types.is_empty() || types.len() == 1 && unknown == 0 {
        return String::new();
    }
    let named = types.iter().take(SHOWN);
    let mut said: Vec<String> =
        named.map(|(name, number)| format!("{} × {}", format::count(*number), names::short_kind(name))).collect();
    let more = types.len().saturating_sub(SHOWN) as u64;
    said.extend((more > 0).then(|| format::counted(more, "more type")));
    said.extend((unknown > 0).then(|| format!("{} of unknown type", format::counted(unknown, "block"))));
    let last = said.pop().unwrap_or_default();
    format!(" ({} and {last})", said.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_unknown_type_are_no_type() {
        let row = |type_name: Option<&str>, blocks| {
            let mut row = Row { type_name: type_name.map(str::to_owned), ..Row::default() };
            row.metrics.counts.new_blocks = blocks;
            row
        };
        let lines = [row(None, 60_000), row(Some("std::string"), 20_000), row(Some("Node"), 30)];
        assert_eq!(listed(&lines), " (20,000 × std::string, 30 × Node and 60,000 blocks of unknown type)");
        assert_eq!(listed(&lines[..2]), " (20,000 × std::string and 60,000 blocks of unknown type)");
        assert_eq!(listed(&lines[1..]), " (20,000 × std::string and 30 × Node)");
        assert_eq!((listed(&lines[..1]), listed(&lines[1..2])), (String::new(), String::new()));
    }
}
