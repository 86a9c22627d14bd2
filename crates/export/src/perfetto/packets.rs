//! A trace as a sequence of packets. Each is written when it is made, so memory is bounded.

use super::messages::{
    CLOCK_BOOTTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME, Clock, ClockSnapshot, TracePacket,
    TrackDescriptor, TrackEvent,
};
use memtoll_analysis::tariff::Tariff;
use memtoll_query::Answer;
use prost::Message;
use std::io::{Result, Write};

/// Number and kind of the field of a trace that packets are: 1, with a length.
const PACKET: u8 = 1 << 3 | 2;
/// The sequence of tracks and their events.
const EVENTS: u32 = 1;
/// The sequence of heap profiles, with what is interned for them.
pub const HEAPS: u32 = 2;

/// A trace that is being written.
pub struct Packets<'o> {
    out: &'o mut dyn Write,
    tariff: Tariff,
    /// ns since 1970.
    began: u64,
}

impl<'o> Packets<'o> {
    /// Begins a trace. All of its clocks show the time of day.
    pub fn begin(answer: &Answer, out: &'o mut dyn Write) -> Result<Packets<'o>> {
        let began = answer.basis.recording.about.started;
        let mut packets = Packets { out, tariff: answer.basis.tariff, began };
        let clocks = [CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME];
        let clock = |id| Clock { clock_id: Some(id), timestamp: Some(began) };
        packets.write(TracePacket {
            timestamp: Some(began),
            trusted_packet_sequence_id: Some(EVENTS),
            clock_snapshot: Some(ClockSnapshot {
                clocks: clocks.map(clock).to_vec(),
                primary_trace_clock: Some(CLOCK_BOOTTIME),
            }),
            ..TracePacket::default()
        })?;
        Ok(packets)
    }

    /// A time of the recording, units, as one of the trace, ns.
    pub fn time(&self, units: u64) -> u64 {
        self.began.saturating_add(self.tariff.ns(units as f64) as u64)
    }

    /// Writes a packet.
    pub fn write(&mut self, packet: TracePacket) -> Result<()> {
        self.out.write_all(&[PACKET])?;
        self.out.write_all(&packet.encode_length_delimited_to_vec())
    }

    /// Announces a track.
    pub fn track(&mut self, track: TrackDescriptor) -> Result<()> {
        let track_descriptor = Some(track);
        self.write(TracePacket { trusted_packet_sequence_id: Some(EVENTS), track_descriptor, ..TracePacket::default() })
    }

    /// Writes an event at a time, units.
    pub fn event(&mut self, time: u64, event: TrackEvent) -> Result<()> {
        let timestamp = Some(self.time(time));
        self.write(TracePacket {
            timestamp,
            trusted_packet_sequence_id: Some(EVENTS),
            track_event: Some(event),
            ..TracePacket::default()
        })
    }
}
