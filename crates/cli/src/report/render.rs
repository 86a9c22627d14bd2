//! What `memtoll report` prints.

use super::{Arguments, Format, Group, choices};
use crate::exit;
use crate::output::Screen;
use memtoll_analysis::aggregate::{Selection, Split};
use memtoll_analysis::findings::findings;
use memtoll_analysis::lanes;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::patterns::patterns;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::regions;
use memtoll_analysis::runners::Runners;
use memtoll_analysis::sites::{GroupBy, Row, rows, sort};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::{Sums, sums_of, sums_that_match};
use memtoll_analysis::tree::{Direction, call_tree};
use memtoll_analysis::waits::waits;
use memtoll_model::Recording;
use memtoll_report::section::Limits;
use memtoll_report::{collapsed, csv, json, list, nothing, recorder, rows, summary, threads, tree};
use memtoll_report::{lanes as show_lanes, regions as show_regions};

/// What is shown.
pub(super) struct Shown {
    pub(super) text: String,
    /// Why there is nothing to show, and what there is to choose from.
    pub(super) nothing: Option<String>,
    /// Whether some of the file cannot be read.
    pub(super) is_damaged: bool,
}

impl Shown {
    /// Something of a recording; `damage` is what was found when its events were read.
    fn of(recording: &Recording, damage: &[String], text: String) -> Shown {
        let is_damaged = !recording.damage.is_empty() || !damage.is_empty();
        Shown { text, nothing: None, is_damaged }
    }
}

/// Says what is not in the recording, or cannot be read of it: before anything else.
fn say_what_is_missing(recording: &Recording, damage: &[String]) {
    let found_later = damage.iter().filter(|statement| !recording.damage.contains(statement));
    recording.damage.iter().chain(found_later).chain(&recording.missing).for_each(exit::say);
}

impl Arguments {
    /// What is asked for, of a recording and the part of it that is selected. Statements about what is missing in the file
    /// are said on the way.
    pub(super) fn render(
        &self,
        recording: &Recording,
        selection: Selection,
        runners: Runners,
        screen: &Screen,
    ) -> Result<Shown, String> {
        let shape = &self.shape;
        if shape.lanes || shape.regions {
            return self.render_over_time(recording, selection, &runners, screen);
        }
        if let Some(what) = shape.list {
            let text = match self.format {
                Format::Text => list::render(recording, &runners, what.into(), screen.width),
                Format::Json => list::json(recording, &runners, what.into()).map_err(|error| error.to_string())?,
                _ => return Err("lists come as text or JSON: expected --format text or json".to_owned()),
            };
            say_what_is_missing(recording, &[]);
            return Ok(Shown::of(recording, &[], text));
        }
        if self.format != Format::Text && (shape.tree || shape.callers || shape.recorder) {
            return Err("--tree, --callers and --recorder come as text: expected --format text".to_owned());
        }
        if shape.recorder {
            say_what_is_missing(recording, &[]);
            return Ok(Shown::of(recording, &[], recorder::render(recording, &runners, screen.width)));
        }
        let view = self.view();
        let sums = match selection.split {
            Split::None => sums_of(recording, selection, runners),
            _ => sums_that_match(recording, selection, runners, &mut Stacks::new(recording, &view)),
        };
        let nothing = choices::nothing_left(self, recording, &sums, &view);
        if nothing.is_some() && self.format == Format::Text {
            say_what_is_missing(recording, &sums.damage);
            return Ok(Shown { nothing, ..Shown::of(recording, &sums.damage, String::new()) });
        }
        let parts = Parts { arguments: self, recording, sums: &sums, by: self.sort_by(), screen };
        let is_summary = self.format == Format::Text && !self.is_table() && !shape.tree && !shape.callers;
        if is_summary {
            let limits = Limits { rows: self.limit.unwrap_or(8), width: screen.width };
            let text = summary::render(recording, &sums, &view, limits);
            return Ok(Shown::of(recording, &sums.damage, text));
        }
        // The summary says it itself.
        say_what_is_missing(recording, &sums.damage);
        let text = match self.format {
            Format::Text if shape.tree => parts.tree(Direction::Callees),
            Format::Text if shape.callers => parts.tree(Direction::Callers),
            Format::Text => parts.table(),
            Format::Json => {
                let group = self.group.unwrap_or(Group::Site).into();
                let mut stacks = Stacks::new(recording, &view);
                let found = findings(recording, &sums, &mut stacks);
                let rows = parts.limited(group);
                // Blocks have sizes and lifetimes whoever pays; of a thread's or a size's stacks, nobody asks.
                let is_of_stacks = selection.split == Split::None;
                let patterns = is_of_stacks.then(|| patterns(&mut stacks, &sums, &rows));
                json::render(recording, &sums, &rows, group, &found, patterns.as_ref()).map_err(|e| e.to_string())?
            }
            Format::Csv => csv::render(recording, &parts.limited(self.group.unwrap_or(Group::Site).into()))
                .map_err(|e| e.to_string())?,
            Format::Collapsed if !matches!(self.group, None | Some(Group::Path)) => {
                return Err("collapsed stacks are call paths: leave --group out".to_owned());
            }
            Format::Collapsed => collapsed::render(recording, &parts.limited(GroupBy::Path), parts.by),
        };
        Ok(Shown { nothing, ..Shown::of(recording, &sums.damage, text) })
    }

    /// What rows are sorted by.
    fn sort_by(&self) -> Metric {
        match self.sort {
            None if self.at.is_some() => Metric::Live,
            None if self.paid => Metric::Cost,
            sort => sort.unwrap_or(Metric::Acquisitions),
        }
    }

    fn view(&self) -> View {
        View { unfold: self.unfold, fold: self.fold.clone(), filter: self.filter.clone() }
    }

    /// Who waited for whom in the allocator.
    fn waits(&self, recording: &Recording, selection: Selection, runners: &Runners, width: Option<usize>) -> String {
        let (waits, damage) = waits(recording, selection.from, selection.to, runners);
        damage.iter().for_each(exit::say);
        threads::waits(recording, &waits, width)
    }

    /// Lanes or regions.
    fn render_over_time(
        &self,
        recording: &Recording,
        selection: Selection,
        runners: &Runners,
        screen: &Screen,
    ) -> Result<Shown, String> {
        let json = match self.format {
            Format::Text => false,
            Format::Json => true,
            _ => return Err("lanes and regions come as text or JSON: expected --format text or json".to_owned()),
        };
        let Selection { from, to, .. } = selection;
        let (text, damage) = if self.shape.lanes {
            let intervals = if json { 500 } else { show_lanes::intervals(recording, screen.width) };
            let found = lanes::lanes(recording, from, to, intervals, runners);
            let text = match json {
                true => show_lanes::json(recording, &found),
                false => Ok(show_lanes::render(recording, &found, screen.width)
                    + &self.waits(recording, selection, runners, screen.width)),
            };
            (text, found.damage)
        } else {
            let (found, damage) = regions::regions(recording, from, to, runners);
            let text = match json {
                true => show_regions::json(recording, &found),
                false => Ok(show_regions::render(recording, &found, screen.width)),
            };
            (text, damage)
        };
        say_what_is_missing(recording, &damage);
        Ok(Shown::of(recording, &damage, text.map_err(|error| error.to_string())?))
    }
}

/// What tables and trees are made of.
struct Parts<'a> {
    arguments: &'a Arguments,
    recording: &'a Recording,
    sums: &'a Sums,
    by: Metric,
    screen: &'a Screen,
}

impl Parts<'_> {
    /// The rows, sorted.
    fn rows(&self, group: GroupBy) -> Vec<Row> {
        let view = self.arguments.view();
        let mut found = rows(&mut Stacks::new(self.recording, &view), self.sums, group);
        found.retain(|row| row.metrics != Priced::default());
        sort(&mut found, &self.recording.frames, self.by);
        found
    }

    /// So many of them as are asked for.
    fn limited(&self, group: GroupBy) -> Vec<Row> {
        let mut found = self.rows(group);
        found.truncate(self.arguments.limit.unwrap_or(usize::MAX));
        found
    }

    fn tree(&self, direction: Direction) -> String {
        let view = self.arguments.view();
        let mut root = call_tree(&mut Stacks::new(self.recording, &view), self.sums, direction);
        if self.by.value(&root.metrics) == 0 {
            return nothing::of(self.recording, self.sums, self.by);
        }
        let Parts { arguments, recording, sums, by, screen } = *self;
        tree::render(recording, sums, &mut root, direction, by, arguments.min_percent, screen.width)
    }

    fn table(&self) -> String {
        let Parts { arguments, recording, sums, by, screen } = *self;
        let group = arguments.group.unwrap_or(Group::Site);
        let mut shown = self.rows(group.into());
        // A line that only frees is shown with its frees; a thread or process in any case.
        if !matches!(group, Group::Thread | Group::Process) {
            let frees = |row: &Row| by == Metric::Acquisitions && row.metrics.frees > 0;
            shown.retain(|row| by.value(&row.metrics) > 0 || frees(row));
        }
        if shown.is_empty() {
            return nothing::of(recording, sums, by);
        }
        if group == Group::Size {
            shown.iter_mut().for_each(|row| row.label.push_str(" B"));
        }
        let limit = arguments.limit.unwrap_or(40);
        let mut text = rows::render(recording, &shown, sums, by, limit, screen.width);
        if group == Group::Thread && by == Metric::Waiting {
            text += &arguments.waits(recording, sums.selection, &sums.runners, screen.width);
        }
        text
    }
}
