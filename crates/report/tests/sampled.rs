//! What was sampled has its error in every form of an answer; what was counted has none, and looks as if nothing was sampled.

use memtoll_analysis::diff::{Quantity, Run, Values};
use memtoll_analysis::findings::What;
use memtoll_analysis::metric::{Metric, TABLE};
use memtoll_analysis::sites::GroupBy;
use memtoll_analysis::sums::Sums;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;
use memtoll_query::comparison::{Answers, Comparison, Side};
use memtoll_query::query::Query;
use memtoll_query::{Answer, Session, View, ask};
use memtoll_report::{diff, export, rows};
use memtoll_text::format::Unit;
use serde_json::Value;
use std::path::Path;

/// A recording whose faults were all seen, and the same as if one of 17 had been.
fn recordings() -> [Recording; 2] {
    let open = || Recording::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../format/golden/costs.memtoll"));
    let (counted, mut sampled) = (open().unwrap(), open().unwrap());
    assert_eq!(counted.kernel.faults_error, 0.0);
    // Each sample stands for 17 faults, and has a variance of 17 × 16.
    sampled.kernel.faults_error = (sampled.kernel.faults_seen as f64 * 16.0).sqrt();
    [counted, sampled]
}

fn answer(recording: &Recording) -> Answer<'_> {
    let view = View::Table { group: GroupBy::Site, limit: None };
    ask(recording, &Query { view, metric: Some(Metric::Faults), ..Query::default() }).ok().unwrap()
}

fn written(name: &str, answer: &Answer) -> String {
    let mut bytes = Vec::new();
    export::ALL.into_iter().find(|form| form.name() == name).unwrap().write(answer, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn json(answer: &Answer) -> Value {
    serde_json::from_str(&written("json", answer)).unwrap()
}

fn total(answer: Answer) -> (Sums, Tariff) {
    (answer.basis.sums.unwrap(), answer.basis.tariff)
}

#[test]
fn json_has_intervals_of_what_is_sampled() {
    let recordings = recordings();
    let [counted, sampled] = recordings.each_ref().map(|recording| json(&answer(recording)));
    let keys = |of: &Value| -> Vec<String> { of.as_object().unwrap().keys().cloned().collect() };
    for (one, other) in [(&counted["totals"], &sampled["totals"]), (&counted["sites"][0], &sampled["sites"][0])] {
        for about in TABLE {
            assert_eq!(one[about.key], other[about.key], "the best guess is the same: {}", about.key);
        }
        let before = keys(&one["intervals"]);
        let further: Vec<String> = keys(&other["intervals"]).into_iter().filter(|key| !before.contains(key)).collect();
        assert_eq!(before.len(), TABLE.iter().filter(|about| about.metric.is_estimated()).count());
        for key in ["faults", "minor_faults", "touched_bytes"] {
            assert!(further.iter().any(|further| further == key), "{key}: {further:?}");
        }
        assert!(
            !further.iter().any(|key| ["allocations", "bytes", "peak_bytes", "lifetime_ns"].contains(&key.as_str()))
        );
        let (faults, interval) = (other["faults"].as_f64().unwrap(), &other["intervals"]["faults"]);
        let [low, high] = ["low", "high"].map(|end| interval[end].as_f64().unwrap());
        let margin = 1.96 * (faults * 16.0).sqrt();
        assert!(low < faults - 0.8 * margin && high > faults + 0.8 * margin, "{faults}: {low} to {high}");
        let width = |of: &Value| of["high"].as_f64().unwrap() - of["low"].as_f64().unwrap();
        let time = |of: &Value| width(&of["intervals"]["fault_time_ns"]);
        assert!(time(other) > time(one), "what depends on faults is known less well, too");
        let allocator = |of: &Value| of["intervals"]["allocator_ns"].clone();
        assert_eq!(allocator(one), allocator(other));
    }
}

#[test]
fn tables_and_csv_have_them_too() {
    let recordings = recordings();
    let [counted, sampled] = recordings.each_ref().map(|recording| {
        let answer = answer(recording);
        (rows::render(&answer, 3, None), written("csv", &answer))
    });
    let header = |csv: &str| csv.lines().next().unwrap().to_owned();
    assert!(!header(&counted.1).contains("faults_low") && header(&sampled.1).contains(",faults_low,faults_high"));
    assert!(header(&counted.1).contains("cost_ns_low,cost_ns_high") && !header(&sampled.1).contains("allocations_low"));
    assert_ne!(counted.0, sampled.0, "numbers have fewer digits");
}

/// What a comparison says before the change, by the name of the total.
fn before(recording: &Recording) -> Vec<(String, String)> {
    let sessions = [Session::new(recording)];
    let side = || Side { sessions: &sessions, query: Query::default() };
    let answers = Answers::ask([side(), side()]).ok().unwrap();
    let text = diff::markdown(&Comparison::new(&answers, GroupBy::Site), 10);
    let cells = text.lines().map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>());
    cells.filter(|cells| cells.len() > 5).map(|cells| (cells[1].clone(), cells[2].clone())).collect()
}

#[test]
fn comparisons_show_the_digits_that_are_known() {
    let [counted, sampled] = recordings().each_ref().map(before);
    let changed: Vec<_> = counted.iter().zip(&sampled).filter(|(one, other)| one != other).collect();
    let names: Vec<&str> = changed.iter().map(|(one, _)| one.0.as_str()).collect();
    assert!(names.contains(&"page faults") && !names.contains(&"allocations"), "{changed:?}");
    let of = |all: &[(String, String)], name: &str| all.iter().find(|of| of.0 == name).unwrap().1.clone();
    let recording = &recordings()[1];
    let (sums, tariff) = total(answer(recording));
    let cost = tariff.estimate(Metric::Cost, &sums.total);
    assert_eq!(of(&sampled, "cost of memory"), cost.known_time(), "as in the report");
    assert_eq!(of(&sampled, "page faults"), tariff.estimate(Metric::Faults, &sums.total).known(Unit::Count));
}

#[test]
fn findings_have_the_errors_of_their_metrics() {
    let recordings = recordings();
    let found = recordings.each_ref().map(|recording| {
        let query = Query { findings: true, ..Query::default() };
        let answer = ask(recording, &query).ok().unwrap();
        let findings = answer.findings.unwrap();
        let costly = findings.iter().find(|finding| matches!(finding.what, What::CostlyLine(_)));
        let share = costly.unwrap().share.unwrap();
        (share.estimate.margin(), share.percent(), costly.unwrap().text.clone())
    });
    let [counted, sampled] = found;
    assert!(sampled.0 > counted.0 && counted.0 > 0.0, "{counted:?} {sampled:?}");
    assert!(sampled.2.contains(&format!("takes {} of", sampled.1)), "{sampled:?}");
}

#[test]
fn differences_know_that_it_may_be_chance() {
    let recordings = recordings();
    let margin = |recording: &Recording, metric| {
        let (answer, of) = (answer(recording), Quantity::ALL.into_iter().find(|of| of.metric() == metric).unwrap());
        let (sums, tariff) = total(answer);
        let run = || vec![Run { recording, sums: &sums, tariff }];
        Values::totals(&[run(), run()]).of(of).single_margins[0]
    };
    let [counted, sampled] = recordings.each_ref().map(|recording| margin(recording, Metric::Faults));
    assert!(counted == 0.0 && sampled > 0.0, "{counted} {sampled}");
    assert_eq!(margin(&recordings[1], Metric::Allocations), 0.0);
}
