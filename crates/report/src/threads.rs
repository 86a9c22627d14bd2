//! For whom threads waited in the allocator.

use memtoll_analysis::waits::Wait;
use memtoll_model::Recording;
use memtoll_text::format;
use memtoll_trace::ids::ThreadNo;

/// Waits that are shown.
const SHOWN: usize = 12;

fn tid(recording: &Recording, image: usize, thread: Option<ThreadNo>) -> Option<u32> {
    Some(recording.images.get(image)?.thread(thread?)?.tid)
}

/// Who waited for whom, the longest waits first; nothing if no thread waited.
pub fn waits(recording: &Recording, waits: &[Wait], width: Option<usize>) -> String {
    let mut text = String::new();
    for wait in waits.iter().take(SHOWN).filter(|wait| wait.time > 0) {
        let Some(waiter) = tid(recording, wait.image, wait.thread) else { continue };
        let meanwhile = match tid(recording, wait.image, wait.holder) {
            Some(holder) => format!("while thread {holder} was in the allocator"),
            None => "with no other thread seen in the allocator".to_owned(),
        };
        let time = wait.lasted(&recording.about.clock).time_with_error();
        text += &format::wrapped(&format!("{time:>14}  "), &format!("thread {waiter} waited, {meanwhile}"), width);
    }
    if text.is_empty() { text } else { crate::section::title("Who waited in the allocator for whom") + &text }
}
