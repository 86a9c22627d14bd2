//! A cursor in rows that scroll.

use crate::draw::top_of_window;
use crate::keys::Action;

/// Where the cursor is, and what was in sight when the rows were last drawn.
#[derive(Clone, Copy, Default, Debug)]
pub struct Cursor {
    /// The row.
    pub at: usize,
    top: usize,
    rows: usize,
    height: usize,
}

impl Cursor {
    /// The first row to draw, given the number of rows and of lines.
    pub fn window(&mut self, rows: usize, height: usize) -> usize {
        (self.rows, self.height) = (rows, height);
        self.at = self.at.min(rows.saturating_sub(1));
        self.top = top_of_window(self.top, self.at, height.max(1), rows);
        self.top
    }

    /// Moves it; false: that is no way to move.
    pub fn act(&mut self, action: Action) -> bool {
        let page = self.height.saturating_sub(1).max(1);
        self.at = match action {
            Action::Up => self.at.saturating_sub(1),
            Action::Down => self.at + 1,
            Action::PageUp => self.at.saturating_sub(page),
            Action::PageDown => self.at + page,
            Action::First => 0,
            Action::Last => self.rows,
            _ => return false,
        }
        .min(self.rows.saturating_sub(1));
        true
    }
}

/// Text that scrolls.
#[derive(Clone, Copy, Default, Debug)]
pub struct Scroll {
    top: usize,
    rows: usize,
    height: usize,
}

impl Scroll {
    /// The first line to draw, given the number of lines and of those on the screen.
    pub fn window(&mut self, rows: usize, height: usize) -> usize {
        (self.rows, self.height) = (rows, height);
        self.top = self.top.min(rows.saturating_sub(height));
        self.top
    }

    /// Moves the text; false: that is no way to move.
    pub fn act(&mut self, action: Action) -> bool {
        let page = self.height.saturating_sub(1).max(1);
        self.top = match action {
            Action::Up => self.top.saturating_sub(1),
            Action::Down => self.top + 1,
            Action::PageUp => self.top.saturating_sub(page),
            Action::PageDown => self.top + page,
            Action::First => 0,
            Action::Last => self.rows,
            _ => return false,
        }
        .min(self.rows.saturating_sub(self.height));
        true
    }
}
