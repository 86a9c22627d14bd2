//! Nothing that is advised saves more than there is, and each finding has an id of its own.

use memtoll_e2e::{Recording, Target, memtoll, program_with, run, source, workspace};
use memtoll_model as model;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;
use std::time::Instant;

const PROGRAM: &str = "bounded_advice.cpp";
/// All problems of the program.
const PROBLEMS: [&str; 9] =
    ["append", "append fixed", "append kept", "labels", "labels fixed", "two types", "arenas", "lock", "forget"];

fn target(problem: &str) -> Target {
    let target = Target::new(program_with(PROGRAM, &["-O2"])).arg(problem);
    if problem == "lock" { target.env("MALLOC_ARENA_MAX", "1") } else { target }
}

fn advice(recording: &Recording, options: &[&str]) -> Value {
    let mut command = Command::new(memtoll());
    command.arg("advise").arg(&recording.file).args(["--threshold", "0", "--format", "json"]).args(options);
    command.arg("--root").arg(workspace());
    let outcome = run(command);
    serde_json::from_str(&outcome.stdout).unwrap_or_else(|error| panic!("{error}: {outcome:?}"))
}

fn findings(advice: &Value) -> &[Value] {
    advice["findings"].as_array().expect("findings")
}

fn line(comment: &str) -> u64 {
    let text = std::fs::read_to_string(source(PROGRAM)).unwrap();
    1 + text.lines().position(|line| line.contains(&format!("// {comment}"))).expect("a line") as u64
}

#[track_caller]
fn at<'f>(advice: &'f Value, rule: &str, comment: &str) -> &'f Value {
    let line = line(comment);
    let found = findings(advice).iter().find(|finding| finding["rule"] == rule && finding["line"] == line);
    found.unwrap_or_else(|| panic!("no {rule} in line {line}: {advice:#}"))
}

/// Low, likely and high; an open end is infinite.
fn saves(finding: &Value, key: &str) -> [f64; 3] {
    ["low", "likely", "high"].map(|end| finding["saves"][key][end].as_f64().unwrap_or(f64::INFINITY))
}

/// Wall times of 27 ms to 3.4 s were promised to a program that took 8 ms: what threads wait, added up, is no wall time.
#[test]
fn no_saving_is_more_than_there_is() {
    // Those whose advice is known in other tests, too.
    let others = ["append", "match", "pump", "collect", "words", "graphs"]
        .map(|problem| (problem, Target::new(program_with("signed_advice.cpp", &["-O2"])).arg(problem)));
    let own = PROBLEMS.map(|problem| (problem, target(problem)));
    for (problem, target) in own.into_iter().chain(others) {
        let began = Instant::now();
        let recording = target.record();
        let took = began.elapsed();
        let advice = advice(&recording, &[]);
        let totals: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        let total = |key: &str| totals["totals"][key].as_f64().unwrap_or_else(|| panic!("{key}: {totals:#}"));
        let most = [
            ("wall_ns", took.as_nanos() as f64),
            ("allocations", total("allocations")),
            ("bytes", total("bytes")),
            ("peak_bytes", total("peak_bytes")),
        ];
        for finding in findings(&advice).iter().chain([&serde_json::json!({ "saves": advice["bound"] })]) {
            for (key, most) in most {
                let [_, likely, high] = saves(finding, key);
                assert!(likely <= most, "{problem}: {key} {likely} of {most}: {finding:#}");
                assert!(high <= most || high.is_infinite(), "{problem}: {key} up to {high} of {most}: {finding:#}");
            }
            // Times are estimates: the most likely one is no more than what the program takes, as likely.
            let program = advice["processor_ns"].as_f64().unwrap_or_else(|| panic!("{advice:#}"));
            let [_, likely, _] = saves(finding, "cpu_ns");
            assert!(likely <= program * (1.0 + 1e-9), "{problem}: {likely} of {program}: {finding:#}");
        }
        let model = model::Recording::open(&recording.file).unwrap();
        assert_eq!(memtoll_advise::overestimates(&model), Vec::<String>::new(), "{problem}");
    }
}

/// The remedy leaves some allocations, which the recording cannot count: those of the fixed program lie in the range.
#[test]
fn allocations_that_stay_are_in_the_range() {
    let allocations = |problem: &str| {
        let totals: Value = serde_json::from_str(&target(problem).record().text(&["--format", "json"])).unwrap();
        totals["totals"]["allocations"].as_f64().unwrap()
    };
    for (problem, rule, comment, remedies) in [
        ("append", "append", "made anew", &["append fixed", "append kept"][..]),
        ("labels", "formatting", "chained", &["labels fixed"][..]),
    ] {
        let recording = target(problem).record();
        let advice = advice(&recording, &[]);
        let [low, likely, high] = saves(at(&advice, rule, comment), "allocations");
        for remedy in remedies {
            let saved = allocations(problem) - allocations(remedy);
            assert!((low..=high).contains(&saved), "{remedy}: {saved} of {low} to {high}, {likely} told");
            // How many texts begin is counted, whether a caller keeps one is not.
            assert!(problem != "append" || (likely / saved - 1.0).abs() < 0.1, "{remedy}: {likely} for {saved}");
        }
        // Not by saying nothing.
        assert!(low > 0.4 * high, "{problem}: {low} to {high}");
        assert!(low < high, "{problem}: {low} to {high} as if that were known");
    }
}

#[test]
fn each_finding_has_an_id_of_its_own() {
    let recording = target("two types").record();
    let all = advice(&recording, &[]);
    let line = line("two types");
    let ids = |all: &Value| -> Vec<String> {
        let of_line = findings(all).iter().filter(|finding| finding["rule"] == "growth" && finding["line"] == line);
        let mut ids: Vec<String> = of_line.map(|finding| finding["id"].as_str().unwrap().to_owned()).collect();
        ids.sort();
        ids
    };
    let own = ids(&all);
    assert_eq!(own.len(), 2, "{all:#}");
    assert_ne!(own[0], own[1], "{all:#}");
    for finding in findings(&all) {
        let shown = advice(&recording, &[finding["id"].as_str().unwrap()]);
        assert_eq!(findings(&shown).len(), 1, "{shown:#}");
        assert_eq!(findings(&shown)[0]["type"], finding["type"], "{shown:#}");
    }
    let different: BTreeSet<&str> = findings(&all).iter().filter_map(|finding| finding["id"].as_str()).collect();
    assert_eq!(different.len(), findings(&all).len(), "{all:#}");
    assert_eq!(ids(&advice(&target("two types").record(), &[])), own, "from run to run");
}

/// Threads wait for the kernel, which has one lock for all mappings of a process.
#[test]
fn arenas_that_grow_page_by_page_get_room() {
    let recording = target("arenas").record();
    let advice = advice(&recording, &[]);
    // Where one processor has all threads, they hardly meet.
    let Some(found) = findings(&advice).iter().find(|finding| finding["rule"] == "contention") else {
        assert_eq!(std::thread::available_parallelism().unwrap().get(), 1, "{advice:#}");
        return;
    };
    assert_eq!(found["line"], line("its arena grows"), "{found:#}");
    let snippet = found["snippet"].as_str().unwrap();
    assert!(snippet.contains("mallopt(M_TOP_PAD") && snippet.contains("MALLOC_TOP_PAD_=67108864"), "{snippet}");
    assert!(found["evidence"]["numbers"]["grown_calls"].as_f64().unwrap() > 10_000.0, "{found:#}");
    // With the remedy, nothing is left of it.
    let fixed = target("arenas").env("MALLOC_TOP_PAD_", "67108864").record();
    let advice = self::advice(&fixed, &[]);
    assert!(findings(&advice).iter().all(|finding| !finding["snippet"].as_str().unwrap().contains("TOP_PAD")));
}

/// glibc puts small free blocks together in the next call that asks for a large one. With the growth, that call is another one.
#[test]
fn growth_is_not_promised_what_its_calls_do_for_others() {
    let file = "growth_for_others.c";
    let text = std::fs::read_to_string(source(file)).unwrap();
    let line = 1 + text.lines().position(|line| line.contains("/* grows */")).unwrap();
    let of = |target: Target| {
        let recording = target.record();
        let all = advice(&recording, &[]);
        let is_it = |finding: &&Value| finding["rule"] == "growth" && finding["line"] == line;
        let found = findings(&all).iter().find(is_it).unwrap_or_else(|| panic!("{all:#}")).clone();
        let cost = found["share"]["part"].as_f64().unwrap();
        (saves(&found, "cpu_ns"), cost, found["assumptions"].to_string())
    };
    let program = memtoll_e2e::program(file);
    let ([_, _, high], _, said_alone) = of(Target::new(&program));
    let is_said = |said: &str| said.contains("that other lines freed");
    assert!(!is_said(&said_alone), "{said_alone}");
    // The heap stays large.
    let kept = Target::new(&program).arg("among").env("MALLOC_TRIM_THRESHOLD_", "268435456");
    let ([low, likely, _], cost, said) = of(kept);
    assert!(low <= high, "at least {low}, of growth that costs {high} at the most where it is alone");
    assert!(likely < 0.5 * cost, "{likely} of {cost}");
    assert!(is_said(&said), "{said}");
    // Where such a call gives the heap back, too, those who brought its pages pay: it is no cost of the growth.
    let (.., said) = of(Target::new(&program).arg("among"));
    assert!(!is_said(&said), "{said}");
}

/// What getpwuid and qsort make for themselves, the line cannot make otherwise.
#[test]
fn blocks_of_the_c_library_are_told_from_the_lines_own() {
    let file = "name_service.c";
    let text = std::fs::read_to_string(source(file)).unwrap();
    let line = |comment: &str| 1 + text.lines().position(|line| line.contains(comment)).unwrap() as u64;
    let recording = Target::new(memtoll_e2e::program(file)).record();
    let report: Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let told: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect();
    // Its buffers are most of what is temporary.
    let of_sorting = told.iter().find(|text| text.starts_with("sorted (name_service.c:"));
    let is_of_library = |text: &&str| text.contains("; made by qsort") && text.ends_with(" (libc.so.6)");
    assert!(of_sorting.is_some_and(is_of_library), "{report:#}");
    assert!(!told.iter().any(|text| text.contains("little to gain; made")), "{told:?}");
    let all = advice(&recording, &[]);
    assert!(findings(&all).iter().all(|finding| finding["rule"] != "free-null"), "{all:#}");
    let of = |comment: &str| {
        let is_it = |finding: &&Value| finding["rule"] == "temporary" && finding["line"] == line(comment);
        findings(&all).iter().find(is_it).unwrap_or_else(|| panic!("{comment}: {all:#}"))
    };
    let (sorted, copied) = (of("/* sorted */"), of("/* copied */"));
    assert!(sorted["change"].as_str().unwrap().starts_with("Call qsort"), "{sorted:#}");
    assert!(
        sorted["evidence"]["text"][0].as_str().unwrap().contains("(libc.so.6) makes them for itself"),
        "{sorted:#}"
    );
    assert!(sorted["remedy"].is_null() && !copied["change"].as_str().unwrap().contains("Call"), "{copied:#}");
}
