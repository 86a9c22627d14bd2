//! Numbers and texts as people read them.

use crate::wrap;
pub use memtoll_query::format::*;

/// `head` and `text`, wrapped at `width` columns, if there is such a width; further lines begin below the text.
pub fn wrapped(head: &str, text: &str, width: Option<usize>) -> String {
    /// Columns of a line at least, however narrow the terminal is.
    const LEAST: usize = 30;
    let indent = wrap::width(head);
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(indent).max(LEAST));
    let lines = wrap::lines(text, room);
    head.to_owned() + &lines.join(&format!("\n{:indent$}", "")) + "\n"
}

/// A row of bars, one for each of `width` equal parts of `values`, showing their highest.
pub fn sparkline(values: &[u64], width: usize) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    let width = width.min(values.len());
    (0..width)
        .map(|column| {
            let part = &values[column * values.len() / width..((column + 1) * values.len() / width).max(1)];
            let value = part.iter().copied().max().unwrap_or(0);
            BARS[(value as u128 * 8).div_ceil(highest as u128) as usize]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_the_highest_of_their_part() {
        assert_eq!(sparkline(&[0, 1, 8], 3), " ▁█");
        assert_eq!(sparkline(&[1, 8, 2, 2], 2), "█▂");
        assert_eq!(sparkline(&[], 5), "");
    }

    #[test]
    fn long_lines_go_on_below_their_text() {
        let text = "of blocks and mappings, of which many were touched";
        assert_eq!(wrapped("7  ", text, Some(34)), "7  of blocks and mappings, of\n   which many were touched\n");
        assert_eq!(wrapped("7  ", text, None), format!("7  {text}\n"));
    }
}
