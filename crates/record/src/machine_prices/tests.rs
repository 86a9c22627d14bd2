use super::*;
use memtoll_trace::meta::Price;
use std::cell::Cell;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

fn price(median: f64) -> Price {
    Price { median, p10: median, p90: median }
}

fn costs(fault: f64) -> Costs {
    let prices = Prices { minor_fault: price(fault), ..Prices::default() };
    let looking = Looking { fault_sample: 600.0, fault_beyond: 500.0, ..Looking::default() };
    Costs { prices: Some(prices), looking: Some(looking) }
}

fn machine() -> Machine {
    Machine { kernel: "Linux 6".to_owned(), processor: "Fast".to_owned(), processors: 2, ..Machine::default() }
}

fn asked(machine: &Machine) -> Asked<'_> {
    let (ran, faults) = (Duration::from_millis(5), TimedFaults::default());
    Asked { machine, version: "1", prices: true, looking: true, ran, faults }
}

fn known(folder: &Path) -> Known {
    let build = Build { bytes: 7, written: 1 };
    Known { folder: Some(folder.join("cache/memtoll")), boot: "b".to_owned(), build, now: 1000 }
}

/// How often it is measured, which then gives faults of 1,500 ns.
fn measures(known: &Known, asked: &Asked) -> usize {
    let measured = Cell::new(0);
    let found = known.find(asked, |_| {
        measured.set(measured.get() + 1);
        costs(1500.0)
    });
    assert_eq!(found, costs(1500.0));
    measured.get()
}

/// Whether a short run measures.
fn is_measured(known: &Known, asked: &Asked) -> bool {
    match measures(known, asked) {
        0 => false,
        1 => true,
        more => panic!("{more} times"),
    }
}

/// Measurements of now.
fn enough(known: &Known, costs: Costs) -> Vec<Measurement> {
    vec![Measurement { at: known.now, costs }; ENOUGH]
}

#[test]
fn a_few_runs_measure() {
    let folder = tempfile::tempdir().unwrap();
    let machine = machine();
    let at = |now: u64| Known { now, ..known(folder.path()) };
    for now in [1000, 1010, 1020] {
        assert!(is_measured(&at(now), &asked(&machine)));
    }
    assert!(!is_measured(&at(1020), &asked(&machine)));
    let entries: Vec<_> = fs::read_dir(folder.path().join("cache/memtoll")).unwrap().collect();
    assert_eq!(entries.len(), 1, "no other files are left");
    let file = at(0).file().unwrap();
    let kept = |now, version| at(now).kept(&machine, version);
    let measured = |times, age, left| KeptCosts::Measured { file: file.clone(), times, age, left };
    assert_eq!(kept(1100, "1"), measured(3, 80, Some(500)));
    assert_eq!(kept(1605, "1"), measured(2, 585, None), "the first is too old");
    assert_eq!(kept(1100, "2"), KeptCosts::Nothing { file: file.clone() });
    let mode = |path: &str| fs::metadata(folder.path().join(path)).unwrap().mode() & 0o777;
    assert_eq!((mode("cache/memtoll"), mode("cache/memtoll/machine.json")), (0o700, 0o600));
}

#[test]
fn a_disturbed_measurement_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (known, machine) = (known(folder.path()), machine());
    let find = |measured: f64| known.find(&asked(&machine), |_| costs(measured));
    assert_eq!(find(4000.0), costs(4000.0), "nothing else is known");
    assert_eq!(find(1500.0), costs(1500.0), "the lower of two");
    assert_eq!(find(1600.0), costs(1600.0), "the median of three");
    assert_eq!(find(9000.0), costs(1600.0), "which is known now");
    // A long run measures in any case, and at once all that is missing; but that is of one moment only.
    let long = Asked { ran: LONG_RUN, ..asked(&machine) };
    assert_eq!(known.find(&long, |_| costs(5000.0)), costs(1600.0));
    fs::remove_file(known.file().unwrap()).unwrap();
    for missing in [ENOUGH, ENOUGH - 1, 1, 1] {
        assert_eq!(measures(&known, &long), missing);
    }
    assert_eq!(known.read(&machine, "1").len(), 4);
    for _ in 0..3 {
        measures(&known, &long);
    }
    assert_eq!(known.read(&machine, "1").len(), MOST);
}

#[test]
fn what_was_measured_at_another_speed_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (known, machine) = (known(folder.path()), machine());
    // Handling takes 500 ns less than the whole fault.
    let slow = Asked { faults: TimedFaults { samples: 12, faults: 100, time: 250_000 }, ..asked(&machine) };
    known.write(&slow, enough(&known, costs(1500.0)));
    assert_eq!(known.find(&slow, |_| costs(1510.0)), costs(1500.0), "this program's faults are dear");
    assert_eq!(known.find(&slow, |_| costs(3000.0)), costs(3000.0), "all faults are dearer now");
    assert_eq!(known.read(&machine, "1").len(), 1);
}

#[test]
fn costs_are_measured_again_where_they_may_have_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (known, here) = (known(folder.path()), machine());
    let at = |now: u64, boot: &str| Known { now, boot: boot.to_owned(), ..self::known(folder.path()) };
    let again = |later: &Known, asked: &Asked| {
        known.write(&self::asked(&here), enough(&known, costs(1500.0)));
        measures(later, asked) > 0
    };
    let plain = asked(&here);
    assert!(!again(&known, &plain));
    assert!(!again(&at(1599, "b"), &plain));
    assert!(again(&at(1600, "b"), &plain), "they are old");
    assert!(again(&at(999, "b"), &plain), "the clock was set");
    assert!(again(&at(1000, "c"), &plain), "it was booted");
    assert!(again(&known, &Asked { version: "2", ..asked(&here) }));
    let rebuilt = Build { bytes: 7, written: 2 };
    assert!(again(&Known { build: rebuilt, ..self::known(folder.path()) }, &plain));
    for other in [
        Machine { kernel: "Linux 7".to_owned(), ..machine() },
        Machine { processor: "Slow".to_owned(), ..machine() },
        Machine { processors: 1, ..machine() },
    ] {
        assert!(again(&known, &asked(&other)));
    }
    assert!(again(&known, &Asked { ran: LONG_RUN, ..asked(&here) }));
    // Handling takes 500 ns less than the whole fault.
    let took = |ns: u64, samples| TimedFaults { samples, faults: 100, time: ns * 100 };
    for (faults, expected) in [
        (took(1000, 12), false),
        (took(1900, 12), false),
        (took(2100, 12), true),
        (took(2100, 11), false),
        (took(490, 12), true),
    ] {
        assert_eq!(again(&known, &Asked { faults, ..asked(&here) }), expected, "{faults:?}");
    }
}

#[test]
fn what_was_not_measured_before_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (known, machine) = (known(folder.path()), machine());
    known.write(&asked(&machine), enough(&known, Costs { prices: None, ..costs(1500.0) }));
    let without = Asked { prices: false, ..asked(&machine) };
    assert_eq!(known.find(&without, |_| unreachable!()), Costs { prices: None, ..costs(1500.0) });
    assert!(is_measured(&known, &asked(&machine)));
}

#[test]
fn the_files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (known, machine) = (known(folder.path()), machine());
    let write = || known.write(&asked(&machine), enough(&known, costs(1500.0)));
    let is_used = || !is_measured(&known, &asked(&machine));
    write();
    assert!(is_used());
    let file = known.file().unwrap();
    // Everybody could have written it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!is_used());
    assert_eq!(known.read(&machine, "1").len(), 1, "it was replaced");
    write();
    let elsewhere = folder.path().join("elsewhere");
    fs::rename(&file, &elsewhere).unwrap();
    symlink(&elsewhere, &file).unwrap();
    assert!(!is_used(), "a link could lead anywhere");
    assert_eq!(known.read(&machine, "1").len(), 1);
    fs::write(&file, "{").unwrap();
    assert!(!is_used());
}

#[test]
fn without_a_place_it_is_measured_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let machine = machine();
    fs::write(folder.path().join("cache"), "a file").unwrap();
    let no_home = folder.path().join("home");
    for known in [known(folder.path()), known(&no_home), Known { folder: None, ..known(folder.path()) }] {
        assert_eq!(known.kept(&machine, "1"), KeptCosts::Nowhere);
        assert!(is_measured(&known, &asked(&machine)));
        assert!(is_measured(&known, &asked(&machine)));
    }
    assert!(!no_home.exists());
}
