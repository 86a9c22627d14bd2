//! Each metric is where its declaration says, and nowhere else: asked of the commands, on a recording that knows all of them.

use crate::golden::{golden, json, memtoll, text};
use memtoll_analysis::figures;
use memtoll_analysis::metric::{About, Metric, Place, Seen, TABLE};
use memtoll_text::format::Unit;
use serde_json::Value;
use std::collections::BTreeSet;

const FILE: &str = "costs.memtoll";

type Names = BTreeSet<String>;

fn names(place: Place) -> Names {
    Metric::shown_in(place).map(|metric| metric.about().name.to_owned()).collect()
}

fn keys(places: &[Place]) -> Names {
    let all = places.iter().flat_map(|place| Metric::shown_in(*place));
    all.map(|metric| metric.about().key.to_owned()).collect()
}

fn fields(of: &Value) -> Names {
    of.as_object().unwrap().keys().cloned().collect()
}

/// How `memtoll check` exits where a limit is about what the recording does not know.
const NOT_KNOWN: i32 = 7;

/// The metrics with which a command does something.
fn answered(mut words: impl FnMut(&'static str) -> Vec<String>) -> Names {
    let is_answered = |name: &&str| {
        let words = words(TABLE.iter().find(|about| about.name == *name).unwrap().name);
        let output = memtoll(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(matches!(output.status.code(), Some(0 | 2 | NOT_KNOWN)), "{words:?}: {output:?}");
        output.status.success()
    };
    TABLE.iter().map(|about| about.name).filter(is_answered).map(str::to_owned).collect()
}

fn all() -> Names {
    TABLE.iter().map(|about| about.name.to_owned()).collect()
}

/// The recording has no page snapshot and no search for lost blocks.
fn is_in_file(about: &About) -> bool {
    !about.metric.is_of_pages() && about.seen != Seen::Search
}

#[test]
fn reports_json_and_csv_have_all() {
    let asked = answered(|name| ["report", FILE, "--group", "site", "--metric", name].map(str::to_owned).into());
    assert_eq!(asked, all());
    let totals = json(&["report", FILE])["totals"].take();
    let csv = text(&["report", FILE, "--group", "site", "--format", "csv"]);
    let columns: Names = csv.lines().next().unwrap().split(',').map(str::to_owned).collect();
    for about in TABLE.iter().filter(|about| is_in_file(about)) {
        assert!(totals.get(about.key).is_some_and(|value| !value.is_null()), "{}: {totals}", about.key);
        assert!(columns.contains(about.key), "{}: {columns:?}", about.key);
    }
    for about in &figures::TABLE {
        assert!(totals.get(about.key).is_some(), "{}: {totals}", about.key);
    }
}

#[test]
fn exports_have_theirs() {
    let profile: Value =
        serde_json::from_str(&text(&["export", FILE, "--format", "speedscope", "--output", "-"])).unwrap();
    let found = profile["profiles"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned());
    let has = |name: &String| TABLE.iter().any(|about| about.name == name && is_in_file(about));
    assert_eq!(found.collect::<Names>(), names(Place::Export).into_iter().filter(has).collect());
}

#[test]
fn the_viewer_has_its_own_and_their_lists() {
    let recording = memtoll_model::Recording::open(&golden(FILE)).unwrap();
    let open = memtoll_view::Recordings::new(&recording, memtoll_view::Compared::default());
    let asked: memtoll_view::Ask = serde_json::from_str(r#"{ "page": "about" }"#).unwrap();
    let pack = memtoll_view::Engine::new(open).answer(&asked).unwrap().bytes();
    // The length of the JSON stands before it, and columns of numbers behind it.
    let length = u32::from_le_bytes(pack[..4].try_into().unwrap()) as usize;
    let about: Value = serde_json::from_slice(&pack[4..4 + length]).unwrap();
    let metrics = about["metrics"].as_array().unwrap();
    let name = |metric: &Value| metric["name"].as_str().unwrap().to_owned();
    assert_eq!(metrics.iter().map(name).collect::<Names>(), names(Place::Viewer));
    for (list, place) in [("lines", Place::Lines), ("tree", Place::Tree), ("overview", Place::Overview)] {
        let is_in = |metric: &&Value| metric["lists"].as_array().unwrap().iter().any(|one| one == list);
        assert_eq!(metrics.iter().filter(is_in).map(name).collect::<Names>(), names(place), "{list}");
    }
}

#[test]
fn stores_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("fleet.db").to_str().unwrap().to_owned();
    text(&["fleet", "add", "--store", &store, FILE]);
    let asked = answered(|name| ["fleet", "top", "--store", &store, "--metric", name].map(str::to_owned).into());
    assert_eq!(asked, names(Place::Fleet));
}

#[test]
fn differences_have_theirs() {
    let found = json(&["diff", FILE, FILE]);
    // What lies in memory at the end is compared where it is asked for.
    let of_pages = Metric::shown_in(Place::Compared).filter(|metric| metric.is_of_pages());
    let of_pages: Names = of_pages.map(|metric| metric.about().key.to_owned()).collect();
    assert_eq!(fields(&found["whole"]), keys(&[Place::Compared]).difference(&of_pages).cloned().collect());
    let figures: Names = figures::TABLE.iter().map(|about| about.key.to_owned()).collect();
    let totals: Names = fields(&found["totals"]).difference(&figures).cloned().collect();
    assert!(totals.is_superset(&keys(&[Place::Total])), "{totals:?}");
    assert!(totals.is_subset(&keys(&[Place::Total, Place::TotalIfAny])), "{totals:?}");
}

#[test]
fn budgets_limit_what_adds_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("budget.toml");
    let limit = |unit| match unit {
        Unit::Count => "1_000_000_000_000",
        Unit::Bytes => "\"1000 TiB\"",
        Unit::Time => "\"1000000 s\"",
        Unit::Share => "\"100 %\"",
    };
    let check = |scope: &str| {
        answered(|name| {
            let about = Metric::named(name).unwrap().about();
            std::fs::write(&path, format!("[{scope}]\n{name} = {}\n", limit(about.unit))).unwrap();
            ["check", FILE, "--budget", path.to_str().unwrap()].map(str::to_owned).into()
        })
    };
    let adding = TABLE.iter().filter(|about| about.metric.adds_up() && is_in_file(about));
    assert_eq!(check("run"), adding.map(|about| about.name.to_owned()).collect::<Names>());
    let first = text(&["budget", FILE]);
    let run = first.split("[run]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let limited =
        run.lines().filter_map(|line| Some(line.trim_start_matches("# ").split_once([' ', ':'])?.0.to_owned()));
    let of_figures = figures::TABLE.iter().filter(|about| about.in_budget).map(|about| about.name.to_owned());
    assert_eq!(limited.collect::<Names>(), names(Place::Budget).into_iter().chain(of_figures).collect());
}
