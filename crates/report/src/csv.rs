//! Rows as CSV, with the column names of the JSON report.

use memtoll_analysis::metric::{Metric, TABLE};
use memtoll_analysis::sites::GroupBy;
use memtoll_query::export::Export;
use memtoll_query::rows::Row;
use memtoll_query::{Answer, Shown, View, figures};
use std::io::Write;

/// All rows, with a header. What is not known is empty. Behind the metrics, there are the ends of intervals: of times, and of what was
/// sampled. `inlined` has the functions into which the first one is inlined, with ` < ` between them.
pub struct Csv;

const TEXTS: [&str; 6] = ["function", "file", "line", "module", "type", "inlined"];

impl Export for Csv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn help(&self) -> &'static str {
        "The rows of a table, for spreadsheets"
    }

    fn view(&self, asked: View) -> Result<View, &'static str> {
        match asked {
            View::Totals => Ok(View::Table { group: GroupBy::Site, limit: None }),
            View::Table { .. } => Ok(asked),
            _ => Err("CSV has rows of tables: expected --flat or --group, or --format text or json"),
        }
    }

    fn write(&self, answer: &Answer, out: &mut dyn Write) -> std::io::Result<()> {
        let Shown::Table(table) = &answer.shown else { return Ok(()) };
        let mut writer = csv::Writer::from_writer(out);
        let names = TEXTS.into_iter().chain(TABLE.iter().map(|about| about.key)).map(str::to_owned);
        let wide = figures::with_intervals(table.sites.iter().map(|row| &row.figures));
        let ends = wide.iter().flat_map(|of| ["low", "high"].map(|end| format!("{}_{end}", of.about().key)));
        writer.write_record(names.chain(ends))?;
        for row in &table.sites {
            writer.write_record(fields(row, &wide))?;
        }
        writer.flush()
    }
}

fn fields(row: &Row, wide: &[Metric]) -> Vec<String> {
    let inlined: Vec<&str> = row.inlined.iter().map(|place| place.function).collect();
    let texts = [
        row.function.clone(),
        row.file.unwrap_or_default().to_owned(),
        row.line.map(|line| line.to_string()).unwrap_or_default(),
        row.module.unwrap_or_default().to_owned(),
        row.r#type.clone().unwrap_or_default(),
        inlined.join(" < "),
    ];
    let number = |value: Option<u64>| value.map(|number| number.to_string()).unwrap_or_default();
    let end = |value: Option<i64>| value.map(|number| number.to_string()).unwrap_or_default();
    let numbers = TABLE.iter().map(|about| number(row.figures.of(about.metric)));
    let ends = wide.iter().map(|metric| row.figures.interval(*metric));
    let ends = ends.flat_map(|both| [end(both.map(|both| both.low)), end(both.map(|both| both.high))]);
    texts.into_iter().chain(numbers).chain(ends).collect()
}
