//! Records about the image itself: what they say goes to the facts, and to other parts that need it.

use super::Sink;
use super::image_facts::Facts;
use crate::arena::Arena;
use crate::proc_files;
use crate::process_polling::Wish;
use crate::wire::kind;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{ThreadNo, Ticks};
use memtoll_trace::snapshot::Snapshot;

impl Sink {
    /// A thread begins to record. `handle` is the C library's.
    pub fn thread_begins(&mut self, number: ThreadNo, tid: u32, handle: u64, ticks: u64) {
        let began = self.time.at(Ticks(ticks));
        if self.facts.threads.begins(number, tid, handle, began) {
            self.join.thread_begins(number, tid, handle);
        }
    }

    /// A thread ends, and says so.
    pub fn thread_ends(&mut self, number: ThreadNo, ticks: u64) {
        self.facts.threads.ends(number, self.time.at(Ticks(ticks)));
    }

    /// A thread has been in a call for long: looks whether that is because it is stopped.
    pub fn is_perhaps_stopped(&mut self, number: ThreadNo) {
        if let Some(tid) = self.facts.threads.tid(number)
            && proc_files::is_stopped(self.facts.pid, tid)
        {
            self.join.is_stopped(number, self.time.now());
        }
    }

    /// The process is about to end: which of its pages are in memory.
    pub fn looked_at_pages(&mut self, snapshot: Snapshot) {
        self.look_at_mapped_files(&snapshot);
        self.facts.pages_at_end = Some(snapshot);
    }

    /// Somebody has looked at the pages.
    pub fn saw_pages(&mut self, snapshot: Snapshot) {
        self.facts.is_looked_at = true;
        self.look_at_mapped_files(&snapshot);
        let snapshot = Snapshot { threads: self.facts.threads.handles(self.facts.pid), ..snapshot };
        self.run.output.block(BlockKind::Snapshot, self.facts.image, &snapshot.encode());
    }

    fn look_at_mapped_files(&mut self, snapshot: &Snapshot) {
        let Facts { pid, mapped_files, modules, .. } = &mut self.facts;
        for file in mapped_files.look(*pid, &snapshot.mappings, modules) {
            self.run.files.loaded(*pid, file, 0);
        }
    }

    /// The process took memtoll for dead.
    pub fn given_up(&mut self) {
        self.facts.given_up = true;
    }

    /// The process calls exit().
    pub fn exit_status(&mut self, status: i32) {
        self.facts.exit_code = Some(status & 0xff);
    }

    /// A record with a payload.
    pub fn blob(&mut self, arena: &Arena, kind: u8, payload: &[u8], thread: Option<ThreadNo>, ticks: u64) {
        let at = self.time.at(Ticks(ticks));
        match kind {
            kind::POOL_BEGIN => {
                if let Some(thread) = thread {
                    self.pool_begins(arena, payload, thread, Ticks(ticks));
                }
            }
            kind::MODULE => {
                self.facts.module(payload, Ticks(ticks), |pid, module, hash| self.run.files.loaded(pid, module, hash));
            }
            kind::LATE_FILE => self.facts.late_file(payload),
            kind::THREAD_NAME => self.facts.thread_name(payload),
            kind::MARK => {
                self.run.marks_of_header.comes(payload);
                let work = || thread.map(|thread| self.work.of(thread)).unwrap_or_default();
                if let Some(cause) = self.facts.mark(payload, thread, at, work) {
                    self.run.looks.wish(Wish { image: self.facts.image, cause, answer: None });
                }
            }
            kind::EXEC => self.facts.exec(payload, at),
            kind::USAGE => self.facts.usage(payload, thread, ticks),
            _ => {}
        }
    }
}
