//! The tables `sites` and `findings`: what `memtoll report --flat` and the summary show.

use super::column::{Column, intervals, metrics};
use super::kinds::{Kind, Unit};
use super::runs::run_id;
use memtoll_analysis::metric::Metric;
use memtoll_query::Figures;
use memtoll_query::findings::Finding;
use memtoll_query::rows::Row;
use parquet::data_type::ByteArray;

/// A call site: a line of the program's own code, with its inline chain and the type of its blocks.
pub struct Site {
    site_key: String,
    function: String,
    file: Option<String>,
    line: Option<u32>,
    module: Option<String>,
    r#type: Option<String>,
    element_size: Option<u64>,
    inlined: Option<String>,
    pattern: Option<Pattern>,
    figures: Figures,
}

struct Pattern {
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    median_size: Option<u64>,
    p99_size: Option<u64>,
    median_lifetime_ns: Option<u64>,
    p99_lifetime_ns: Option<u64>,
    allocating_threads: u64,
    freeing_threads: Option<u64>,
    freed_by_other_threads: Option<u64>,
}

impl From<&Row<'_>> for Site {
    fn from(row: &Row) -> Site {
        let inlined: Vec<&str> = row.inlined.iter().map(|place| place.function).collect();
        Site {
            site_key: row.key.clone(),
            function: row.function.clone(),
            file: row.file.map(str::to_owned),
            line: row.line,
            module: row.module.map(str::to_owned),
            r#type: row.r#type.clone(),
            element_size: row.element_size,
            inlined: (!inlined.is_empty()).then(|| inlined.join(" < ")),
            pattern: row.pattern.as_ref().map(|pattern| Pattern {
                first_ns: pattern.first_ns,
                last_ns: pattern.last_ns,
                median_size: pattern.sizes.median,
                p99_size: pattern.sizes.p99,
                median_lifetime_ns: pattern.lifetimes_ns.as_ref().and_then(|of| of.median),
                p99_lifetime_ns: pattern.lifetimes_ns.as_ref().and_then(|of| of.p99),
                allocating_threads: pattern.allocating_threads.count,
                freeing_threads: pattern.freeing_threads.as_ref().map(|of| of.count),
                freed_by_other_threads: pattern.freed_by_other_threads,
            }),
            figures: row.figures.clone(),
        }
    }
}

impl Site {
    fn figures(&self) -> &Figures {
        &self.figures
    }
}

/// The columns of `sites`; `wide` are the metrics that have intervals.
pub fn site_columns(id: &ByteArray, wide: &[Metric]) -> Vec<Column<Site>> {
    let key = "The call site. The same in other recordings of the program, as long as names and lines stay the same.";
    let mut columns = vec![
        run_id(id),
        Column::text("site_key", key, |row: &Site| row.site_key.as_str().into()),
        Column::text("function", "The function.", |row: &Site| row.function.as_str().into()),
        Column::text("file", "The source file.", |row: &Site| row.file.as_deref().into()).optional(),
        Column::id("line", "The line.", |row: &Site| row.line.into()).optional(),
        Column::text("module", "The loaded file.", |row: &Site| row.module.as_deref().into()).optional(),
        Column::text("type", "The type of the blocks, where inlined functions tell it.", |row: &Site| {
            row.r#type.as_deref().into()
        })
        .optional(),
        Column::bytes("element_size", "The size of an element of a container.", |row: &Site| row.element_size.into()),
        Column::text("inlined", "What the function is inlined into, innermost first, with < between.", |row: &Site| {
            row.inlined.as_deref().into()
        })
        .optional(),
    ];
    type Value = fn(&Pattern) -> Option<u64>;
    let of_pattern: [(&'static str, Unit, &'static str, Value); 9] = [
        ("first_ns", Unit::Nanoseconds, "Its first allocation.", |of| of.first_ns),
        ("last_ns", Unit::Nanoseconds, "Its last allocation.", |of| of.last_ns),
        ("median_size", Unit::Bytes, "Half of its blocks are not larger; at most 3.1 % off.", |of| of.median_size),
        ("p99_size", Unit::Bytes, "99 of 100 blocks are not larger; at most 3.1 % off.", |of| of.p99_size),
        ("median_lifetime_ns", Unit::Nanoseconds, "Half of its freed blocks lived no longer.", |of| {
            of.median_lifetime_ns
        }),
        ("p99_lifetime_ns", Unit::Nanoseconds, "99 of 100 freed blocks lived no longer.", |of| of.p99_lifetime_ns),
        ("allocating_threads", Unit::Count, "Threads that allocate here, at least.", |of| Some(of.allocating_threads)),
        ("freeing_threads", Unit::Count, "Threads that free its blocks, at least.", |of| of.freeing_threads),
        (
            "freed_by_other_threads",
            Unit::Count,
            "Blocks that another thread freed than the one that allocated them.",
            |of| of.freed_by_other_threads,
        ),
    ];
    for (name, unit, help, value) in of_pattern {
        let value = move |row: &Site| row.pattern.as_ref().and_then(value).into();
        columns.push(Column::new(Kind::Integer, name, unit, help, value).optional());
    }
    columns.extend(metrics(Site::figures));
    columns.extend(intervals(Site::figures, wide));
    columns
}

/// Something that is worth a look.
pub struct Found {
    rank: u32,
    rule: String,
    text: String,
    share: Option<f64>,
    share_of: Option<String>,
    site_key: Option<String>,
    function: Option<String>,
    file: Option<String>,
    line: Option<u32>,
    evidence: String,
}

/// The findings of an answer, most important first.
pub fn findings(all: &[Finding]) -> impl Iterator<Item = Found> {
    all.iter().zip(1..).map(|(finding, rank)| {
        let mut evidence = serde_json::to_value(&finding.what).unwrap_or_default();
        let rule = evidence.as_object_mut().and_then(|fields| fields.remove("id"));
        let of = finding.share.and_then(|share| serde_json::to_value(share.of).ok());
        let text = |value: serde_json::Value| value.as_str().map(str::to_owned);
        Found {
            rank,
            rule: rule.and_then(text).unwrap_or_default(),
            text: finding.sentences().collect::<Vec<_>>().join(". "),
            share: finding.share.map(|share| share.value()),
            share_of: of.and_then(text),
            site_key: finding.key.clone(),
            function: finding.function.map(str::to_owned),
            file: finding.file.map(str::to_owned),
            line: finding.line,
            evidence: evidence.to_string(),
        }
    })
}

/// The columns of `findings`.
pub fn finding_columns(id: &ByteArray) -> Vec<Column<Found>> {
    vec![
        run_id(id),
        Column::id("rank", "1 is the most important one.", |row: &Found| row.rank.into()),
        Column::text("rule", "What was found: costly-line, churn, never-freed and so on.", |row: &Found| {
            row.rule.as_str().into()
        }),
        Column::text("text", "Sentences: what was found, and what else was found at the line.", |row: &Found| {
            row.text.as_str().into()
        }),
        Column::new(Kind::Float, "share", Unit::None, "How much of share_of it is, from 0 to 1.", |row: &Found| {
            row.share.into()
        })
        .optional(),
        Column::text("share_of", "What the share is of, as in JSON: processor_time, peak and so on.", |row: &Found| {
            row.share_of.as_deref().into()
        })
        .optional(),
        Column::text("site_key", "The call site in sites; null: it is about the run.", |row: &Found| {
            row.site_key.as_deref().into()
        })
        .optional(),
        Column::text("function", "Its function.", |row: &Found| row.function.as_deref().into()).optional(),
        Column::text("file", "Its source file.", |row: &Found| row.file.as_deref().into()).optional(),
        Column::id("line", "Its line.", |row: &Found| row.line.into()).optional(),
        Column::text("evidence", "The numbers behind it, as JSON.", |row: &Found| row.evidence.as_str().into()),
    ]
}
