//! The section of the first screen with the processes of a run, and how they ended.

use crate::numbers::Numbers;
use crate::section::{Limits, title};
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter;
use memtoll_model::Recording;
use memtoll_text::table::Table;
use memtoll_trace::meta::Exit;

/// The processes with most allocations; nothing if there is only one.
pub fn section(recording: &Recording, sums: &Sums, limits: Limits) -> String {
    if !sums.are_of_several() {
        return String::new();
    }
    let mut text = title("Processes");
    let [peak, live] = [Metric::Peak, Metric::Live].map(|metric| sums.titles().in_rows(metric));
    let columns = ["pid", "allocations", "bytes", peak, live, "cost", "CPU time", "exit", "command"];
    let mut rows = Table::of_texts(&columns);
    let tariff = Tariff::of(recording);
    let mut images: Vec<_> = sums.counted().collect();
    images.sort_by_key(|(_, image)| std::cmp::Reverse(image.total.allocations()));
    for (index, image) in images.iter().take(limits.rows) {
        let of = Numbers { of: &image.total, tariff: &tariff };
        // Unknown of a process that executed another program.
        let program = Balance::of_image(recording, sums, *index).and_then(|balance| balance.program());
        let about = &recording.images[*index].about;
        let forked = if about.forked_from.is_some() { "(forked) " } else { "" };
        let rank = about.rank.map_or(String::new(), |rank| format!("({rank}) "));
        rows.add([
            about.pid.to_string(),
            of.cell(Metric::Allocations),
            of.cell(Metric::Bytes),
            of.cell(Metric::Peak),
            of.cell(Metric::Live),
            of.cell_or_blank(Metric::Cost),
            program.map_or(String::new(), Estimate::known_time),
            exit_text(recording.images[*index].end.as_ref().map(|end| end.exit)),
            format!("{forked}{rank}{}", thread_filter::command(&recording.images[*index])),
        ]);
    }
    text += &rows.render(limits.width);
    if images.len() > limits.rows {
        text += &format!("… and {} more; --group process shows all\n", images.len() - limits.rows);
    }
    text
}

/// How a process ended, if that was not well.
pub(crate) fn bad_end(exit: Option<Exit>) -> String {
    match exit {
        Some(exit @ Exit::Code(code)) if code != 0 => format!(", {exit}"),
        Some(exit @ Exit::Signal(_)) => format!(", {}", exit.how()),
        _ => String::new(),
    }
}

/// How a process ended, for a column `exit`.
pub(crate) fn exit_text(exit: Option<Exit>) -> String {
    match exit.unwrap_or(Exit::Unknown) {
        Exit::Code(code) => code.to_string(),
        exit => exit.to_string(),
    }
}
