//! What a recording says of spans of time: the same, whether its chapters are used or all events are read.

use memtoll_e2e::{Recording, Target, program, read_report};

/// The numbers of the kinds of blocks in FORMAT.md.
const CHAPTER: u8 = 19;
const HEADER_BYTES: usize = 20;
const SIGNATURE_BYTES: usize = 16;

/// Kind, offset and length of each block.
fn blocks(file: &[u8]) -> Vec<(u8, usize, usize)> {
    let mut at = SIGNATURE_BYTES;
    let mut blocks = Vec::new();
    while at < file.len() {
        let length = u32::from_le_bytes(file[at + 12..at + 16].try_into().unwrap()) as usize + HEADER_BYTES;
        blocks.push((file[at + 4], at, length));
        at += length;
    }
    blocks
}

/// What is asked of the recording, which lasts so many seconds, and of one of its threads.
fn answers(recording: &Recording, seconds: f64, thread: &str) -> Vec<String> {
    let times = [0.0, 0.02, 0.1, 0.31, 0.5, 0.77, 0.98].map(|share| format!("{:.6}s", share * seconds));
    let mut asked = Vec::new();
    for (index, from) in times.iter().enumerate() {
        asked.push(vec!["--format", "json", "--at", from]);
        for to in &times[index + 1..] {
            asked.push(vec!["--format", "json", "--from", from, "--to", to]);
        }
        asked.push(vec!["--tree", "--from", from]);
        asked.push(vec!["--group", "size", "--from", from]);
        asked.push(vec!["--group", "thread", "--from", from, "--to", &times[6]]);
        asked.push(vec!["--flat", "--from", from, "--to", &times[6]]);
        asked.push(vec!["--flat", "--paid", "--from", from]);
        asked.push(vec!["--flat", "--min-size", "100", "--max-size", "300", "--from", from]);
        asked.push(vec!["--flat", "--thread", thread, "--from", from]);
        asked.push(vec!["--group", "size", "--paid", "--thread", thread, "--max-size", "999", "--to", from]);
    }
    let answer = |options: &Vec<&str>| {
        let outcome = read_report(&recording.file, options);
        format!("{options:?}\n{}{}", outcome.stdout, outcome.stderr)
    };
    asked.iter().map(answer).collect()
}

#[test]
fn chapters_say_what_all_events_say() {
    let recording = Target::new(program("busy.cpp")).record();
    let file = std::fs::read(&recording.file).unwrap();
    let blocks = blocks(&file);
    let chapters = blocks.iter().filter(|(kind, ..)| *kind == CHAPTER).count();
    assert!(chapters >= 3, "{chapters} chapters: there is nothing to compare");
    let json = recording.text(&["--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let seconds = json["seconds"].as_f64().unwrap_or_else(|| panic!("{json}"));
    let thread = json["threads"][1]["tid"].as_u64().unwrap_or_else(|| panic!("{json}")).to_string();
    let with_chapters = answers(&recording, seconds, &thread);
    // An index that nobody recognises is not used, and without an index chapters are not.
    let mut other = file;
    *other.last_mut().unwrap() ^= 1;
    std::fs::write(&recording.file, other).unwrap();
    for (with, without) in with_chapters.iter().zip(answers(&recording, seconds, &thread)) {
        assert_eq!(*with, without);
    }
}
