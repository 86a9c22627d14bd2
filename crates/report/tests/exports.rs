//! Every form of an answer tells the same sums: those of the answer's totals, for any selection.

use memtoll_analysis::metric::{Metric, TABLE, Together};
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::tree::Direction;
use memtoll_export::Collapsed;
use memtoll_model::Recording;
use memtoll_query::export::Export;
use memtoll_query::query::{Query, TreeQuery, When};
use memtoll_query::{Answer, Shown, View, ask};
use memtoll_report::export;
use proptest::prelude::*;
use serde_json::Value;
use std::path::Path;

const FILES: [&str; 3] = ["tiny.memtoll", "forks.memtoll", "costs.memtoll"];
fn golden(name: &str) -> Recording {
    Recording::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden").join(name)).unwrap()
}

/// Metrics whose rows add up to the totals, whatever the number of processes.
fn sums() -> impl Iterator<Item = Metric> {
    TABLE.iter().filter(|about| about.together == Together::Sum).map(|about| about.metric)
}

fn written(name: &str, answer: &Answer) -> String {
    let mut bytes = Vec::new();
    let forms = export::ALL.into_iter().chain([&Collapsed as &dyn Export]);
    forms.into_iter().find(|form| form.name() == name).unwrap().write(answer, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn when(kind: u8, from: u64, length: u64) -> When {
    match kind {
        0 => When::All,
        1 => When::At { ns: from },
        _ => When::Span { from_ns: Some(from), to_ns: Some(from + length) },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn all_forms_tell_the_sums_of_the_totals(
        file in 0..FILES.len(),
        group in 0..GroupBy::OF_TABLES.len(),
        (kind, from, length) in (0u8..3, 0u64..2_000_000, 0u64..20_000_000),
        (min_size, paid) in (prop_oneof![Just(None), (1u64..512).prop_map(Some)], any::<bool>()),
        metric in 0..TABLE.len(),
    ) {
        let recording = golden(FILES[file]);
        let metric = TABLE[metric].metric;
        let query = Query {
            when: when(kind, from, length),
            min_size,
            paid,
            metric: Some(metric),
            ..Query::of(View::Table { group: GroupBy::OF_TABLES[group], limit: None })
        };
        let Ok(answer) = ask(&recording, &query) else { return Ok(()) };
        let totals = answer.totals.as_ref().unwrap();
        let Shown::Table(table) = &answer.shown else { unreachable!("a table was asked for") };

        let json: Value = serde_json::from_str(&written("json", &answer)).unwrap();
        let csv = written("csv", &answer);
        let mut reader = csv::Reader::from_reader(csv.as_bytes());
        let columns = reader.headers().unwrap().clone();
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        for metric in sums() {
            let name = metric.about().key;
            let Some(total) = totals.figures.of(metric) else {
                prop_assert_eq!(&json["totals"][name], &Value::Null);
                continue;
            };
            let rows: u64 = table.sites.iter().map(|row| row.figures.of(metric).unwrap()).sum();
            prop_assert_eq!(rows, total, "{}: rows", name);
            prop_assert_eq!(json["totals"][name].as_u64(), Some(total));
            let of_json: u64 = json["sites"].as_array().unwrap().iter().map(|row| row[name].as_u64().unwrap()).sum();
            prop_assert_eq!(of_json, total, "{}: JSON", name);
            let column = columns.iter().position(|column| column == name).unwrap();
            let of_csv: u64 = records.iter().map(|row| row[column].parse::<u64>().unwrap()).sum();
            prop_assert_eq!(of_csv, total, "{}: CSV", name);
        }

        let paths = Query { view: View::Table { group: GroupBy::Path, limit: None }, ..query.clone() };
        let paths = ask(&recording, &paths).unwrap();
        if let Some(total) = paths.totals.as_ref().unwrap().figures.of(metric).filter(|_| metric.about().together == Together::Sum) {
            let collapsed = written("collapsed", &paths);
            let found: u64 = collapsed.lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum();
            prop_assert_eq!(found, total, "{:?}: collapsed", metric);
        }
    }

    #[test]
    fn a_tree_that_is_opened_node_by_node_is_the_whole_tree(file in 0..FILES.len(), callers in any::<bool>()) {
        let recording = golden(FILES[file]);
        let direction = if callers { Direction::Callers } else { Direction::Callees };
        let whole = ask(&recording, &Query::of(View::Tree(TreeQuery::whole(direction)))).unwrap();
        let whole = serde_json::to_value(&whole).unwrap()["tree"].clone();
        prop_assert_eq!(opened(&recording, direction, None), whole);
    }
}

/// The tree below a node, asked for one level at a time.
fn opened(recording: &Recording, direction: Direction, node: Option<String>) -> Value {
    let level = TreeQuery { node, depth: Some(1), ..TreeQuery::whole(direction) };
    let answer = ask(recording, &Query::of(View::Tree(level))).unwrap();
    let mut tree = serde_json::to_value(&answer).unwrap()["tree"].clone();
    for child in tree["children"].as_array_mut().unwrap() {
        if child["has_more"] == true {
            *child = opened(recording, direction, Some(child["key"].as_str().unwrap().to_owned()));
        }
    }
    tree
}

#[test]
fn keys_are_the_same_whatever_is_selected() {
    let recording = golden("costs.memtoll");
    let keys = |query: Query| {
        let answer = ask(&recording, &query).unwrap();
        let Shown::Table(table) = answer.shown else { unreachable!("a table was asked for") };
        table.sites.into_iter().map(|row| row.key).collect::<std::collections::BTreeSet<_>>()
    };
    let all = keys(Query::of(View::Table { group: GroupBy::Site, limit: None }));
    let some =
        keys(Query { metric: Some(Metric::Cost), ..Query::of(View::Table { group: GroupBy::Site, limit: Some(2) }) });
    assert!(all.len() > some.len() && some.len() == 2 && some.is_subset(&all), "{some:?} of {all:?}");
}

#[test]
fn who_calls_a_function_is_asked_by_its_name() {
    let recording = golden("costs.memtoll");
    let tree = |function: &str| {
        let part = TreeQuery { function: Some(function.to_owned()), ..TreeQuery::whole(Direction::Callers) };
        ask(&recording, &Query::of(View::Tree(part)))
    };
    let answer = serde_json::to_value(tree("buffer").unwrap()).unwrap();
    assert_eq!(answer["tree"]["children"][0]["place"]["function"], "buffer", "{answer:#}");
    let why = tree("nobody").map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("small_blocks, buffer"), "{why}");
}
