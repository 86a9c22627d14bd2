//! Texts that fit: broken into lines, of which nothing is cut, or shortened to one line.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of the screen that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The lines of a text, none wider than `room` columns. They break at blanks; a word that has no room in a line breaks
/// where names have their joints, and anywhere if it has none.
pub fn lines(text: &str, room: usize) -> Vec<String> {
    let room = room.max(2); // the widest character
    let mut lines = vec![String::new()];
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        let is_number = word.ends_with(|c: char| c.is_ascii_digit());
        match words.next_if(|unit| is_number && UNITS.contains(&unit.trim_end_matches([',', ';', ':', '.', ')']))) {
            Some(unit) if width(word) + 1 + width(unit) <= room => put(&mut lines, &format!("{word} {unit}"), room),
            Some(unit) => [word, unit].into_iter().for_each(|word| put(&mut lines, word, room)),
            None => put(&mut lines, word, room),
        }
    }
    lines
}

/// What stays in one line with its number.
const UNITS: [&str; 11] = ["%", "ns", "µs", "ms", "s", "h", "B", "KiB", "MiB", "GiB", "TiB"];

fn put(lines: &mut Vec<String>, word: &str, room: usize) {
    let Some(last) = lines.last_mut() else { return };
    let taken = width(last);
    let gap = usize::from(taken > 0);
    if taken + gap + width(word) <= room {
        if gap > 0 {
            last.push(' ');
        }
        last.push_str(word);
        return;
    }
    let mut rest = word;
    if gap > 0 {
        lines.push(String::new());
    }
    while width(rest) > room {
        let (line, later) = rest.split_at(joint(rest, room));
        if let Some(last) = lines.last_mut() {
            last.push_str(line);
        }
        lines.push(String::new());
        rest = later;
    }
    if let Some(last) = lines.last_mut() {
        last.push_str(rest);
    }
}

/// Where to break a word that is too long: behind the last joint of the name that has room, if the line is half full there.
fn joint(word: &str, room: usize) -> usize {
    let mut taken = 0;
    let (mut end, mut best) = (0, None);
    let mut characters = word.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        taken += character.width().unwrap_or(0);
        if taken > room {
            break;
        }
        end = at + character.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        let is_joint = match character {
            ':' => next != Some(':'),
            ',' | '/' | '<' | '(' | ';' | '_' | '.' => true,
            _ => false,
        };
        if is_joint && taken * 2 >= room {
            best = Some(end);
        }
    }
    best.unwrap_or(end.max(word.chars().next().map_or(0, char::len_utf8)))
}

/// Shortens a text to `width` characters, with an ellipsis in the middle: both ends of a name tell something.
pub fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width < 8 {
        return text.to_owned();
    }
    let tail = (width - 1) / 2;
    let head = width - 1 - tail;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("abcdefghijkl", 9), "abcd…ijkl");
        assert_eq!(shorten("abc", 9), "abc");
    }

    #[test]
    fn lines_break_at_blanks_and_names_at_their_joints() {
        assert_eq!(lines("a vector of cells", 9), ["a vector", "of cells"]);
        assert_eq!(
            lines("boost::container::deque<ROW> (rows.hpp:14)", 20),
            ["boost::container::", "deque<ROW>", "(rows.hpp:14)"]
        );
        assert_eq!(lines("上下上下上", 5), ["上下", "上下", "上"]);
    }

    #[test]
    fn a_number_stays_with_its_unit() {
        assert_eq!(lines("it has 100.0 % of it", 12), ["it has", "100.0 % of", "it"]);
        assert_eq!(lines("in 3.2 MiB, all", 9), ["in", "3.2 MiB,", "all"]);
    }

    proptest! {
        #[test]
        fn nothing_is_cut_and_nothing_is_wider(text in "[a-zA-Z:<>, _/()上é]{0,200}", room in 2usize..80) {
            let lines = lines(&text, room);
            prop_assert!(lines.iter().all(|line| width(line) <= room), "{lines:?}");
            let plain = |text: &str| text.replace(' ', "");
            prop_assert_eq!(plain(&lines.concat()), plain(&text));
        }
    }
}
