//! What the recorder itself did and cost: never hidden.

use crate::format;
use crate::table::{finish, new_table};
use comfy_table::Cell;
use memtoll_model::Recording;

/// One line for each process.
pub fn render(recording: &Recording) -> String {
    let clock = &recording.about.clock;
    let mut rows = new_table(&[
        "pid",
        "events",
        "walked",
        "frames/walk",
        "rules",
        "nodes",
        "waits",
        "waited",
        "late",
        "dropped",
        "command",
    ]);
    let mut events = 0;
    for image in &recording.images {
        let Some(end) = &image.end else { continue };
        let stats = &end.recorder;
        events += stats.events;
        rows.add_row([
            Cell::new(image.about.pid),
            Cell::new(format::count(stats.events)),
            Cell::new(format::percent(stats.walks, stats.events)),
            Cell::new(format!("{:.1}", stats.walked_frames as f64 / stats.walks.max(1) as f64)),
            Cell::new(format::count(stats.rules)),
            Cell::new(format::count(stats.nodes)),
            Cell::new(format::count(stats.waits)),
            Cell::new(format::seconds(clock.seconds(stats.wait_time))),
            Cell::new(format::count(stats.late)),
            Cell::new(format::count(stats.dropped)),
            Cell::new(image.about.command.join(" ")),
        ]);
    }
    let bytes = recording.file_bytes();
    let per_event = bytes as f64 / events.max(1) as f64;
    format!(
        "{} events in {}: {per_event:.2} bytes an event\ntwo time stamps cost {}, subtracted from times in the allocator\n\n{}\n\
         walked: stacks found by walking frames, the others were predicted; rules: unwinding rules read from the program's files;\n\
         nodes: frames in the stack tree; late: events whose times were adjusted because they came out of order\n",
        format::count(events),
        format::bytes(bytes),
        format::seconds(clock.stamp / clock.units_per_second),
        finish(rows)
    )
}
