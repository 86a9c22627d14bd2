//! The dictionary: every step loads the same from good and from bad files, and allocates what its README says.

use memtoll_e2e::{Outcome, Target, demo_program, run, scratch, table, workspace};
use std::path::{Path, PathBuf};
use std::process::Command;

const STEPS: [&str; 6] = ["1_stream", "2_mapped", "3_one_conversion", "4_new", "5_pool", "6_views"];

fn loader(step: &str, file: &Path) -> Target {
    Target::new(demo_program("dictionary", step)).arg("--file").arg(file)
}

fn load(step: &str, file: &Path) -> Outcome {
    run(loader(step, file).plain_command())
}

/// What a step says of a file with these bytes.
fn loaded(step: &str, bytes: &[u8]) -> String {
    let folder = scratch();
    let file = folder.path().join("dictionary.u8");
    std::fs::write(&file, bytes).unwrap();
    let outcome = load(step, &file);
    assert!(outcome.status.success(), "{step}: {outcome:?}");
    outcome.stdout
}

/// The file that dictionary-generate makes, and where it lies.
fn generated(entries: u32) -> (PathBuf, tempfile::TempDir) {
    let folder = scratch();
    let output = Command::new(demo_program("dictionary", "generate")).arg(entries.to_string()).output().unwrap();
    assert!(output.status.success());
    let file = folder.path().join("generated.u8");
    std::fs::write(&file, output.stdout).unwrap();
    (file, folder)
}

/// FNV-1a of the parts of entries, as the loader has it.
fn checksum(entries: &[[&str; 4]]) -> u64 {
    let units = entries.iter().flatten().flat_map(|part| part.encode_utf16().chain([u16::from(b'\n')]));
    units.fold(0xcbf2_9ce4_8422_2325, |sum, unit| (sum ^ u64::from(unit)).wrapping_mul(0x100_0000_01b3))
}

/// Fails unless every step finds these in the file, and a number of other lines.
#[track_caller]
fn expect(bytes: &[u8], entries: &[[&str; 4]], comments: u32, malformed: u32) {
    let expected = format!(
        "{} entries, checksum {:016x}; {comments} comments and empty lines, {malformed} malformed lines\n",
        entries.len(),
        checksum(entries)
    );
    for step in STEPS {
        assert_eq!(
            loaded(step, bytes),
            expected,
            "{step}: {:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(200)])
        );
    }
}

const YOU: [&str; 4] = ["你", "你", "ni3", "you (informal)/thou"];
const LINE: &str = "你 你 [ni3] /you (informal)/thou/";

#[test]
fn entries_comments_and_line_ends() {
    expect(b"", &[], 0, 0);
    expect(LINE.as_bytes(), &[YOU], 0, 0);
    expect(format!("{LINE}\n{LINE}\n").as_bytes(), &[YOU, YOU], 0, 0);
    expect(format!("# a comment\r\n\r\n{LINE}\r\n\n#\n{LINE}\n\r\n").as_bytes(), &[YOU, YOU], 5, 0);
    expect(format!("\u{feff}{LINE}\r\n").as_bytes(), &[YOU], 0, 0);
    expect("\u{feff}".as_bytes(), &[], 0, 0);
    expect(b"\xef\xbb", &[], 0, 1);
    // A byte order mark anywhere else belongs to the text, and so does what stands for broken text.
    expect(format!("{LINE}\n\u{feff}{LINE}\n").as_bytes(), &[YOU, ["\u{feff}你", "你", "ni3", YOU[3]]], 0, 0);
    expect("\u{fffd} \u{ffff} [] /\u{0}/".as_bytes(), &[["\u{fffd}", "\u{ffff}", "", "\0"]], 0, 0);
}

#[test]
fn lines_that_are_no_entries_are_skipped_and_counted() {
    let malformed = [
        "你", "你 你", "你 你 ni3] /you/", "你 你 [ni3 /you/", "你 你 [ni3] you/", "你 你 [ni3] /you",
        "你 你 [ni3]/you/", "你 你 [ni3] //", "你 你 [ni3] /", "你  [ni3] /you/", " 你 [ni3] /you/", "你 [ni3] /you/",
        " # no comment",
    ];
    for line in malformed {
        expect(format!("{LINE}\r\n{line}\r\n{LINE}").as_bytes(), &[YOU, YOU], 0, 1);
    }
    expect(b"a b [] /c/", &[["a", "b", "", "c"]], 0, 0);
}

#[test]
fn invalid_utf8_is_skipped_and_counted() {
    let invalid: [&[u8]; 14] = [
        b"\xff",             // never a byte of UTF-8
        b"\x80",             // nothing before it
        b"\xe4\xbd",         // cut short
        b"\xf0\xa0\x80",     // cut short
        b"\xc3",             // cut short
        b"\xc0\x80",         // overlong
        b"\xe0\x80\x80",     // overlong
        b"\xf0\x80\x80\x80", // overlong
        b"\xed\xa0\x80",     // a surrogate
        b"\xed\xbf\xbf",     // a surrogate
        b"\xf4\x90\x80\x80", // above U+10FFFF
        b"\xf8\x88\x80\x80\x80", b"\xe4\x20\xbd",
        b"\xed\xa0\xbd\xed\xb8\x80", // a pair of surrogates, as some programs write
    ];
    for bytes in invalid {
        for line in [[b"a b [c] /".as_slice(), bytes, b"/"].concat(), [bytes, b" b [c] /d/"].concat(), bytes.to_vec()] {
            let file = [LINE.as_bytes(), b"\r\n", &line, b"\r\n", LINE.as_bytes(), b"\n"].concat();
            expect(&file, &[YOU, YOU], 0, 1);
            expect(&[LINE.as_bytes(), b"\n", &line].concat(), &[YOU], 0, 1);
        }
        expect(&[b"# ", bytes, b"\n", LINE.as_bytes()].concat(), &[YOU], 0, 1);
    }
}

#[test]
fn characters_of_all_lengths() {
    // Line ends have bytes in common with some of these: U+4E0A and U+0A0A.
    let entry = ["上\u{a0a}\u{a00}", "𠀀é", "shang4", "\u{10ffff}/naïve/上下"];
    let line = format!("{} {} [{}] /{}/", entry[0], entry[1], entry[2], entry[3]);
    expect(format!("{line}\n{line}\r\n{LINE}").as_bytes(), &[entry, entry, YOU], 0, 0);
}

#[test]
fn very_long_lines_are_skipped_and_counted() {
    let entry = |character: &str, count: usize| format!("你 你 [ni3] /{}/", character.repeat(count));
    let huge = entry("x", 10 << 20);
    expect(format!("{LINE}\n{huge}\n{LINE}\n").as_bytes(), &[YOU, YOU], 0, 1);
    expect(huge.as_bytes(), &[], 0, 1);
    let head = entry("", 0).encode_utf16().count();
    for (character, units) in [("x", 1), ("上", 1), ("𠀀", 2)] {
        // 16,384 units of UTF-16 are the most.
        let fits = (16_384 - head) / units;
        let senses = character.repeat(fits);
        expect(entry(character, fits).as_bytes(), &[["你", "你", "ni3", &senses]], 0, 0);
        expect(entry(character, fits + 1).as_bytes(), &[], 0, 1);
    }
}

#[test]
fn wrong_command_lines_and_files_are_refused() {
    let folder = scratch();
    for step in STEPS {
        let outcome = load(step, &folder.path().join("missing"));
        assert_eq!(outcome.status.code(), Some(1), "{step}: {outcome:?}");
        assert_eq!(outcome.stderr_lines_with(&["No such file"]).len(), 1, "{step}: {outcome:?}");
        let directory = load(step, &workspace());
        assert_eq!(directory.status.code(), Some(1), "{step}: {directory:?}");
        let outcome = run(Target::new(demo_program("dictionary", step)).plain_command());
        assert_eq!(outcome.status.code(), Some(2), "{step}: {outcome:?}");
    }
}

#[test]
fn every_step_allocates_what_the_readme_says() {
    let (file, _folder) = generated(120_000);
    let rows = table("casestudies/dictionary/README.md", "counts");
    assert_eq!(rows.iter().map(|row| row[0].trim_matches('`')).collect::<Vec<_>>(), STEPS);
    let mut outputs = Vec::new();
    for row in &rows {
        let recording = loader(row[0].trim_matches('`'), &file).record();
        let found = recording.report().totals.metrics;
        let [said_allocations, said_bytes] = [1, 2].map(|i| row[i].replace(',', "").parse::<u64>().unwrap());
        assert_eq!((found.new_blocks, found.bytes), (said_allocations, said_bytes), "{}", row[0]);
        outputs.push(recording.outcome.stdout);
    }
    assert!(outputs.iter().all(|output| *output == outputs[0]), "{outputs:?}");
}

#[test]
fn the_report_names_the_line() {
    let (file, _folder) = generated(5_000);
    let strings = loader("4_new", &file).record();
    let screen = strings.text(&[]);
    for words in ["Entries::copy (entries.hpp:", "20,000"] {
        assert!(screen.contains(words), "no {words} on the first screen:\n{screen}");
    }
    assert_eq!(strings.report().new_blocks("Entries::copy"), 20_000);
    assert_eq!(loader("5_pool", &file).record().report().new_blocks("Entries::copy"), 0);
    let stream = loader("1_stream", &file).record().text(&[]);
    for words in ["Entries::Strings::Strings", "Lines::next", "std::basic_string<char16_t>"] {
        assert!(stream.contains(words), "no {words} on the first screen:\n{stream}");
    }
}

/// Milliseconds of CPU time for loading and for destroying, each the best of a few.
fn best(step: &str, file: &Path) -> [f64; 2] {
    let runs = (0..5).map(|_| {
        let outcome = load(step, file);
        let after = |word: &str| outcome.stderr.split(word).nth(1)?.split_whitespace().next()?.parse::<f64>().ok();
        [after("loading"), after("destroying")]
            .map(|time| time.unwrap_or_else(|| panic!("{step}: no time: {outcome:?}")))
    });
    runs.fold([f64::MAX; 2], |least, run| [0, 1].map(|i| least[i].min(run[i])))
}

/// A third of what the README says is left for other machines and busy ones.
#[test]
fn the_last_step_is_many_times_faster_than_the_first() {
    let (file, _folder) = generated(120_000);
    let ([first, _], [last, _]) = (best("1_stream", &file), best("6_views", &file));
    assert!(first > 20.0 / 3.0 * last, "{first} ms -> {last} ms");
}

/// The README: loading 1.7 times, with destruction 1.9 times, destruction alone 15 times.
#[test]
fn the_pool_is_faster_than_new() {
    let (file, _folder) = generated(120_000);
    let ([load, destroy], [pool_load, pool_destroy]) = (best("4_new", &file), best("5_pool", &file));
    assert!(load > 1.2 * pool_load, "{load} ms -> {pool_load} ms");
    assert!(destroy > 5.0 * pool_destroy, "{destroy} ms -> {pool_destroy} ms");
}
