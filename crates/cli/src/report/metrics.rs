//! The metrics that options name: those of the table, with its words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use memtoll_analysis::metric::{Metric, TABLE};

/// Parses the name of a metric.
pub fn parser() -> impl TypedValueParser<Value = Metric> {
    let values = TABLE.iter().map(|about| PossibleValue::new(about.name).help(about.help.trim_end_matches('.')));
    PossibleValuesParser::new(values).try_map(|name| Metric::named(&name).ok_or("no metric has this name"))
}
