//! What the recorder itself did and cost: never hidden.

use crate::section;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::thread_filter::ThreadFilter;
use memtoll_model::Recording;
use memtoll_text::format;
use memtoll_text::table::Table;

/// One line for each process. `width` is that of the terminal, if there is one.
pub fn render(recording: &Recording, thread_filter: &ThreadFilter, width: Option<usize>) -> String {
    let clock = &recording.about.clock;
    let (stamps, overlap) = Tariff::of(recording).taken_off();
    let mut rows = Table::of_texts(&[
        "pid", "events", "walked", "frames/walk", "rules", "nodes", "waits", "waited", "late", "dropped", "command",
    ]);
    let mut events = 0;
    for (_, image) in recording.images.iter().enumerate().filter(|(index, _)| thread_filter.of(*index).is_some()) {
        let Some(end) = &image.end else { continue };
        let stats = &end.recorder;
        events += stats.events;
        rows.add([
            image.about.pid.to_string(),
            format::count(stats.events),
            format::percent(stats.walks, stats.events),
            format!("{:.1}", stats.walked_frames as f64 / stats.walks.max(1) as f64),
            format::count(stats.rules),
            format::count(stats.nodes),
            format::count(stats.waits),
            format::seconds(clock.seconds(stats.wait_time)),
            format::count(stats.late),
            format::count(stats.dropped),
            memtoll_analysis::thread_filter::command(image),
        ]);
    }
    let bytes = recording.file_bytes();
    let per_event = bytes as f64 / events.max(1) as f64;
    let prose = section::prose(width);
    let size = format!("{} events in {}: {per_event:.2} bytes an event", format::count(events), format::bytes(bytes));
    let taken_off = format!(
        "taken off the time of each call: {} for two time stamps, {} for what the processor was still doing before it",
        format::seconds(stamps / 1e9),
        format::seconds(overlap / 1e9)
    );
    let about =
        format::wrapped("", &size, prose) + &format::wrapped("", &taken_off, prose) + "\n" + &rows.render(width) + "\n";
    let words = "walked: stacks found by walking frames, the others were predicted; frames/walk: frames that a walk looked at; \
                 rules: unwinding rules read from the program's files; nodes: frames in the stack tree; waits, waited: for \
                 memtoll to keep up; late: events whose times were adjusted because they came out of order";
    about + &format::wrapped("", words, prose)
}
