//! A call site in a line.

use crate::element_counts::{block_size, elements};
use crate::metric::Metric;
use crate::names;
use crate::sites::Row;
use memtoll_model::{FrameId, Recording};
use memtoll_text::format;

/// `ROW::ROW (row.cpp:12): std::vector<Cell>, inlined into TextBuffer::TextBuffer`; less of it below the heading of the
/// compiled function `below`.
pub fn site_text(recording: &Recording, site: &Row, below: Option<FrameId>) -> String {
    let frames = &recording.frames;
    let Some(frame) = site.frame else { return site.label.clone() };
    let function = |frame: FrameId| frames.frame(frame).function;
    let mut text = match below {
        Some(heading) if function(heading) == function(frame) => names::place(frames, frame),
        _ => names::function_and_place(frames, frame),
    };
    if let Some(kind) = &site.type_name {
        text += &format!(": {}", blocks(&names::short_kind(kind), site));
    }
    match below {
        Some(_) => text,
        None => text + &names::inlined_into(frames, site) + &names::ran_in(recording, site),
    }
}

/// The type, with the size of the blocks where they are all alike: `9,001 × std::vector<Run> of 1 element (16 B)`.
fn blocks(kind: &str, site: &Row) -> String {
    let Some(size) = block_size(&site.metrics) else { return kind.to_owned() };
    let size = format::bytes(size);
    let count = Metric::Allocations.value(&site.metrics);
    match elements(site) {
        Some(1) => format!("{} × {kind} of 1 element ({size})", format::count(count)),
        Some(many) => format!("{} × {kind} of {} elements ({size})", format::count(count), format::count(many)),
        None => format!("{kind} of {size}"),
    }
}
