//! The place of `memtoll advise FILE PLACE`: which findings are there, or in what it calls, and what it costs without one.

use memtoll_advise::{Advice, Finding};
use memtoll_analysis::inclusive_lines::{self, InclusiveLine};
use memtoll_analysis::names;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::sites::{GroupBy, rows};
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::wrappers::without_wrappers;
use memtoll_model::{FrameId, Recording};
use memtoll_query::unnamed_functions;
use memtoll_text::format;

/// A place, as it was typed.
pub struct Place<'a> {
    recording: &'a Recording,
    asked: &'a str,
    /// Whether a frame is there, by its number: one of its lines, or of a function that calls others there.
    is_there: Vec<bool>,
}

/// What a reader gets of a place, beside the findings that are left in the advice.
#[derive(Default)]
pub struct Chosen {
    /// What stands above the findings.
    pub head: String,
    /// What stands in their place.
    pub nothing: Option<String>,
    /// Where else there is advice.
    pub elsewhere: String,
}

impl<'a> Place<'a> {
    pub fn of(recording: &'a Recording, asked: &'a str) -> Place<'a> {
        let all = &recording.frames;
        let is_there = |frame: FrameId| {
            let texts = Texts::of(all, frame);
            inclusive_lines::is_meant(asked, texts.function, texts.file, texts.line)
        };
        Place { recording, asked, is_there: all.ids().map(is_there).collect() }
    }

    /// Leaves the findings of the place in the advice: those at it, or else those in what it calls. `file`: the recording, as
    /// a command has it.
    pub fn choose(&self, sums: &Sums, advice: &mut Advice, file: &str, width: Option<usize>) -> Result<Chosen, String> {
        let mut chosen = Chosen::default();
        let mut ids = ids_where(advice, |finding| self.is_at(finding));
        if ids.is_empty() {
            ids = ids_where(advice, |finding| !finding.is_minor && self.calls(finding));
            chosen.head = format!("nothing found at {} itself; in what it calls, for all callers:\n\n", self.asked);
        }
        if ids.is_empty() {
            chosen.nothing = Some(self.nothing(sums, width)?);
        }
        chosen.elsewhere =
            elsewhere(advice.findings.iter().filter(|finding| !finding.is_minor && !ids.contains(&finding.id)), file);
        advice.only(|finding| ids.contains(&finding.id));
        Ok(chosen)
    }

    /// Whether a finding is what was asked for: by its id, or by where it is.
    fn is_at(&self, finding: &Finding) -> bool {
        let Finding { function, file, line, .. } = finding;
        finding.id == self.asked || inclusive_lines::is_meant(self.asked, function, file.as_deref(), *line)
    }

    /// Whether calls of the place lead to a finding.
    fn calls(&self, finding: &Finding) -> bool {
        finding.paths.frames(self.recording).any(|frame| self.is_there[frame.index()])
    }

    /// What the place costs for which no rule knows a change: its own lines, and all that goes through it.
    fn nothing(&self, sums: &Sums, width: Option<usize>) -> Result<String, String> {
        let (recording, frames) = (self.recording, &self.recording.frames);
        let lines = self.lines(sums);
        let through = self.through(sums);
        let function = frames.ids().find(|frame| self.is_there[frame.index()]).filter(|_| through.events > 0);
        if lines.is_empty() && function.is_none() {
            let expected = "expected the id of a finding, a line such as main.cpp:12, a file or a function";
            return Err(format!("the recording has nothing at \"{}\": {expected}", self.asked));
        }
        let unnamed = lines.iter().find_map(|line| unnamed_functions::module(frames, line.row.frame?));
        let mut text = match unnamed {
            Some(path) => format::wrapped("nothing found: ", &unnamed_functions::no_advice(recording, path), width),
            None => format!("nothing found: memtoll knows no change for {}\n", self.asked),
        };
        for InclusiveLine { row, .. } in &lines {
            let place = row.frame.map_or(String::new(), |frame| names::function_and_place(frames, frame));
            text += &format::wrapped("  ", &self.cost(&place, &row.metrics), width);
            if let Some(frame) = row.frame {
                text += &format!("  its callers: {}\n", unnamed_functions::callers(recording, frame));
            }
        }
        let mut own = Priced::default();
        lines.iter().for_each(|line| own.add(&line.row.metrics));
        let is_more = through.allocations() > own.allocations() || through.cost_ns() > own.cost_ns();
        if let Some(frame) = function.filter(|_| lines.is_empty() || is_more) {
            text += &format::wrapped("  ", &self.cost("with what it calls", &through), width);
            text += &format!("  what it calls: {}\n", unnamed_functions::callees(recording, frame));
        }
        Ok(text)
    }

    /// Its own lines that cost something or have blocks, those that cost most first.
    fn lines(&self, sums: &Sums) -> Vec<InclusiveLine> {
        let sites = rows(&mut without_wrappers(self.recording, sums), sums, GroupBy::Site);
        let mut lines = inclusive_lines::inclusive_lines(&self.recording.frames, &sites);
        lines.retain(|InclusiveLine { row, .. }| {
            let costs = row.metrics.allocations() > 0 || row.metrics.cost_ns().0 > 0;
            costs && row.frame.is_some_and(|frame| self.is_there[frame.index()])
        });
        lines.sort_by_key(|line| std::cmp::Reverse(line.row.metrics.cost_ns()));
        lines
    }

    /// The sums of all call paths through it.
    fn through(&self, sums: &Sums) -> Priced {
        let mut all = Priced::default();
        for site in &sums.sites {
            if self.recording.frames_of(site.node).any(|frame| self.is_there[frame.index()]) {
                site.add_to(&mut all);
            }
        }
        all
    }

    /// What something has and costs. It may have mappings and page faults only.
    fn cost(&self, what: &str, metrics: &Priced) -> String {
        let cost = Tariff::of(self.recording).estimates(metrics).processor().time_with_error();
        let blocks = format::counted(metrics.allocations(), "block");
        let (bytes, peak) = (format::bytes(metrics.bytes), format::bytes(metrics.peak_bytes));
        match metrics.allocations() {
            0 => format!("{what}: no blocks; it costs {cost} of CPU time"),
            _ => format!(
                "{what}: {blocks} of {bytes} together, {peak} of it live at the peak; they cost {cost} of CPU time"
            ),
        }
    }
}

fn ids_where(advice: &Advice, admits: impl Fn(&Finding) -> bool) -> Vec<String> {
    advice.findings.iter().filter(|finding| admits(finding)).map(|finding| finding.id.clone()).collect()
}

/// Where else there is advice, the most important first; empty: nowhere.
fn elsewhere<'f>(mut others: impl Iterator<Item = &'f Finding>, file: &str) -> String {
    let Some(Finding { function, .. }) = others.next() else { return String::new() };
    let all = format::counted(others.count() as u64 + 1, "change");
    format!("elsewhere:  {all}, first in {function}: memtoll advise {file}\n")
}
