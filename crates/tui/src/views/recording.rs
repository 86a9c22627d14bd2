//! What was recorded, and what is missing.

use super::Shown;
use crate::colors::{BOLD, SOFT};
use crate::draw::{Pane, paragraph};
use crate::keys::Action;
use crate::scrolled_rows::Scroll;
use memtoll_text::format;
use memtoll_text::shell;
use ratatui::text::Line;

/// What was recorded.
#[derive(Default)]
pub struct RecordingView {
    scroll: Scroll,
}

impl RecordingView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        let Some((answer, _)) = shown.answer(&shown.state.overview(), &mut pane) else { return };
        let (about, recording, width) = (&answer.about, shown.recording, pane.width());
        let threads: usize =
            recording.images.iter().map(|image| image.threads.iter().filter(|thread| thread.runs()).count()).sum();
        let facts = [
            ("file      ", shown.file.to_owned()),
            ("command   ", shell::line(about.command)),
            ("started   ", format!("{} UTC", about.started)),
            ("ran for   ", about.seconds.map_or("not known".into(), format::seconds)),
            ("machine   ", format!("{}, {} processors", about.machine.processor, about.machine.processors)),
            ("processes ", format::count(recording.images.len() as u64)),
            ("threads   ", format::count(threads as u64)),
            ("events    ", recording.end.as_ref().map_or("not known".to_owned(), |end| format::count(end.events))),
        ];
        let mut text: Vec<Line> = facts.iter().flat_map(|(name, value)| paragraph(name, value, width)).collect();
        let lists = [("What is missing", &answer.missing), ("Notes", &answer.notes)];
        for (title, statements) in lists.iter().filter(|(_, statements)| !statements.is_empty()) {
            text.extend([Line::default(), Line::styled(*title, BOLD)]);
            text.extend(statements.iter().flat_map(|statement| paragraph("· ", statement, width)));
        }
        if answer.missing.is_empty() {
            text.extend([Line::default(), Line::styled("Nothing is missing.", SOFT)]);
        }
        let top = self.scroll.window(text.len(), pane.height());
        pane.lines(&text, top);
    }

    /// Scrolls.
    pub fn act(&mut self, action: Action) -> bool {
        self.scroll.act(action)
    }
}
