//! What is known of each thread: the kernel's counts, and for whom it waited in the allocator.

use crate::format;
use crate::processor::Processor;
use memtoll_analysis::processor::Runner;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_analysis::waits::Wait;
use memtoll_model::Recording;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// Waits that are shown.
const SHOWN: usize = 12;

/// A thread in JSON. The kernel's counts are null where it was not asked: the thread did not end while it was
/// recorded; and beside a part of a recording. Its processor time is told all the same where switches were seen.
#[derive(Serialize)]
pub struct JsonThread {
    pid: u32,
    tid: u32,
    name: Option<String>,
    cpu_ns: Option<u64>,
    minor_faults: Option<u64>,
    major_faults: Option<u64>,
    voluntary_switches: Option<u64>,
    involuntary_switches: Option<u64>,
    waits: Option<Vec<JsonWait>>,
}

#[derive(Serialize)]
struct JsonWait {
    /// The thread that was in the allocator meanwhile; null if none is known.
    holder_tid: Option<u32>,
    waiting_ns: u64,
}

/// The threads of a recording, by image and number. `waits` are those of the part of it that was added up.
pub fn json(recording: &Recording, waits: &[Wait], sums: &Sums) -> Vec<JsonThread> {
    let ns = 1e9 / recording.about.clock.units_per_second;
    let (is_part, sees) = (sums.selection.is_part(), Tariff::of(recording).sees());
    let processor = Processor::new(recording, sums);
    let mut by_thread: FxHashMap<(usize, u32), Vec<&Wait>> = FxHashMap::default();
    waits.iter().for_each(|wait| by_thread.entry((wait.image, wait.thread)).or_default().push(wait));
    let mut all = Vec::new();
    for (index, image) in recording.images.iter().enumerate() {
        let counts = |number: u32| sums.runners.admit(Runner { image: index, thread: Some(number) });
        for thread in image.threads.iter().filter(|thread| counts(thread.number)) {
            let usage = thread.usage.as_ref().filter(|_| !is_part);
            let own = by_thread.remove(&(index, thread.number)).unwrap_or_default();
            let wait = |wait: &Wait| JsonWait {
                holder_tid: tid(recording, index, wait.holder),
                waiting_ns: (wait.time as f64 * ns) as u64,
            };
            all.push(JsonThread {
                pid: image.about.pid,
                tid: thread.tid,
                name: thread.name.clone(),
                cpu_ns: processor.of(Runner { image: index, thread: Some(thread.number) }).map(|ns| ns as u64),
                minor_faults: usage.map(|usage| usage.minor_faults),
                major_faults: usage.map(|usage| usage.major_faults),
                voluntary_switches: usage.map(|usage| usage.voluntary_switches),
                involuntary_switches: usage.map(|usage| usage.involuntary_switches),
                waits: sees.switches.then(|| own.into_iter().map(wait).collect()),
            });
        }
    }
    all
}

fn tid(recording: &Recording, image: usize, number: u32) -> Option<u32> {
    Some(recording.images.get(image)?.thread(number)?.tid)
}

/// Who waited for whom, the longest waits first; nothing if nobody waited.
pub fn waits(recording: &Recording, waits: &[Wait], width: Option<usize>) -> String {
    let mut text = String::new();
    for wait in waits.iter().take(SHOWN).filter(|wait| wait.time > 0) {
        let Some(waiter) = tid(recording, wait.image, wait.thread) else { continue };
        let meanwhile = match tid(recording, wait.image, wait.holder) {
            Some(holder) => format!("while thread {holder} was in the allocator"),
            None => "with no other thread seen in the allocator".to_owned(),
        };
        let time = format::seconds(recording.about.clock.seconds(wait.time));
        text += &format::wrapped(&format!("{time:>14}  "), &format!("thread {waiter} waited, {meanwhile}"), width);
    }
    if text.is_empty() { text } else { crate::section::title("Who waited in the allocator for whom") + &text }
}
