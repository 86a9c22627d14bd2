//! A question about a service has the numbers that reports of its recordings have, whatever other services do.

use super::clickhouse::ClickHouse;
use super::store::{Store, row};
use memtoll_e2e::{Recording, Target, program, scratch};
use serde_json::Value;

fn report(recording: &Recording, more: &[&str]) -> Value {
    serde_json::from_str(&recording.text(&[&["--format", "json"], more].concat())).unwrap()
}

fn services_answer_as_their_reports(store: &Store) {
    let folds = Target::new(program("wrappers.c")).record();
    let plain = Target::new(program("wrapper_elsewhere.c")).record();
    store.add(&[&folds], &["service=folds"]);
    store.add(&[&plain], &["service=plain"]);
    for (service, recording) in [("service=folds", &folds), ("service=plain", &plain)] {
        for group in ["function", "line"] {
            let found = store.ask("top", &["--metric", "allocations", "--where", service, "--group", group]);
            let expected = report(recording, &["--metric", "allocations", "--group", group]);
            let sites = expected["sites"].as_array().unwrap();
            for site in sites.iter().filter(|site| site["allocations"] != 0) {
                let found = row(&found, site["function"].as_str().unwrap());
                for column in ["allocations", "bytes", "cost_ns", "faults"] {
                    assert_eq!(found[column], site[column], "{service}, {group}, {column}");
                }
            }
        }
        let [found] = &store.ask("top", &["--metric", "peak", "--where", service, "--group", "service"])[..] else {
            panic!("one service")
        };
        assert_eq!(found["peak_bytes"], report(recording, &[])["totals"]["peak_bytes"], "{service}");
        // Frames that no report shows by themselves are matched, too: the C library calls main.
        let rows = store.ask("top", &["--metric", "allocations", "--where", service, "--filter", "libc"]);
        let all = report(recording, &["--filter", "libc", "--metric", "allocations", "--group", "function"]);
        let all: u64 = all["sites"].as_array().unwrap().iter().map(|site| site["allocations"].as_u64().unwrap()).sum();
        assert!(all > 0);
        assert_eq!(row(&rows, "(total)")["allocations"], all, "{service}: {rows:#?}");
    }
    let rows = store.ask("top", &["--metric", "allocations"]);
    assert_eq!(row(&rows, "own_alloc")["allocations"], 502, "of the service that does not fold it: {rows:#?}");
    let own: u64 = store
        .ask("top", &["--metric", "peak", "--where", "service=plain", "--group", "function"])
        .iter()
        .map(|row| row["peak_bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(own, 2 << 20, "two processes' own peaks");
    let text = store.run("top", &["--metric", "peak"]).stdout;
    assert!(text.contains("own peaks"), "{text}");
}

#[test]
fn a_file_answers_as_reports() {
    let folder = scratch();
    services_answer_as_their_reports(&Store::in_folder(&folder));
}

#[test]
fn a_server_answers_as_reports() {
    let server = ClickHouse::start();
    services_answer_as_their_reports(&server.store(server.port, "fleet"));
}
