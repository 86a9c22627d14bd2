//! What records say about the image itself: its threads, files, marks, and how it ends.

use super::{Sink, Unrecorded};
use crate::arena::Arena;
use crate::process::{self, MapLine};
use crate::wire::{self, Blob, ExecBlob, MarkBlob, ModuleBlob, ThreadNameBlob, UsageBlob, mark, reason, scope};
use memtoll_trace::meta::{Mark, MarkKind, Module, Note, Resident, Thread, Usage};
use std::path::Path;

impl Sink {
    /// A thread is started with a handle that an earlier one had: that one is over.
    pub(super) fn handle_is_new(&mut self, handle: u64, ticks: u64) {
        let Some(&number) = self.by_handle.get(&handle) else { return };
        let began = self.run.clock.units(ticks);
        if self.thread(number).is_some_and(|thread| thread.ended.is_none() && thread.began < began) {
            self.thread_ends(number, ticks);
        }
    }

    fn thread(&mut self, number: u32) -> Option<&mut Thread> {
        self.by_number.get(&number).map(|index| &mut self.threads[*index])
    }

    pub fn thread_begins(&mut self, number: u32, tid: u32, handle: u64, ticks: u64) {
        let began = self.run.clock.units(ticks);
        if self.by_number.contains_key(&number) {
            return; // a thread that borrows another slot
        }
        self.by_handle.insert(handle, number);
        self.join.thread_begins(number, tid, handle);
        let name = self.names.remove(&handle);
        self.by_number.insert(number, self.threads.len());
        self.by_tid.insert(tid, self.threads.len());
        self.threads.push(Thread { number, tid, name, began, ended: None, usage: None });
        self.threads_changed = true;
    }

    pub fn thread_ends(&mut self, number: u32, ticks: u64) {
        let ended = self.run.clock.units(ticks);
        if let Some(thread) = self.thread(number) {
            thread.ended = Some(ended);
            self.threads_changed = true;
        }
    }

    /// A thread has been in a call for long: looks whether that is because it is stopped.
    pub fn is_perhaps_stopped(&mut self, number: u32) {
        let Some(tid) = self.thread(number).map(|thread| thread.tid) else { return };
        if process::is_stopped(self.pid, tid) {
            self.join.is_stopped(number, self.run.clock.now());
        }
    }

    /// The process took memtoll for dead.
    pub fn given_up(&mut self) {
        self.given_up = true;
    }

    /// The process, for statements to the user.
    pub(super) fn process(&self) -> String {
        let name = self.executable.rsplit('/').next().unwrap_or_default();
        if name.is_empty() { format!("process {}", self.pid) } else { format!("process {} ({name})", self.pid) }
    }

    pub fn exit_status(&mut self, status: i32) {
        self.exit_code = Some(status & 0xff);
    }

    /// A record with a payload.
    pub fn blob(&mut self, arena: &Arena, kind: u8, payload: &[u8], thread: u32, ticks: u64) {
        match kind {
            wire::kind::POOL_BEGIN => self.pool_begins(arena, payload, thread, ticks),
            wire::kind::MODULE => self.module(payload),
            wire::kind::THREAD_NAME => self.thread_name(payload),
            wire::kind::MARK => self.mark(payload, thread, ticks),
            wire::kind::EXEC => self.exec(payload, ticks),
            wire::kind::USAGE => self.usage(payload, thread),
            _ => {}
        }
    }

    pub(super) fn module(&mut self, payload: &[u8]) {
        let Some((blob, path)) = ModuleBlob::split(payload) else { return };
        let id_bytes = (blob.build_id_bytes as usize).min(blob.build_id.len());
        let mut path = String::from_utf8_lossy(path).into_owned();
        if path.is_empty() {
            // The loader has no name for the program. Where it was itself started, to load the program, it is what the
            // process executes; inside Valgrind, that is Valgrind.
            let holds = |line: &&MapLine| (line.start..line.end).contains(&blob.start) && line.path.starts_with('/');
            let mapped = self.mapped_at_first.iter().find(holds).map(|line| &line.path);
            path = mapped.unwrap_or(&self.executable).clone();
        }
        let module = Module {
            number: blob.number as u16,
            start: blob.start,
            end: blob.end,
            bias: blob.bias,
            path,
            build_id: blob.build_id[..id_bytes].iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        self.modules.push(module.clone());
        self.new_modules.push(module);
    }

    pub(super) fn thread_name(&mut self, payload: &[u8]) {
        let Some((ThreadNameBlob { handle }, name)) = ThreadNameBlob::split(payload) else { return };
        let name = String::from_utf8_lossy(name).into_owned();
        let number = self.by_handle.get(&handle).copied();
        match number.and_then(|number| self.thread(number)).filter(|thread| thread.ended.is_none()) {
            Some(thread) => {
                thread.name = Some(name);
                self.threads_changed = true;
            }
            None => {
                self.names.insert(handle, name);
            }
        }
    }

    pub(super) fn mark(&mut self, payload: &[u8], thread: u32, ticks: u64) {
        let Some((blob, name)) = MarkBlob::split(payload) else { return };
        let kind = match blob.type_ {
            mark::INSTANT => MarkKind::Instant,
            mark::BEGIN => MarkKind::Begin,
            _ => MarkKind::End,
        };
        let name = String::from_utf8_lossy(name).into_owned();
        self.marks.push(Mark { time: self.run.clock.units(ticks), thread, kind, name });
    }

    pub(super) fn exec(&mut self, payload: &[u8], ticks: u64) {
        let Some((blob, path)) = ExecBlob::split(payload) else { return };
        let path = String::from_utf8_lossy(path).into_owned();
        let why = match blob.reason {
            reason::STATIC => "it is statically linked",
            reason::FOREIGN_CLASS => "it is not a 64-bit x86-64 program",
            reason::FOREIGN_LIBC => "it uses another C library than glibc",
            reason::SETUID => "it is set-user-id or set-group-id",
            reason::NO_PRELOAD => "the recorder's file cannot be reached from there",
            reason::SANITIZER => "it needs a sanitizer's library, which must be loaded before any other",
            _ => return,
        };
        let text = format!("{path}, started by {}, is not recorded: {why}", self.process());
        let note = Note { time: self.run.clock.units(ticks), text, missing: false };
        if self.unrecorded.iter().all(|earlier| earlier.path != path) {
            self.unrecorded.push(Unrecorded { path, note });
        }
    }

    /// Says which programs are not recorded. `successor`: the file that the process executes behind this image, if what runs
    /// there is recorded. It may be static and bring the program with it, as Valgrind does.
    pub(super) fn say_what_is_unrecorded(&mut self, successor: Option<&str>) {
        let is = |path: &str| {
            successor.is_some_and(|file| std::fs::canonicalize(path).is_ok_and(|path| path == Path::new(file)))
        };
        for Unrecorded { path, note } in std::mem::take(&mut self.unrecorded) {
            if !is(&path) {
                self.run.note(note);
            }
        }
    }

    /// What the kernel counted for a thread that ends, or for the process.
    pub(super) fn usage(&mut self, payload: &[u8], number: u32) {
        let Some((blob, _)) = UsageBlob::split(payload) else { return };
        let usage = Usage {
            user_ns: blob.user_ns,
            system_ns: blob.system_ns,
            minor_faults: blob.minor_faults,
            major_faults: blob.major_faults,
            voluntary_switches: blob.voluntary_switches,
            involuntary_switches: blob.involuntary_switches,
            max_resident: blob.program_rss_kib.saturating_mul(1024),
        };
        if blob.scope == scope::PROCESS {
            self.usage = Some(usage);
            let bytes = |kib: u64| kib.saturating_mul(1024);
            self.resident = (blob.program_rss_kib > 0).then_some(Resident {
                program: bytes(blob.program_rss_kib),
                recorder: bytes(blob.recorder_rss_kib),
                error: bytes(blob.rss_error_kib),
            });
        } else if let Some(thread) = self.thread(number) {
            thread.usage = Some(usage);
            self.threads_changed = true;
        }
    }
}
