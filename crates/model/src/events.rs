//! The events of an image as a stream. Blocks of events are independent of each other, so they are unpacked by several
//! threads and handed over in order; memory is bounded by a few blocks a thread.

use crate::Recording;
use crate::reading;
use memtoll_trace::costs::{self, Cost, Place};
use memtoll_trace::event::Event;
use memtoll_trace::events::{Decoder, read_header};
use memtoll_trace::ids::{NodeId, Units};
use memtoll_trace::reader::BlockRef;
use memtoll_trace::unreadable::Unreadable;
use std::ops::ControlFlow;
use std::sync::mpsc::sync_channel;

/// Blocks that a thread may be ahead.
const AHEAD: usize = 2;

impl Recording {
    /// Calls `take` with the events of image number `index`, in the order of their times, block by block, until it
    /// breaks or there are no more. Returns what is missing if the file is damaged.
    pub fn for_each_events(
        &self,
        index: usize,
        take: impl FnMut(&[Event]) -> ControlFlow<()>,
    ) -> Result<(), Unreadable> {
        let Some(image) = self.images.get(index) else { return Ok(()) };
        self.for_each_events_of(&image.event_blocks, take)
    }

    /// The same, at least of those between two times, both included. Units.
    pub fn for_each_events_between(
        &self,
        index: usize,
        from: Units,
        to: Units,
        take: impl FnMut(&[Event]) -> ControlFlow<()>,
    ) -> Result<(), Unreadable> {
        let Some(image) = self.images.get(index) else { return Ok(()) };
        // Without an index, a block that is passed over might be damaged without a statement about it.
        let is_wanted =
            |block: &&BlockRef| !self.reader().is_indexed || block.extent.is_none_or(|extent| extent.meets(from, to));
        let blocks: Vec<BlockRef> = image.event_blocks.iter().filter(is_wanted).copied().collect();
        self.for_each_events_of(&blocks, take)
    }

    pub(crate) fn for_each_events_of(
        &self,
        blocks: &[BlockRef],
        mut take: impl FnMut(&[Event]) -> ControlFlow<()>,
    ) -> Result<(), Unreadable> {
        let reading = reading::current();
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(blocks.len());
        std::thread::scope(|scope| {
            let mut sources = Vec::new();
            for first in 0..threads {
                let (send, receive) = sync_channel(AHEAD);
                let (send_back, spare) = sync_channel::<Vec<Event>>(AHEAD + 1);
                sources.push((receive, send_back));
                let unpack = move || {
                    let mut decoder = Decoder::new();
                    let mut payload = Vec::new();
                    for block in blocks.iter().skip(first).step_by(threads) {
                        let mut events = spare.try_recv().unwrap_or_default();
                        events.clear();
                        let result = self.decode(block, &mut decoder, &mut payload, &mut events);
                        // The other side may have had enough.
                        if send.send(result.map(|()| events)).is_err() {
                            return;
                        }
                    }
                };
                std::thread::Builder::new().spawn_scoped(scope, unpack).map_err(Unreadable::NoThread)?;
            }
            for number in 0..blocks.len() {
                let (receive, send_back) = &sources[number % threads];
                let Ok(result) = receive.recv() else { break };
                let events = result.map_err(|why| Unreadable::LaterEvents(Box::new(why)))?;
                if let Some(reading) = &reading {
                    reading.count(events.len())?;
                }
                if take(&events).is_break() {
                    break;
                }
                let _ = send_back.try_send(events);
            }
            Ok(())
        })
    }

    /// Calls `take` with the costs of image number `index` beside the calls themselves, nearly in the order of their
    /// times. Code addresses at which they were paid are nodes like others. Returns what is missing if the file is
    /// damaged.
    pub fn for_each_cost(&self, index: usize, take: impl FnMut(&Cost)) -> Result<(), Unreadable> {
        self.for_each_cost_between(index, Units::ZERO, Units::MAX, take)
    }

    /// The same, at least of those that were paid between two times, both included. Units.
    pub fn for_each_cost_between(
        &self,
        index: usize,
        from: Units,
        to: Units,
        mut take: impl FnMut(&Cost),
    ) -> Result<(), Unreadable> {
        let Some(image) = self.images.get(index) else { return Ok(()) };
        let mut payload = Vec::new();
        let is_wanted = |block: &&BlockRef| block.extent.is_none_or(|extent| extent.meets(from, to));
        for block in image.cost_blocks.iter().filter(is_wanted) {
            self.reader().payload(block, &mut payload)?;
            let damaged = |damage| block.damaged(damage);
            for mut cost in costs::decode(&payload).map_err(damaged)? {
                // Nodes that the file does not have have no stack.
                let is_known = |node: &NodeId| node.index() < image.nodes.len();
                let paid = match cost.place {
                    Place::Unknown => None,
                    Place::Call(node) => Some(node),
                    Place::Code(code) => image.first_place.checked_add(code).and_then(NodeId::new),
                };
                cost.place = Place::call(paid.filter(is_known));
                cost.node = cost.node.map(|node| image.id(node)).filter(is_known);
                take(&cost);
            }
        }
        Ok(())
    }

    /// When the recording ended, units: as it says itself, or when the last event was if it was cut off.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// How long it lasted, seconds; `None` if it was cut off before its first event.
    pub fn seconds(&self) -> Option<f64> {
        (self.ended > 0).then(|| self.about.clock.seconds(self.ended))
    }

    pub(crate) fn find_end(&self) -> u64 {
        let times = self.images.iter().map(|image| match (&image.end, image.event_blocks.last()) {
            (Some(end), _) => end.ended,
            (None, Some(block)) => self.last_time(block).unwrap_or(0),
            (None, None) => 0,
        });
        times.max().unwrap_or(0)
    }

    fn last_time(&self, block: &BlockRef) -> Option<u64> {
        let mut payload = Vec::new();
        self.reader().payload(block, &mut payload).ok()?;
        Some(read_header(&payload).ok()?.last_time.0)
    }

    fn decode(
        &self,
        block: &BlockRef,
        decoder: &mut Decoder,
        payload: &mut Vec<u8>,
        events: &mut Vec<Event>,
    ) -> Result<(), Unreadable> {
        self.reader().payload(block, payload)?;
        let damaged = |damage| block.damaged(damage);
        read_header(payload).map_err(damaged)?;
        decoder.decode(payload, events).map(drop).map_err(damaged)
    }
}
