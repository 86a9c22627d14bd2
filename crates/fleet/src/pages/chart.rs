//! The curve of a trend: a point for each version with its interval, in the order in which versions came.

use super::html::{Html, escaped};
use super::link::Link;
use crate::table::{Kind, Table, Value};
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use std::fmt::Write;

/// Pixels of the curve: widths follow the window, so places along it are shares.
const HEIGHT: f64 = 160.0;
/// Names below the curve that do not run into each other in 800 pixels, and their letters.
const NAMES: usize = 7;
const LETTERS: usize = 12;

struct Point<'t> {
    row: usize,
    name: &'t str,
    value: Estimate,
    /// In percent of the width.
    x: f64,
}

/// What a trend says, as a curve. `next`: where a row leads to.
pub fn chart(metric: Metric, table: &Table, next: impl Fn(usize) -> Option<Link>) -> Html {
    let Some(column) = table.columns.iter().position(|column| matches!(column.kind, Kind::Metric(_))) else {
        return Html::default();
    };
    let number = table.rows.len() as f64;
    let points: Vec<Point> = table
        .rows
        .iter()
        .enumerate()
        .filter_map(|(row, values)| match (&values[column], values.last()) {
            (Value::Estimate(value), Some(Value::Text(name))) => {
                Some(Point { row, name, value: *value, x: 100.0 * (row as f64 + 0.5) / number })
            }
            _ => None,
        })
        .collect();
    let end = |of: Estimate| if of.high.is_finite() { of.high } else { of.value };
    let most = points.iter().fold(0.0, |most: f64, point| most.max(end(point.value)));
    let y = |value: f64| if most > 0.0 { HEIGHT * (1.0 - value.max(0.0) / most) } else { HEIGHT };
    let about = metric.about();
    let color = metric.color().unwrap_or("curve");
    let mut svg = format!(
        "<figure class=\"trend {color}\"><svg width=\"100%\" height=\"{}\" role=\"group\" aria-label=\"{} of each row of the \
         table\">\n",
        HEIGHT + 24.0,
        escaped(about.title)
    );
    for (value, at) in [(0.0, HEIGHT), (most / 2.0, HEIGHT / 2.0), (most, 0.0)] {
        if value > 0.0 || at == HEIGHT {
            let _ = writeln!(svg, "<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{at}\" y2=\"{at}\"/>");
            let shown = escaped(&about.unit.show(value));
            let _ = writeln!(svg, "<text class=\"scale\" x=\"-8\" y=\"{}\">{shown}</text>", at + 4.0);
        }
    }
    for pair in points.windows(2) {
        let [(x1, y1), (x2, y2)] = [&pair[0], &pair[1]].map(|point| (point.x, y(point.value.value)));
        let _ = writeln!(svg, "<line class=\"curve\" x1=\"{x1:.3}%\" y1=\"{y1:.1}\" x2=\"{x2:.3}%\" y2=\"{y2:.1}\"/>");
    }
    let step = points.len().div_ceil(NAMES).max(1);
    for (index, point) in points.iter().enumerate() {
        let Point { row, name, value, x } = point;
        let cells: Vec<String> = table.cells(&table.rows[*row]).collect();
        let said = escaped(&format!("{name}: {}", cells[column]));
        let mut mark = format!("<title>{said}</title>");
        let is_known = value.high.is_finite();
        if is_known && value.margin() > 0.0 {
            let (low, high) = (y(value.low), y(value.high));
            let _ = write!(
                mark,
                "<line class=\"interval\" x1=\"{x:.3}%\" x2=\"{x:.3}%\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
            );
        }
        let class = if is_known { "point" } else { "point alone" };
        let _ = write!(mark, "<circle class=\"{class}\" cx=\"{x:.3}%\" cy=\"{:.1}\" r=\"5\"/>", y(value.value));
        if (points.len() - 1 - index).is_multiple_of(step) {
            let at = HEIGHT + 18.0;
            let _ = writeln!(svg, "<text class=\"name\" x=\"{x:.3}%\" y=\"{at}\">{}</text>", escaped(&shortened(name)));
        }
        let mark = match next(*row) {
            Some(link) => format!("<a href=\"{}\" aria-label=\"{said}\">{mark}</a>", escaped(&link.url())),
            None => format!("<g>{mark}</g>"),
        };
        let _ = writeln!(svg, "{mark}");
    }
    svg += "</svg>\n<figcaption>Mean of the runs, with its 95 % interval. A hollow point has one run, which tells no interval. \
            A point leads to what changed there, the first one to its runs.</figcaption></figure>\n";
    Html::raw(svg)
}

/// A name in a few letters: such of commits differ at the beginning, such of versions at the end.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= LETTERS {
        return name.to_owned();
    }
    let begin: String = letters[..LETTERS / 2].iter().collect();
    let end: String = letters[letters.len() - (LETTERS / 2 - 1)..].iter().collect();
    format!("{begin}…{end}")
}
