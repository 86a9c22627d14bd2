//! `memtoll budget`: a first budget, with room above what a recording has.

use crate::measured::Measured;
use crate::metric::{Metric, Steadiness};
use memtoll_advise::RuleId;
use memtoll_analysis::figures;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::{Metric as Counted, Place, Together};
use memtoll_analysis::regions::Region;
use memtoll_analysis::sites::{GroupBy, rows, sort};
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::wrappers::without_wrappers;
use memtoll_text::format;
use memtoll_text::format::Unit;
use std::fmt::Write;

/// What of a whole run is limited from the start.
fn of_run() -> impl Iterator<Item = Metric> {
    let figures = figures::TABLE.iter().filter(|about| about.in_budget).map(|about| Metric::Figure(about.figure));
    Counted::shown_in(Place::Budget).map(Metric::Sum).chain(figures)
}

/// What of a function or a region is: what the same program does as often in each run.
fn of_parts() -> impl Iterator<Item = Metric> {
    let is_exact =
        |metric: &Counted| metric.about().together == Together::Sum && metric.steadiness() == Steadiness::Counted;
    Counted::shown_in(Place::Budget).filter(is_exact).map(Metric::Sum)
}

/// Functions that get limits of their own at the most, and the least share of all allocations that they have.
const FUNCTIONS: (usize, f64) = (3, 0.05);
/// Regions likewise.
const REGIONS: usize = 5;

/// How much more than measured is allowed.
fn room(steadiness: Steadiness) -> f64 {
    match steadiness {
        Steadiness::Counted => 0.10,
        Steadiness::Faults => 0.25,
        Steadiness::Timed => 0.75,
    }
}

/// Programs with less CPU time than this, ns, get no limits on times: between runs, times differ by more than the room, and the
/// recorder's own time exceeds the program's.
const TOO_SHORT_FOR_TIMES: f64 = 10e6;

/// Why a recording is no measure for a limit.
fn no_limit(metric: Metric, of: &Measured) -> Option<String> {
    let worked = of.facts_of_run().processor?.value;
    (metric.steadiness() == Steadiness::Timed && worked < TOO_SHORT_FOR_TIMES).then(|| {
        let [worked, least] = [worked, TOO_SHORT_FOR_TIMES].map(|time| Unit::Time.show(time));
        format!("the program takes {worked} of CPU time, and times differ too much between runs below {least}")
    })
}

/// The text of a budget for a recording.
pub fn budget(of: &Measured) -> String {
    let mut text = format!(
        "# Limits for what memory may cost: memtoll check RECORDING --budget THIS-FILE\n\
         # Written from {}. Each limit leaves room above what was measured there:\n\
         # 10 % for calls and bytes, 25 % for page faults and resident memory, 75 % for times.\n\
         # docs/ci.md explains the keys. A limit can also be relative to a baseline: allocations = \"+5 %\"\n\
         # baseline = \"main.memtoll\"\n",
        of.name
    );
    text += "\n[run]\n";
    for metric in of_run() {
        let value = metric.value(&of.facts_of_run()).map_err(str::to_owned);
        match no_limit(metric, of).map_or(value, Err) {
            Ok(estimate) => text += &entry(metric, estimate.value, estimate.high),
            Err(why) => {
                let _ = writeln!(text, "# {}: {why}", metric.key());
            }
        }
    }
    text += &functions(of);
    for region in of.regions().iter().take(REGIONS) {
        text += &limits_of_region(of, region);
    }
    text += "\n# As many things worth changing as today (memtoll advise); [findings] limits single rules.\n";
    text += &format!(
        "# [findings]\n# {} = {}\n",
        RuleId::Growth,
        of.findings().iter().filter(|finding| finding.rule == RuleId::Growth).count()
    );
    text
}

/// `allocations = 30_000  # 27,018 measured`. The room is above the end of the interval. No share exceeds a limit of the whole.
fn entry(metric: Metric, value: f64, high: f64) -> String {
    let (key, unit) = (metric.key(), metric.unit());
    let limit = high * (1.0 + room(metric.steadiness()));
    let measured = unit.show(value);
    match unit == Unit::Share && limit >= 1.0 {
        true => format!(
            "# {key}: {measured} measured; with that much room, a limit is 100 % or more, which no run exceeds\n"
        ),
        false => format!("{key} = {}  # {measured} measured\n", written(unit, limit)),
    }
}

fn functions(of: &Measured) -> String {
    let mut rows = rows(&mut without_wrappers(&of.recording, &of.sums), &of.sums, GroupBy::Function);
    sort(&mut rows, &of.recording.frames, Counted::Allocations);
    let all = Counted::Allocations.value(&of.sums.total) as f64;
    let mut text = String::new();
    let largest = rows.iter().filter(|row| Counted::Allocations.value(&row.metrics) as f64 >= FUNCTIONS.1 * all);
    for row in largest.take(FUNCTIONS.0) {
        let Some(frame) = row.frame else { continue };
        let name = qualified_name(Texts::of(&of.recording.frames, frame).function);
        if of.recording.frames.frame(frame).address.is_some() {
            text +=
                &format!("\n# {name} has no name: the next build has another function there, so it has no limit.\n");
            continue;
        }
        let table = format!("\n[function.{}]\n", toml::Value::String(name.to_owned()));
        if text.contains(&table) {
            continue; // another function of this name: the limits are for all of them
        }
        text += &table;
        for metric in of_parts() {
            let value = of.of_function(name, metric);
            text += &entry(metric, value, value);
        }
    }
    text
}

fn limits_of_region(of: &Measured, region: &Region) -> String {
    let name = toml::Value::String(region.name.clone());
    let counts: Vec<u64> = region.runs.iter().map(|run| run.metrics.new_blocks + run.metrics.reallocations).collect();
    // A region that allocates in its first runs only has warmed up: that it stays so is worth a limit.
    let warm = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    if warm * 2 <= counts.len() {
        let after = if warm > 0 { format!("after = {warm}\n") } else { String::new() };
        return format!(
            "\n[region.{name}]  # {}\n{after}allocations = 0\n",
            format::counted(counts.len() as u64, "run")
        );
    }
    let mut text = format!("\n[region.{name}]  # the worst of {}\n", format::counted(counts.len() as u64, "run"));
    for metric in of_parts() {
        let worst = region.runs.iter().map(|run| of.value_of_run(run, metric));
        let value = worst.fold(0.0, f64::max);
        text += &entry(metric, value, value);
    }
    text
}

/// A limit as a budget file has it, rounded up to two digits.
fn written(unit: Unit, value: f64) -> String {
    let rounded = |value: f64| {
        let step = 10f64.powf(value.max(1.0).log10().floor() - 1.0).max(1.0);
        (value / step - 1e-9).ceil() * step // 1.1 × 200 is no more than 220
    };
    match unit {
        Unit::Count => {
            let text = format::count(rounded(value) as u64);
            text.replace(',', "_")
        }
        Unit::Bytes => {
            const UNITS: [(&str, f64); 3] = [("GiB", 1073741824.0), ("MiB", 1048576.0), ("KiB", 1024.0)];
            match UNITS.into_iter().find(|(_, bytes)| value >= 2.0 * bytes) {
                Some((unit, bytes)) => format!("\"{} {unit}\"", rounded(value / bytes) as u64),
                None => format!("{}", rounded(value) as u64),
            }
        }
        Unit::Time => format!("\"{} us\"", rounded(value / 1e3) as u64),
        Unit::Share => format!("\"{:.1} %\"", (value * 1000.0).ceil() / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded_up() {
        assert_eq!(written(Unit::Count, 29719.8), "30_000");
        assert_eq!(written(Unit::Count, 0.0), "0");
        assert_eq!(written(Unit::Count, 7.1), "8");
        assert_eq!(written(Unit::Count, 200.0 * (1.0 + 0.1)), "220");
        assert_eq!(written(Unit::Bytes, 5.3 * 1048576.0), "\"6 MiB\"");
        assert_eq!(written(Unit::Bytes, 1500.0), "1500");
        assert_eq!(written(Unit::Share, 0.1234), "\"12.4 %\"");
    }

    #[test]
    fn no_limit_is_above_the_whole() {
        let share = Metric::Figure(figures::Figure::AllocatorShare);
        assert_eq!(entry(share, 0.2, 0.5), "allocator-share = \"87.5 %\"  # 20.0 % measured\n");
        let none = entry(share, 0.55, 0.58);
        assert!(none.starts_with("# allocator-share: 55.0 % measured; ") && none.ends_with('\n'), "{none}");
    }
}
