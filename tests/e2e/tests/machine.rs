//! `memtoll machine`: what it measures on the machine of the test, without a look at how long anything takes.

use memtoll_e2e::{Outcome, memtoll, run, scratch};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

fn machine(arguments: &[&str], directory: &Path) -> Outcome {
    let mut command = Command::new(memtoll());
    command.arg("machine").args(arguments).current_dir(directory).env_remove("NO_COLOR");
    run(command)
}

/// Every way, and what must become of the resident set; `None` for those that some machines do not offer.
const WAYS: [(&str, Option<&str>); 19] = [
    ("keep", Some("no")),
    ("free", Some("lazily")),
    ("cold", None),
    ("pageout", None),
    ("dontneed", Some("yes")),
    ("decommit", Some("yes")),
    ("mremap", Some("yes")),
    ("mmap", Some("yes")),
    ("mmap-populate", Some("yes")),
    ("madvise-populate", None),
    ("huge", None),
    ("hugetlb", None),
    ("memfd", Some("yes")),
    ("memfd-punch", Some("yes")),
    ("memfd-unmap", Some("mapping_only")),
    ("brk", Some("yes")),
    ("malloc-large", Some("yes")),
    ("malloc-small", Some("yes")),
    ("malloc-untrimmed", Some("no")),
];

fn positive(value: &Value) -> f64 {
    let number = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!(number > 0.0, "{number}");
    number
}

fn check_use(costs: &Value, size: f64, pages: f64) {
    let cpu = positive(&costs["cpu_ns"]["median"]);
    let order = ["min", "p10", "median", "p90"].map(|name| positive(&costs["cpu_ns"][name]));
    assert!(order.is_sorted(), "{costs}");
    positive(&costs["wall_ns"]["median"]);
    let parts: f64 = ["take_ns", "touch_ns", "give_ns"].iter().map(|name| costs[name].as_f64().unwrap()).sum();
    // Medians of parts are not parts of the median; but they are about as much.
    assert!((0.2..5.0).contains(&(parts / cpu)), "{costs}");
    let above = costs["above_touch_ns"].as_f64().unwrap();
    assert!(above <= cpu, "{costs}");
    let near = |name: &str, expected: f64| (costs[name].as_f64().unwrap() - expected).abs() < 0.02;
    assert!(near("above_touch_ns_per_mib", above / (size / 1048576.0)), "{costs}");
    assert!(near("above_touch_ns_per_page", above / pages), "{costs}");
    let writes = &costs["write_ns"];
    assert!(writes["p50"].as_f64().unwrap() <= writes["p99"].as_f64().unwrap(), "{costs}");
}

#[test]
fn every_way_is_measured_or_listed_with_the_reason() {
    let directory = scratch();
    let outcome = machine(&["--quick", "--format", "json", "--chart", "chart.svg"], directory.path());
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, "", "no progress where nobody sees it");
    let report: Value = serde_json::from_str(&outcome.stdout).expect("JSON");
    assert_eq!(report["schema_version"], 1);
    assert!(report["machine"]["kernel"].as_str().unwrap().starts_with("Linux"));
    assert!(report["advice"].as_array().unwrap().len() >= 3, "{}", report["advice"]);
    let size = positive(&report["size_bytes"]);
    for touch in ["whole", "sparse", "whole_several", "sparse_several"] {
        positive(&report["touch"][touch]["median"]);
    }

    let list = |name: &str| report[name].as_array().unwrap().clone();
    let (ways, unavailable) = (list("ways"), list("unavailable"));
    assert_eq!(ways.len() + unavailable.len(), WAYS.len());
    for (id, falls) in WAYS {
        if let Some(missing) = unavailable.iter().find(|way| way["id"] == id) {
            assert!(falls.is_none(), "{missing}: every Linux offers that");
            assert!(missing["why"].as_str().unwrap().len() > 5, "{missing}");
            continue;
        }
        let way = ways.iter().find(|way| way["id"] == id).unwrap_or_else(|| panic!("{id} is neither here nor there"));
        if let Some(falls) = falls {
            assert_eq!(way["resident_set_falls"], falls, "{id}");
        }
        let threads = &way["several_threads"];
        assert_eq!(threads.is_null(), id == "brk", "{id}: one heap end a process");
        for costs in [&way["one_thread"], threads].into_iter().filter(|costs| !costs.is_null()) {
            for which in ["first", "again"] {
                check_use(&costs["whole"][which], size, size / 4096.0);
                check_use(&costs["sparse"][which], size, size / 65536.0);
            }
        }
    }
    let chart = fs::read_to_string(directory.path().join("chart.svg")).expect("a chart");
    assert!(chart.starts_with("<svg") && chart.contains("MADV_DONTNEED"), "{chart}");
}

#[test]
fn tables_bars_and_advice_for_people() {
    let directory = scratch();
    fs::write(directory.path().join("chart.png"), "an old one").unwrap();
    let outcome = machine(&["--quick", "--size", "9M", "--threads", "3", "--chart", "chart.png"], directory.path());
    assert_eq!(outcome.status.code(), Some(0), "{outcome:?}");
    let text = &outcome.stdout;
    for expected in [
        "What memory costs", "8.0 MiB: CPU time", "The price", "With the touch", "3 threads at once",
        "What follows\n  * ",
    ] {
        assert!(text.contains(expected), "{expected} is missing in\n{text}");
    }
    assert!(text.contains('█') && !text.contains('\x1b'), "{text}");
    let png = fs::read(directory.path().join("chart.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{} bytes", png.len());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "something stays behind");
}

#[test]
fn what_cannot_be_is_refused_before_measuring() {
    let directory = scratch();
    fs::create_dir(directory.path().join("folder.svg")).unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (&["--size", "1000T"], 2, "there is not enough memory for 1.0 PiB: expected a size of at most "),
        (&["--size", "1M"], 2, "1.0 MiB is too little to measure: expected a size of at least 8.0 MiB"),
        (&["--size", "many"], 2, "expected a size such as"),
        (&["--threads", "1"], 2, "1 is not in 2..=256"),
        (&["--chart", "chart.pdf"], 2, "expected a chart's name to end in .svg or .png, found chart.pdf"),
        (&["--chart", "chart"], 2, "expected a chart's name to end in .svg or .png, found chart"),
        (
            &["--chart", "no/chart.png"],
            1,
            "cannot write the chart no/chart.png: there is no directory no; choose another",
        ),
        (&["--chart", "folder.svg"], 1, "cannot write the chart folder.svg: it is a directory"),
    ];
    for (arguments, code, message) in cases {
        let outcome = machine(arguments, directory.path());
        assert_eq!(outcome.status.code(), Some(code), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(message), "{arguments:?}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_machine_that_gives_no_memory_is_an_error() {
    let directory = scratch();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -v 600000; exec \"$0\" machine --quick --size 1G"]).arg(memtoll());
    command.current_dir(directory.path());
    let outcome = run(command);
    let available = fs::read_to_string("/proc/meminfo").unwrap();
    assert_eq!(outcome.status.code(), Some(1), "{outcome:?}; it needs 1.2 GB of free memory: {available}");
    assert_eq!(outcome.stderr, "memtoll: nothing could be measured: mmap: Cannot allocate memory\n");
}
