//! Text that does no harm on a terminal: a function, a thread or an argument may be called anything.

use std::borrow::Cow;

/// The text in one line, with control characters, and those that change the direction of writing or take no room, made visible.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

/// The same for a whole page: lines, tabs, and the styles of our own tables stay.
pub fn harmless(page: &str) -> Cow<'_, str> {
    if !page.chars().any(|c| is_hidden(c) && c != '\n' && c != '\t') {
        return page.into();
    }
    let mut shown = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(c) = rest.chars().next() {
        let style = STYLES.iter().find(|style| rest.starts_with(**style));
        let whole = style.map_or(c.len_utf8(), |style| style.len());
        match style.is_some() || matches!(c, '\n' | '\t') {
            true => shown.push_str(&rest[..whole]),
            false => shown.push_str(&visible(&rest[..whole])),
        }
        rest = &rest[whole..];
    }
    shown.into()
}

/// Bold, dimmed, green and red text, and the end of each.
const STYLES: [&str; 5] = ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m"];

pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_gets_through() {
        let hostile = "a\u{1b}[2Jb\u{9b}c\r\n\t\u{7f}\u{202e}d\u{200b}";
        let shown = visible(hostile);
        assert!(!shown.chars().any(is_hidden), "{shown:?}");
        assert_eq!(shown, "a\\u{1b}[2Jb\\u{9b}c\\r\\n\\t\\u{7f}\\u{202e}d\\u{200b}");
        assert_eq!(visible("größe<漢字>"), "größe<漢字>");
    }

    #[test]
    fn a_page_keeps_its_lines_and_styles() {
        assert_eq!(harmless("\x1b[1mhead\x1b[0m\n\ttext\n"), "\x1b[1mhead\x1b[0m\n\ttext\n");
        assert_eq!(
            harmless("\x1b[2mname\x1b[8m\x1b]0;owned\x07\r\n"),
            "\x1b[2mname\\u{1b}[8m\\u{1b}]0;owned\\u{7}\\r\n"
        );
    }
}
