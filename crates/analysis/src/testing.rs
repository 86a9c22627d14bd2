//! Recordings for tests.

use memtoll_model::Recording;

/// The golden recording of this name.
pub fn golden(name: &str) -> Recording {
    let file = format!("{}/../../format/golden/{name}.memtoll", env!("CARGO_MANIFEST_DIR"));
    Recording::open(file.as_ref()).unwrap()
}
