//! What a run is called wherever several runs are kept: the same however often its recording is read.

use memtoll_model::Recording;
use sha2::{Digest, Sha256};

/// The run of a recording, as text: 32 hexadecimal digits.
pub fn run_id(recording: &Recording) -> String {
    run_digest(recording).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub fn run_digest(recording: &Recording) -> [u8; 16] {
    let about = &recording.about;
    let first = recording.images.first().map_or(0, |image| image.about.pid);
    let numbers = [about.started.to_le_bytes(), u64::from(first).to_le_bytes()];
    let texts = [&about.machine.host, &about.directory].into_iter().chain(&about.command).map(|text| text.as_bytes());
    let mut digest = Sha256::new();
    for part in numbers.iter().map(|number| &number[..]).chain(texts) {
        // Parts do not run into each other.
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let mut run = [0; 16];
    run.copy_from_slice(&digest.finalize()[..16]);
    run
}
