//! Heap profiles: what each process allocated and freed with each call stack. A selected span of time begins with a profile
//! of what was live before it, so that what the second one adds is the span's.

use super::messages::{
    Callstack, Frame, HeapSample, INCREMENTAL_STATE_CLEARED, InternedData, InternedString, Mapping,
    NEEDS_INCREMENTAL_STATE, ProcessHeapSamples, ProfilePacket, TracePacket,
};
use super::packets::{HEAPS, Packets};
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::stacks::{Path, Stacks, Texts};
use memtoll_analysis::sums::{Sums, each_sum_in_image};
use memtoll_model::{FrameId, Recording};
use memtoll_query::Answer;
use memtoll_tally::Selection;
use memtoll_trace::ids::Units;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::io::Result;

/// Entries of a packet: a reader takes one packet at a time.
const CHUNK: usize = 4096;
/// What the profiler of Android calls the heap of malloc; viewers know it.
const HEAP: &str = "libc.malloc";

/// What a process did with a call stack until an instant.
#[derive(Clone, Copy, Default)]
struct Heap {
    allocated_bytes: u64,
    allocated: u64,
    live_bytes: u64,
    live: u64,
    before_bytes: u64,
    before: u64,
}

/// Of each process, by its number, and call stack.
type Heaps = BTreeMap<u32, BTreeMap<Path, Heap>>;

/// Writes the profiles of an answer that has sums.
pub fn write(answer: &Answer, packets: &mut Packets) -> Result<()> {
    let Some(sums) = &answer.basis.sums else { return Ok(()) };
    let recording = answer.basis.recording;
    let mut stacks = Stacks::new(recording, &answer.basis.view);
    let heaps = heaps(recording, sums, &mut stacks);
    let mut paths: Vec<Path> = heaps.values().flat_map(|of| of.keys().copied()).collect();
    paths.sort_unstable();
    paths.dedup();
    let ids: FxHashMap<Path, u64> = paths.iter().copied().zip(1..).collect();
    Interned::new(recording).write(&stacks, &paths, packets)?;
    let mut index = 0;
    let selection = sums.selection;
    let ends = packets.time(selection.to.0.min(recording.ended()));
    if has_before(&selection) {
        let begins = packets.time(selection.from.0);
        dump(&heaps, &ids, begins, |heap| [heap.before_bytes, 0, heap.before, 0], &mut index, packets)?;
    }
    let whole = |heap: &Heap| {
        let bytes = heap.before_bytes.wrapping_add(heap.allocated_bytes);
        let blocks = heap.before.wrapping_add(heap.allocated);
        [bytes, bytes.saturating_sub(heap.live_bytes), blocks, blocks.saturating_sub(heap.live)]
    };
    dump(&heaps, &ids, ends, whole, &mut index, packets)
}

/// Whether something may have been live before what is selected.
fn has_before(selection: &Selection) -> bool {
    selection.from > Units::ZERO && !selection.instant
}

fn heaps(recording: &Recording, sums: &Sums, stacks: &mut Stacks) -> Heaps {
    let mut heaps = Heaps::new();
    let selection = sums.selection;
    let before =
        Selection { from: Units::ZERO, to: selection.from.saturating_sub(Units(1)), instant: true, ..selection };
    // What stays is not known where frees are hidden.
    for (index, _) in sums.counted().filter(|(_, image)| !image.hides_frees) {
        let of_process = heaps.entry(recording.images[index].about.pid).or_default();
        let mut add = |selection: Selection, add: fn(&mut Heap, [u64; 4])| {
            each_sum_in_image(recording, index, selection, &sums.thread_filter, |node, metrics| {
                let stack = stacks.of(node);
                let counts = [metrics.bytes.0, metrics.allocations(), metrics.live_bytes.0, metrics.live_blocks];
                if stack.matches && counts != [0; 4] {
                    add(of_process.entry(stack.path).or_default(), counts);
                }
            });
        };
        add(selection, |heap, [bytes, blocks, live_bytes, live]| {
            // Numbers of a damaged file may be beyond all sums.
            heap.allocated_bytes = heap.allocated_bytes.wrapping_add(bytes);
            heap.allocated = heap.allocated.wrapping_add(blocks);
            heap.live_bytes = heap.live_bytes.wrapping_add(live_bytes);
            heap.live = heap.live.wrapping_add(live);
        });
        if has_before(&selection) {
            add(before, |heap, [_, _, live_bytes, live]| {
                heap.before_bytes = heap.before_bytes.wrapping_add(live_bytes);
                heap.before = heap.before.wrapping_add(live);
            });
        }
    }
    heaps
}

/// Writes a profile of all processes: bytes allocated, bytes freed, blocks allocated, blocks freed.
fn dump(
    heaps: &Heaps,
    ids: &FxHashMap<Path, u64>,
    time: u64,
    counts: impl Fn(&Heap) -> [u64; 4],
    index: &mut u64,
    packets: &mut Packets,
) -> Result<()> {
    let mut dumps = Vec::new();
    for (pid, of_process) in heaps {
        let samples: Vec<HeapSample> = of_process
            .iter()
            .map(|(path, heap)| {
                let [allocated, freed, blocks, freed_blocks] = counts(heap);
                HeapSample {
                    callstack_id: ids.get(path).copied(),
                    self_allocated: Some(allocated),
                    self_freed: Some(freed),
                    alloc_count: Some(blocks),
                    free_count: Some(freed_blocks),
                }
            })
            .collect();
        for chunk in samples.chunks(CHUNK) {
            dumps.push(ProcessHeapSamples {
                pid: Some(u64::from(*pid)),
                samples: chunk.to_vec(),
                from_startup: Some(true),
                timestamp: Some(time),
                heap_name: Some(HEAP.to_owned()),
                sampling_interval_bytes: Some(1),
                orig_sampling_interval_bytes: Some(1),
            });
        }
    }
    let count = dumps.len();
    for (number, dump) in dumps.into_iter().enumerate() {
        let profile = ProfilePacket {
            process_dumps: vec![dump],
            continued: Some(number + 1 < count),
            index: Some(std::mem::replace(index, *index + 1)),
        };
        packets.write(TracePacket {
            timestamp: Some(time),
            trusted_packet_sequence_id: Some(HEAPS),
            sequence_flags: Some(NEEDS_INCREMENTAL_STATE),
            profile_packet: Some(profile),
            ..TracePacket::default()
        })?;
    }
    Ok(())
}

/// Names, frames and stacks, each once, that are to be written.
struct Interned<'r> {
    recording: &'r Recording,
    data: InternedData,
    functions: FxHashMap<&'r str, u64>,
    sources: FxHashMap<&'r str, u64>,
    modules: FxHashMap<&'r str, u64>,
    frames: FxHashMap<Option<FrameId>, u64>,
    entries: usize,
    is_first: bool,
}

/// Of a stack without any frame.
const NO_STACK: &str = "(no stack)";

impl<'r> Interned<'r> {
    fn new(recording: &'r Recording) -> Interned<'r> {
        Interned {
            recording,
            data: InternedData::default(),
            functions: FxHashMap::default(),
            sources: FxHashMap::default(),
            modules: FxHashMap::default(),
            frames: FxHashMap::default(),
            entries: 0,
            is_first: true,
        }
    }

    /// Writes stacks with these ids: 1 and so on.
    fn write(mut self, stacks: &Stacks, paths: &[Path], packets: &mut Packets) -> Result<()> {
        for (path, iid) in paths.iter().zip(1..) {
            let frames = stacks.frames(*path);
            let frame_ids = match frames.is_empty() {
                true => vec![self.frame(None)],
                false => frames.into_iter().rev().map(|frame| self.frame(Some(frame))).collect(),
            };
            self.data.callstacks.push(Callstack { iid: Some(iid), frame_ids });
            self.entries += 1;
            if self.entries >= CHUNK {
                self.flush(packets)?;
            }
        }
        self.flush(packets)
    }

    fn flush(&mut self, packets: &mut Packets) -> Result<()> {
        let cleared = if std::mem::take(&mut self.is_first) { INCREMENTAL_STATE_CLEARED } else { 0 };
        self.entries = 0;
        packets.write(TracePacket {
            timestamp: Some(packets.time(0)),
            trusted_packet_sequence_id: Some(HEAPS),
            sequence_flags: Some(cleared | NEEDS_INCREMENTAL_STATE),
            interned_data: Some(std::mem::take(&mut self.data)),
            ..TracePacket::default()
        })
    }

    fn frame(&mut self, frame: Option<FrameId>) -> u64 {
        if let Some(known) = self.frames.get(&frame) {
            return *known;
        }
        let recording = self.recording;
        let texts = frame.map(|frame| Texts::of(&recording.frames, frame));
        let function = texts.as_ref().map_or(NO_STACK, |texts| qualified_name(texts.function));
        let function = intern(&mut self.functions, &mut self.data.function_names, function);
        let source = texts.as_ref().and_then(|texts| texts.file);
        let source = source.map(|source| intern(&mut self.sources, &mut self.data.source_paths, source));
        let module = self.module(texts.as_ref().map_or("", |texts| texts.module));
        let iid = self.frames.len() as u64 + 1;
        self.data.frames.push(Frame {
            iid: Some(iid),
            function_name_id: Some(function),
            mapping_id: Some(module),
            rel_pc: Some(frame.and_then(|frame| recording.frames.frame(frame).address).unwrap_or(0)),
            source_path_iid: source,
            line_number: texts.and_then(|texts| texts.line),
        });
        self.frames.insert(frame, iid);
        self.entries += 1;
        iid
    }

    fn module(&mut self, path: &'r str) -> u64 {
        if let Some(known) = self.modules.get(path) {
            return *known;
        }
        let iid = self.modules.len() as u64 + 1;
        let build_id = self.recording.modules.iter().find(|module| module.path == path).map(|module| &module.build_id);
        let bytes = build_id.map(|id| from_hex(id)).unwrap_or_default();
        self.data.build_ids.push(InternedString { iid: Some(iid), str: Some(bytes) });
        self.data.mapping_paths.push(InternedString { iid: Some(iid), str: Some(path.as_bytes().to_vec()) });
        self.data.mappings.push(Mapping { iid: Some(iid), build_id: Some(iid), path_string_ids: vec![iid] });
        self.modules.insert(path, iid);
        iid
    }
}

fn intern<'r>(known: &mut FxHashMap<&'r str, u64>, all: &mut Vec<InternedString>, text: &'r str) -> u64 {
    let next = known.len() as u64 + 1;
    *known.entry(text).or_insert_with(|| {
        all.push(InternedString { iid: Some(next), str: Some(text.as_bytes().to_vec()) });
        next
    })
}

fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks_exact(2).filter_map(|two| std::str::from_utf8(two).ok());
    digits.filter_map(|two| u8::from_str_radix(two, 16).ok()).collect()
}
