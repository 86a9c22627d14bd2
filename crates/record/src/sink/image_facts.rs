//! Facts about a process image, as its records tell them: its threads, files and marks, what it used, how it ends. They are
//! kept until they are written; nothing here knows where to.

use super::mapped_files::MappedFiles;
use super::marks_looked_at::MarksLookedAt;
use super::threads::ThreadList;
use crate::join::CodePlace;
use crate::proc_files::MapLine;
use crate::process_polling::Word;
use crate::wire::{Blob, ExecBlob, MarkBlob, ModuleBlob, ThreadNameBlob, UsageBlob, mark, reason, scope};
use memtoll_trace::ids::{ImageNo, ThreadNo, Ticks, Units};
use memtoll_trace::meta::{GiveOrTake, Image, Mark, MarkKind, Module, Note, Rank, Resident, Usage, Work};
use memtoll_trace::path::last_part;
use memtoll_trace::snapshot::{Cause, Snapshot};
use memtoll_trace::symbols::path_of;
use rustc_hash::FxHashSet;
use std::path::Path;

pub struct Facts {
    pub image: ImageNo,
    pub pid: u32,
    pub began: Units,
    pub is_forked: bool,
    pub name: String,
    pub executable: String,
    pub rank: Option<Rank>,
    pub command: Vec<String>,
    /// What was mapped when the image began, where that is wanted.
    pub mapped_at_first: Vec<MapLine>,
    pub modules: Vec<Module>,
    /// When each of these was seen for the first time.
    seen_at: Vec<Ticks>,
    modules_written: usize,
    pub threads: ThreadList,
    marks: Vec<Mark>,
    marks_looked_at: MarksLookedAt,
    /// The status passed to exit(), if it was called.
    pub exit_code: Option<i32>,
    /// What the process reported when it seemed to end, or to execute another program.
    pub word: Option<Word>,
    /// Its pages when it was about to end.
    pub pages_at_end: Option<Snapshot>,
    /// The file has a snapshot of its pages.
    pub is_looked_at: bool,
    pub mapped_files: MappedFiles,
    /// The process took memtoll for dead.
    pub given_up: bool,
    unrecorded: Vec<Unrecorded>,
    /// Files whose constructors ran before their calls could be seen.
    late_files: Vec<String>,
}

/// A program that was executed and cannot be recorded.
struct Unrecorded {
    path: String,
    note: Note,
}

impl Facts {
    pub fn new(about: &Image, mapped_at_first: Vec<MapLine>) -> Facts {
        Facts {
            image: about.image,
            pid: about.pid,
            began: Units(about.began),
            is_forked: about.forked_from.is_some(),
            name: about.name.clone(),
            executable: about.executable.clone(),
            rank: about.rank,
            command: about.command.clone(),
            mapped_at_first,
            modules: Vec::new(),
            seen_at: Vec::new(),
            modules_written: 0,
            threads: ThreadList::default(),
            marks: Vec::new(),
            marks_looked_at: MarksLookedAt::default(),
            exit_code: None,
            word: None,
            pages_at_end: None,
            is_looked_at: false,
            mapped_files: MappedFiles::default(),
            given_up: false,
            unrecorded: Vec::new(),
            late_files: Vec::new(),
        }
    }

    /// The process, for statements to the user.
    pub fn process(&self) -> String {
        let name = &self.name;
        if name.is_empty() { format!("process {}", self.pid) } else { format!("process {} ({name})", self.pid) }
    }

    /// A file was loaded, in a way that its calls could be seen only after its constructors had run.
    pub fn late_file(&mut self, payload: &[u8]) {
        let path = String::from_utf8_lossy(payload).into_owned();
        if !path.is_empty() && !self.late_files.contains(&path) {
            self.late_files.push(path);
        }
    }

    /// What that means, in words; nothing if there was none.
    pub fn late_files(&self) -> Option<String> {
        let names: Vec<&str> = self.late_files.iter().map(|path| last_part(path)).collect();
        (!names.is_empty()).then(|| {
            format!(
                "what constructors of {} allocated is not recorded: opened with RTLD_DEEPBIND or dlmopen, its calls are recorded \
                 from when it is loaded",
                names.join(", ")
            )
        })
    }

    /// A file is loaded. `tell_apart` gives it a path of its own.
    pub fn module(&mut self, payload: &[u8], at: Ticks, tell_apart: impl FnOnce(u32, &mut Module, u32)) {
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
        let mut module = Module {
            number: blob.number as u16,
            start: blob.start,
            end: blob.end,
            bias: blob.bias,
            path,
            build_id: blob.build_id[..id_bytes].iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        tell_apart(self.pid, &mut module, blob.functions_hash as u32);
        self.modules.push(module);
        self.seen_at.push(at);
    }

    /// The file whose code is at an address.
    pub fn file_at(&self, address: u64) -> Option<&str> {
        let holds = |module: &&Module| (module.start..module.end).contains(&address);
        self.modules.iter().find(holds).map(|module| module.path.as_str())
    }

    /// The module that held a piece of code: where several lay at one address, one after the other, that of the file that was
    /// mapped then.
    pub fn module_of(&self, code: &CodePlace) -> Option<&Module> {
        let holds = |module: &Module| (module.start..module.end).contains(&code.address);
        let mut candidates: Vec<usize> = (0..self.modules.len()).filter(|at| holds(&self.modules[*at])).collect();
        let newest = candidates.last().map(|at| &self.modules[*at]);
        let Some(mapped) = code.mapped.as_ref().filter(|_| candidates.len() > 1) else { return newest };
        let is_of_path = |at: &usize| path_of(&self.modules[*at].path) == path_of(&mapped.path);
        if candidates.iter().any(is_of_path) {
            candidates.retain(is_of_path);
        }
        // It is seen when it first calls something, before another file takes its place.
        let seen = candidates.iter().find(|at| self.seen_at[**at] >= mapped.at).or(candidates.last());
        seen.map(|at| &self.modules[*at])
    }

    pub fn thread_name(&mut self, payload: &[u8]) {
        if let Some((ThreadNameBlob { handle }, name)) = ThreadNameBlob::split(payload) {
            self.threads.is_named(handle, String::from_utf8_lossy(name).into_owned());
        }
    }

    /// The program says what it does.
    ///
    /// `work` says of a thread's region what the thread has done so far. Returns why the pages are to be looked at, if they are.
    pub fn mark(
        &mut self,
        payload: &[u8],
        thread: Option<ThreadNo>,
        at: Units,
        work: impl FnOnce() -> Work,
    ) -> Option<Cause> {
        let (blob, name) = MarkBlob::split(payload)?;
        let kind = match blob.type_ {
            mark::INSTANT => MarkKind::Instant,
            mark::BEGIN => MarkKind::Begin,
            _ => MarkKind::End,
        };
        let name = String::from_utf8_lossy(name).into_owned();
        let work = (kind != MarkKind::Instant).then(work);
        let is_reason = self.marks_looked_at.wants(&name, kind);
        let cause = is_reason.then(|| Cause::Mark { name: name.clone(), time: at });
        self.marks.push(Mark { time: at.0, thread, kind, name, work });
        cause
    }

    /// A program is about to be executed.
    pub fn exec(&mut self, payload: &[u8], at: Units) {
        let Some((blob, path)) = ExecBlob::split(payload) else { return };
        let path = String::from_utf8_lossy(path).into_owned();
        let in_this_process = blob.pid == self.pid;
        let why = match blob.reason {
            reason::NOT_STARTED => return self.was_not_started(&path, in_this_process),
            reason::STATIC => "it is statically linked",
            reason::FOREIGN_CLASS => &format!("it is not a 64-bit {} program", memtoll_processor::HERE.name),
            reason::FOREIGN_LIBC => "it uses another C library than glibc",
            reason::SETUID => "it is set-user-id or set-group-id",
            reason::NO_PRELOAD => {
                "it does not see memtoll's folder for temporary files (a private /tmp?): set TMPDIR to a folder that it sees"
            }
            reason::SANITIZER => "it needs a sanitizer's library, which must be loaded before any other",
            _ => return,
        };
        let text = format!("{path}, started by {}, is not recorded: {why}", self.process());
        let note = Note { time: at.0, text, missing: false };
        self.unrecorded.push(Unrecorded { path, note });
        if let Some(word) = self.word.as_mut().filter(|_| in_this_process) {
            word.is_over = true;
        }
    }

    /// A program that was announced was not executed after all: the call failed, and the process goes on.
    fn was_not_started(&mut self, path: &str, in_this_process: bool) {
        if let Some(last) = self.unrecorded.iter().rposition(|program| program.path == path) {
            self.unrecorded.remove(last);
        }
        if in_this_process {
            self.word = None;
        }
    }

    /// What the kernel counted, at a time in ticks, for a thread that ends or for the process.
    pub fn usage(&mut self, payload: &[u8], thread: Option<ThreadNo>, at: u64) {
        let Some((blob, _)) = UsageBlob::split(payload) else { return };
        let bytes = |kib: u64| kib.saturating_mul(1024);
        let usage = Usage {
            user_ns: blob.user_ns,
            system_ns: blob.system_ns,
            minor_faults: blob.minor_faults,
            major_faults: blob.major_faults,
            voluntary_switches: blob.voluntary_switches,
            involuntary_switches: blob.involuntary_switches,
            max_resident: bytes(blob.program_rss_kib),
        };
        if blob.scope == scope::PROCESS {
            let resident = (blob.program_rss_kib > 0).then_some(Resident {
                program: bytes(blob.program_rss_kib),
                recorder: bytes(blob.recorder_rss_kib),
                error: bytes(blob.rss_error_kib),
                at_end: (blob.program_now_kib > 0)
                    .then_some(GiveOrTake { bytes: bytes(blob.program_now_kib), error: bytes(blob.now_error_kib) }),
                unseen: None,
            });
            self.word = Some(Word { at, usage, resident, is_over: false });
        } else if let Some(thread) = thread {
            self.threads.used(thread, usage);
        }
    }

    /// Modules that are not written yet.
    pub fn take_modules(&mut self) -> &[Module] {
        let from = std::mem::replace(&mut self.modules_written, self.modules.len());
        &self.modules[from..]
    }

    /// Marks that are not written yet.
    pub fn take_marks(&mut self) -> Vec<Mark> {
        std::mem::take(&mut self.marks)
    }

    /// Statements on programs that are not recorded. `successor`: the file that the process executes behind this image, if
    /// what runs there is recorded. It may be static and bring the program with it, as Valgrind does.
    pub fn take_unrecorded(&mut self, successor: Option<&str>) -> Vec<Note> {
        let is = |path: &str| {
            successor.is_some_and(|file| std::fs::canonicalize(path).is_ok_and(|path| path == Path::new(file)))
        };
        let all = std::mem::take(&mut self.unrecorded);
        let mut said = FxHashSet::default();
        let all = all.into_iter().filter(|program| !is(&program.path));
        all.filter(|program| said.insert(program.path.clone())).map(|program| program.note).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::CodeMapped;

    fn facts() -> Facts {
        let about = Image {
            image: ImageNo::FIRST,
            pid: 71,
            parent: 1,
            forked_from: None,
            forked_at: None,
            name: "ls".to_owned(),
            command: vec!["ls".to_owned()],
            executable: "/usr/bin/ls".to_owned(),
            began: 0,
            rank: None,
        };
        let line = |start, path: &str| MapLine {
            start,
            end: start + 0x1000,
            offset: 0,
            executable: true,
            writable: false,
            shared: false,
            path: path.to_owned(),
        };
        Facts::new(&about, vec![line(0x1000, "/usr/bin/ls"), line(0x2000, "/opt/real")])
    }

    /// The bytes of a blob and of what follows it.
    fn payload<T: Blob + Copy>(blob: T, text: &str) -> Vec<u8> {
        // SAFETY: blobs are plain data without gaps.
        let head = unsafe { std::slice::from_raw_parts((&raw const blob).cast::<u8>(), size_of::<T>()) };
        [head, text.as_bytes()].concat()
    }

    #[test]
    fn code_belongs_to_the_file_that_was_mapped_then() {
        let mut facts = facts();
        let module = |number| ModuleBlob {
            start: 0x1000,
            end: 0x2000,
            bias: 0,
            number,
            build_id_bytes: 0,
            build_id: [0; 32],
            functions_hash: 0,
        };
        let names = [(1, "/a.so", 20), (2, "/b.so", 40), (3, "/b.so (build 0a1b2c3d)", 60)];
        for (number, path, at) in names {
            facts.module(&payload(module(number), path), Ticks(at), |_, _, _| {});
        }
        let of = |path: &str, at| {
            let mapped = Some(CodeMapped { path: path.into(), at: Ticks(at) });
            facts.module_of(&CodePlace { address: 0x1234, mapped }).map(|module| module.number)
        };
        // A is unloaded, B comes, A comes back; B again, of another build.
        assert_eq!([of("/a.so", 10), of("/b.so", 30), of("/a.so", 45), of("/b.so", 50)], [1, 2, 1, 3].map(Some));
        // Another name of the same file.
        assert_eq!([of("/usr/a.so", 10), of("/usr/b.so", 30)], [1, 2].map(Some));
        let unseen = CodePlace { address: 0x1234, mapped: None };
        assert_eq!(facts.module_of(&unseen).map(|module| module.number), Some(3));
        assert!(facts.module_of(&CodePlace { address: 0x9000, mapped: None }).is_none());
    }

    #[test]
    fn a_file_without_a_name_is_what_is_mapped_there() {
        let mut facts = facts();
        let module = |start| ModuleBlob {
            start,
            end: start + 1,
            bias: 0,
            number: 3,
            build_id_bytes: 2,
            build_id: [10; 32],
            functions_hash: 0,
        };
        facts.module(&payload(module(0x7000), "/usr/lib/libc.so.6"), Ticks::ZERO, |_, _, _| {});
        facts.module(&payload(module(0x2800), ""), Ticks::ZERO, |_, _, _| {});
        facts.module(&payload(module(0x9000), ""), Ticks::ZERO, |_, _, _| {});
        let paths = |modules: &[Module]| modules.iter().map(|module| module.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(facts.take_modules()), ["/usr/lib/libc.so.6", "/opt/real", "/usr/bin/ls"]);
        assert_eq!(facts.modules[0].build_id, "0a0a");
        assert!(facts.take_modules().is_empty(), "each is written once");
    }

    #[test]
    fn a_program_that_is_not_recorded_is_said_once() {
        let mut facts = facts();
        let exec = |reason, path| payload(ExecBlob { pid: 1, reason }, path);
        facts.exec(&exec(reason::STATIC, "/bin/busybox"), Units(7));
        facts.exec(&exec(reason::STATIC, "/bin/busybox"), Units(8));
        facts.exec(&exec(0, "/bin/true"), Units(9));
        facts.exec(&exec(reason::SETUID, "/bin/su"), Units(9));
        let texts: Vec<String> = facts.take_unrecorded(None).into_iter().map(|note| note.text).collect();
        assert_eq!(
            texts,
            [
                "/bin/busybox, started by process 71 (ls), is not recorded: it is statically linked",
                "/bin/su, started by process 71 (ls), is not recorded: it is set-user-id or set-group-id"
            ]
        );
    }

    #[test]
    fn a_program_that_could_not_be_executed_leaves_no_word() {
        let mut facts = facts();
        let exec = |pid, reason| payload(ExecBlob { pid, reason }, "/bin/busybox");
        let (nothing, _) = UsageBlob::split(&[0; size_of::<UsageBlob>()]).unwrap();
        let word = payload(UsageBlob { scope: scope::PROCESS, ..nothing }, "");
        facts.usage(&word, None, 5);
        facts.exec(&exec(71, reason::STATIC), Units(7));
        assert!(facts.word.unwrap().is_over);
        facts.exec(&exec(71, reason::NOT_STARTED), Units(8));
        assert!(facts.word.is_none() && facts.take_unrecorded(None).is_empty());
        facts.usage(&word, None, 9);
        facts.exec(&exec(80, reason::STATIC), Units(9)); // a child, which shares its parent's memory
        facts.exec(&exec(80, reason::NOT_STARTED), Units(10));
        facts.exec(&exec(80, reason::STATIC), Units(11));
        assert!(!facts.word.unwrap().is_over);
        assert_eq!(facts.take_unrecorded(None).len(), 1);
    }

    #[test]
    fn a_payload_that_is_too_short_says_nothing() {
        let mut facts = facts();
        facts.module(&[1, 2, 3], Ticks::ZERO, |_, _, _| {});
        facts.mark(&[], None, Units(0), Work::default);
        facts.exec(&[0; 5], Units(0));
        facts.usage(&[0; size_of::<UsageBlob>() - 1], None, 0);
        assert!(facts.take_modules().is_empty() && facts.take_marks().is_empty() && facts.word.is_none());
    }

    #[test]
    fn what_the_kernel_counted_is_of_the_process_or_of_a_thread() {
        let mut facts = facts();
        let thread = ThreadNo::FIRST;
        facts.threads.begins(thread, 71, 0x700, Units(0));
        let (nothing, _) = UsageBlob::split(&[0; size_of::<UsageBlob>()]).unwrap();
        let blob =
            |scope, minor_faults| UsageBlob { scope, minor_faults, program_rss_kib: 3, program_now_kib: 2, ..nothing };
        facts.usage(&payload(blob(scope::THREAD, 5), ""), Some(thread), 70);
        facts.usage(&payload(blob(scope::PROCESS, 9), ""), Some(thread), 71);
        let of_thread = facts.threads.take_changed(1).unwrap()[0].usage;
        assert_eq!(of_thread.map(|usage| usage.minor_faults), Some(5));
        let word = facts.word.unwrap();
        assert_eq!((word.at, word.usage.minor_faults, word.is_over), (71, 9, false));
        let resident = word.resident.unwrap();
        assert_eq!(
            (resident.program, resident.at_end.map(|of| of.bytes), resident.unseen),
            (3 << 10, Some(2 << 10), None)
        );
    }
}
