//! Rows as CSV, with the column names of the JSON report.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::{About, TABLE};
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;

const TEXTS: [&str; 6] = ["function", "file", "line", "module", "type", "inlined"];

/// All rows, with a header. What is not known is empty. `inlined` has the functions into which the first one is inlined, with ` < ` between them.
pub fn render(recording: &Recording, rows: &[Row]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(TEXTS.into_iter().chain(TABLE.iter().map(|about| about.json)))?;
    let tariff = Tariff::of(recording);
    let function = |frame: u32| qualified_name(Texts::of(&recording.frames, frame).function).to_owned();
    for row in rows {
        let texts = row.frame.map(|frame| Texts::of(&recording.frames, frame));
        let inlined: Vec<String> = row.inlined.iter().map(|frame| function(*frame)).collect();
        let mut fields = vec![
            row.frame.map_or(row.label.clone(), function),
            texts.as_ref().and_then(|t| t.file).unwrap_or_default().to_owned(),
            texts.as_ref().and_then(|t| t.line).map(|line| line.to_string()).unwrap_or_default(),
            texts.as_ref().map_or("", |t| t.module).to_owned(),
            row.type_name.clone().unwrap_or_default(),
            inlined.join(" < "),
        ];
        let known = |about: &About| about.metric.known(&row.metrics, tariff.sees());
        fields.extend(TABLE.iter().map(|about| known(about).map(|number| number.to_string()).unwrap_or_default()));
        writer.write_record(fields)?;
    }
    writer.flush()?;
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
