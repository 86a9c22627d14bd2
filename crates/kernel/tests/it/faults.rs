//! Page faults: each one, in the right thread, at the right time.

use crate::common::{Setup, page, privileged, unprivileged};
use memtoll_kernel::{Clock, Period};

#[test]
fn every_touched_page_is_one_fault() {
    let Some(run) = Setup::with(|options| options.period = Period::Every(1)).run(&["touch", "5000"]) else { return };
    let [region] = &run.regions()[..] else { panic!("{}", run.output) };
    let faults = run.faults_in(region);
    assert_eq!(faults.len(), 5000);
    let mut pages: Vec<u64> = faults.iter().map(|fault| fault.address / page()).collect();
    pages.dedup();
    assert_eq!(pages, (region.addresses.start / page()..region.addresses.end / page()).collect::<Vec<_>>());
    assert!(faults.iter().all(|fault| fault.weight == 1 && !fault.major && !fault.in_kernel && fault.ip != 0));
    // The pages of the loop, and little more (printf's buffer, where getrusage is).
    let counted = run.number("minor");
    assert!((5000..5010).contains(&counted), "{counted}");
    assert_eq!(run.totals.sampled_faults, run.totals.minor_faults);
    assert_eq!(run.totals.lost_records, 0);
}

#[test]
fn of_some_faults_the_time_is_known() {
    for period in [Period::Every(1), Period::Every(17)] {
        let Some(run) = Setup::with(|options| options.period = period).run(&["touch", "20000"]) else { return };
        let [region] = &run.regions()[..] else { panic!("{}", run.output) };
        let faults = run.faults_in(region);
        let known = faults.iter().filter(|fault| fault.handling.is_some_and(|ns| ns > 50)).count();
        // One in 47; a few are interrupted.
        let expected = faults.len() / 47;
        assert!((expected / 2..=expected + 1).contains(&known), "{period:?}: {known} of {}", faults.len());
    }
}

/// Needs Linux 5.11.
#[test]
fn it_is_told_how_large_a_page_is() {
    let Some(run) = Setup::with(|options| options.period = Period::Every(1)).run(&["huge"]) else { return };
    let [region] = &run.regions()[..] else { panic!("{}", run.output) };
    let (faults, given) = (run.faults_in(region), run.number("huge"));
    assert_eq!(faults.len(), 4);
    let of = |bytes| faults.iter().filter(|fault| fault.page == Some(bytes)).count() as u64;
    // Where the kernel has no huge page free, it gives small ones.
    assert_eq!((of(2 << 20), of(page())), (given, 4 - given), "{faults:?}");
}

#[test]
fn the_sum_is_what_the_kernel_counts() {
    let Some(run) = Setup::default().run(&["touch", "5000"]) else { return };
    // The kernel also counts what it did before exec, and pages that it took without a fault for the new stack.
    let unseen = run.minor - run.totals.minor_faults;
    println!("{} of {} minor faults are not seen", unseen, run.minor);
    assert!(unseen < 300, "{unseen}");
    assert_eq!(run.totals.major_faults, run.major);
}

#[test]
fn faults_inside_a_system_call_are_seen_with_privileges() {
    let Some(run) = Setup::with(|options| options.period = Period::Every(1)).run(&["read", "2000"]) else { return };
    assert_eq!(run.view.system_calls, privileged());
    let faults = run.faults_in(&run.regions()[0]);
    if privileged() {
        assert_eq!(faults.len(), 2000);
        assert!(faults.iter().all(|fault| fault.in_kernel));
    } else {
        println!("not privileged: checked that they are not seen, and that the view says so");
        assert!(faults.is_empty());
    }
}

#[test]
fn faults_inside_a_system_call_are_not_seen_without() {
    unprivileged(|| {
        if privileged() {
            println!("perf_event_paranoid lets everybody see everything here: the view must say so");
        }
        let Some(run) = Setup::with(|options| options.period = Period::Every(1)).run(&["read", "2000"]) else { return };
        assert_eq!(run.view.system_calls, privileged());
        let seen = run.faults_in(&run.regions()[0]).len();
        assert_eq!(seen, if privileged() { 2000 } else { 0 });
        assert_eq!(run.totals.sampled_faults, run.totals.minor_faults);
        // They are what is missing from the kernel's count.
        assert!(privileged() || run.minor >= run.totals.minor_faults + 2000);
    });
}

#[test]
fn without_privileges_the_programs_own_faults_are_all_seen() {
    unprivileged(|| {
        let Some(run) = Setup::default().run(&["touch", "3000"]) else { return };
        assert_eq!(run.faults_in(&run.regions()[0]).len(), 3000);
    });
}

#[test]
fn faults_carry_their_thread() {
    let Some(run) = Setup::with(|options| options.period = Period::Every(1)).run(&["threads", "8", "400"]) else {
        return;
    };
    let regions = run.regions();
    assert_eq!(regions.len(), 8);
    for region in &regions {
        let faults = run.faults_in(region);
        assert_eq!(faults.len() as u64, region.pages);
        assert!(faults.iter().all(|fault| fault.tid == region.thread));
    }
}

#[test]
fn major_faults_are_told_apart() {
    let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::io::Write::write_all(&mut file, &vec![7; 200 * page() as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    let setup = Setup::with(|options| options.period = Period::Every(1));
    let Some(run) = setup.run(&["disk", file.path().to_str().unwrap(), "200"]) else { return };
    let counted = run.number("major");
    assert!(counted > 0, "{} is not on a disk that pages can be read from", file.path().display());
    let major = run.faults_in(&run.regions()[0]).iter().filter(|fault| fault.major).count();
    assert_eq!(major as u64, counted);
    assert_eq!(run.totals.major_faults, run.major);
}

#[test]
fn a_sampled_region_is_estimated_within_three_sigma() {
    let (pages, period) = (60_000, 17);
    let setup = Setup::with(|options| options.period = Period::Every(period));
    let Some(run) = setup.run(&["mix", &pages.to_string()]) else { return };
    for region in run.regions() {
        let faults = run.faults_in(&region);
        assert!(faults.iter().all(|fault| fault.weight == period));
        let estimate = faults.len() as f64 * f64::from(period);
        let share = region.pages as f64 / f64::from(pages);
        let sigma = (f64::from(period * pages) * share * (1.0 - share)).sqrt();
        let error = (estimate - region.pages as f64).abs();
        println!("{} pages, estimated {estimate}: {:.2} sigma", region.pages, error / sigma);
        assert!(error < 3.0 * sigma, "{} pages, estimated {estimate}, sigma {sigma}", region.pages);
    }
}

/// Faults must be placed inside the call that caused them: their times must lie between those that the program itself
/// took right before and right after it.
fn check_times(clock: Clock, name: &str) {
    let setup = Setup { clock, ..Setup::with(|options| options.period = Period::Every(1)) };
    let Some(run) = setup.run(&["stamps", "5000", name]) else { return };
    let region = &run.regions()[0];
    let stamps: Vec<(u64, u64)> =
        run.lines("stamp").map(|words| (words[1].parse().unwrap(), words[2].parse().unwrap())).collect();
    let faults = run.faults_in(region);
    assert_eq!(faults.len(), stamps.len());
    // How far each is from the ends; negative outside.
    let mut after_begin = Vec::new();
    let mut before_end = Vec::new();
    for fault in &faults {
        let (begin, end) = stamps[((fault.address - region.addresses.start) / page()) as usize];
        after_begin.push(fault.ticks.wrapping_sub(begin) as i64);
        before_end.push(end.wrapping_sub(fault.ticks) as i64);
    }
    let inside = after_begin.iter().zip(&before_end).filter(|(after, before)| **after >= 0 && **before >= 0).count();
    for (name, distances) in [("after the beginning", &mut after_begin), ("before the end", &mut before_end)] {
        distances.sort_unstable();
        println!("{name}: at least {} ticks, half of them {}", distances[0], distances[distances.len() / 2]);
    }
    assert!(inside * 100 > faults.len() * 99, "{inside} of {} are inside", faults.len());
}

#[test]
fn times_on_the_monotonic_clock_lie_in_their_brackets() {
    check_times(Clock::Monotonic, "monotonic");
}

#[test]
fn times_on_the_time_stamp_counter_lie_in_their_brackets() {
    check_times(Clock::Counter(memtoll_processor::counter), "counter");
}
