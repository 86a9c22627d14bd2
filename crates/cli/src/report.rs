//! `memtoll report`

use crate::exit;
use crate::output::{ColorChoice, Screen};
use crate::record::parse_size;
use memtoll_analysis::aggregate::{Charge, Selection, Split};
use memtoll_analysis::lanes;
use memtoll_analysis::regions;
use memtoll_analysis::sites::{GroupBy, Row, SortBy, rows, sort};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::{Sums, sums};
use memtoll_analysis::tree::{Direction, call_tree};
use memtoll_analysis::waits::waits;
use memtoll_model::Recording;
use memtoll_report::summary::Limits;
use memtoll_report::{collapsed, csv, json, recorder, summary, table, threads, tree};
use memtoll_report::{lanes as show_lanes, regions as show_regions};
use memtoll_trace::meta::MarkKind;
use memtoll_trace::summary::Metrics;
use regex::Regex;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what a recording says
///
/// Without options, the summary: totals, the functions, lines and call paths that allocate most, temporary blocks, what
/// the peak consists of, what is never freed.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,

    #[command(flatten)]
    shape: Shape,

    /// Group rows by this; implies --flat
    #[arg(long, value_enum, value_name = "WHAT")]
    group: Option<Group>,

    /// Sort by this, largest first
    #[arg(long, value_enum, default_value = "allocations", value_name = "METRIC")]
    sort: Sort,

    /// Only stacks in which a function, a file or a module matches
    #[arg(long, value_name = "REGEX")]
    filter: Option<Regex>,

    /// Only blocks of at least this size
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    min_size: Option<u64>,

    /// Only blocks of at most this size
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,

    /// What was live at this time after the start, such as 1.25s or 300ms
    #[arg(long, value_name = "TIME", value_parser = parse_time, conflicts_with_all = ["from", "to", "between_marks"])]
    at: Option<f64>,

    /// Count from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<f64>,

    /// Count up to this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<f64>,

    /// Count between two marks of memtoll.h, or within a region (its name twice)
    #[arg(long, value_names = ["NAME", "NAME"], num_args = 2, conflicts_with_all = ["from", "to"])]
    between_marks: Option<Vec<String>>,

    /// Charge costs to the places where they were paid, not to the call sites of the blocks; implies --sort cost
    #[arg(long)]
    paid: bool,

    /// Show library frames (std::, operator new, alloc::, boost, libc), too
    #[arg(long)]
    unfold: bool,

    /// Rows to show
    #[arg(short = 'n', long, value_name = "N")]
    limit: Option<usize>,

    /// Leave branches of a tree out that are smaller than this share, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    min_percent: f64,

    /// Output format
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    format: Format,

    /// When to use colour; NO_COLOR is respected
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: ColorChoice,
}

#[derive(clap::Args)]
#[group(multiple = false)]
struct Shape {
    /// A table of call sites
    #[arg(long)]
    flat: bool,
    /// The call tree, from the threads' entries to the allocations
    #[arg(long)]
    tree: bool,
    /// The call tree from the allocations outwards
    #[arg(long)]
    callers: bool,
    /// What each thread did over time: running, in the allocator, waiting there, off the processor
    #[arg(long)]
    lanes: bool,
    /// What each run of a region of memtoll.h cost, such as a frame: median, 99th percentile, worst
    #[arg(long)]
    regions: bool,
    /// What the recorder itself did and cost
    #[arg(long)]
    recorder: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Group {
    Site,
    Function,
    Line,
    Path,
    Module,
    Thread,
    Process,
    Size,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Sort {
    Allocations,
    Bytes,
    Peak,
    Live,
    Temporary,
    Lifetime,
    /// Time for the allocator, page faults, mappings and waiting
    Cost,
    Faults,
    Mapping,
    Waiting,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Csv,
    Collapsed,
}

impl From<Group> for GroupBy {
    fn from(group: Group) -> GroupBy {
        match group {
            Group::Site => GroupBy::Site,
            Group::Function => GroupBy::Function,
            Group::Line => GroupBy::Line,
            Group::Path => GroupBy::Path,
            Group::Module => GroupBy::Module,
            Group::Thread => GroupBy::Thread,
            Group::Process => GroupBy::Process,
            Group::Size => GroupBy::Size,
        }
    }
}

impl From<Sort> for SortBy {
    fn from(sort: Sort) -> SortBy {
        match sort {
            Sort::Allocations => SortBy::Allocations,
            Sort::Bytes => SortBy::Bytes,
            Sort::Peak => SortBy::Peak,
            Sort::Live => SortBy::Live,
            Sort::Temporary => SortBy::Temporary,
            Sort::Lifetime => SortBy::Lifetime,
            Sort::Cost => SortBy::Cost,
            Sort::Faults => SortBy::Faults,
            Sort::Mapping => SortBy::Mapping,
            Sort::Waiting => SortBy::Waiting,
        }
    }
}

/// Seconds from `1.25s`, `300ms`, `15us`, or a plain number of seconds.
fn parse_time(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("s", 1.0), ("", 1.0)];
    let value = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    });
    value.ok_or_else(|| format!("expected a time such as 1.25s, 300ms or 15us, found \"{text}\""))
}

impl Arguments {
    fn selection(&self, recording: &Recording) -> Result<Selection, String> {
        let clock = &recording.about.clock;
        let mut selection = Selection::default();
        if let Some(from) = self.from {
            selection.from = clock.units(from);
        }
        if let Some(to) = self.to.or(self.at) {
            selection.to = clock.units(to);
        }
        if let Some([from, to]) = self.between_marks.as_deref() {
            (selection.from, selection.to) = between(recording, from, to)?;
        }
        if selection.from > selection.to {
            return Err("the time span ends before it begins: expected --from to be earlier than --to".to_owned());
        }
        selection.instant = self.at.is_some();
        selection.min_size = self.min_size.unwrap_or(0);
        selection.max_size = self.max_size.unwrap_or(u64::MAX);
        if self.paid {
            selection.charge = Charge::Payment;
        }
        selection.split = match self.group {
            Some(Group::Thread) => Split::Thread,
            Some(Group::Size) => Split::Size,
            _ => Split::None,
        };
        Ok(selection)
    }

    fn is_table(&self) -> bool {
        self.shape.flat || self.group.is_some() || self.paid
    }

    /// What rows are sorted by.
    fn sort_by(&self) -> SortBy {
        match self.sort {
            Sort::Allocations if self.at.is_some() => SortBy::Live,
            Sort::Allocations if self.paid => SortBy::Cost,
            sort => sort.into(),
        }
    }

    fn render(&self, recording: &Recording, sums: &Sums, screen: &Screen) -> Result<String, String> {
        let view = View { unfold: self.unfold, filter: self.filter.clone() };
        let by = self.sort_by();
        let default_group = if self.format == Format::Collapsed { Group::Path } else { Group::Site };
        let group = self.group.unwrap_or(default_group);
        let sorted = |group: GroupBy| {
            let mut found = rows(&mut Stacks::new(recording, &view), sums, group);
            found.retain(|row| row.metrics != Metrics::default());
            sort(&mut found, &recording.frames, by);
            // A screen has a limit of its own.
            if self.format != Format::Text {
                found.truncate(self.limit.unwrap_or(usize::MAX));
            }
            found
        };
        if self.shape.lanes || self.shape.regions {
            return self.render_over_time(recording, screen);
        }
        if self.format != Format::Text && (self.shape.tree || self.shape.callers || self.shape.recorder) {
            return Err("--tree, --callers and --recorder come as text: expected --format text".to_owned());
        }
        match self.format {
            Format::Json => {
                json::render(recording, sums, &sorted(group.into()), group.into()).map_err(|e| e.to_string())
            }
            Format::Csv => csv::render(recording, &sorted(group.into())).map_err(|e| e.to_string()),
            Format::Collapsed if group != Group::Path => {
                Err("collapsed stacks are call paths: leave --group out".to_owned())
            }
            Format::Collapsed => Ok(collapsed::render(recording, &sorted(GroupBy::Path), by)),
            Format::Text if self.shape.recorder => Ok(recorder::render(recording)),
            Format::Text if self.shape.tree || self.shape.callers => {
                let direction = if self.shape.tree { Direction::Callees } else { Direction::Callers };
                let mut root = call_tree(&mut Stacks::new(recording, &view), sums, direction);
                let least = by.value(&root.metrics) as f64 * self.min_percent / 100.0;
                root.sort_and_prune(by, least as u64);
                Ok(tree::render(recording, &root, by, screen.width))
            }
            Format::Text if self.is_table() => {
                let limit = self.limit.unwrap_or(40);
                let mut shown = sorted(group.into());
                // A line that only frees is shown with its frees; a thread or process in any case.
                if !matches!(group, Group::Thread | Group::Process) {
                    let frees = |row: &Row| by == SortBy::Allocations && row.metrics.frees > 0;
                    shown.retain(|row| by.value(&row.metrics) > 0 || frees(row));
                }
                if group == Group::Size {
                    shown.iter_mut().for_each(|row| row.label.push_str(" B"));
                }
                let mut text = table::render(recording, &shown, &sums.total, by, limit, screen.width);
                if group == Group::Thread && by == SortBy::Waiting {
                    text += &self.waits(recording)?;
                }
                Ok(text)
            }
            Format::Text => {
                let limits = Limits { rows: self.limit.unwrap_or(8), width: screen.width };
                Ok(summary::render(recording, sums, &view, limits))
            }
        }
    }
}

impl Arguments {
    /// Who waited for whom in the allocator.
    fn waits(&self, recording: &Recording) -> Result<String, String> {
        let selection = self.selection(recording)?;
        let (waits, damage) = waits(recording, selection.from, selection.to);
        damage.iter().for_each(exit::say);
        Ok(threads::waits(recording, &waits))
    }

    /// Lanes or regions.
    fn render_over_time(&self, recording: &Recording, screen: &Screen) -> Result<String, String> {
        /// Room that numbers and names take beside a strip.
        const BESIDE: usize = 72;
        let json = match self.format {
            Format::Text => false,
            Format::Json => true,
            _ => return Err("lanes and regions come as text or JSON: expected --format text or json".to_owned()),
        };
        let (text, damage) = if self.shape.lanes {
            let selection = self.selection(recording)?;
            let room = screen.width.map_or(60, |width| width.saturating_sub(BESIDE).max(20));
            let found = lanes::lanes(recording, selection.from, selection.to, if json { 500 } else { room });
            let text =
                if json { show_lanes::json(recording, &found) } else { Ok(show_lanes::render(recording, &found)) };
            let waits = if json { String::new() } else { self.waits(recording)? };
            (text.map(|text| text + &waits), found.damage)
        } else {
            let (found, damage) = regions::regions(recording);
            let text =
                if json { show_regions::json(recording, &found) } else { Ok(show_regions::render(recording, &found)) };
            (text, damage)
        };
        damage.iter().for_each(exit::say);
        text.map_err(|error| error.to_string())
    }
}

/// The time between two marks, units. A region's begin and end have the same name.
fn between(recording: &Recording, from: &str, to: &str) -> Result<(u64, u64), String> {
    let all = || recording.images.iter().flat_map(|image| &image.marks);
    let start = all().filter(|mark| mark.name == from && mark.kind != MarkKind::End).map(|mark| mark.time).min();
    let known = || {
        let mut names: Vec<&str> = all().map(|mark| mark.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.is_empty() {
            "it has none; set them with memtoll.h".to_owned()
        } else {
            format!("it has: {}", names.join(", "))
        }
    };
    let start = start.ok_or_else(|| format!("the recording has no mark \"{from}\"; {}", known()))?;
    let later = all().filter(|mark| mark.name == to && mark.kind != MarkKind::Begin && mark.time >= start);
    let end = later.map(|mark| mark.time).min();
    let end = end.ok_or_else(|| format!("the recording has no mark \"{to}\" after \"{from}\"; {}", known()))?;
    Ok((start, end))
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let recording = match Recording::open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    let selection = match arguments.selection(&recording) {
        Ok(selection) => selection,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    let screen = Screen::stdout(arguments.color);
    let sums = sums(&recording, selection);
    let text = match arguments.render(&recording, &sums, &screen) {
        Ok(text) => text,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    // The summary says it itself.
    if arguments.format != Format::Text || arguments.is_table() || arguments.shape.tree || arguments.shape.callers {
        for statement in recording.damage.iter().chain(&sums.damage) {
            exit::say(statement);
        }
    }
    screen.print(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1.25s"), Ok(1.25));
        assert_eq!(parse_time("300ms"), Ok(0.3));
        assert_eq!(parse_time("2"), Ok(2.0));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
    }
}
