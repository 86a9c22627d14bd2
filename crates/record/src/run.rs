//! What all parts of the supervisor share during one run.

use crate::arena::Arena;
use crate::backlog::Budget;
use crate::blocks_before::HandOver;
use crate::clock::Clock;
use crate::kernel_events::Kernel;
use crate::loaded_files::LoadedFiles;
use crate::machine_facts::MachineFacts;
use crate::marks_of_header::MarksOfHeader;
use crate::once_a_file::OnceAFile;
use crate::output::Output;
use crate::own_allocators::OwnAllocators;
use crate::proc_files;
use crate::process_polling::Looks;
use crate::rank;
use crate::recorded_images::Roster;
use crate::redirection::Redirections;
use crate::seen_pages::SeenPages;

use memtoll_symbols::{AddressBook, AllocatorCode, DebugFolders, ModuleFile, Resolver};
use memtoll_trace::events::Encoder;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::Ticks;
use memtoll_trace::meta::{Note, Rank, TimedFaults, Usage};
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// What the listener and the watcher tell a worker.
#[derive(Default)]
pub struct Signals {
    /// The process is gone.
    ended: AtomicBool,
    /// The process executes this program now.
    replaced: OnceLock<String>,
    /// Recording is to end, whatever the process does.
    abandoned: AtomicBool,
    /// When the first of these came. What is written then may be packed much later.
    over: OnceLock<Ticks>,
    /// What a process that was running already had.
    pub before: HandOver,
    /// Looks at the process's pages, which are to be written.
    pub pages: Arc<SeenPages>,
}

impl Signals {
    /// The process is gone.
    pub fn end(&self, at: Ticks) {
        self.ended.store(true, Release);
        let _ = self.over.set(at);
    }

    /// The process executes another program now.
    pub fn replace(&self, by: String, at: Ticks) {
        let _ = self.replaced.set(by);
        let _ = self.over.set(at);
    }

    /// Recording is to end, whatever the process does.
    pub fn abandon(&self, at: Ticks) {
        self.abandoned.store(true, Release);
        let _ = self.over.set(at);
    }

    pub fn has_ended(&self) -> bool {
        self.ended.load(SeqCst)
    }

    /// What the process executes now, if that is another program.
    pub fn successor(&self) -> Option<&str> {
        self.replaced.get().map(String::as_str)
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandoned.load(Acquire)
    }

    /// When the image was over.
    pub fn over(&self) -> Option<Ticks> {
        self.over.get().copied()
    }
}

/// What is known of a process image that is being recorded.
pub struct Recorded {
    pub command: String,
    pub arena: Arc<Arena>,
    pub signals: Arc<Signals>,
}

pub struct Run {
    pub output: Output,
    pub around: Arc<MachineFacts>,
    pub stack_depth: u32,
    /// Whether blocks that a process leaves are searched for lost ones.
    pub searches_leaks: bool,
    /// Which rank of a parallel job this process is.
    pub rank: Option<Rank>,
    /// Events written so far.
    pub events: AtomicU64,
    /// Bytes live in all processes, as of their last blocks.
    pub live_bytes: AtomicU64,
    /// Smallest difference of two time stamps in a process of the run, ticks.
    pub stamp_ticks: AtomicU64,
    pub addresses: Mutex<AddressBook>,
    pub files: LoadedFiles,
    pub own_allocators: OwnAllocators,
    /// Leak suppressions that programs contain.
    pub leak_suppressions: OnceAFile<Option<String>>,
    pub redirections: Redirections,
    /// Marks of programs that were running before.
    pub marks_of_header: MarksOfHeader,
    /// Of all images that are over.
    timed_faults: Mutex<TimedFaults>,
    /// Memory for what is not packed yet.
    pub backlog: Arc<Budget>,
    /// What this process's children had used before: it may have had some, and then have executed memtoll.
    pub usage_before: Usage,
    kernel: OnceLock<Arc<Kernel>>,
    notes: Mutex<Notes>,
    /// Resident sets.
    pub looks: Arc<Looks>,
    /// The images that are being recorded.
    pub roster: Roster<Recorded>,
    encoders: Mutex<Vec<Encoder>>,
    allocators: Mutex<FxHashMap<Arc<str>, Arc<AllocatorCode>>>,
}

/// Statements for the user. There may be one for each of many processes.
#[derive(Default)]
struct Notes {
    in_order: Vec<String>,
    told: FxHashSet<String>,
}

/// Encoders that are kept for images to come.
const SPARE_ENCODERS: usize = 8;

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub fn new(
        output: Output,
        clock: Clock,
        stack_depth: u32,
        searches_leaks: bool,
        debug_folders: DebugFolders,
    ) -> Run {
        let around = Arc::new(MachineFacts::look(clock));
        Run {
            output,
            looks: Arc::new(Looks::new(around.clone())),
            around,
            stack_depth,
            searches_leaks,
            rank: rank::own(),
            events: AtomicU64::new(0),
            live_bytes: AtomicU64::new(0),
            stamp_ticks: AtomicU64::new(0),
            addresses: Mutex::new(AddressBook::default()),
            files: LoadedFiles::default(),
            own_allocators: OwnAllocators::new(debug_folders),
            leak_suppressions: OnceAFile::default(),
            redirections: Redirections::default(),
            marks_of_header: MarksOfHeader::default(),
            timed_faults: Mutex::default(),
            backlog: Arc::default(),
            usage_before: proc_files::usage_of_children(),
            kernel: OnceLock::new(),
            notes: Mutex::default(),
            roster: Roster::new(),
            encoders: Mutex::new(Vec::new()),
            allocators: Mutex::default(),
        }
    }

    /// What the kernel tells, if it does.
    pub fn kernel(&self) -> Option<&Arc<Kernel>> {
        self.kernel.get()
    }

    /// From now on, the kernel tells.
    pub fn set_kernel(&self, kernel: Arc<Kernel>) {
        let _ = self.kernel.set(kernel);
    }

    /// Which code of a file is the allocator's: none of a file that cannot be read.
    pub fn allocator_code(&self, path: &Arc<str>) -> Arc<AllocatorCode> {
        let mut known = locked(&self.allocators);
        let find = || {
            let module = ModuleFile { path: Path::new(&**path), build_id: &[] };
            Arc::new(self.resolver().allocator_code(&module).unwrap_or_default())
        };
        known.entry(path.clone()).or_insert_with(find).clone()
    }

    /// What names code, with the files as they were loaded.
    pub fn resolver(&self) -> Resolver {
        Resolver::new().with_open_files(self.files.open_files())
    }

    /// An encoder for a new image.
    pub fn encoder(&self) -> Encoder {
        let spare = locked(&self.encoders).pop();
        spare.map_or_else(Encoder::new, |mut encoder| {
            encoder.begin_image();
            encoder
        })
    }

    /// An image is over, and its encoder empty.
    pub fn keep_encoder(&self, encoder: Encoder) {
        let mut encoders = locked(&self.encoders);
        if encoders.len() < SPARE_ENCODERS {
            encoders.push(encoder);
        }
    }

    /// An image is over, of which faults were timed.
    pub fn add_timed_faults(&self, faults: &TimedFaults) {
        locked(&self.timed_faults).add_all(faults);
    }

    /// The timed faults of all images that are over.
    pub fn timed_faults(&self) -> TimedFaults {
        *locked(&self.timed_faults)
    }

    /// Writes down a statement for the user, once.
    pub fn note(&self, note: Note) {
        let mut notes = locked(&self.notes);
        if notes.told.insert(note.text.clone()) {
            self.output.json(BlockKind::Note, None, &note);
            notes.in_order.push(note.text);
        }
    }

    /// All statements so far.
    pub fn notes(&self) -> Vec<String> {
        locked(&self.notes).in_order.clone()
    }
}
