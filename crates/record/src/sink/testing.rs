//! A sink for tests, into which calls go one by one.

use super::Sink;
use crate::arena::{Arena, Settings};
use crate::clock::{Clock, UNIT_TICKS_LOG2};
use crate::output::Output;
use crate::run::Run;
use crate::wire::Record;
use memtoll_trace::ids::{ImageNo, ThreadNo};
use memtoll_trace::meta::Image;
use memtoll_trace::op::Op;
use std::sync::Arc;

pub struct TestSink {
    sink: Sink,
    arena: Arena,
    start: u64,
    ticks_per_microsecond: u64,
    /// `free`.
    pub release: Op,
    _folder: tempfile::TempDir,
}

impl TestSink {
    pub fn new() -> TestSink {
        let folder = tempfile::tempdir().unwrap();
        let output = Output::create(&crate::Destination::New(folder.path().join("recording")), None).unwrap();
        output.keep();
        let run = Arc::new(Run::new(output, Clock::start(), 64, false, memtoll_symbols::DebugFolders::default()));
        let settings = Settings {
            image: ImageNo::FIRST,
            stack_depth: 64,
            searches_leaks: false,
            clock: run.around.clock.wire(),
            ticks_per_microsecond: 1_000,
            now: 0,
            address_space_limit: u64::MAX,
        };
        let (arena, _descriptor) = Arena::new(&settings).unwrap();
        let (start, ticks_per_microsecond) = (run.around.clock.now(), run.around.ticks_per_microsecond);
        let release = Op::FREE;
        let about = Image {
            image: ImageNo::FIRST,
            pid: 0,
            parent: 0,
            forked_from: None,
            forked_at: None,
            name: "test".to_owned(),
            command: Vec::new(),
            executable: String::new(),
            began: 0,
            rank: None,
        };
        let sink = Sink::new(run, &about, Arc::default());
        TestSink { sink, arena, start, ticks_per_microsecond, release, _folder: folder }
    }

    /// Microseconds as units of time.
    pub fn units(&self, microseconds: u64) -> u64 {
        (self.ticks_per_microsecond * microseconds) >> UNIT_TICKS_LOG2
    }

    /// A call of a thread at a time in units since the start.
    pub fn call(&mut self, op: Op, time: u64, thread: u32, address: u64, size: u64) -> &Sink {
        let ticks = self.start + (time << UNIT_TICKS_LOG2);
        let record = Record { head: ticks << 8 | u64::from(op.0), address, size, tail: u64::from(thread) };
        self.sink.call(&self.arena, &record, op, ticks, ThreadNo::new(thread).unwrap(), 0);
        &self.sink
    }

    /// A record of the program's own allocators.
    pub fn pooled(&mut self, kind: u8, time: u64, thread: u32, address: u64, size: u64) -> &Sink {
        let ticks = self.start + (time << UNIT_TICKS_LOG2);
        let record = Record { head: ticks << 8 | u64::from(kind), address, size, tail: u64::from(thread) };
        self.sink.pooled(&self.arena, &record, ThreadNo::new(thread).unwrap());
        &self.sink
    }
}
