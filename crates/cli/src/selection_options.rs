//! Which part of a recording is shown: the options that all commands have which show one.

use crate::size_option::parse_size;
use crate::stack_options::StackArguments;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use memtoll_analysis::metric::{Metric, TABLE};
use memtoll_query::query::{Instant, Query, View, When};

/// Options of a selection.
#[derive(clap::Args)]
pub struct SelectionArguments {
    #[command(flatten)]
    stacks: StackArguments,

    /// Show only this process: its number (4711.2: the second process that had it), its program's name, or a word of its command line (repeatable)
    #[arg(long, value_name = "NAME|PID")]
    process: Vec<String>,

    /// Show only this thread: its number or its name; a first thread also has its program's name (repeatable)
    #[arg(long, value_name = "NAME|TID")]
    thread: Vec<String>,

    /// Count only blocks of at least this size, such as 64 or 1M
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    min_size: Option<u64>,

    /// Count only blocks of at most this size
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_size: Option<u64>,

    /// Show what was live at this time after the start, such as 1.25s or 300ms; with --resident and metrics of pages such as pinned,
    /// also peak, end, a mark of memtoll.h, or a size of record --snapshot-at
    #[arg(long, value_name = "TIME", value_parser = parse_at, conflicts_with_all = ["from", "to", "between_marks"])]
    at: Option<At>,

    /// Count from this time on
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    from: Option<f64>,

    /// Count up to this time
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    to: Option<f64>,

    /// Count between two marks of memtoll.h, or within a region (give its name twice)
    #[arg(long, value_names = ["NAME", "NAME"], num_args = 2, conflicts_with_all = ["from", "to"])]
    between_marks: Option<Vec<String>>,

    /// Charge costs to the code that paid them, not to the lines that allocated (implies --metric cost)
    #[arg(long)]
    pub paid: bool,
}

impl SelectionArguments {
    /// The question that shows this of what is selected, by this metric.
    pub fn query(&self, view: View, metric: Option<Metric>) -> Query {
        Query {
            when: self.when(),
            processes: self.process.clone(),
            threads: self.thread.clone(),
            min_size: self.min_size,
            max_size: self.max_size,
            paid: self.paid,
            metric,
            view,
            ..self.stacks.query()
        }
    }

    /// At which look at a process's pages.
    pub fn instant(&self) -> Instant {
        match &self.at {
            Some(At::Time(at)) => Instant::Near(ns(*at)),
            Some(At::Look(look)) => look.clone(),
            None => Instant::Last,
        }
    }

    /// Whether the instant is one that only pages have.
    pub fn is_at_look(&self) -> bool {
        matches!(self.at, Some(At::Look(_)))
    }

    fn when(&self) -> When {
        match (&self.at, self.between_marks.as_deref()) {
            (Some(At::Time(at)), _) => When::At { ns: ns(*at) },
            (Some(At::Look(at)), _) => When::Look { at: at.clone() },
            (_, Some([from, to])) => When::Marks { from: from.clone(), to: to.clone() },
            _ if self.from.is_none() && self.to.is_none() => When::All,
            _ => When::Span { from_ns: self.from.map(ns), to_ns: self.to.map(ns) },
        }
    }
}

/// An instant.
#[derive(Clone, PartialEq, Debug)]
enum At {
    /// Seconds after the start.
    Time(f64),
    /// A look at a process's pages.
    Look(Instant),
}

fn parse_at(text: &str) -> Result<At, std::convert::Infallible> {
    match text {
        "peak" => Ok(At::Look(Instant::Peak)),
        "end" => Ok(At::Look(Instant::End)),
        text => Ok(parse_time(text).map(At::Time).unwrap_or_else(|_| {
            // A number without a unit is a time.
            At::Look(parse_size(text).map_or_else(|_| Instant::Mark(text.to_owned()), Instant::Size))
        })),
    }
}

/// Seconds from `1.25s`, `300ms`, `15us`, or a plain number of seconds.
pub fn parse_time(text: &str) -> Result<f64, String> {
    let units = [("ms", 1e-3), ("us", 1e-6), ("µs", 1e-6), ("ns", 1e-9), ("s", 1.0), ("", 1.0)];
    let value = units.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number * factor)
    });
    value.ok_or_else(|| format!("expected a time such as 1.25s, 300ms or 15us, found \"{text}\""))
}

fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// Parses the name of a metric: those of the table, with its words.
pub fn metric_parser() -> impl TypedValueParser<Value = Metric> {
    let values = TABLE.iter().map(|about| PossibleValue::new(about.name).help(about.help.trim_end_matches('.')));
    PossibleValuesParser::new(values).try_map(|name| Metric::named(&name).ok_or("no metric has this name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(parse_time("1.25s"), Ok(1.25));
        assert_eq!(parse_time("300ms"), Ok(0.3));
        assert_eq!(parse_time("2"), Ok(2.0));
        assert!(parse_time("soon").is_err());
        assert!(parse_time("-1s").is_err());
    }

    #[test]
    fn instants() {
        let look = |look| Ok(At::Look(look));
        for (text, expected) in [
            ("1.25s", Ok(At::Time(1.25))),
            ("3", Ok(At::Time(3.0))),
            ("peak", look(Instant::Peak)),
            ("end", look(Instant::End)),
            ("2G", look(Instant::Size(2 << 30))),
            ("loaded", look(Instant::Mark("loaded".to_owned()))),
        ] {
            assert_eq!(parse_at(text), expected);
        }
    }
}
