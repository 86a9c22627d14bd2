//! Results as text for a terminal, and as Markdown.

use crate::comparison::{Comparison, Row};
use crate::interval::Interval;
use crate::metric::Metric;
use crate::prediction::Verdict;
use crate::tryout::{PLAIN, Tryout};
use memtoll_text::Quantity;
use memtoll_text::format::wrapped;
use memtoll_text::format::{UNKNOWN, Unit, estimate, ranged};
use memtoll_text::table::Table;

/// `1.38 s ± 12.0 ms`.
fn with_error(metric: Metric, value: Option<&Interval>) -> String {
    match value {
        None => UNKNOWN.to_owned(),
        Some(found) => {
            let error = found.error();
            estimate(metric.unit(), found.median, found.median - error, found.median + error)
        }
    }
}

/// `520 ms (493 ms to 541 ms)`; says so where it may be nothing.
fn with_interval(metric: Metric, saved: Option<&Interval>) -> String {
    match saved {
        None => UNKNOWN.to_owned(),
        Some(found) if found.low == found.high && found.median == 0.0 => "nothing".to_owned(),
        Some(found) => {
            let text = ranged(metric.unit(), found.median, found.low, found.high);
            match text.strip_suffix(')') {
                Some(open) if !found.excludes_zero() => format!("{open}, perhaps nothing)"),
                _ => text,
            }
        }
    }
}

fn share(saved: Option<&Interval>, whole: Option<&Interval>) -> String {
    match (saved, whole) {
        (Some(saved), Some(whole)) if whole.median > 0.0 && saved.excludes_zero() => {
            Unit::Share.show(saved.median / whole.median)
        }
        _ => String::new(),
    }
}

fn predicted(row: &Row) -> String {
    let Some((prediction, verdict)) = &row.predicted else { return String::new() };
    let verdict = match verdict {
        Verdict::Inside => "inside",
        Verdict::Outside => "OUTSIDE",
        Verdict::CannotSay => "not known well enough",
        Verdict::NotMeasured => "not measured",
    };
    let (low, high) = (row.metric.show(prediction.saves.low), row.metric.show(prediction.saves.high));
    if prediction.saves.high.is_infinite() {
        return format!("{low} or more: {verdict}");
    }
    format!("{low} to {high}: {verdict}")
}

fn rounds_line(rounds: usize, confidence: f64) -> String {
    let percent = confidence * 100.0;
    format!(
        "{rounds} rounds in random order, without the recorder. Medians; errors and ranges at {percent:.0} % confidence."
    )
}

/// A comparison, for a terminal of `width` columns, if there is one.
pub fn comparison(comparison: &Comparison, width: Option<usize>) -> String {
    let mut text = String::new();
    for (side, command) in ["before", "after"].into_iter().zip(&comparison.commands) {
        text += &wrapped(&format!("{side:<8}"), command, width);
    }
    text.push('\n');
    let columns = ["", "before", "after", "saved", "predicted", "share"];
    let rows: Vec<[String; 6]> = shown(comparison).map(cells).collect();
    text += &table_or_paragraphs(&columns, &rows, width);
    text.push('\n');
    for line in remarks(comparison) {
        text += &wrapped("", &line, width);
    }
    text
}

/// A table, or where that is wider than the terminal, a paragraph for each row: no figure is left out or cut.
fn table_or_paragraphs<Row: AsRef<[String]>>(columns: &[&str], rows: &[Row], width: Option<usize>) -> String {
    let mut table = Table::new(columns);
    rows.iter().for_each(|row| table.add(row.as_ref().to_vec()));
    let text = table.render(None);
    // The first line is the header, which has colors and is no wider than the others, or nothing is known.
    let fits = |width| text.lines().skip(1).all(|line| line.chars().count() <= width);
    if width.is_none_or(fits) {
        return text;
    }
    let longest = rows.iter().map(|row| row.as_ref()[0].chars().count()).max().unwrap_or(0);
    let paragraph = |row: &[String]| {
        let named = columns.iter().zip(row).skip(1).filter(|(_, cell)| !cell.is_empty());
        let cells: Vec<String> = named.map(|(column, cell)| format!("{column}: {cell}")).collect();
        wrapped(&format!("{:>longest$}  ", row[0]), &cells.join("; "), width)
    };
    rows.iter().map(|row| paragraph(row.as_ref())).collect()
}

/// What was not looked at is left out, and the allocator's share where the kernel does not show it.
fn shown(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    let is_optional = |metric: Metric| matches!(metric, Metric::Allocator | Metric::ResidentEnd);
    let is_known = move |row: &&Row| {
        !is_optional(row.metric) || row.before.is_some() || row.after.is_some() || row.predicted.is_some()
    };
    comparison.rows.iter().filter(is_known)
}

fn cells(row: &Row) -> [String; 6] {
    [
        row.metric.title().to_owned(),
        with_error(row.metric, row.before.as_ref()),
        with_error(row.metric, row.after.as_ref()),
        with_interval(row.metric, row.saved.as_ref()),
        predicted(row),
        share(row.saved.as_ref(), row.before.as_ref()),
    ]
}

fn remarks(comparison: &Comparison) -> Vec<String> {
    let mut lines = vec![rounds_line(comparison.rounds, comparison.confidence)];
    if let Some(noisy) = &comparison.noisy {
        lines.push(format!("Not as exact as asked for: {noisy}"));
    }
    if comparison.same_output {
        lines.push("Both sides printed the same.".to_owned());
    }
    let is_unknown = |row: &Row| row.before.is_none() || row.after.is_none();
    if comparison.rows.iter().any(|row| row.metric == Metric::ResidentEnd && row.predicted.is_some() && is_unknown(row))
    {
        lines.push(
            "The resident set at the end is not known of commands that a shell runs, and where the kernel forbids memtoll to stop \
             a program: put variables, quotes and redirections into a script that ends with exec."
                .to_owned(),
        );
    }
    if comparison.rows.iter().any(|row| row.metric == Metric::ResidentPeak && is_unknown(row)) {
        lines.push(
            "To measure a peak resident set below memtoll's own, use --metric resident-peak. It needs a command without a shell, and a \
             program that starts no others."
                .to_owned(),
        );
    }
    lines
}

/// A comparison in Markdown, for a pull request.
pub fn comparison_markdown(comparison: &Comparison) -> String {
    let mut text = String::new();
    for (side, command) in ["before", "after"].into_iter().zip(&comparison.commands) {
        text += &format!("{side}: `{}`  \n", command.replace('`', "'"));
    }
    text += "\n| | before | after | saved | predicted | share |\n|---|--:|--:|--:|--:|--:|\n";
    for row in shown(comparison) {
        text += &format!("| {} |\n", cells(row).join(" | "));
    }
    text.push('\n');
    remarks(comparison).into_iter().fold(text, |text, line| text + &line + "\n")
}

/// A tryout, for a terminal of `width` columns, if there is one.
pub fn tryout(tryout: &Tryout, width: Option<usize>) -> String {
    let plain = |metric: Metric| tryout.plain[metric as usize].as_ref();
    // Not known where a shell starts the program, or the kernel does not let memtoll stop it.
    let end = plain(Metric::ResidentEnd).map(|_| Metric::ResidentEnd);
    let shown = || [Metric::Cpu, Metric::Wall, Metric::Faults, Metric::ResidentPeak].into_iter().chain(end);
    let mut text = wrapped("", &tryout.command, width) + "\n";
    let columns: Vec<&str> = [""].into_iter().chain(shown().map(Metric::title)).chain(["what"]).collect();
    let row = |name: &str, cell: &dyn Fn(Metric) -> String, what: &str| -> Vec<String> {
        [name.to_owned()].into_iter().chain(shown().map(cell)).chain([what.to_owned()]).collect()
    };
    let mut rows = vec![row(PLAIN, &|metric| with_error(metric, plain(metric)), "")];
    for result in &tryout.results {
        let name = &result.candidate.name;
        rows.push(match &result.failed {
            Some(_) => row(name, &|_| String::new(), "does not work here"),
            None => {
                let saved = |metric| change(metric, result.saved[metric as usize].as_ref());
                row(name, &saved, &result.candidate.what)
            }
        });
    }
    text += &table_or_paragraphs(&columns, &rows, width);
    text.push('\n');
    text += &wrapped("", &rounds_line(tryout.rounds, tryout.confidence), width);
    for result in tryout.results.iter().filter(|result| result.failed.is_some()) {
        text += &wrapped("", result.failed.as_deref().unwrap_or_default(), width);
    }
    text + &verdict(tryout, width)
}

/// By how much a figure changes: less is better, so what is saved has a minus.
fn change(metric: Metric, saved: Option<&Interval>) -> String {
    match saved {
        None => UNKNOWN.to_owned(),
        Some(saved) if !saved.excludes_zero() => "same".to_owned(),
        Some(saved) => {
            let [low, middle, high] = [saved.high, saved.median, saved.low].map(|saved| signed(metric, -saved));
            format!("{middle} ({low} to {high})")
        }
    }
}

fn signed(metric: Metric, value: f64) -> String {
    format!("{}{}", if value > 0.0 { "+" } else { "" }, metric.show(value))
}

fn verdict(tryout: &Tryout, width: Option<usize>) -> String {
    let Some(winner) = tryout.winner() else {
        return wrapped("", &format!("Nothing here saves {}.", tryout.metric.title()), width);
    };
    let saved = winner.saved[tryout.metric as usize].as_ref();
    let share = share(saved, tryout.plain[tryout.metric as usize].as_ref());
    let peak = winner.saved[Metric::ResidentPeak as usize].as_ref().filter(|saved| saved.excludes_zero());
    let memory = peak.map_or(String::new(), |saved| {
        let word = if saved.median > 0.0 { "less" } else { "more" };
        format!("; its peak resident set is {} {word}", Metric::ResidentPeak.show(saved.median.abs()))
    });
    let mut text =
        wrapped("", &format!("{} saves {share} of {}{memory}:", winner.candidate.name, tryout.metric.title()), width);
    // To be copied: never broken into lines.
    text += &format!("    {} {}\n", winner.candidate.assignment(), tryout.command);
    if let Some(instead) = &winner.candidate.instead {
        text += &format!("    or: {instead}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_is_too_wide_becomes_paragraphs() {
        let columns = ["", "CPU time", "wall time", "what"];
        let cells = ["huge-pages", "-60.3 ms (-76.7 ms to -25.0 ms)", "same", "ask for huge pages (madvise)"];
        let rows = [["as it is", "330 ± 30 ms", "350 ± 40 ms", ""], cells].map(|row| row.map(str::to_owned));
        for width in [60, 80, 100] {
            let text = table_or_paragraphs(&columns, &rows, Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            let dense = |text: &str| text.replace([' ', '\n'], "");
            assert!(cells.iter().all(|cell| dense(&text).contains(&dense(cell))), "{width}: {text}");
        }
        let wide = [Some(200), None].map(|width| table_or_paragraphs(&columns, &rows, width));
        assert!(wide[0] == wide[1] && wide[0].lines().count() == 3, "{}", wide[0]);
    }

    #[test]
    fn figures_carry_their_errors() {
        let found = |low, median, high| Interval { median, low, high };
        assert_eq!(with_error(Metric::Cpu, Some(&found(1.0e9, 1.1e9, 1.2e9))), "1.10 ± 0.10 s");
        assert_eq!(with_error(Metric::Faults, Some(&found(7.0, 7.0, 7.0))), "7");
        assert_eq!(with_error(Metric::ResidentPeak, None), "not known");
        assert_eq!(
            with_interval(Metric::Cpu, Some(&found(-1e6, 2e6, 3e6))),
            "2.0 ms (-1.0 ms to 3.0 ms, perhaps nothing)"
        );
        assert_eq!(change(Metric::Cpu, Some(&found(-1e6, 2e6, 3e6))), "same");
        assert_eq!(change(Metric::Faults, Some(&found(-30.0, -20.0, -10.0))), "+20 (+10 to +30)");
    }
}
