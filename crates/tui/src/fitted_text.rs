//! Text that fits, and does no harm on a terminal.

use memtoll_analysis::library::end_of_scope;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A time with a fitting unit.
pub fn time(ns: f64) -> String {
    memtoll_text::format::Unit::Time.show(ns)
}

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text in at most `columns` columns, with an ellipsis in the middle: both ends of a name tell something.
pub fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(1) else { return String::new() };
    let tail = ending(text, room / 2);
    format!("{}…{tail}", beginning(text, room - width(tail)))
}

/// Columns of a function that a place may not take.
const LEAST_OF_FUNCTION: usize = 16;

/// The name of a row in at most `columns` columns: what is behind the place is cut first, then classes around the function.
pub fn fit_name(name: &str, columns: usize) -> String {
    if width(name) <= columns {
        return name.to_owned();
    }
    let (function, behind) = name.split_at(name.find(" (").unwrap_or(name.len()));
    let (place, rest) = behind.split_at(behind.find(')').map_or(0, |at| at + 1));
    let around = width(function) + width(place);
    if around <= columns {
        return format!("{function}{place}{}", fit(rest, columns - around));
    }
    match columns.checked_sub(width(place)) {
        Some(room) if room >= LEAST_OF_FUNCTION => fit_function(function, room) + place,
        _ => fit_function(function, columns),
    }
}

/// A qualified name whose last part stays.
fn fit_function(function: &str, columns: usize) -> String {
    let last = &function[end_of_scope(function).unwrap_or(0)..];
    match columns.checked_sub(1 + width(last)) {
        Some(room) if room > 0 && width(function) > columns => format!("{}…{last}", beginning(function, room)),
        _ if width(function) <= columns => function.to_owned(),
        _ => fit(last.trim_start_matches("::"), columns),
    }
}

fn beginning(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.width().unwrap_or(0);
        taken > columns
    });
    end.map_or(text, |(at, _)| &text[..at])
}

fn ending(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let start = text.char_indices().rev().find(|(_, c)| {
        taken += c.width().unwrap_or(0);
        taken > columns
    });
    start.map_or(text, |(at, c)| &text[at + c.len_utf8()..])
}

/// The text in lines of at most `columns` columns, broken at spaces; a word that is longer is cut in its middle.
pub fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let word = fit(word, columns);
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            *line = word;
        } else if width(line) + 1 + width(&word) <= columns {
            line.push(' ');
            line.push_str(&word);
        } else {
            lines.push(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_are_counted_as_two_columns() {
        assert_eq!(fit("漢字漢字漢字", 7), "漢字…字");
        assert_eq!(fit("漢字漢字漢字", 6), "漢…字");
        assert_eq!(fit("漢字漢字漢字", 12), "漢字漢字漢字");
        for columns in 0..20 {
            assert!(width(&fit("a漢b字c漢d字e漢f字g", columns)) <= columns);
        }
        assert_eq!(fit("abcdefghijkl", 9), "abcd…ijkl");
    }

    #[test]
    fn a_name_keeps_its_function() {
        let name = "app::storage::OrderedIndex<unsigned long, std::pair<a::B, c::D>>::insert (index.cpp:9): std::map<int, int>, inlined into main";
        for (columns, expected) in [
            (200, name),
            (
                110,
                "app::storage::OrderedIndex<unsigned long, std::pair<a::B, c::D>>::insert (index.cpp:9): std::map<i…d into main",
            ),
            (86, "app::storage::OrderedIndex<unsigned long, std::pair<a::B, c::D>>::insert (index.cpp:9)"),
            (50, "app::storage::OrderedIndex<…::insert (index.cpp:9)"),
            (20, "app::storag…::insert"),
            (8, "insert"),
            (4, "in…t"),
        ] {
            assert_eq!(fit_name(name, columns), expected);
        }
        for columns in 0..130 {
            assert!(width(&fit_name(name, columns)) <= columns, "{columns}");
        }
        assert_eq!(
            fit_name("main::{lambda(a::B)#1}::operator() (a.cpp:3)", 40),
            "main::{lambda(a::…::operator() (a.cpp:3)"
        );
    }

    #[test]
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghijkl x", 5), ["ab…kl", "x"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
