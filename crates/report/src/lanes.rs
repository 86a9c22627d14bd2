//! What each thread did over time, as strips of text.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::lanes::Lane;
use memtoll_analysis::names;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_query::lanes::{Lanes, Shares};
use memtoll_query::notes::waited_for_memtoll;
use memtoll_text::format;
use memtoll_text::wrap;
use memtoll_trace::ids::ThreadNo;

const RUNNING: char = '█';
const ALLOCATOR: char = '▒';
const FAULTING: char = 'f';
const WAITING: char = 'w';
const OFF: char = '·';

/// Characters of a name on a terminal.
const NAME: usize = 24;
/// Columns of a screen from which on a strip stands beside the numbers; else it has a line of its own.
const NARROW: usize = 120;

/// One line for each thread; an interval is shown as what took most of it. `width` is that of the terminal, if there is
/// one.
pub fn render(recording: &Recording, lanes: &Lanes, width: Option<usize>) -> String {
    let clock = &recording.about.clock;
    let switches = Tariff::of(recording).sees().switches;
    let mut text = String::new();
    if let Some(waited) = waited_for_memtoll(recording) {
        let shown = if switches { "as off the CPU" } else { "as running" };
        text += &format::wrapped("note: ", &format!("{waited}; it is shown {shown}"), width);
    }
    if !switches {
        let what = "memtoll could not see when threads lost the CPU: a thread shown as running may have waited";
        text += &format::wrapped("note: ", what, width);
    }
    let legend = format!(
        "{RUNNING} running  {ALLOCATOR} in calls  {FAULTING} faulting  {WAITING} waiting in calls  \
         {OFF} off the CPU"
    );
    let scale = format!("each character is {}: ", format::seconds(lanes.found.width / clock.units_per_second));
    text += &format::wrapped("", &format!("{scale}{legend}"), width);
    text += &format!("\n{}\n", columns(["thread", "running", "in calls", "faulting", "waiting", "off"]));
    let is_narrow = width.is_some_and(|width| width < NARROW);
    for (lane, Shares { running, allocator, faulting, waiting, off_processor }) in
        lanes.found.lanes.iter().zip(lanes.lanes.iter().map(|lane| lane.shares))
    {
        let percent = |share: Option<Estimate>| {
            share.map_or_else(|| "unknown".to_owned(), |share| share.known(format::Unit::Share))
        };
        let thread = tid(recording, lane.image, lane.thread).to_string();
        let [running, allocator, faulting, waiting, off] =
            [running, allocator, faulting, waiting, off_processor].map(percent);
        let cells = [thread, running, allocator, faulting, waiting, off];
        let numbers = columns(cells.each_ref().map(String::as_str)) + "  ";
        let name = name(recording, lane.image, lane.thread);
        let line = match width {
            Some(width) if is_narrow => {
                let name = wrap::shorten(&name, width.saturating_sub(numbers.chars().count()).max(8));
                format!("{}\n{}", (numbers + &name).trim_end(), strip(lane))
            }
            Some(_) => format!("{numbers}{}  {}", strip(lane), wrap::shorten(&name, NAME)),
            None => format!("{numbers}{}  {name}", strip(lane)),
        };
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn strip(lane: &Lane) -> String {
    let cell = |index: usize| {
        let (alive, allocator, faulting) = (lane.alive[index], lane.allocator[index], lane.faulting[index]);
        let (waiting, off) = (lane.waiting[index], lane.off[index]);
        if alive <= 0.0 {
            return ' ';
        }
        let running = alive - allocator - faulting - waiting - off;
        let states = [(running, RUNNING), (allocator, ALLOCATOR), (faulting, FAULTING), (waiting, WAITING), (off, OFF)];
        let most = states.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        most.map_or(' ', |(_, character)| character)
    };
    (0..lane.alive.len()).map(cell).collect()
}

fn tid(recording: &Recording, image: usize, thread: ThreadNo) -> u32 {
    recording.images[image].thread(thread).map_or(0, |thread| thread.tid)
}

/// How many intervals have room on a screen of `screen` columns, or where there is none.
pub fn intervals(recording: &Recording, screen: Option<usize>) -> usize {
    match screen {
        None => 60,
        Some(screen) if screen < NARROW => screen,
        Some(screen) => screen.saturating_sub(beside(recording)),
    }
}

/// Characters that numbers and names take beside a strip.
fn beside(recording: &Recording) -> usize {
    /// Of the numbers and what is between them.
    const NUMBERS: usize = 57;
    let threads = recording
        .images
        .iter()
        .enumerate()
        .flat_map(|(index, image)| image.threads.iter().map(move |thread| (index, thread.number)));
    let longest = threads.map(|(image, thread)| name(recording, image, thread).chars().count()).max();
    NUMBERS + longest.unwrap_or(0).min(NAME)
}

/// A thread and five shares. 60 columns have room for them and a short name.
fn columns([thread, running, allocator, faulting, waiting, off]: [&str; 6]) -> String {
    format!("{thread:>7} {running:>8} {allocator:>9} {faulting:>8} {waiting:>8} {off:>8}")
}

/// The thread's name or, of the first one, what its process runs; and the process where there are several.
fn name(recording: &Recording, image: usize, thread: ThreadNo) -> String {
    let image = &recording.images[image];
    let thread = image.thread(thread);
    let is_first = thread.is_some_and(|thread| thread.tid == image.about.pid);
    let program = names::program(image);
    let mut text = match thread.and_then(|thread| thread.name.as_deref()) {
        Some(name) => name.to_owned(),
        None if is_first => program.to_owned(),
        None => String::new(),
    };
    if recording.images.len() > 1 {
        text += &format!(" of process {}", image.about.pid);
        if !is_first {
            text += &format!(" ({program})");
        }
    }
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::golden;
    use memtoll_query::query::Query;
    use memtoll_query::{Shown, View, ask};

    /// Text and JSON have the same shares, and those that are estimates have both ends.
    #[test]
    fn json_has_the_shares_of_the_text() {
        let recording = golden("costs.memtoll");
        let answer = ask(&recording, &Query { view: View::Lanes { intervals: 50 }, ..Query::default() }).ok().unwrap();
        let Shown::Lanes(shown) = &answer.shown else { panic!("lanes were asked for") };
        let text = render(&recording, shown, None);
        let json = serde_json::to_value(shown).unwrap();
        let mut estimates = 0;
        for lane in json["lanes"].as_array().unwrap() {
            let of = |what: &str| {
                let number = |end: &str| lane["shares"][what][end].as_f64();
                Some(Estimate { value: number("value")?, low: number("low")?, high: number("high")? })
            };
            let shares = ["running", "allocator", "faulting", "waiting", "off_processor"].map(of);
            let cells = shares.map(|of| of.map_or_else(|| "unknown".to_owned(), |of| of.known(format::Unit::Share)));
            let [running, allocator, faulting, waiting, off] = cells.each_ref().map(String::as_str);
            let cells = columns([&lane["tid"].to_string(), running, allocator, faulting, waiting, off]);
            assert!(text.contains(&cells), "{cells} in {text}");
            estimates += shares.iter().flatten().filter(|of| !of.is_exact()).count();
        }
        assert!(estimates > 0, "{json}");
    }

    #[test]
    fn an_interval_is_shown_as_what_took_most_of_it() {
        let lane = Lane {
            image: 0,
            thread: ThreadNo::FIRST,
            alive: vec![0.0, 1.0, 1.0, 1.0, 1.0, 0.2],
            allocator: vec![0.0, 0.1, 0.6, 0.2, 0.1, 0.0],
            faulting: vec![0.0, 0.1, 0.0, 0.0, 0.7, 0.0],
            waiting: vec![0.0, 0.1, 0.2, 0.5, 0.0, 0.0],
            off: vec![0.0, 0.1, 0.2, 0.3, 0.1, 0.15],
        };
        assert_eq!(strip(&lane), " █▒wf·");
    }
}
