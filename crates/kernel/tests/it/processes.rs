//! Threads, processes, programs, switches and mappings.

use crate::common::{Run, Setup, page, unprivileged};
use memtoll_kernel::{KernelEvent, Mode, Period, RUNNING, What};

fn events_of(run: &Run, pid: u64) -> impl Iterator<Item = &KernelEvent> {
    run.events.iter().filter(move |event| u64::from(event.pid) == pid)
}

#[test]
fn a_program_begins_with_its_exec() {
    let Some(run) = Setup::default().run(&["touch", "10"]) else { return };
    // The system call that executes it may take so long that it is sampled or loses the processor.
    let inside = |what: &What| {
        matches!(what, What::SwitchIn | What::SwitchOut { .. } | What::Runs { mode: Mode::SystemCall, .. })
    };
    let first = run.events.iter().find(|event| !inside(&event.what)).unwrap();
    assert_eq!(first.what, What::Exec("target".into()));
    assert_eq!((first.pid, first.tid), (run.pid, run.pid));
    assert_eq!(run.events.iter().rfind(|event| event.what == What::Exit).unwrap().pid, run.pid);
}

#[test]
fn it_is_seen_where_a_program_runs_and_for_how_long() {
    let check = || {
        let Some(run) = Setup::default().run(&["compute", "300"]) else { return };
        let code = run.lines("code").next().unwrap()[1].trim_start_matches("0x").to_owned();
        let code = u64::from_str_radix(&code, 16).unwrap();
        let runs = |event: &&KernelEvent| matches!(event.what, What::Runs { .. });
        // The function has some 200 bytes; an unoptimised one has more.
        let there = |event: &&KernelEvent| matches!(event.what, What::Runs { ip, mode: Mode::Program, .. } if (code..code + 1000).contains(&ip));
        let (all, there) = (run.events.iter().filter(runs).count(), run.events.iter().filter(there).count());
        let expected = 300_000_000.0 / f64::from(RUNNING);
        println!("{all} samples, {there} of them in the function; {expected:.0} expected");
        assert!((there as f64 - expected).abs() < 0.1 * expected, "{there} of {all}, expected {expected}");
    };
    check();
    unprivileged(check);
}

#[test]
fn samples_come_as_often_as_asked_for_and_faults_only_if_asked_for() {
    let setup = Setup::with(|options| (options.period, options.running) = (Period::Never, RUNNING / 8));
    let Some(run) = setup.run(&["compute", "200"]) else { return };
    let found = run.events.iter().filter(|event| matches!(event.what, What::Runs { .. })).count() as f64;
    let expected = 200_000_000.0 / f64::from(RUNNING / 8);
    assert!((0.9 * expected..1.3 * expected).contains(&found), "{found} of {expected}");
    let is_fault =
        |event: &KernelEvent| matches!(event.what, What::Fault { major: false, .. } | What::FaultBegins { .. });
    assert!(!run.events.iter().any(is_fault));
    assert_eq!(run.totals.minor_faults, 0);
    assert!(run.minor > 50);
}

#[test]
fn forks_and_execs_are_followed() {
    let Some(run) = Setup::default().run(&["family"]) else { return };
    let (forked, execed) = (run.number("forked"), run.number("execed"));
    for child in [forked, execed] {
        let fork = What::Fork { child_pid: child as u32, child_tid: child as u32 };
        assert_eq!(events_of(&run, run.pid.into()).filter(|event| event.what == fork).count(), 1);
        assert_eq!(events_of(&run, child).filter(|event| event.what == What::Exit).count(), 1);
    }
    let is_exec = |event: &&KernelEvent| matches!(event.what, What::Exec(_));
    assert_eq!(events_of(&run, forked).filter(is_exec).count(), 0);
    assert_eq!(events_of(&run, execed).filter(is_exec).count(), 1);
    let regions = run.regions();
    assert_eq!(regions.len(), 2);
    for (region, pid) in regions.iter().zip([forked, execed]) {
        let faults: Vec<_> = run.faults_in(region).into_iter().filter(|fault| u64::from(fault.tid) == pid).collect();
        assert_eq!(faults.len() as u64, region.pages);
    }
}

#[test]
fn threads_begin_get_names_and_end() {
    let Some(run) = Setup::default().run(&["threads", "8", "1"]) else { return };
    for region in run.regions() {
        let fork = What::Fork { child_pid: run.pid, child_tid: region.thread };
        assert_eq!(run.events.iter().filter(|event| event.what == fork).count(), 1);
        let own: Vec<_> =
            run.events.iter().filter(|event| event.tid == region.thread).map(|event| &event.what).collect();
        assert!(own.contains(&&What::Name(format!("toucher-{}", region.pages).into())), "{own:?}");
        assert_eq!(own.last(), Some(&&What::Exit));
    }
}

#[test]
fn each_sleep_is_a_switch_out_and_in() {
    let Some(run) = Setup::default().run(&["sleep", "200"]) else { return };
    assert!(run.view.switches);
    let thread = run.number("thread") as u32;
    let switches: Vec<bool> = run
        .events
        .iter()
        .filter(|event| event.tid == thread)
        .filter_map(|event| match event.what {
            What::SwitchOut { .. } => Some(true),
            What::SwitchIn => Some(false),
            _ => None,
        })
        .collect();
    // In and out take turns, whichever came first.
    assert!(switches.windows(2).all(|two| two[0] != two[1]));
    let sleeps = run.events.iter().filter(|event| event.what == What::SwitchOut { preempted: false }).count() as u64;
    let counted = run.number("switches");
    assert!((200..=counted + 10).contains(&sleeps), "{sleeps} switches out, the kernel counts {counted}");
}

#[test]
fn without_switches_there_are_none() {
    let Some(run) = Setup::with(|options| options.switches = false).run(&["sleep", "20"]) else { return };
    assert!(!run.view.switches);
    assert!(!run.events.iter().any(|event| matches!(event.what, What::SwitchIn | What::SwitchOut { .. })));
    assert!(run.totals.minor_faults > 0);
}

#[test]
fn mappings_have_their_range_and_path() {
    let Some(run) = Setup::default().run(&["map"]) else { return };
    let [anonymous, file] = &run.regions()[..] else { panic!("{}", run.output) };
    let find = |start: u64| {
        let mapping = |event: &KernelEvent| match &event.what {
            What::Map(mapping) if mapping.start == start => Some(mapping.clone()),
            _ => None,
        };
        run.events.iter().filter_map(mapping).next_back().unwrap_or_else(|| panic!("no mapping at {start:#x}"))
    };
    let mapping = find(anonymous.addresses.start);
    assert_eq!((mapping.length, &*mapping.path, mapping.protection), (7 * page(), "//anon", 3));
    let mapping = find(file.addresses.start);
    assert_eq!((mapping.length, mapping.protection, mapping.is_executable()), (page(), 1, false));
    assert!(mapping.path.ends_with("/target"), "{mapping:?}");
    let is_code = |event: &KernelEvent| match &event.what {
        What::Map(mapping) => mapping.is_executable() && mapping.path.ends_with("/target"),
        _ => false,
    };
    assert!(run.events.iter().any(is_code));
}
