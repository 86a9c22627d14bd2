//! The whole screen: what it shows, and what keys do to it.

use crate::answers::{Answers, Opened, Outcome};
use crate::colors::{BOLD, CURSOR, SOFT};
use crate::draw::Pane;
use crate::fitted_text::{fit, width, wrapped};
use crate::keys::{Action, BINDINGS, Step, action};
use crate::process_choice::Choosing;
use crate::question::{Question, Reply};
use crate::scrolled_rows::Scroll;
use crate::state::{GROUPS, State, View};
use crate::timeline::{self, Band, Picking};
use crate::views::{
    CompareView, FlameView, LinesView, OverviewView, RecordingView, Shown, SnapshotsView, ThreadsView, TreeView, say,
};
use crossterm::event::{KeyCode, KeyEvent};
use memtoll_analysis::metric::TABLE;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::tree::By;
use memtoll_model::Recording;
use memtoll_query::Span;
use memtoll_text::shell;
use memtoll_text::visible;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span as Piece};

/// What the screen needs at least.
const LEAST: (u16, u16) = (40, 12);

/// What keys are for.
enum Mode {
    /// To look around.
    Browse,
    /// To read the help.
    Help(Scroll),
    /// To type what is searched; what was searched before.
    Search(String),
    /// To select a span of time.
    Pick(Picking),
    /// To choose a process or a thread.
    Choose(Choosing),
}

/// The screen.
pub struct App<'r> {
    recording: &'r Recording,
    has_before: bool,
    file: String,
    state: State,
    answers: Answers<'r>,
    mode: Mode,
    /// Selections of time so far, and which one is shown.
    spans: (Vec<Option<Span>>, usize),
    band: Band,
    overview: OverviewView,
    lines: LinesView,
    tree: TreeView,
    flame: FlameView,
    snapshots: SnapshotsView,
    threads: ThreadsView,
    compare: CompareView,
    about: RecordingView,
    /// Said once.
    message: Option<&'static str>,
    /// Whether the viewer ends.
    pub quits: bool,
}

impl<'r> App<'r> {
    /// Of a recording, from the file of that name.
    pub fn new(Opened { before, recording }: Opened<'r>, file: &str) -> App<'r> {
        App {
            recording,
            has_before: before.is_some(),
            file: visible(file),
            state: State::default(),
            answers: Answers::default(),
            mode: Mode::Browse,
            spans: (vec![None], 0),
            band: Band::default(),
            overview: OverviewView::default(),
            lines: LinesView::default(),
            tree: TreeView::default(),
            flame: FlameView::default(),
            snapshots: SnapshotsView::default(),
            threads: ThreadsView::default(),
            compare: CompareView::default(),
            about: RecordingView::default(),
            message: None,
            quits: false,
        }
    }

    /// Takes the questions that the last drawing asked and that have no answer.
    pub fn take_wanted(&self) -> Vec<Question> {
        self.answers.take_wanted()
    }

    /// Learns a reply.
    pub fn learn(&mut self, question: Question, outcome: Outcome<'r>) {
        self.answers.learn(question, outcome);
    }

    pub fn draw(&mut self, buffer: &mut Buffer, area: Rect) {
        if area.width < LEAST.0 || area.height < LEAST.1 {
            let text = format!("memtoll needs {} columns and {} lines; q quits", LEAST.0, LEAST.1);
            return say(&mut Pane::new(buffer, area), &text);
        }
        let shown = Shown {
            recording: self.recording,
            file: &self.file,
            state: &self.state,
            has_before: self.has_before,
            answers: &self.answers,
        };
        let mut all = Pane::new(buffer, area);
        let lines = all.height();
        header(&shown, &mut all.part(0, 1));
        let picking = if let Mode::Pick(picking) = self.mode { Some(picking) } else { None };
        self.band.draw(&shown, picking, all.part(1, timeline::LINES));
        tabs(&self.state, &mut all.part(1 + timeline::LINES, 1));
        let top = 3 + timeline::LINES;
        let body = all.part(top, lines - top - 1);
        match &mut self.mode {
            Mode::Help(scroll) => help(scroll, body),
            Mode::Choose(choosing) => choosing.draw(&shown, body),
            _ => match self.state.view {
                View::Overview => self.overview.draw(&shown, body),
                View::Lines => self.lines.draw(&shown, body),
                View::Tree => self.tree.draw(&shown, body),
                View::Flame => self.flame.draw(&shown, body),
                View::Snapshots => self.snapshots.draw(&shown, body),
                View::Threads => self.threads.draw(&shown, body),
                View::Compare => self.compare.draw(&shown, body),
                View::Recording => self.about.draw(&shown, body),
            },
        }
        let status = self.status();
        let columns = all.width();
        let status = fit(&status, columns);
        all.put(0, lines - 1, columns, &status, SOFT);
    }

    /// The last line.
    fn status(&self) -> String {
        if let Mode::Search(_) = self.mode {
            return format!("/{}▏  Enter: search  Esc: leave it", visible(&self.state.search));
        }
        if let Some(message) = self.message {
            return message.to_owned();
        }
        let who = match (&self.state.who.process, &self.state.who.thread) {
            (_, Some(thread)) => format!("thread {thread}"),
            (Some(process), None) => format!("process {process}"),
            (None, None) => "all".to_owned(),
        };
        let search = match self.state.search.as_str() {
            "" => "/ search".to_owned(),
            text => format!("/ {} (n next)", visible(text)),
        };
        let metric = self.state.metric.about().title;
        let group = match self.state.view {
            View::Lines | View::Snapshots => format!("  g {}", GROUPS[self.state.group].1),
            View::Compare => format!("  g {}  b before", GROUPS[self.state.compared_group()].1),
            View::Tree => "  h heaviest  r reverse  g by".to_owned(),
            View::Flame => "  h heaviest  r reverse".to_owned(),
            _ => String::new(),
        };
        format!("? help  q quit  m {metric}  p {who}  t time  {search}{group}")
    }

    pub fn press(&mut self, key: &KeyEvent) {
        self.message = None;
        if let Mode::Search(before) = &self.mode {
            let before = before.clone();
            return self.type_search(key, before);
        }
        let Some(action) = action(key) else { return };
        match (&mut self.mode, action) {
            (_, Action::Quit) => self.quits = true,
            (Mode::Browse | Mode::Search(_), _) => self.browse(action),
            (_, Action::Escape) | (Mode::Help(_), Action::Help) => self.mode = Mode::Browse,
            (Mode::Help(scroll), action) => drop(scroll.act(action)),
            (Mode::Pick(_), action) => self.pick(action),
            (Mode::Choose(choosing), Action::Enter) => {
                self.state.who = choosing.chosen().unwrap_or_default();
                self.mode = Mode::Browse;
            }
            (Mode::Choose(choosing), action) => drop(choosing.act(action)),
        }
    }

    fn type_search(&mut self, key: &KeyEvent, before: String) {
        let search = &mut self.state.search;
        match key.code {
            KeyCode::Esc => *search = before,
            KeyCode::Enter => {}
            KeyCode::Char('c') if action(key) == Some(Action::Quit) && !key.modifiers.is_empty() => {
                self.quits = true;
            }
            KeyCode::Backspace => {
                search.pop();
                return;
            }
            KeyCode::Char(c) if !c.is_control() => return search.push(c),
            _ => return,
        }
        self.mode = Mode::Browse;
        if key.code == KeyCode::Enter && self.state.view == View::Tree {
            self.tree.act(Action::NextMatch);
        }
    }

    /// What keys do in a view; what a view knows nothing of is for all of them.
    fn browse(&mut self, action: Action) {
        let is_done = match self.state.view {
            View::Overview => self.overview.act(action),
            View::Lines => self.lines.act(action),
            View::Tree => self.tree.act(action),
            View::Flame => self.flame.act(action),
            View::Snapshots => self.snapshots.act(action),
            View::Threads => self.threads.act(action),
            View::Compare => self.compare.act(action),
            View::Recording => self.about.act(action),
        };
        if is_done {
            return;
        }
        match action {
            Action::Show(view) => self.state.view = view,
            Action::Reverse => self.state.reversed = !self.state.reversed,
            Action::Group if matches!(self.state.view, View::Lines | View::Snapshots) => {
                self.state.group = (self.state.group + 1) % GROUPS.len();
            }
            Action::Group if self.state.view == View::Compare => {
                self.state.group = 1 - self.state.compared_group();
            }
            Action::Group if self.state.view == View::Tree => {
                self.state.tree_by = match self.state.tree_by {
                    None => Some(By::Module),
                    Some(By::Module) => Some(By::Type),
                    Some(By::Type) => None,
                };
            }
            Action::NextMetric | Action::PreviousMetric => {
                let step = if action == Action::NextMetric { Step::Next } else { Step::Previous };
                let question = self.state.comparison(self.has_before).filter(|_| self.state.view == View::Compare);
                let compared = match question.and_then(|question| self.answers.get(&question)) {
                    Some(Ok(Reply::Compared(compared))) => Some(compared),
                    _ => None,
                };
                let shows = |metric| compared.is_none_or(|compared| compared.quantity(metric).is_some());
                self.state.metric = self.state.metric_beside(&Tariff::of(self.recording), step, shows);
            }
            Action::Search => self.mode = Mode::Search(self.state.search.clone()),
            Action::SelectTime => {
                self.mode = Mode::Pick(Picking { at: self.band.columns / 2, anchor: None });
            }
            Action::Before => self.message = Some(self.set_before()),
            Action::Zoom => {
                self.state.zoom = if self.state.zoom == self.state.span { None } else { self.state.span };
            }
            Action::PreviousSpan => self.go(Step::Previous),
            Action::NextSpan => self.go(Step::Next),
            Action::Choose => self.mode = Mode::Choose(Choosing::default()),
            Action::Help => self.mode = Mode::Help(Scroll::default()),
            Action::Enter if self.state.view == View::Lines => self.show_callers(),
            Action::Escape if !self.state.search.is_empty() => self.state.search.clear(),
            Action::Escape => self.select(None),
            _ => {}
        }
    }

    /// The call tree from the allocations outward, at the line of the cursor.
    fn show_callers(&mut self) {
        let Some(function) = self.lines.function() else { return };
        self.state.search = function.to_owned();
        self.state.reversed = true;
        self.state.tree_by = None;
        self.state.view = View::Tree;
        self.tree.act(Action::NextMatch);
    }

    /// The selection becomes what is before. Returns what to say.
    fn set_before(&mut self) -> &'static str {
        if self.has_before {
            return "Compare (0) shows two recordings already.";
        }
        if self.state.span.is_none() {
            return "Select a span of time first (t).";
        }
        self.state.before = self.state.span;
        "This span is the one before. Select another one, and press 0."
    }

    /// Selects a span of time.
    fn select(&mut self, span: Option<Span>) {
        if span == self.state.span {
            return;
        }
        let (spans, at) = &mut self.spans;
        spans.truncate(*at + 1);
        spans.push(span);
        *at += 1;
        self.state.span = span;
    }

    /// The selection before this one, or after it.
    fn go(&mut self, step: Step) {
        let (spans, at) = &mut self.spans;
        let next = match step {
            Step::Previous => at.checked_sub(1),
            Step::Next => Some(*at + 1),
        };
        match next.and_then(|next| Some((next, *spans.get(next)?))) {
            Some((next, span)) => {
                *at = next;
                self.state.span = span;
            }
            None => {
                self.message = Some(match step {
                    Step::Previous => "There is no selection before this one.",
                    Step::Next => "There is no selection after this one.",
                });
            }
        }
    }

    /// Selecting a span of time.
    fn pick(&mut self, action: Action) {
        let Mode::Pick(picking) = &mut self.mode else { return };
        let last = self.band.columns.saturating_sub(1);
        match action {
            Action::Left => picking.at = picking.at.saturating_sub(1),
            Action::Right => picking.at = (picking.at + 1).min(last),
            Action::Up => picking.at = picking.at.saturating_sub(10),
            Action::Down => picking.at = (picking.at + 10).min(last),
            Action::First => picking.at = 0,
            Action::Last => picking.at = last,
            Action::Enter | Action::PageDown => match picking.anchor {
                None => picking.anchor = Some(picking.at),
                Some(anchor) => {
                    let clock = &self.recording.about.clock;
                    let ended = (clock.seconds(self.recording.ended()) * 1e9) as u64;
                    let span = self.band.span(&self.state, ended, anchor, picking.at);
                    self.mode = Mode::Browse;
                    self.select(Some(span));
                }
            },
            Action::SelectTime => self.mode = Mode::Browse,
            _ => {}
        }
    }
}

fn header(shown: &Shown, pane: &mut Pane) {
    let columns = pane.width();
    let name = format!("memtoll  {}", shown.file);
    pane.put(0, 0, columns, &fit(&name, columns), BOLD);
    let x = width(&name) + 2;
    let command = visible(&shell::line(&shown.recording.about.command));
    pane.put(x, 0, columns, &fit(&command, columns.saturating_sub(x)), SOFT);
}

fn tabs(state: &State, pane: &mut Pane) {
    let padded: usize = View::ALL.iter().map(|(_, key, name)| width(&format!(" {key} {name}  "))).sum();
    let pad = if padded <= pane.width() { " " } else { "" };
    let unpadded: usize = View::ALL.iter().map(|(_, _, name)| width(name) + 3).sum();
    let short = |name: &'static str| name.strip_prefix("Call ").or(name.strip_suffix(" graph")).unwrap_or(name);
    let shortest: usize = View::ALL.iter().map(|(_, _, name)| width(short(name)) + 3).sum();
    let tab = |(view, key, name): &(View, char, &'static str)| {
        let is_shown = *view == state.view;
        let name = match pane.width() {
            room if unpadded <= room => format!(" {name}"),
            room if shortest <= room || is_shown => format!(" {}", short(name)),
            _ => String::new(),
        };
        let style = if is_shown { CURSOR } else { SOFT };
        [Piece::styled(format!("{pad}{key}{name}{pad}"), style), Piece::raw(" ")]
    };
    pane.put_line(0, 0, &View::ALL.iter().flat_map(tab).collect::<Vec<_>>().into());
}

/// Keys, and what metrics mean.
fn help(scroll: &mut Scroll, mut pane: Pane) {
    const KEYS: usize = 13;
    let columns = pane.width();
    let entry = |name: &str, what: &str, wide: usize| -> Vec<Line<'static>> {
        let lines = wrapped(what, columns.saturating_sub(wide).max(8));
        let head = |at: usize| if at == 0 { name.to_owned() } else { String::new() };
        let line = |(at, line): (usize, String)| {
            let pad = " ".repeat(wide.saturating_sub(width(&head(at))));
            Line::from(vec![Piece::styled(head(at), BOLD), Piece::raw(pad + &line)])
        };
        lines.into_iter().enumerate().map(line).collect()
    };
    let mut text = vec![Line::styled("Keys", BOLD)];
    text.extend(View::ALL.iter().flat_map(|(_, key, name)| entry(&key.to_string(), &name.to_lowercase(), KEYS)));
    text.extend(BINDINGS.iter().flat_map(|binding| entry(binding.shown, binding.what, KEYS)));
    text.extend([Line::default(), Line::styled("Metrics", BOLD)]);
    text.extend(TABLE.iter().flat_map(|about| entry(about.name, about.help, 16)));
    let top = scroll.window(text.len(), pane.height());
    pane.lines(&text, top);
}
