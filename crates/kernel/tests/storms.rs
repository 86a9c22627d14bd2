//! Many faults: sampling, and rings that are too small.

mod common;

use common::Setup;
use memtoll_kernel::{Period, What};
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
    assert_eq!(run.view.ring_bytes as u64, common::page());
    let totals = run.totals;
    println!("{totals:?}");
    assert!(totals.lost_records > 10_000);
    // Nothing vanishes: what is missing has been lost, and what has been lost is mostly faults.
    let missing = totals.minor_faults - totals.sampled_faults;
    assert!((missing..missing + missing / 10).contains(&totals.lost_records), "{missing} faults are missing");
    assert!(run.events.iter().any(|event| matches!(event.what, What::Lost { .. })));
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
