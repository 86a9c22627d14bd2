//! What the screen shows of recordings that were written once (`format/golden`). `UPDATE_SCREENS=1 cargo test -p
//! memtoll-tui` writes `screens/`.

use crate::answers::Opened;
use crate::app::App;
use crate::question::reply;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use memtoll_model::Recording;
use memtoll_query::Session;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn open(name: &str) -> Recording {
    Recording::open(&folder("../../format/golden").join(name)).unwrap()
}

/// An app on a terminal without a screen, where replies come at once.
struct Seen<'r> {
    app: App<'r>,
    terminal: Terminal<TestBackend>,
    before: Option<&'r Recording>,
    recording: &'r Recording,
}

impl<'r> Seen<'r> {
    fn new(recording: &'r Recording, size: (u16, u16)) -> Seen<'r> {
        Seen::compared(None, recording, size)
    }

    fn compared(before: Option<&'r Recording>, recording: &'r Recording, (columns, lines): (u16, u16)) -> Seen<'r> {
        let terminal = Terminal::new(TestBackend::new(columns, lines)).unwrap();
        let mut seen =
            Seen { app: App::new(Opened { before, recording }, "a\u{1b}[2J漢.memtoll"), terminal, before, recording };
        seen.settle();
        seen
    }

    /// Draws until nothing is waited for.
    fn settle(&mut self) {
        for _ in 0..10 {
            let app = &mut self.app;
            self.terminal
                .draw(|frame| {
                    let area = frame.area();
                    app.draw(frame.buffer_mut(), area);
                })
                .unwrap();
            let wanted = self.app.take_wanted();
            if wanted.is_empty() {
                return;
            }
            for question in wanted {
                let sessions = Session::of_all(self.before.into_iter().chain([self.recording]));
                let [before @ .., session] = &sessions[..] else { unreachable!() };
                let outcome = reply(before.first(), session, &question);
                self.app.learn(question, outcome);
            }
        }
        panic!("the screen asks again and again");
    }

    fn press(&mut self, code: KeyCode) {
        self.app.press(&KeyEvent::new(code, KeyModifiers::NONE));
        self.settle();
    }

    /// Keys that are letters; `\n` is Enter, `\u{1b}` Escape, `<` and `>` are arrows.
    fn keys(mut self, keys: &str) -> Seen<'r> {
        for key in keys.chars() {
            self.press(match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '<' => KeyCode::Left,
                '>' => KeyCode::Right,
                'v' => KeyCode::Down,
                key => KeyCode::Char(key),
            });
        }
        self
    }

    fn text(&self) -> String {
        let buffer = self.terminal.backend().buffer();
        let width = usize::from(buffer.area.width);
        let mut text = String::new();
        for line in buffer.content.chunks(width) {
            let mut skipped = 0;
            let mut shown = String::new();
            for cell in line {
                // What a wide character covers is no cell of its own.
                if skipped > 0 {
                    skipped -= 1;
                    continue;
                }
                skipped = crate::fitted_text::width(cell.symbol()).saturating_sub(1);
                shown += cell.symbol();
            }
            text += shown.trim_end();
            text.push('\n');
        }
        text
    }
}

/// Compares what is shown with what is to be shown.
#[track_caller]
fn is_screen(name: &str, shown: &str) {
    let path = folder("screens").join(name).with_extension("txt");
    if std::env::var_os("UPDATE_SCREENS").is_some() {
        std::fs::write(&path, shown).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(shown == expected, "{name} is not what {} says, but:\n{shown}", path.display());
}

#[test]
fn views_at_80_columns() {
    let recording = open("costs.memtoll");
    for (name, keys) in [
        ("overview", "1"),
        ("lines", "2"),
        ("functions", "2g"),
        ("tree", "3h"),
        ("tree-reversed", "3r"),
        ("tree-modules", "3g"),
        ("tree-types", "3rgg"),
        ("flame", "4"),
        ("snapshots", "5"),
        ("snapshots-span", "5gt>>>>>>>>>>>>>>>\n>>>>>>>>>>\n"),
        ("threads", "7"),
        ("recording", "8"),
        ("help", "?"),
        ("choose", "p"),
        ("search", "2/in"),
        ("metric", "2mm"),
        ("span", "t\n>>>>>>>>>>\n"),
    ] {
        is_screen(name, &Seen::new(&recording, (80, 24)).keys(keys).text());
    }
}

#[test]
fn several_processes_and_a_wide_terminal() {
    let recording = open("forks.memtoll");
    is_screen("forks", &Seen::new(&recording, (160, 30)).keys("2mmmmmm").text());
    is_screen("forks-snapshots", &Seen::new(&recording, (100, 24)).keys("5").text());
    is_screen("forks-threads", &Seen::new(&recording, (100, 24)).keys("7v").text());
    is_screen("forks-choose", &Seen::new(&recording, (100, 24)).keys("p").text());
}

#[test]
fn a_selection_changes_the_numbers_and_back_is_undo() {
    let recording = open("costs.memtoll");
    let whole = Seen::new(&recording, (80, 24)).keys("2").text();
    let part = Seen::new(&recording, (80, 24)).keys("2t<<<<<<<<<<\n<<<<<<<<<<\n");
    assert_ne!(part.text(), whole);
    assert!(part.text().contains("selected ") && !part.text().contains("whole run"), "{}", part.text());
    let back = part.keys("[");
    assert_eq!(back.text(), whole);
    assert!(back.keys("[").text().contains("There is no selection before this one."));
}

#[test]
fn two_recordings_and_two_spans_are_compared() {
    let (before, after) = (open("tiny.memtoll"), open("costs.memtoll"));
    is_screen("compare", &Seen::compared(Some(&before), &after, (100, 24)).keys("0m").text());
    let one = Seen::new(&after, (80, 24)).keys("0");
    assert!(one.text().contains("Select a span of time (t), press b"), "{}", one.text());
    assert!(one.keys("b").text().contains("Select a span of time first"));
    let spans = "t>>>>>>>>>>>>>>>\n>>>>>>>>>>\nb\u{1b}0";
    is_screen("compare-spans", &Seen::new(&after, (80, 24)).keys(spans).keys("m").text());
}

/// Where the names of all views have no room, their keys have.
#[test]
fn a_narrow_screen_has_the_keys_of_all_views() {
    let recording = open("tiny.memtoll");
    let tabs = |columns| Seen::new(&recording, (columns, 24)).keys("2").text();
    assert!(tabs(60).contains("1 2 Lines 3 4 5 7 8 0"), "{}", tabs(60));
    assert!(tabs(80).contains("0 Compare"), "{}", tabs(80));
}

/// Whichever metric `m` comes to, Compare shows it.
#[test]
fn the_next_metric_is_one_that_is_compared() {
    let (before, after) = (open("tiny.memtoll"), open("costs.memtoll"));
    let mut seen = Seen::compared(Some(&before), &after, (100, 24)).keys("2mM0");
    for key in "mmmmmmmmMMMMMM".chars() {
        seen = seen.keys(&key.to_string());
        assert!(!seen.text().contains("does not show"), "{}", seen.text());
    }
}

/// Of several processes, rows have the peaks of each, as in Lines; costs have no rest.
#[test]
fn processes_are_compared_by_their_own_peaks() {
    let recording = open("forks.memtoll");
    let compared = |keys: &str| Seen::compared(Some(&recording), &recording, (100, 24)).keys(keys).text();
    assert!(compared("0mmm").contains("own peaks by lines"), "{}", compared("0mmm"));
    let costs = compared("0");
    assert!(costs.contains("cost by lines") && !costs.contains("different times"), "{costs}");
}

/// What a line costs has as many digits beside another recording as alone.
#[test]
fn a_side_is_known_as_well_as_alone() {
    let after = open("costs.memtoll");
    let cost = |shown: String, column: usize| {
        let line = shown.lines().find(|line| line.contains("small_blocks")).map(str::to_owned);
        let numbers = line.unwrap_or_else(|| panic!("{shown}"));
        numbers.split("  ").filter(|text| !text.is_empty()).nth(column).unwrap().trim().to_owned()
    };
    let alone = cost(Seen::new(&after, (100, 24)).keys("2").text(), 0);
    for side in [0, 1] {
        assert_eq!(cost(Seen::compared(Some(&after), &after, (100, 24)).keys("0").text(), side), alone);
    }
}

/// Blocks of a run that memtoll did not see to its end may have been freed later.
#[test]
fn only_what_a_whole_run_kept_was_never_freed() {
    for (name, live, words) in [("costs.memtoll", "1.4 MiB", "never freed"), ("killed.memtoll", "0", "still live")] {
        let recording = open(name);
        let overview = Seen::new(&recording, (120, 24));
        assert!(overview.text().contains(&format!(" · {live} {words} · ")), "{name}: {}", overview.text());
        let snapshots = overview.keys("5").text();
        assert!(snapshots.contains(&format!("at 0 s {words:>11}  ")), "{name}: {snapshots}");
    }
    let recording = open("costs.memtoll");
    let part = Seen::new(&recording, (120, 24)).keys("t>>>>>>>>>>>>>>>\n>>>>>>>>>>\n").text();
    assert!(part.contains("B live then") && !part.contains("never freed"), "{part}");
}

#[test]
fn the_terminal_gets_no_control_characters() {
    let recording = open("tiny.memtoll");
    let shown = Seen::new(&recording, (80, 24)).keys("2/\u{9b}\u{202e}漢\n").text();
    assert!(!shown.chars().any(|c| c != '\n' && (c.is_control() || c == '\u{202e}')), "{shown:?}");
    assert!(shown.contains("a\\u{1b}[2J漢.memtoll"), "{shown}");
    assert!(shown.contains("/ \\u{202e}漢"), "{shown}");
}

/// Whatever keys are pressed at whatever size: something is drawn, and nothing is asked for ever.
#[test]
fn no_keys_and_no_size_are_too_much() {
    const KEYS: &str = "012344578bh<>v^\n\n[]tzpmMrgnN/?x\u{1b}\u{1b}";
    for name in ["tiny.memtoll", "costs.memtoll", "forks.memtoll", "killed.memtoll"] {
        let recording = open(name);
        let mut seen = Seen::new(&recording, (80, 24));
        let keys: Vec<char> = KEYS.chars().collect();
        let mut random = 7u64;
        let mut next = |below: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % below
        };
        for step in 0..600 {
            let key = keys[next(keys.len())];
            if step % 20 == 0 {
                let (columns, lines) = (1 + next(200) as u16, 1 + next(60) as u16);
                seen.terminal.backend_mut().resize(columns, lines);
            }
            seen = seen.keys(&key.to_string().replace('^', "v"));
        }
    }
}

#[test]
fn lines_of_a_function_are_one_frame() {
    let recording = open("costs.memtoll");
    for keys in ["3", "4", "3g"] {
        let shown = Seen::new(&recording, (80, 24)).keys(keys).text();
        assert_eq!(shown.matches("main (costs.c)").count(), 1, "{keys}: {shown}");
        assert_eq!(shown.matches("main (").count(), 1, "{keys}: {shown}");
    }
}
