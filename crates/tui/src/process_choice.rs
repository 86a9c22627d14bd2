//! The list of processes and threads, to choose whose calls count.

use crate::colors::{BOLD, CURSOR, SOFT};
use crate::draw::Pane;
use crate::fitted_text::fit;
use crate::keys::Action;
use crate::scrolled_rows::Cursor;
use crate::state::{State, Who};
use crate::views::{Shown, say};
use memtoll_query::choices::Items;
use memtoll_query::query::List;
use memtoll_query::{Answer, Shown as Found};
use memtoll_text::visible;

/// The list.
#[derive(Default)]
pub struct Choosing {
    cursor: Cursor,
    choices: Vec<(String, Who)>,
}

impl Choosing {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        let questions = [List::Processes, List::Threads].map(State::list);
        let Some((processes, _)) = shown.answer(&questions[0], &mut pane) else { return };
        let Some((threads, _)) = shown.answer(&questions[1], &mut pane) else { return };
        self.choices = choices(processes, threads);
        pane.put(0, 0, pane.width(), "Whose calls count?  Enter: choose  Esc: leave it", BOLD);
        if self.choices.len() == 1 {
            say(&mut pane.part(2, 2), "The recording has neither processes nor threads.");
        }
        let height = pane.height().saturating_sub(1);
        let top = self.cursor.window(self.choices.len(), height);
        for (y, (name, who)) in self.choices.iter().enumerate().skip(top).take(height) {
            let columns = pane.width();
            let is_chosen = *who == shown.state.who;
            pane.put(0, 1 + y - top, 2, if is_chosen { "•" } else { " " }, SOFT);
            pane.put(2, 1 + y - top, columns, &fit(name, columns.saturating_sub(2)), Default::default());
            if y == self.cursor.at {
                pane.restyle(0, 1 + y - top, columns, CURSOR);
            }
        }
    }

    /// Moves the cursor.
    pub fn act(&mut self, action: Action) -> bool {
        self.cursor.act(action)
    }

    /// What the cursor is at.
    pub fn chosen(&self) -> Option<Who> {
        self.choices.get(self.cursor.at).map(|(_, who)| who.clone())
    }
}

/// All; each process, and its threads below it where it has several.
fn choices(processes: &Answer, threads: &Answer) -> Vec<(String, Who)> {
    let mut choices = vec![("all processes and threads".to_owned(), Who::default())];
    let Found::List(Items::Processes { processes }) = &processes.shown else { return choices };
    let Found::List(Items::Threads { threads }) = &threads.shown else { return choices };
    for process in processes {
        let pid = process.process_id.clone();
        // Images of one process have one name, and are chosen together.
        if choices.iter().any(|(_, who)| who.process.as_ref() == Some(&pid)) {
            continue;
        }
        let name = visible(&format!("{pid} {}", process.shown_command()));
        choices.push((name, Who { process: Some(pid.clone()), thread: None }));
        let own: Vec<_> = threads.iter().filter(|thread| thread.process_id == process.process_id).collect();
        for thread in own.iter().filter(|_| own.len() > 1) {
            let tid = thread.tid.to_string();
            let name = visible(&format!("   thread {tid} {}", thread.name.unwrap_or("")));
            choices.push((name, Who { process: Some(pid.clone()), thread: Some(tid) }));
        }
    }
    choices
}
