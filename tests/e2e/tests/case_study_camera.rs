//! The camera's frames: one allocation each before, none after.

use memtoll_e2e::{Outcome, Target, demo_program, run, table};

/// Frames of `camera-VARIANT`, as fast as possible.
fn camera(variant: &str, frames: u64) -> Target {
    Target::new(demo_program("camera", variant)).args(["--fps", "0", "--frames"]).arg(frames.to_string())
}

/// The number that stands after `name` on standard error.
fn figure(outcome: &Outcome, name: &str) -> u64 {
    let line = outcome.stderr.lines().find(|line| line.starts_with(name));
    let rest = line.unwrap_or_else(|| panic!("no {name}: {outcome:?}"))[name.len()..].trim();
    rest.split(',').next().and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no number: {outcome:?}"))
}

#[test]
fn every_frame_is_allocated_before_and_none_after() {
    for (frames, frame_bytes, options) in [(60, 1_382_400, [].as_slice()), (12, 12_441_600, &["--4k"])] {
        let before = camera("before", frames).args(options).record();
        let after = camera("after", frames).args(options).record();
        assert_eq!(before.outcome.stdout, after.outcome.stdout, "the variants show different frames");

        let (report, after) = (before.report(), after.report());
        let copies = report.function("Capture::next");
        let found = (copies.new_blocks, copies.bytes, copies.live_blocks);
        assert_eq!(found, (frames, frames * frame_bytes, 0), "sites:\n{}", report.listing());
        assert_eq!(after.new_blocks("Capture::next"), 0, "sites:\n{}", after.listing());

        // The camera's four buffers: allocated before, afterwards a pool's, which comes straight from the system.
        let buffers = report.sites.iter().filter(|s| s.is_in("allocate_pixels") && s.is_in("Capture::Capture"));
        let (count, bytes) = buffers.fold((0, 0), |(n, b), s| (n + s.metrics.new_blocks, b + s.metrics.bytes));
        assert_eq!((count, bytes), (4, 4 * frame_bytes), "sites:\n{}", report.listing());
        assert_eq!(after.new_blocks("allocate_pixels"), 0, "sites:\n{}", after.listing());

        // The pool itself has two small blocks: which buffers are free, and since when.
        let pool = after.new_blocks("Capture::Capture") - after.new_blocks("Device::attach");
        assert_eq!(pool, 2, "sites:\n{}", after.listing());
        assert_eq!(report.totals.metrics.new_blocks - after.totals.metrics.new_blocks, frames + 4 - 2);
    }
}

#[test]
fn every_variant_allocates_and_faults_as_the_readme_says() {
    let rows = table("casestudies/camera/README.md", "variants");
    let cases = [("1280x720", "before"), ("1280x720", "after"), ("3840x2160", "before"), ("3840x2160", "after")];
    assert_eq!(rows.iter().map(|row| (row[0].as_str(), row[1].as_str())).collect::<Vec<_>>(), cases);
    for row in &rows {
        let options = if row[0] == "3840x2160" { ["--4k"].as_slice() } else { &[] };
        let [said_allocations, said_faults] = [2, 3].map(|i| row[i].replace(',', "").parse::<u64>().unwrap());
        let allocations = |frames| {
            let report = camera(&row[1], frames).args(options).record().report();
            report.totals.metrics.new_blocks
        };
        assert_eq!(allocations(24) - allocations(12), 12 * said_allocations, "{row:?}");
        // The README has the faults of 300 frames.
        let outcome = run(camera(&row[1], 30).args(options).plain_command());
        let (found, said) = (figure(&outcome, "minor faults"), said_faults / 10);
        assert!(found.abs_diff(said) < 30 + said / 20, "{row:?}: {found} faults of 30 frames");
    }
}

#[test]
fn the_report_names_the_line() {
    let screen = camera("before", 60).record().text(&[]);
    for words in ["Capture::next", "allocate_pixels (pixels.hpp:", "60"] {
        assert!(screen.contains(words), "no {words} on the first screen:\n{screen}");
    }
}

#[test]
fn every_fresh_frame_faults_page_by_page() {
    let frames = 60;
    let before = figure(&run(camera("before", frames).plain_command()), "minor faults");
    let after = figure(&run(camera("after", frames).plain_command()), "minor faults");
    let pages = frames * 1_382_400 / 4096;
    assert!((pages..pages + pages / 50).contains(&before), "{before} faults on {pages} pages");
    assert!(after < frames, "{after} faults in {frames} frames that are already there");
}

#[test]
fn wrong_options_are_refused() {
    for wrong in [["--size", "1280"], ["--size", "3x4"], ["--fps", "-1"], ["--alignment", "100"], ["--frames", "x"]] {
        let outcome = run(Target::new(demo_program("camera", "after")).args(wrong).plain_command());
        assert_eq!(outcome.status.code(), Some(2), "{wrong:?}: {outcome:?}");
        assert_eq!(outcome.stderr_lines_with(&["cannot be", wrong[1]]).len(), 1, "{wrong:?}: {outcome:?}");
    }
}
