//! Why nothing in a recording is what was asked for, and what there is to choose from.

use super::Arguments;
use memtoll_analysis::aggregate::{Selection, Split};
use memtoll_analysis::metric::Metric;
use memtoll_analysis::runners::{Nobody, Runners, program, thread_name};
use memtoll_analysis::sites::{GroupBy, rows, sort};
use memtoll_analysis::stacks::{Stacks, View};
use memtoll_analysis::sums::{Sums, sums};
use memtoll_model::Recording;
use memtoll_report::{format, names};
use memtoll_trace::summary::Metrics;

/// Names that are told; of more, there are lists.
const TOLD: usize = 5;

/// That nobody is called so.
pub(super) fn nobody(recording: &Recording, nobody: &Nobody) -> String {
    let (what, name, list) = match nobody {
        Nobody::Process(name) => ("process", name, "processes"),
        Nobody::Thread(name) => ("thread", name, "threads"),
    };
    let images = recording.images.iter();
    let known: Vec<String> = match nobody {
        Nobody::Process(_) => images.map(|image| format!("{} {}", program(image), image.about.pid)).collect(),
        Nobody::Thread(_) => images
            .flat_map(|image| image.threads.iter().map(move |thread| (image, thread)))
            .map(|(image, thread)| format!("{} {}", thread_name(image, thread).unwrap_or("(no name)"), thread.tid))
            .collect(),
    };
    format!("no {what} is called \"{name}\": there are {}; --list {list} shows all", some(known))
}

/// That the recording ends before the time that is asked for begins.
pub(super) fn beyond_the_end(recording: &Recording, selection: &Selection) -> Option<String> {
    let asked = if selection.instant { selection.to } else { selection.from };
    let ended = recording.ended();
    let seconds = |units: u64| format::seconds(recording.about.clock.seconds(units));
    (asked > ended).then(|| {
        let marks = recording.images.iter().any(|image| !image.marks.is_empty());
        let marks = if marks { "; --list marks shows marks and regions" } else { "" };
        format!("nothing is that late: the recording ends after {}, before {}{marks}", seconds(ended), seconds(asked))
    })
}

/// That nothing is left of what was selected, though there was something.
pub(super) fn nothing_left(arguments: &Arguments, recording: &Recording, sums: &Sums, view: &View) -> Option<String> {
    let selection = &sums.selection;
    let by_size = selection.min_size > 0 || selection.max_size < u64::MAX;
    let Metrics { allocations, reallocations, frees, live_allocations, .. } = sums.total.counts;
    if by_size && [allocations, reallocations, frees, live_allocations] == [0; 4] {
        let largest = memtoll_analysis::sums::sums(recording, Selection::default()).total.largest;
        return Some(format!("no block has such a size: the largest has {}", format::bytes(largest)));
    }
    let filter = view.filter.as_ref()?;
    let mut stacks = Stacks::new(recording, view);
    // Where sums are split, those of stacks that do not match are left out already.
    let is_any = match selection.split {
        Split::None => sums.sites.iter().any(|site| stacks.of(site.node).matches),
        _ => !sums.sites.is_empty(),
    };
    (!is_any).then(|| no_stack(arguments, recording, filter.as_str()))
}

fn no_stack(arguments: &Arguments, recording: &Recording, filter: &str) -> String {
    let whole = sums(recording, Selection::default());
    let plain = View { unfold: arguments.unfold, fold: arguments.fold.clone(), filter: None };
    let mut stacks = Stacks::new(recording, &plain);
    let mut top = |group: GroupBy| {
        let mut rows = rows(&mut stacks, &whole, group);
        sort(&mut rows, &recording.frames, Metric::Acquisitions);
        rows.into_iter().take(TOLD).collect::<Vec<_>>()
    };
    let functions: Vec<String> =
        top(GroupBy::Function).iter().filter_map(|row| Some(names::function(&recording.frames, row.frame?))).collect();
    let modules: Vec<String> = top(GroupBy::Module).iter().map(|row| names::last_part(&row.label).to_owned()).collect();
    let called = |option: &str, names: [Vec<String>; 2]| {
        Runners::select(recording, &names[0], &names[1]).is_ok().then(|| format!("; {option} {filter} would match"))
    };
    let runner = called("--process", [vec![filter.to_owned()], vec![]])
        .or_else(|| called("--thread", [vec![], vec![filter.to_owned()]]))
        .unwrap_or_default();
    format!(
        "no call stack matches \"{filter}\"{runner}: functions that allocate most are {}, in {}; --list modules shows all \
         files",
        functions.join(", "),
        modules.join(", ")
    )
}

/// Some of the names, and how many more there are.
fn some(mut names: Vec<String>) -> String {
    names.dedup();
    let more = names.len().saturating_sub(TOLD);
    names.truncate(TOLD);
    match more {
        0 => names.join(", "),
        more => format!("{} and {} more", names.join(", "), format::count(more as u64)),
    }
}
