//! Which function and which line lead, what they are called, and of which type blocks are: in programs built with debug
//! information, with line tables only, and without any.

use memtoll_e2e::{Recording, Report, Site, Target, library, memtoll, program, program_with, run, scratch};
use std::path::Path;
use std::process::Command;

fn closures(debug: &str) -> Recording {
    Target::new(program_with("closures.rs", &["-O3", debug])).record()
}

fn with_type<'r>(report: &'r Report, kind: &str) -> Option<&'r Site> {
    report.sites.iter().find(|site| site.element_type.as_deref() == Some(kind))
}

/// The numbers at the beginning of lines.
fn numbers(text: &str) -> Vec<(u64, &str)> {
    text.lines()
        .filter_map(|line| {
            let (number, rest) = line.trim_start().split_once(' ')?;
            Some((number.replace(',', "").parse().ok()?, rest.trim()))
        })
        .collect()
}

#[test]
fn a_release_build_without_lines_keeps_its_stacks() {
    let recording = closures("debuginfo=0");
    let report = recording.report();
    let total = report.totals.metrics.new_blocks + report.totals.metrics.reallocations;
    // Nothing of the program's own has a name but main: what is left are the library's functions that it is inlined into.
    for view in ["--tree", "--callers"] {
        let text = recording.text(&[view, "--min-percent", "0"]);
        // Branches of the first level have no fork.
        let roots: u64 = text
            .lines()
            .filter(|line| !line.contains(['├', '└', '│']))
            .filter(|line| {
                line.chars().nth(22).is_some_and(|c| c == ' ') && line.chars().nth(23).is_some_and(|c| c != ' ')
            })
            .flat_map(numbers)
            .map(|(number, _)| number)
            .sum();
        assert_eq!(roots, total, "{view}:\n{text}");
        assert!(text.contains("__rust_begin_short_backtrace"), "{text}");
    }
    let many: Vec<&Site> = report.sites.iter().filter(|site| site.metrics.new_blocks >= 700).collect();
    assert!(!many.is_empty(), "{}", report.listing());
    for site in many {
        // The standard library has lines of its own: its String is one, and what closures do inside of it is not known.
        let is_proven = site.element_type.is_none() || site.function.contains("String as core::clone::Clone");
        assert!(is_proven, "nothing proves a type: {site:?}");
    }
    let summary = recording.text(&[]).replace('\n', " ");
    let summary = summary.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(summary.contains("Call paths that allocate most"), "{summary}");
    assert!(summary.contains("debug = \"line-tables-only\" under [profile.release]"), "{summary}");
}

#[test]
fn line_tables_tell_closures_and_types() {
    for debug in ["debuginfo=line-tables-only", "debuginfo=2"] {
        let report = closures(debug).report();
        let text = with_type(&report, "Vec<u32>").unwrap_or_else(|| panic!("{debug}: {}", report.listing()));
        assert!(text.metrics.new_blocks >= 700, "{debug}: {text:?}");
        let shared = with_type(&report, "Rc<u64>").unwrap_or_else(|| panic!("{debug}: {}", report.listing()));
        assert_eq!(shared.metrics.new_blocks, 900, "{debug}");
        assert_eq!(shared.function, "closures::shared::{closure#0}", "{debug}");
        let map = with_type(&report, "HashMap<u64, u64>").unwrap_or_else(|| panic!("{debug}: {}", report.listing()));
        assert!(map.function.ends_with("closures::main::{closure#1}"), "{debug}: {map:?}");
        // The derived clone gives way to who clones.
        let in_closure = report.sites.iter().filter(|site| site.function == "closures::main::{closure#0}");
        let cloned: u64 = in_closure.map(|site| site.metrics.new_blocks).sum();
        assert!(cloned >= 1400, "{debug}: {}", report.listing());
        assert!(!report.sites.iter().any(|site| site.function.contains("clone")), "{debug}: {}", report.listing());
    }
}

#[test]
fn functions_that_nobody_wrote_give_way() {
    let report = Target::new(program("implicit.cpp")).record().report();
    report.expect_new_blocks(&[
        ("copies_implicit", 200),
        ("copies_defaulted", 600),
        ("Implicit::Implicit", 0),
        ("Defaulted::Defaulted", 0),
        ("Written::Written", 300),
        ("coroutine", 50),
    ]);
    let source = std::fs::read_to_string(memtoll_e2e::source("implicit.cpp")).unwrap();
    let belongs = 1 + source.lines().position(|line| line.contains("its frame belongs to this line")).unwrap() as u64;
    let frame = report.sites.iter().find(|site| site.is_in("coroutine")).unwrap();
    assert_eq!(frame.line, Some(belongs), "{frame:?}");
}

#[test]
fn wrappers_are_folded_by_what_they_do() {
    const CALLERS: [(&str, u64); 4] = [("often", 830), ("sometimes", 100), ("rarely", 70), ("own_alloc", 0)];
    for flags in [&["-O2"][..], &["-O2", "-g0"]] {
        let recording = Target::new(program_with("wrappers.c", flags)).record();
        recording.report().expect_new_blocks(&CALLERS);
        let csv = recording.text(&["--format", "csv"]);
        assert!(csv.contains("often") && !csv.contains("own_alloc"), "{csv}");
        for view in [&[][..], &["--flat"], &["--tree"]] {
            let text = recording.text(view);
            let told = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let note = "wrappers of malloc are folded into their callers: own_alloc (100.0 % of all allocations); \
                        --wrappers shows them";
            assert_eq!(told.matches(note).count(), 1, "{text}");
            assert_eq!(text.matches("own_alloc").count(), 1, "{text}");
        }
        let budget = scratch();
        let file = budget.path().join("memtoll.toml");
        std::fs::write(&file, "[run]\nallocations = 1").unwrap();
        let mut check = Command::new(memtoll());
        check.arg("check").arg(&recording.file).arg("--budget").arg(&file);
        let checked = run(check);
        let lines = checked.stdout;
        assert!(lines.contains("830  often") && !lines.contains("own_alloc"), "{lines}");
        recording.report_with(&["--wrappers"]).expect_new_blocks(&[("own_alloc", 1000), ("often", 0)]);
        let shown = recording.text(&["--wrappers"]).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("100.0 % of all allocations are made in own_alloc, for 3 callers (often 83.0 %"),
            "{shown}"
        );
        let module = recording.report_with(&["--fold", "^wrappers"]);
        assert!(module.totals.metrics.new_blocks == 1000 && !module.sites.is_empty(), "{}", module.listing());
        assert_eq!(shown.contains("compile it with -g"), flags.contains(&"-g0"), "{shown}");
    }
}

/// A program without wrappers says nothing of any.
#[test]
fn what_is_no_wrapper_stays() {
    let recording = Target::new(program("temporary.c")).record();
    let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    assert!(json["wrappers"].is_null(), "{json:#}");
    assert!(!recording.text(&[]).contains("--wrappers"));
}

/// Wrappers are known by their names, too, if they allocate for more than one place.
#[test]
fn wrappers_are_folded_by_their_names() {
    let recording = Target::new(program_with("named_wrappers.cpp", &["-O1"])).record();
    let report = recording.report();
    report.expect_new_blocks(&[("parse", 200), ("load", 100), ("store", 60), ("test_malloc", 20)]);
    report.expect_new_blocks(&[("app::xmalloc", 0), ("os::malloc", 0), ("g_strdup", 0)]);
    let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
    let mut functions: Vec<&str> =
        json["wrappers"]["functions"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
    functions.sort_unstable();
    assert_eq!(functions, ["app::xmalloc", "g_strdup", "os::malloc"], "{json:#}");
    let wrappers = recording.report_with(&["--wrappers"]);
    wrappers.expect_new_blocks(&[("parse", 0), ("app::xmalloc", 150), ("os::malloc", 130), ("g_strdup", 80)]);
}

/// What a note tells of wrappers is what folding shows. A file is folded only if names lead then.
#[test]
fn the_callers_that_a_note_tells_are_those_that_lead() {
    let parses = library("lib_parses.c", &["-g0", "-s"]);
    for (strip, leads) in [("-s", "read_numbers"), ("-g0", "load_numbers")] {
        let recording =
            Target::new(program_with("parses.c", &["-O2", "-g0", strip, parses.to_str().unwrap()])).record();
        let json: serde_json::Value =
            serde_json::from_str(&recording.text(&["--format", "json", "--wrappers"])).unwrap();
        let note = json["findings"].as_array().unwrap().iter().find(|finding| finding["id"] == "wrapped");
        let note = note.unwrap_or_else(|| panic!("no wrappers: {}", json["findings"]));
        let folded = recording.report();
        let json: serde_json::Value = serde_json::from_str(&recording.text(&["--format", "json"])).unwrap();
        let first = json["wrappers"]["functions"][0].as_str().unwrap();
        assert_eq!(parses.ends_with(first), leads == "load_numbers", "{}", json["wrappers"]);
        let largest = folded.sites.iter().max_by_key(|site| site.metrics.new_blocks).unwrap();
        let (_, told) = note["text"].as_str().unwrap().split_once(" (").unwrap();
        assert!(largest.is_in(leads) && told.starts_with(leads), "{note}\n{}", folded.listing());
    }
}

#[test]
fn what_is_left_out_is_said() {
    let recording = Target::new(program("wrappers.c")).record();
    let flat = recording.text(&["--flat", "-n", "1"]);
    assert!(flat.contains("… and 2 more with 170 (17.0 %)"), "{flat}");
    let tree = recording.text(&["--tree", "--wrappers", "--min-percent", "8"]);
    assert!(tree.contains("Branches of less than 8 % are left out"), "{tree}");
    let shown: u64 =
        numbers(&tree).iter().filter(|(_, rest)| rest.contains("own_alloc")).map(|(number, _)| number).sum();
    assert_eq!(shown, 930, "{tree}");
    let whole = recording.text(&["--tree", "--min-percent", "0"]);
    assert!(!whole.contains("left out"), "{whole}");
}

#[test]
fn a_program_has_the_name_it_is_called_by() {
    let folder = memtoll_e2e::scratch();
    let link = folder.path().join("by_another_name");
    std::os::unix::fs::symlink(program_with("wrappers.c", &["-O2", "-g0", "-s"]), &link).unwrap();
    let recording = Target::new(&link).record();
    let report = recording.report();
    let own: Vec<&Site> = report.sites.iter().filter(|site| site.metrics.new_blocks >= 70).collect();
    assert!(!own.is_empty() && own.iter().all(|site| site.function.starts_with("by_another_name+0x")), "{own:?}");
}

#[test]
fn elements_of_rusts_containers_are_counted() {
    let report = Target::new(program_with("rust_containers.rs", &["opt-level=3"])).record().report();
    for (function, kind, elements) in [
        ("vector", "Vec<rust_containers::Row>", Some(70)),
        ("deque", "VecDeque<rust_containers::Row>", Some(100)),
        ("map", "HashMap<u64, rust_containers::Row>", Some(112)),
        ("set", "HashSet<u32>", Some(1792)),
        ("boxed", "Box<[rust_containers::Row]>", Some(50)),
        ("counted", "Rc<[rust_containers::Row]>", Some(50)),
        ("shared", "Arc<[rust_containers::Row]>", Some(50)),
        // Eleven letters behind the counters, or up to sixteen.
        ("text", "Arc<[u8]>", None),
    ] {
        let site =
            report.sites.iter().find(|site| site.is_in(function)).unwrap_or_else(|| panic!("{}", report.listing()));
        assert_eq!(
            (site.element_type.as_deref(), site.elements),
            (Some(kind), elements),
            "{function}: {}",
            report.listing()
        );
    }
}

/// A package as cargo fetches it, and two programs that use it: one of the user's own, and one that cargo installed.
#[test]
fn the_program_leads_and_not_the_packages_that_it_depends_on() {
    const PACKAGE: &str = "pub struct Text(pub String);\n#[inline(never)]\npub fn copied(of: &str) -> Text {\n    Text(of.to_owned())\n}\n";
    const PROGRAM: &str = "#[inline(never)]\nfn collect(n: usize) -> Vec<texts::Text> {\n    (0..n).map(|_| texts::copied(\"eleven char\")).collect()\n}\nfn main() {\n    println!(\"{}\", collect(300).len());\n}\n";
    let scratch = scratch();
    let home = scratch.path().join("home");
    let registry = home.join("registry/src/index.example-0123456789abcdef");
    let build = |folder: &Path, file: &str, text: &str, options: &[&str]| {
        std::fs::create_dir_all(folder.join("src")).unwrap();
        std::fs::write(folder.join("src").join(file), text).unwrap();
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2021", "-g", "-O", "--out-dir"]).arg(scratch.path()).arg("-L").arg(scratch.path());
        rustc.args(options).arg(folder.join("src").join(file));
        assert!(rustc.status().unwrap().success());
    };
    build(&registry.join("texts-1.2.0"), "lib.rs", PACKAGE, &["--crate-type", "rlib", "--crate-name", "texts"]);
    build(&home.join("app"), "main.rs", PROGRAM, &["--crate-name", "app", "--extern", "texts"]);
    build(&registry.join("installed-0.1.0"), "main.rs", PROGRAM, &["--crate-name", "installed", "--extern", "texts"]);
    for name in ["app", "installed"] {
        let recording = Target::new(scratch.path().join(name)).record();
        let report = recording.report();
        let texts = report.sites.iter().find(|site| site.metrics.new_blocks == 300);
        let texts = texts.unwrap_or_else(|| panic!("{}", report.listing()));
        assert!(texts.is_in(&format!("{name}::collect")), "{texts:?}");
        assert_eq!((texts.line, texts.element_type.as_deref()), (Some(3), Some("String")), "{texts:?}");
        // The package is there with the library's frames.
        let unfolded = recording.text(&["--unfold", "--callers"]);
        assert!(unfolded.contains("texts::copied"), "{unfolded}");
    }
}
