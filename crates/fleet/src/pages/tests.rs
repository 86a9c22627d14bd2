use super::*;
use crate::columns::METRICS;
use crate::identity::Identity;
use crate::open::open;
use crate::run::{Frame, Function, Run, Shown, Site, Stack, Total};
use crate::store::Purpose;
use memtoll_analysis::metric::Metric;
use std::collections::BTreeSet;

const HOSTILE: &str = "<script>alert(\"x\")</script>&'\u{1b}[31m";

/// A run of a version in which a function with a hostile name makes `allocations`.
fn run(version: &str, allocations: u64) -> Run {
    let function = Identity::of("function").with(HOSTILE).key();
    let frame = Identity::of("frame").key();
    let mut values = [0; METRICS.len()];
    let place = |metric| METRICS.iter().position(|known| *known == metric).unwrap();
    values[place(Metric::Allocations)] = allocations;
    values[place(Metric::Cost)] = 1_000_000 * allocations;
    let site = Site { process: HOSTILE.to_owned(), window_ns: 0, stack: 0, values };
    let id = Identity::of("stack").id();
    let (file, build_id) = (format!("/src/{HOSTILE}.c"), String::new());
    Run {
        id: Identity::of("run").with(version).with_number(allocations).id(),
        service: HOSTILE.to_owned(),
        host: "here".to_owned(),
        recording: format!("/recordings/it's {version}.memtoll"),
        start_ns: (1_700_000_000 + allocations as i64) * 1_000_000_000,
        wall_ns: 1,
        program_ns: 1_000_000_000,
        sees_faults: true,
        sees_switches: true,
        sees_frees: true,
        figures: [2e6, 1e9],
        labels: [("version", version), (HOSTILE, HOSTILE), ("requests", "10")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        sites: vec![site],
        totals: vec![Total { process: HOSTILE.to_owned(), window_ns: 0, values }],
        stacks: vec![Stack {
            id,
            shown: vec![Shown { function, frame }],
            hidden: vec![],
            frames: vec![frame],
            named: 1,
        }],
        frames: vec![Frame { key: frame, function, place: frame, file, line: 7, build_id, address: 1, named: 2 }],
        functions: vec![Function {
            key: function,
            name: HOSTILE.to_owned(),
            whole: HOSTILE.to_owned(),
            module: HOSTILE.to_owned(),
            same: function,
            folded_with: function,
        }],
        wrappers: BTreeSet::new(),
        damage: Vec::new(),
    }
}

fn store(folder: &tempfile::TempDir, runs: &[Run]) -> Box<dyn Store> {
    let mut store = open(folder.path().join("fleet.db").to_str().unwrap(), Purpose::Add).unwrap();
    store.add(runs).unwrap();
    store
}

/// The addresses that a page leads to.
fn links(page: &Page) -> Vec<String> {
    let all = page.body.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    all.filter(|link| link.starts_with('/') && link != "/fleet.css").collect()
}

#[test]
fn every_link_leads_to_an_answer_and_hostile_names_are_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder, &[run("1.4", 10), run("1.5", 30)]);
    let mut seen = BTreeSet::from(["/".to_owned()]);
    let mut next = vec!["/".to_owned()];
    let mut statuses = BTreeSet::new();
    // All pages lead to each other; these are enough for each kind of link.
    while let Some(url) = next.pop()
        && seen.len() < 600
    {
        let page = page(store.as_mut(), &url);
        statuses.insert(page.status);
        // Options that exclude each other leave no run.
        assert!(page.status == 200 || page.status == 422 && page.body.contains("<p>no run of"), "{url}: {}", page.body);
        assert!(!page.body.contains("<script") && !page.body.contains('\u{1b}'), "{url}: {}", page.body);
        for link in links(&page) {
            if seen.insert(link.clone()) {
                next.insert(0, link);
            }
        }
    }
    assert!(statuses.contains(&200));
}

#[test]
fn top_leads_to_trend_and_trend_to_compare() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder, &[run("1.4", 10), run("1.5", 30)]);
    let mut get = |url: &str| page(store.as_mut(), url);
    let top = get("/?metric=allocations");
    assert!(
        top.body.contains("&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&amp;&#39;\u{fffd}[31m"),
        "{}",
        top.body
    );
    assert!(top.body.contains("<td class=\"number\"><bdi>40</bdi></td>"), "{}", top.body);
    let of_row = |page: &Page, view: &str| {
        let rows = Page { status: 200, kind: "", body: page.body.split_once("<tbody>").unwrap().1.to_owned() };
        let links = links(&rows);
        links.iter().find(|link| link.starts_with(view)).unwrap_or_else(|| panic!("{view}: {links:#?}")).clone()
    };
    let trend = get(&of_row(&top, "/trend?metric=allocations&filter="));
    assert!(trend.body.contains(">1.4<") && trend.body.contains(">1.5<"), "{}", trend.body);
    let compare = get(&of_row(&trend, "/compare?metric=allocations&before=version%3D1.4&after=version%3D1.5&filter="));
    assert!(compare.body.contains("+200.0 %"), "{}", compare.body);
    let back = get(&of_row(&compare, "/trend?"));
    assert_eq!(back.status, 200);
    // Without versions to compare, the last two are.
    assert!(get("/compare?metric=allocations").body.contains("version=1.4 (1 run) against version=1.5"));
}

/// Two functions whose whole names or modules differ: in one run, one makes 10 allocations and the other one 30.
fn two_functions(of: [[&str; 2]; 2]) -> Run {
    let mut both = run("1.4", 10);
    let mut values = both.sites[0].values;
    values.iter_mut().for_each(|value| *value *= 3);
    let key = |[whole, module]: [&str; 2]| Identity::of("function").with(whole).with(module).key();
    let place = |of| Identity::of("frame").with_number(key(of) as u64).key();
    let function = |[whole, module]: [&str; 2]| Function {
        key: key([whole, module]),
        name: "parse".to_owned(),
        whole: whole.to_owned(),
        module: module.to_owned(),
        same: Identity::of("name").with(whole).key(),
        folded_with: key([whole, module]),
    };
    let stack = |of| Stack {
        id: Identity::of("stack").with_number(key(of) as u64).id(),
        shown: vec![Shown { function: key(of), frame: place(of) }],
        hidden: vec![],
        frames: vec![place(of)],
        named: 1,
    };
    let frame = |of| Frame { key: place(of), function: key(of), place: place(of), ..both.frames[0].clone() };
    both.functions = of.map(function).into();
    both.stacks = of.map(stack).into();
    both.frames = of.map(frame).into();
    both.sites.push(Site { stack: 1, values, ..both.sites[0].clone() });
    both
}

#[test]
fn functions_of_one_name_lead_to_their_own_trends() {
    for functions in [
        [["parse(int)", "liba.so"], ["parse(int)", "libb.so"]],
        [["parse(int)", "liba.so"], ["parse(char const*) const", "liba.so"]],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut store = store(&folder, &[two_functions(functions)]);
        for group in ["function", "line"] {
            let top = page(store.as_mut(), &format!("/top?metric=allocations&group={group}"));
            assert_eq!(column(&top, 1)[..2], ["30", "10"], "{}", top.body);
            let rows = Page { body: top.body.split_once("<tbody>").unwrap().1.to_owned(), ..top };
            for (link, number) in links(&rows).iter().zip(["30", "10"]) {
                assert_eq!(column(&page(store.as_mut(), link), 3), [number], "{link}");
            }
        }
    }
}

#[test]
fn overloads_are_compared_by_parameters_first() {
    let folder = tempfile::tempdir().unwrap();
    let new = |run: Run| Run {
        id: Identity::of("new").id(),
        labels: [("version".to_owned(), "1.5".to_owned())].into(),
        ..run
    };
    let before = two_functions([["parse(int)", "app-1.4"], ["parse(char)", "app-1.4"]]);
    let after = two_functions([["parse(char)", "app-1.5"], ["parse(long)", "app-1.5"]]);
    let mut store = store(&folder, &[before, new(after)]);
    let compare = page(store.as_mut(), "/compare?metric=allocations&before=version%3D1.4&after=version%3D1.5");
    let names = column(&compare, 0);
    let changes: Vec<_> = names.iter().zip(column(&compare, 1)).zip(column(&compare, 2)).collect();
    let text = format!("{changes:?}");
    assert!(text.contains(r#"(("parse(char)", "30"), "10")"#), "{text}");
    assert!(text.contains(r#"(("parse(long)  [app-1.5]", "10"), "30")"#), "{text}");
    assert_eq!(names.len(), 3, "with the total: {names:?}");
}

#[test]
fn a_function_that_has_nothing_on_both_sides_is_not_new() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder, &[run("1.4", 0), run("1.5", 0)]);
    let compare = page(store.as_mut(), "/compare?metric=allocations");
    assert_eq!(column(&compare, 0), ["(total)"], "{}", compare.body);
    assert!(!compare.body.contains(">new<"), "{}", compare.body);
}

/// The cells of a column in the body of a page's table.
fn column(page: &Page, column: usize) -> Vec<String> {
    let rows = page.body.split_once("<tbody>").unwrap().1.split("<tr").skip(1);
    let cell = |row: &str| row.split("<bdi>").nth(column + 1).unwrap().split("</bdi>").next().unwrap().to_owned();
    rows.map(cell).collect()
}

#[test]
fn a_trend_is_a_curve_in_the_order_of_releases() {
    let folder = tempfile::tempdir().unwrap();
    let runs = [run("b", 50), run("a", 98), run("a", 100), run("a", 102)];
    let mut store = store(&folder, &runs);
    let trend = page(store.as_mut(), "/trend?metric=allocations");
    assert_eq!(column(&trend, 0), ["b", "a"], "by first run");
    // Student's t of two degrees of freedom is 4.303, the standard error 2 / sqrt(3): 100 ± 4.97 of 104.97 at the top.
    let drawn = [
        "<circle class=\"point alone\" cx=\"25.000%\" cy=\"83.8\"",
        "<line class=\"curve\" x1=\"25.000%\" y1=\"83.8\" x2=\"75.000%\" y2=\"7.6\"/>",
        "<line class=\"interval\" x1=\"75.000%\" x2=\"75.000%\" y1=\"15.1\" y2=\"0.0\"/>",
        "<circle class=\"point\" cx=\"75.000%\" cy=\"7.6\"",
        "aria-label=\"a: 100 ± 5",
    ];
    drawn.iter().for_each(|part| assert!(trend.body.contains(part), "{part}: {}", trend.body));
    assert!(trend.body.contains("<figure class=\"trend curve\">"), "{}", trend.body);
    assert!(page(store.as_mut(), "/trend?metric=zeroing").body.contains("<figure class=\"trend zeroing\">"));
    assert_eq!(column(&page(store.as_mut(), "/trend?metric=allocations&sort=-name"), 0), ["a", "b"]);
}

#[test]
fn tables_are_sorted_by_any_column_and_sums_stay_below() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder, &[run("1.10", 30), run("1.9", 10), run("1.4", 20)]);
    let mut get = |url: &str| page(store.as_mut(), url);
    let usual = get("/runs?metric=allocations");
    assert_eq!(column(&usual, 0), ["30", "20", "10"]);
    assert!(
        usual.body.contains(" aria-sort=\"descending\"><a href=\"/runs?metric=allocations&amp;sort=allocations\">")
    );
    let versions = get("/runs?metric=allocations&sort=version");
    assert_eq!(column(&versions, 0), ["20", "10", "30"], "1.9 is before 1.10");
    assert!(
        versions.body.contains(
            "<th scope=\"col\" aria-sort=\"ascending\"><a href=\"/runs?metric=allocations&amp;sort=-version\">"
        )
    );
    for sort in ["name", "-name", "allocations", "-allocations"] {
        let top = get(&format!("/top?metric=allocations&sort={sort}"));
        assert_eq!(column(&top, 0).last().unwrap(), "(total)", "{sort}: {}", top.body);
    }
    let unknown = get("/runs?metric=allocations&sort=nothing");
    assert_eq!(column(&unknown, 0), ["30", "20", "10"], "another question had this column");
}

#[test]
fn a_run_leads_to_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let without = Run { recording: String::new(), ..run("1.6", 5) };
    let mut store = store(&folder, &[run("1.4", 10), run("1.5", 30), without]);
    let of_version = page(store.as_mut(), "/trend?metric=allocations");
    let link = links(&of_version).into_iter().find(|link| link.starts_with("/runs?") && link.contains("1.5")).unwrap();
    let runs = page(store.as_mut(), &link);
    let command = "<code>memtoll view &#39;/recordings/it&#39;\\&#39;&#39;s 1.5.memtoll&#39;</code>";
    assert!(runs.body.contains(command) && !runs.body.contains("1.4.memtoll"), "{link}: {}", runs.body);
    let all = page(store.as_mut(), "/runs?metric=allocations&n=2");
    assert!(all.body.contains("<p>1 run with less is not shown"), "{}", all.body);
    assert!(page(store.as_mut(), "/runs").body.contains("does not have the recording&#39;s path of 1 run"));
}

#[test]
fn colors_are_those_of_the_viewer() {
    let style = style();
    let faults = |part: &str| part.split_once("--faults: ").unwrap().1[..7].to_owned();
    let (light, dark) = style.split_once("@media (prefers-color-scheme: dark)").unwrap();
    assert_eq!([light, dark].map(faults), ["#d55e00", "#e8792b"]);
    assert!(!style.contains("data-theme") && dark.contains("\n}\n}\n* {"), "{dark}");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = store(&folder, &[run("1.4", 10)]);
    let mut get = |url: &str| page(store.as_mut(), url);
    assert_eq!(get("/etc/passwd").status, 404);
    assert_eq!(get("/top?metric=<script>").status, 400);
    assert!(!get("/top?metric=<script>").body.contains("<script>"));
    for (url, why) in [
        ("/top?where=version%3D9", "no run of the store"),
        ("/top?filter=%28", "expected a regular expression"),
        ("/top?filter=nobody", "no function or module"),
        ("/compare", "two versions are to be compared"),
    ] {
        let page = get(url);
        assert!(page.status == 422 && page.body.contains(why), "{url}: {}", page.body);
        assert!(page.body.contains("<nav "), "there is a way out: {}", page.body);
    }
    assert!(get("/fleet.css").kind.starts_with("text/css"));
}
