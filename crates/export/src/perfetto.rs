//! Perfetto's trace format: heap profiles of all processes, counters of live bytes and costs, slices of regions and waits.
//!
//! Its definitions: <https://perfetto.dev/docs/reference/trace-packet-proto>.

mod heap;
pub mod messages;
mod packets;
mod tracks;
mod waits;

use crate::Format;
use memtoll_query::export::Export;
use memtoll_query::{Answer, View};
use packets::Packets;
use std::io::{Result, Write};

/// A trace.
pub struct Perfetto;

impl Export for Perfetto {
    fn name(&self) -> &'static str {
        "perfetto"
    }

    fn help(&self) -> &'static str {
        "Heap profiles, counters and waits over time in Perfetto (ui.perfetto.dev, trace_processor)"
    }

    fn view(&self, _asked: View) -> std::result::Result<View, &'static str> {
        Ok(View::Totals)
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> Result<()> {
        let mut packets = Packets::begin(answer, out)?;
        tracks::write(answer, &mut packets)?;
        heap::write(answer, &mut packets)
    }
}

impl Format for Perfetto {
    fn extension(&self) -> &'static str {
        "pftrace"
    }

    fn lacks(&self, answer: &Answer) -> Vec<String> {
        let has_filter = answer.basis.view.selects();
        let short = waits::left_out(answer);
        let lacks = [
            Some("call stacks have allocations and frees only: costs are counters of whole processes".to_owned()),
            (!answer.basis.tariff.sees().frees)
                .then(|| "no heap profile, no live bytes: an allocator inside the program hides frees".to_owned()),
            has_filter.then(|| "counters and waits are those of all call stacks: they know no filter".to_owned()),
            (answer.basis.recording.images.iter().any(|image| image.shares_id))
                .then(|| "processes to which the system gave the same id have one heap profile".to_owned()),
            (short > 0).then(|| {
                let (short, most) =
                    (memtoll_text::format::count(short), memtoll_text::format::count(waits::MOST as u64));
                format!("{short} waits are left out: only the {most} longest ones are slices")
            }),
        ];
        lacks.into_iter().flatten().collect()
    }
}
