//! Many faults: sampling, and rings that are too small.

use crate::common::{Setup, run_steps};
use memtoll_kernel::{Collector, Options, Period, RUNNING, What};
use std::time::Duration;

#[test]
fn a_storm_is_sampled_and_its_sum_stays_right() {
    let Some(run) = Setup::default().run(&["storm", "2000", "200"]) else { return };
    let totals = run.totals;
    println!("{totals:?}");
    assert!(totals.minor_faults >= 400_000);
    assert!(totals.period_changes > 0 && totals.samples < totals.minor_faults / 2);
    assert_eq!(totals.lost_records, 0);
    let error = totals.sampled_faults.abs_diff(totals.minor_faults) as f64 / totals.minor_faults as f64;
    assert!(error < 0.01, "{error}");
    assert_eq!(
        run.faults().map(|fault| u64::from(fault.weight)).sum::<u64>(),
        totals.sampled_faults + totals.major_faults
    );
}

#[test]
fn no_fault_goes_unseen_while_the_period_changes() {
    let setup = Setup { restless: true, ..Setup::default() };
    let Some(run) = setup.run(&["storm", "2000", "200"]) else { return };
    let totals = run.totals;
    println!("{totals:?}");
    assert!(totals.period_changes > 100);
    for found in [totals.minor_faults, totals.sampled_faults + totals.lost_faults] {
        let error = found.abs_diff(run.minor) as f64 / run.minor as f64;
        assert!(error < 0.01, "{found} of {} faults", run.minor);
    }
}

#[test]
fn a_storm_of_a_daemon_is_sampled_too() {
    let Some(run) = Setup::default().run(&["daemon", "2000", "100"]) else { return };
    let totals = run.totals;
    println!("{totals:?}");
    assert!(totals.minor_faults >= 200_000);
    assert!(totals.period_changes > 0);
    let error = totals.sampled_faults.abs_diff(totals.minor_faults) as f64 / totals.minor_faults as f64;
    assert!(error < 0.01, "{error}");
}

#[test]
fn what_does_not_fit_is_counted() {
    let setup = Setup {
        look: Some(Duration::from_millis(30)),
        deaf: true,
        ..Setup::with(|options| {
            options.period = Period::Every(1);
            options.ring_bytes = 1;
        })
    };
    let Some(run) = setup.run(&["storm", "2000", "30"]) else { return };
    assert_eq!(run.view.ring_bytes as u64, crate::common::page());
    let totals = run.totals;
    println!("{totals:?}");
    assert!(totals.lost_records > 10_000);
    // Nothing vanishes: what is missing has been lost, and what has been lost is mostly faults.
    let missing = totals.minor_faults - totals.sampled_faults;
    assert!((missing..missing + missing / 10).contains(&totals.lost_records), "{missing} faults are missing");
    assert!(run.events.iter().any(|event| matches!(event.what, What::Lost { .. })));
}

/// Each step fills two thirds of a ring.
const STEP: u64 = 1500;
const STEPS: u64 = 5;

fn small_rings(period: Period) -> Options {
    Options { period, ring_bytes: 128 << 10, ..Options::default() }
}

#[test]
fn rings_are_emptied_although_nobody_decodes() {
    let empty = |collector: &mut Collector, _: &mut dyn FnMut(_)| {
        assert!(collector.ring_reader().empty(), "more than half full");
    };
    let Some((totals, events)) = run_steps(&small_rings(Period::Every(1)), STEP, STEPS, empty) else { return };
    assert!(totals.minor_faults >= STEP * STEPS);
    assert_eq!((totals.lost_records, totals.sampled_faults), (0, totals.minor_faults));
    assert!(events.is_sorted_by_key(|event| event.ticks));
}

#[test]
fn faults_are_sampled_coarsely_once_a_ring_was_half_full() {
    let mut steps = 0;
    let drain_once = |collector: &mut Collector, each: &mut dyn FnMut(_)| {
        if steps == 0 {
            collector.drain(each);
        }
        steps += 1;
    };
    let Some((totals, _)) = run_steps(&small_rings(Period::Adaptive), STEP, STEPS, drain_once) else { return };
    println!("{totals:?}");
    assert!(totals.minor_faults >= STEP * STEPS);
    assert_eq!((totals.lost_records, totals.period_changes), (0, 1));
    // All of the first step, one in 17 of the others.
    assert!((STEP..2 * STEP).contains(&totals.samples), "{}", totals.samples);
    assert!(totals.sampled_faults.abs_diff(totals.minor_faults) < STEP / 5);
}

#[test]
fn what_was_lost_is_known_by_kind() {
    let ignore = |_: &mut Collector, _: &mut dyn FnMut(_)| {};
    let Some((totals, _)) = run_steps(&small_rings(Period::Every(1)), STEP, STEPS, ignore) else { return };
    println!("{totals:?}");
    assert!(totals.lost_faults > STEP * 2);
    assert_eq!(totals.lost_faults, totals.minor_faults - totals.sampled_faults);
    // The rest are beginnings of faults, of which one in 47 is sampled. How often the program leaves the processor, which is the
    // most of the others, depends on what else the machine does.
    let beginnings = totals.lost_records - totals.lost_faults - totals.lost_running - totals.lost_others;
    assert!(beginnings > 0 && beginnings <= totals.minor_faults / 47 + 1, "{beginnings}");
    assert!(totals.lost_running <= totals.cpu_time / u64::from(RUNNING) + 1);
}

#[test]
fn nothing_is_lost_unnoticed_at_the_end() {
    let setup = Setup {
        look: None,
        ..Setup::with(|options| {
            options.period = Period::Every(1);
            options.ring_bytes = 1;
        })
    };
    let Some(run) = setup.run(&["touch", "1000"]) else { return };
    let totals = run.totals;
    assert!(totals.sampled_faults < totals.minor_faults);
    assert!(totals.lost_records >= totals.minor_faults - totals.sampled_faults, "{totals:?}");
}
