//! Who holds the resident set: the balance of a process's pages, and what keeps free memory from being given back.

use memtoll_analysis::page_balance::Part;
use memtoll_query::resident::{PinRow, Rank, Resident};
use memtoll_query::resident_words::is_held_by;
use memtoll_query::wastes::shown;
use memtoll_text::format;
use memtoll_text::table::Table;
use memtoll_trace::snapshot::Cause;

/// The balance and who pins.
pub fn render(resident: &Resident, rows: usize, width: Option<usize>) -> String {
    let found = &resident.found;
    let when = when(resident);
    let mut text = format!(
        "Resident set {when}: {} (kernel: {})   {}, {}\n\n",
        format::bytes(resident.rss),
        kernel(resident),
        resident.program,
        resident.allocator
    );
    let mut table = Table::new(&["bytes", "share", "held by"]);
    let mut add = |bytes: u64, what: String| {
        if bytes > 0 {
            table.add([format::bytes(bytes), format::percent(bytes, resident.rss), what]);
        }
    };
    for part in Part::ALL {
        add(found.part(part), held_by(part, resident));
    }
    text += &table.render(width);
    if resident.swapped > 0 {
        text += &format!("Swapped out: {}\n", format::bytes(resident.swapped));
    }
    for sentence in [resident.huge_pages_half_used(), resident.missed_peak_in_words()].into_iter().flatten() {
        text += &format::wrapped("", &sentence, width);
    }
    text += &pins(resident, rows, width);
    text += &globals(resident, width);
    if resident.pinned.is_some() {
        text += &what_helps(resident, width);
    }
    if resident.others > 0 {
        let others = format::counted(resident.others as u64, "other process");
        text += &format::wrapped("", &format!("{others} had less; --process shows one of them."), width);
    }
    text
}

/// At which look, in words.
fn when(resident: &Resident) -> String {
    let seconds = |ns: u64| format::seconds(ns as f64 / 1e9);
    let after = format!("after {}", seconds(resident.at_ns));
    match &resident.found.cause {
        Cause::Peak => match resident.rank {
            Rank::Only => format!("{after}, at the only look"),
            Rank::Highest => format!("{after}, at the highest look"),
            Rank::Lower => format!("{after}, at a peak until then"),
        },
        Cause::End => format!("at the end, {after}"),
        Cause::Mark { name, .. } => {
            let set = resident.why.mark.as_ref().map_or(0, |mark| mark.at_ns);
            format!("{after}, {} after mark \"{name}\"", seconds(resident.at_ns.saturating_sub(set)))
        }
        Cause::Asked => format!("{after}, when it was asked for"),
        Cause::Size(bytes) => format!("{after}, when it had passed {}", format::bytes(*bytes)),
    }
}

/// What the kernel says. A process that runs on may get or lose pages while memtoll looks.
fn kernel(resident: &Resident) -> String {
    const MUCH: u64 = 100;
    let [before, after] = resident.kernel;
    match before.abs_diff(after) * MUCH > after {
        true => format!("{} before, {} after the look", format::bytes(before), format::bytes(after)),
        false => format::bytes(after),
    }
}

fn held_by(part: Part, resident: &Resident) -> String {
    let found = &resident.found;
    let untouched = match found.never_touched {
        0 => String::new(),
        bytes => format!("; {} more of them were never touched", format::bytes(bytes)),
    };
    match part {
        Part::Live => format!("live blocks: {}{untouched}", format::count(found.live_blocks)),
        Part::Pinned => "pinned: free memory on pages that live blocks keep".to_owned(),
        _ => is_held_by(&resident.found, part),
    }
}

fn pins(resident: &Resident, rows: usize, width: Option<usize>) -> String {
    let Some(pinned) = resident.pinned else {
        let text = format!(
            "Who pins is not known: {} gives memory back in units of its own, which memtoll does not know.",
            resident.allocator
        );
        return "\n".to_owned() + &format::wrapped("", &text, width) + &what_helps(resident, width);
    };
    let mut text = String::new();
    if !resident.pins.is_empty() && pinned > 0 {
        text += "\nWho pins\n";
        let mut table = Table::new(&["share", "alone", "blocks", "bytes", "median age", "line"]);
        for pin in resident.pins.iter().take(rows) {
            table.add([
                format::bytes(pin.share),
                format::bytes(pin.alone),
                format::count(pin.blocks),
                format::bytes(pin.bytes),
                format::seconds(pin.median_age_ns as f64 / 1e9),
                line(pin),
            ]);
        }
        text += &table.render(width);
        let left = resident.pins.len().saturating_sub(rows);
        if left > 0 {
            text += &format!("… and {left} more\n");
        }
        if let Some(held) = &resident.held_below {
            let what = format!(
                "Without the blocks of {} and of what it calls, {} could be given back.",
                shown(&held.place),
                format::bytes(held.alone)
            );
            text += &format::wrapped("", &what, width);
        }
    }
    text
}

/// Which global variables, if they are much.
fn globals(resident: &Resident, width: Option<usize>) -> String {
    const ROWS: usize = 10;
    let all = resident.large_globals();
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&["bytes", "size", "variable"]);
    let (shown, others) = all.split_at(all.len().min(ROWS));
    for row in shown {
        let place = row.place().map_or(String::new(), |place| format!(" {place}"));
        let size = row.size.map_or(String::new(), format::bytes);
        let variable = format!("{}{place} in {}", row.symbol, row.module_name);
        table.add([format::bytes(row.bytes), size, variable]);
    }
    let mut text = "\nGlobal variables\n".to_owned() + &table.render(width);
    if !others.is_empty() {
        let bytes: u64 = others.iter().map(|row| row.bytes).sum();
        text += &format!("… and {} with {}\n", format::counted(others.len() as u64, "other"), format::bytes(bytes));
    }
    text
}

/// What would make the resident set smaller, or that nothing would.
fn what_helps(resident: &Resident, width: Option<usize>) -> String {
    let notes = resident.on_what_helps();
    if resident.wastes.is_empty() && notes.is_empty() {
        return String::new();
    }
    let mut text = "\nWhat helps\n".to_owned();
    if !resident.wastes.is_empty() {
        let mut table = Table::new(&["saves", "what to do"]);
        for waste in &resident.wastes {
            table.add([waste.saves(), waste.remedy.clone()]);
        }
        text += &table.render(width);
    }
    notes.into_iter().fold(text, |text, note| text + &format::wrapped("", note, width))
}

fn line(pin: &PinRow) -> String {
    pin.place.as_ref().map_or("(no stack)".to_owned(), shown)
}
