//! Whole recordings, with changes.

use memtoll_fuzz::{Change, damaged, duration, in_time, limit_memory, read, seeds};

#[test]
fn files() {
    limit_memory();
    let seeds = seeds();
    let file = tempfile::NamedTempFile::new().unwrap();
    let input = (0..seeds.len(), bolero::produce::<Vec<Change>>().with().len(0usize..=8));
    bolero::check!().with_generator(input).with_test_time(duration()).for_each(|(seed, changes)| {
        std::fs::write(file.path(), damaged(&seeds[*seed], changes)).unwrap();
        in_time(|| read(file.path()));
    });
}
