//! What `memtoll report` prints.

use super::{Arguments, Format, Group, Sort};
use crate::exit;
use crate::output::Screen;
use memtoll_analysis::aggregate::{Selection, Split};
use memtoll_analysis::lanes;
use memtoll_analysis::regions;
use memtoll_analysis::sites::{GroupBy, Row, SortBy, rows, sort};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::{Sums, sums, sums_that_match};
use memtoll_analysis::tree::{Direction, call_tree};
use memtoll_analysis::waits::waits;
use memtoll_model::Recording;
use memtoll_report::section::Limits;
use memtoll_report::{collapsed, csv, json, nothing, recorder, rows, summary, threads, tree};
use memtoll_report::{lanes as show_lanes, regions as show_regions};
use memtoll_trace::summary::Metrics;

impl Arguments {
    /// The text that is asked for, of a recording and the part of it that is selected. Statements about what is missing in
    /// the file are said on the way.
    pub(super) fn render(
        &self,
        recording: &Recording,
        selection: Selection,
        screen: &Screen,
    ) -> Result<String, String> {
        let shape = &self.shape;
        if shape.lanes || shape.regions {
            recording.damage.iter().for_each(exit::say);
            return self.render_over_time(recording, selection, screen);
        }
        if self.format != Format::Text && (shape.tree || shape.callers || shape.recorder) {
            return Err("--tree, --callers and --recorder come as text: expected --format text".to_owned());
        }
        if shape.recorder {
            recording.damage.iter().for_each(exit::say);
            return Ok(recorder::render(recording, screen.width));
        }
        let sums = match selection.split {
            Split::None => sums(recording, selection),
            _ => sums_that_match(recording, selection, &mut Stacks::new(recording, &self.view())),
        };
        let parts = Parts { arguments: self, recording, sums: &sums, by: self.sort_by(), screen };
        let is_summary = self.format == Format::Text && !self.is_table() && !shape.tree && !shape.callers;
        if is_summary {
            let limits = Limits { rows: self.limit.unwrap_or(8), width: screen.width };
            return Ok(summary::render(recording, &sums, &self.view(), limits));
        }
        // The summary says it itself.
        recording.damage.iter().chain(&sums.damage).for_each(exit::say);
        match self.format {
            Format::Text if shape.tree => Ok(parts.tree(Direction::Callees)),
            Format::Text if shape.callers => Ok(parts.tree(Direction::Callers)),
            Format::Text => parts.table(),
            Format::Json => {
                let group = self.group.unwrap_or(Group::Site).into();
                json::render(recording, &sums, &parts.limited(group), group).map_err(|e| e.to_string())
            }
            Format::Csv => csv::render(recording, &parts.limited(self.group.unwrap_or(Group::Site).into()))
                .map_err(|e| e.to_string()),
            Format::Collapsed if !matches!(self.group, None | Some(Group::Path)) => {
                Err("collapsed stacks are call paths: leave --group out".to_owned())
            }
            Format::Collapsed => Ok(collapsed::render(recording, &parts.limited(GroupBy::Path), parts.by)),
        }
    }

    /// What rows are sorted by.
    fn sort_by(&self) -> SortBy {
        match self.sort {
            None if self.at.is_some() => SortBy::Live,
            None if self.paid => SortBy::Cost,
            sort => sort.unwrap_or(Sort::Allocations).into(),
        }
    }

    fn view(&self) -> View {
        View { unfold: self.unfold, fold: self.fold.clone(), filter: self.filter.clone() }
    }

    /// Who waited for whom in the allocator.
    fn waits(&self, recording: &Recording, selection: Selection, width: Option<usize>) -> String {
        let (waits, damage) = waits(recording, selection.from, selection.to);
        damage.iter().for_each(exit::say);
        threads::waits(recording, &waits, width)
    }

    /// Lanes or regions.
    fn render_over_time(&self, recording: &Recording, selection: Selection, screen: &Screen) -> Result<String, String> {
        let json = match self.format {
            Format::Text => false,
            Format::Json => true,
            _ => return Err("lanes and regions come as text or JSON: expected --format text or json".to_owned()),
        };
        let Selection { from, to, .. } = selection;
        let (text, damage) = if self.shape.lanes {
            let intervals = if json { 500 } else { show_lanes::intervals(recording, screen.width) };
            let found = lanes::lanes(recording, from, to, intervals);
            let text = match json {
                true => show_lanes::json(recording, &found),
                false => Ok(show_lanes::render(recording, &found, screen.width)
                    + &self.waits(recording, selection, screen.width)),
            };
            (text, found.damage)
        } else {
            let (found, damage) = regions::regions(recording, from, to);
            let text = match json {
                true => show_regions::json(recording, &found),
                false => Ok(show_regions::render(recording, &found, screen.width)),
            };
            (text, damage)
        };
        damage.iter().filter(|line| !recording.damage.contains(line)).for_each(exit::say);
        text.map_err(|error| error.to_string())
    }
}

/// What tables and trees are made of.
struct Parts<'a> {
    arguments: &'a Arguments,
    recording: &'a Recording,
    sums: &'a Sums,
    by: SortBy,
    screen: &'a Screen,
}

impl Parts<'_> {
    /// The rows, sorted.
    fn rows(&self, group: GroupBy) -> Vec<Row> {
        let view = self.arguments.view();
        let mut found = rows(&mut Stacks::new(self.recording, &view), self.sums, group);
        found.retain(|row| row.metrics != Metrics::default());
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
            return self.nothing(root.metrics.events > 0);
        }
        tree::render(self.recording, &mut root, direction, self.by, self.arguments.min_percent, self.screen.width)
    }

    fn table(&self) -> Result<String, String> {
        let Parts { arguments, recording, sums, by, screen } = *self;
        let group = arguments.group.unwrap_or(Group::Site);
        let mut shown = self.rows(group.into());
        let is_any = !shown.is_empty();
        // A line that only frees is shown with its frees; a thread or process in any case.
        if !matches!(group, Group::Thread | Group::Process) {
            let frees = |row: &Row| by == SortBy::Allocations && row.metrics.frees > 0;
            shown.retain(|row| by.value(&row.metrics) > 0 || frees(row));
        }
        if shown.is_empty() {
            return Ok(self.nothing(is_any));
        }
        if group == Group::Size {
            shown.iter_mut().for_each(|row| row.label.push_str(" B"));
        }
        let limit = arguments.limit.unwrap_or(40);
        let mut text = rows::render(recording, &shown, sums, by, limit, screen.width);
        if group == Group::Thread && by == SortBy::Waiting {
            text += &arguments.waits(recording, sums.selection, screen.width);
        }
        Ok(text)
    }

    /// Why there is nothing to show. `is_any`: some stacks are let through.
    fn nothing(&self, is_any: bool) -> String {
        match is_any || self.arguments.filter.is_none() {
            true => nothing::of(self.recording, self.sums, self.by),
            false => "No call stack matches the filter.\n".to_owned(),
        }
    }
}
