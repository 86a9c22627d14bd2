//! For tests: recordings that were written once (`format/golden`).

use memtoll_model::Recording;
use std::path::Path;

pub fn golden(name: &str) -> Recording {
    Recording::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden").join(name)).unwrap()
}
