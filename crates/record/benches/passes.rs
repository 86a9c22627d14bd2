//! `make bench-passes`: processor time that the supervisor's worker takes for an event. A thread on another processor writes the
//! events of a recording into shared memory again, as the recorder does; the worker packs them into a file. What the kernel
//! tells is left out.
//!
//! On an EPYC with two processors, packing python3's 13.9 million events (PYTHONMALLOC=malloc) takes 85 ns an event, cc1plus's 1.9
//! million 112 ns; 6 and 46 ns come at the end, once for each process. In a recording, samples of python3's worker are 147 ns an
//! event: there, the kernel also tells of faults, and other work uses the caches. Of python3's 85 ns, matching and prefetching
//! take about 20, columns 11, blocks from before chapters 9, zstd 8, sums 8, the join 7, parts 7, patterns 5, the time line 2.
//!
//! On a busy Xeon (Sapphire Rapids, a virtual machine with two processors), python3 takes 94 ns an event and 8 at the end,
//! cc1plus 130 to 137 and 54 to 57, Rust maps 63. In a recording, python3's worker took 247 ns an event there before live blocks
//! lost their gaps: zeroing pages 72, Sink::call 59, merging 18, sorting 18, other sums 14, the rest of the kernel 14, zstd 10,
//! growing the table of live blocks 9, moving memory 8, the join 7. The replay took 115 then: Sink::call 46, merging 13, sorting
//! 16, the rest as in a recording, but the pages that it needs are those that the round before has left. On this machine, zeroing
//! takes 0.13 ms a MiB for such pages, and 2 ms where the host has to find memory that it was given back.
//!
//! Without gaps, and with sorting by number, python3's worker takes 220 ns (199 to 230) instead of 254 (203 to 276), medians of
//! five recordings each, in turn; zeroing 31 to 47 instead of 76 to 95. cc1plus pays up to 10 ns an event in the replay for this.
//! docs/speed.md says what else a recording costs, and what small pages and packing in passes change.
//!
//! Tried on the EPYC, without a gain beyond the noise of some ns: columns and time line in loops of their own over 1,024 events;
//! calls fetched 16 ahead instead of 8; no fetching of sums of a released block's site; sorting numbers and places of blocks from
//! before a chapter instead of the blocks (which makes the end take twice as long).
//!
//! ```text
//! cargo bench -p memtoll-record --bench passes -- [--keep FOLDER] RECORDING...
//! ```

use memtoll_record::{Destination, Replay};
use memtoll_trace::event::Event;
use memtoll_trace::events::Decoder;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::reader::{BlockRef, Reader};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const ROUNDS: usize = 5;

/// Processor time of this thread, ns.
fn cpu() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is one, to be filled in.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The processors of this thread.
fn processors() -> libc::cpu_set_t {
    // SAFETY: a set of processors is plain data; where the kernel does not fill it in, it is empty.
    unsafe {
        let mut all: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut all);
        all
    }
}

/// Keeps this thread on these processors. The kernel refuses a set without any, and then nothing changes.
fn stay_on(processors: &libc::cpu_set_t) {
    // SAFETY: the set is one, and only read.
    unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), processors) };
}

/// The events of the process image that has most of them.
fn events(recording: &Path) -> Result<Vec<Event>, String> {
    let reader = Reader::open(recording).map_err(|error| error.to_string())?;
    let mut of_images: BTreeMap<_, Vec<&BlockRef>> = BTreeMap::new();
    for block in reader.blocks.iter().filter(|block| block.header.kind == BlockKind::Events) {
        of_images.entry(block.header.image).or_default().push(block);
    }
    let largest = of_images.into_values().max_by_key(Vec::len).ok_or("no events")?;
    let (mut decoder, mut payload, mut all) = (Decoder::new(), Vec::new(), Vec::new());
    let mut events = Vec::new();
    for block in largest {
        reader.payload(block, &mut payload).map_err(|error| error.to_string())?;
        decoder.decode(&payload, &mut events).map_err(|error| format!("{error:?}"))?;
        all.append(&mut events);
    }
    Ok(all)
}

/// What one replay took: processor time of each piece and of the end, ns, and the length of the file, bytes. All rounds have the
/// same pieces.
struct Round {
    pieces: Vec<u64>,
    end: u64,
    bytes: u64,
}

fn replay(events: &[Event], output: &Destination) -> Result<Round, String> {
    let mut replay = Replay::new(output).map_err(|error| error.to_string())?;
    let all = processors();
    let (mut here, mut others) = (all, all);
    // SAFETY: sets of processors are plain data, and sched_getcpu takes nothing.
    unsafe {
        let processor = libc::sched_getcpu().max(0) as usize;
        libc::CPU_ZERO(&mut here);
        libc::CPU_SET(processor, &mut here);
        libc::CPU_CLR(processor, &mut others);
    }
    stay_on(&here);
    let (mut rest, mut pieces) = (events, Vec::new());
    while !rest.is_empty() {
        // From another processor's caches, as in a recording.
        let write = || {
            stay_on(&others);
            replay.write(rest)
        };
        let written = std::thread::scope(|scope| scope.spawn(write).join()).map_err(|_| "the writer has failed")?;
        rest = &rest[written..];
        let began = cpu();
        let taken = replay.drain();
        pieces.push(cpu() - began);
        if written == 0 && taken == 0 {
            return Err("the worker takes nothing".to_owned());
        }
    }
    stay_on(&all);
    let began = cpu();
    let bytes = replay.finish();
    Ok(Round { pieces, end: cpu() - began, bytes })
}

fn measure(recording: &Path, keep: Option<&Path>) -> Result<(), String> {
    let events = events(recording)?;
    let count = events.len() as f64;
    let name = recording.file_name().unwrap_or_default();
    let output = keep.map_or(Destination::New("/dev/null".into()), |folder| Destination::Replace(folder.join(name)));
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(replay(&events, &output)?);
    }
    // Other work on the machine makes a piece take longer, never shorter.
    let fastest = |piece: usize| rounds.iter().filter_map(|round| round.pieces.get(piece)).min().copied().unwrap_or(0);
    let packing: u64 = (0..rounds[0].pieces.len()).map(fastest).sum();
    let end = rounds.iter().map(|round| round.end).min().unwrap_or(0);
    println!(
        "{}: {} events, {:.1} ns an event, {:.1} at the end, {:.2} bytes",
        name.display(),
        events.len(),
        packing as f64 / count,
        end as f64 / count,
        rounds[0].bytes as f64 / count
    );
    Ok(())
}

fn main() {
    let (mut keep, mut recordings) = (None, Vec::new());
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--keep" => keep = arguments.next().map(PathBuf::from),
            _ => recordings.push(PathBuf::from(argument)),
        }
    }
    for recording in recordings {
        if let Err(error) = measure(&recording, keep.as_deref()) {
            eprintln!("{}: {error}", recording.display());
            std::process::exit(1);
        }
    }
}
