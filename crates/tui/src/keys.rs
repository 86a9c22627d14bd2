//! Keys and what they do: the help comes from the same table.

use crate::state::View;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Which neighbour is meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// The one before.
    Previous,
    /// The one after.
    Next,
}

/// What a key does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    Show(View),
    /// Moves by rows or frames.
    Up,
    /// Moves by rows or frames.
    Down,
    /// Closes a branch; goes to the frame on the left.
    Left,
    /// Opens a branch; goes to the frame on the right.
    Right,
    /// Moves by a page.
    PageUp,
    /// Moves by a page.
    PageDown,
    /// Goes to the first row.
    First,
    /// Goes to the last row.
    Last,
    /// Opens or closes a branch, zooms into a frame.
    Enter,
    /// Opens the heaviest path.
    Heaviest,
    /// The other end of the stacks.
    Reverse,
    /// What rows are.
    Group,
    NextMetric,
    PreviousMetric,
    /// Asks what to search.
    Search,
    /// Goes to what is found next.
    NextMatch,
    /// Goes to what is found before.
    PreviousMatch,
    /// Selects a span of time.
    SelectTime,
    /// The time line shows the selection, or all.
    Zoom,
    /// The selection becomes the one before, for the comparison.
    Before,
    /// The selection before this one.
    PreviousSpan,
    /// The selection after this one.
    NextSpan,
    /// Asks for processes and threads.
    Choose,
    /// Ends what was begun; selects the whole run.
    Escape,
    /// Shows the help.
    Help,
    /// Ends the viewer.
    Quit,
}

/// Keys that do the same.
pub struct Binding {
    keys: &'static [KeyCode],
    /// As the help shows them.
    pub shown: &'static str,
    /// What they do.
    pub what: &'static str,
    action: Action,
}

const fn binding(keys: &'static [KeyCode], shown: &'static str, what: &'static str, action: Action) -> Binding {
    Binding { keys, shown, what, action }
}

use KeyCode::Char;

/// All but the views, whose keys are in [`View::ALL`].
pub const BINDINGS: [Binding; 26] = [
    binding(&[KeyCode::Up, Char('k')], "↑  k", "previous row; the caller in the flame graph", Action::Up),
    binding(&[KeyCode::Down, Char('j')], "↓  j", "next row; the largest callee in the flame graph", Action::Down),
    binding(&[KeyCode::Left], "←", "close a branch; the frame on the left", Action::Left),
    binding(&[KeyCode::Right], "→", "open a branch; the frame on the right", Action::Right),
    binding(&[KeyCode::PageUp], "PgUp", "previous page", Action::PageUp),
    binding(&[KeyCode::PageDown, Char(' ')], "PgDn  Space", "next page", Action::PageDown),
    binding(&[KeyCode::Home], "Home", "first row", Action::First),
    binding(&[KeyCode::End], "End", "last row", Action::Last),
    binding(&[KeyCode::Enter], "Enter", "open or close a branch; zoom into a frame; callers of a line", Action::Enter),
    binding(&[Char('h')], "h", "heaviest path", Action::Heaviest),
    binding(&[Char('r')], "r", "call tree and flame graph from the other end", Action::Reverse),
    binding(
        &[Char('g')],
        "g",
        "lines, functions, modules, types, threads or processes; call trees by module or type",
        Action::Group,
    ),
    binding(&[Char('m')], "m", "next metric", Action::NextMetric),
    binding(&[Char('M')], "M", "previous metric", Action::PreviousMetric),
    binding(&[Char('/')], "/", "search", Action::Search),
    binding(&[Char('n')], "n", "next match", Action::NextMatch),
    binding(&[Char('N')], "N", "previous match", Action::PreviousMatch),
    binding(&[Char('t')], "t", "select a span of time", Action::SelectTime),
    binding(&[Char('z')], "z", "zoom the time line into the selection, or out of it", Action::Zoom),
    binding(&[Char('b')], "b", "the selection becomes the one before, for Compare", Action::Before),
    binding(&[Char('[')], "[", "previous selection of time", Action::PreviousSpan),
    binding(&[Char(']')], "]", "next selection of time", Action::NextSpan),
    binding(&[Char('p')], "p", "choose a process or a thread", Action::Choose),
    binding(
        &[KeyCode::Esc, KeyCode::Backspace],
        "Esc",
        "zoom out; end the search; select the whole run",
        Action::Escape,
    ),
    binding(&[Char('?'), KeyCode::F(1)], "?", "this help", Action::Help),
    binding(&[Char('q')], "q  Ctrl-C", "quit", Action::Quit),
];

/// What a key does, if anything.
pub fn action(key: &KeyEvent) -> Option<Action> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return matches!(key.code, Char('c')).then_some(Action::Quit);
    }
    let view = View::ALL.iter().find(|(_, digit, _)| key.code == Char(*digit));
    let bound = || BINDINGS.iter().find(|binding| binding.keys.contains(&key.code));
    view.map(|(view, ..)| Action::Show(*view)).or_else(|| bound().map(|binding| binding.action))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things() {
        let views = View::ALL.iter().map(|(_, digit, _)| Char(*digit));
        let all: Vec<KeyCode> = BINDINGS.iter().flat_map(|binding| binding.keys).copied().chain(views).collect();
        for (index, key) in all.iter().enumerate() {
            assert!(!all[..index].contains(key), "{key:?}");
        }
    }

    #[test]
    fn control_keys_are_no_letters() {
        assert_eq!(action(&KeyEvent::new(Char('c'), KeyModifiers::CONTROL)), Some(Action::Quit));
        assert_eq!(action(&KeyEvent::new(Char('m'), KeyModifiers::CONTROL)), None);
        assert_eq!(action(&KeyEvent::new(Char('M'), KeyModifiers::SHIFT)), Some(Action::PreviousMetric));
    }
}
