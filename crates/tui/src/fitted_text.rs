//! Text that fits, and does no harm on a terminal.

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
    fn lines_break_at_spaces() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghijkl x", 5), ["ab…kl", "x"]);
        assert_eq!(wrapped("", 5), [""]);
    }
}
