//! Putting text and bars on the screen.

use crate::fitted_text;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

/// A rectangle of the screen. What is put beyond its edges is not shown.
pub struct Pane<'b> {
    buffer: &'b mut Buffer,
    area: Rect,
}

impl<'b> Pane<'b> {
    /// The part of a buffer.
    pub fn new(buffer: &'b mut Buffer, area: Rect) -> Pane<'b> {
        let area = area.intersection(*buffer.area());
        Pane { buffer, area }
    }

    /// Columns.
    pub fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Lines.
    pub fn height(&self) -> usize {
        usize::from(self.area.height)
    }

    /// Lines from line `top` on.
    pub fn part(&mut self, top: usize, lines: usize) -> Pane<'_> {
        let top = top.min(self.height()) as u16;
        let lines = (lines.min(usize::from(u16::MAX)) as u16).min(self.area.height - top);
        let area = Rect { y: self.area.y + top, height: lines, ..self.area };
        Pane { buffer: self.buffer, area }
    }

    /// A text that is safe already, in at most `columns`.
    pub fn put(&mut self, x: usize, y: usize, columns: usize, text: &str, style: Style) {
        if y >= self.height() || x >= self.width() {
            return;
        }
        let columns = columns.min(self.width() - x);
        self.buffer.set_stringn(self.area.x + x as u16, self.area.y + y as u16, text, columns, style);
    }

    /// The same, aligned to the right.
    pub fn put_right(&mut self, x: usize, y: usize, columns: usize, text: &str, style: Style) {
        let text = fitted_text::fit(text, columns);
        let before = columns - fitted_text::width(&text);
        self.put(x + before, y, columns - before, &text, style);
    }

    /// A line with styles.
    pub fn put_line(&mut self, x: usize, y: usize, line: &Line) {
        if y < self.height() && x < self.width() {
            let columns = self.area.width - x as u16;
            self.buffer.set_line(self.area.x + x as u16, self.area.y + y as u16, line, columns);
        }
    }

    /// One character, repeated.
    pub fn fill(&mut self, x: usize, y: usize, columns: usize, character: &str, style: Style) {
        let columns = columns.min(self.width().saturating_sub(x));
        self.put(x, y, columns, &character.repeat(columns), style);
    }

    /// Adds a style to what is there.
    pub fn restyle(&mut self, x: usize, y: usize, columns: usize, style: Style) {
        if y < self.height() && x < self.width() {
            let columns = columns.min(self.width() - x) as u16;
            let area = Rect::new(self.area.x + x as u16, self.area.y + y as u16, columns, 1);
            self.buffer.set_style(area, style);
        }
    }

    /// Lines of text that scroll: from line `top` on.
    pub fn lines(&mut self, lines: &[Line], top: usize) {
        for (y, line) in lines.iter().skip(top).take(self.height()).enumerate() {
            self.put_line(0, y, line);
        }
    }
}

/// The first row of a window that shows row `cursor`, as near as possible to where it was.
pub fn top_of_window(top: usize, cursor: usize, height: usize, rows: usize) -> usize {
    let top = top.min(rows.saturating_sub(height));
    top.clamp((cursor + 1).saturating_sub(height), cursor)
}

/// Whole columns for parts, which are all `columns` together; parts that are something get at least their rounded share.
pub fn columns_of(parts: &[f64], columns: usize) -> Vec<usize> {
    let sum: f64 = parts.iter().map(|part| part.max(0.0)).sum();
    let mut so_far = 0.0;
    let mut taken = 0;
    let share = |part: &f64| {
        so_far += part.max(0.0);
        let end = if sum > 0.0 { (so_far / sum * columns as f64).round() as usize } else { 0 };
        let own = end - taken;
        taken = end;
        own
    };
    parts.iter().map(share).collect()
}

/// A text in lines, behind a heading.
pub fn paragraph(head: &str, what: &str, width: usize) -> Vec<Line<'static>> {
    let indent = " ".repeat(head.chars().count());
    let lines = fitted_text::wrapped(&memtoll_text::visible(what), width.saturating_sub(indent.len()).max(8));
    let line = |(at, line): (usize, String)| Line::raw(format!("{}{line}", if at == 0 { head } else { &indent }));
    lines.into_iter().enumerate().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_fill_the_bar() {
        assert_eq!(columns_of(&[1.0, 1.0, 1.0], 10), [3, 4, 3]);
        assert_eq!(columns_of(&[0.0, -3.0], 10), [0, 0]);
        assert_eq!(columns_of(&[5.0, -1.0, 5.0], 9).iter().sum::<usize>(), 9);
    }

    #[test]
    fn the_cursor_is_in_sight() {
        assert_eq!(top_of_window(0, 5, 10, 20), 0);
        assert_eq!(top_of_window(0, 10, 10, 20), 1);
        assert_eq!(top_of_window(15, 3, 10, 20), 3);
        assert_eq!(top_of_window(15, 3, 10, 4), 0);
    }
}
