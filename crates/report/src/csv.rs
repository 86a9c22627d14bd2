//! Rows as CSV, with the column names of the JSON report.

use crate::json::JsonMetrics;
use memtoll_analysis::library::qualified_name;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::Recording;

type Column = (&'static str, fn(&JsonMetrics) -> Option<u64>);

const TEXTS: [&str; 6] = ["function", "file", "line", "module", "type", "inlined"];
const NUMBERS: [Column; 24] = [
    ("allocations", |m| Some(m.allocations)),
    ("frees", |m| Some(m.frees)),
    ("reallocations", |m| Some(m.reallocations)),
    ("bytes_allocated", |m| Some(m.bytes_allocated)),
    ("peak_bytes", |m| Some(m.peak_bytes)),
    ("live_bytes_at_end", |m| Some(m.live_bytes_at_end)),
    ("live_allocations_at_end", |m| Some(m.live_allocations_at_end)),
    ("temporary_allocations", |m| Some(m.temporary_allocations)),
    ("free_null_calls", |m| Some(m.free_null_calls)),
    ("mean_lifetime_ns", |m| Some(m.mean_lifetime_ns)),
    ("events", |m| Some(m.events)),
    ("truncated_stacks", |m| Some(m.truncated_stacks)),
    ("page_faults", |m| m.page_faults),
    ("major_faults", |m| m.major_faults),
    ("file_faults", |m| m.file_faults),
    ("fault_ns", |m| m.fault_ns),
    ("allocator_ns", |m| Some(m.allocator_ns)),
    ("mapping_ns", |m| Some(m.mapping_ns)),
    ("waiting_ns", |m| m.waiting_ns),
    ("reading_ns", |m| m.reading_ns),
    ("mappings", |m| Some(m.mappings)),
    ("mapped_bytes", |m| Some(m.mapped_bytes)),
    ("touched_bytes", |m| m.touched_bytes),
    ("cost_ns", |m| Some(m.cost_ns)),
];

/// All rows, with a header. What is not known is empty. `inlined` has the functions into which the first one is inlined, with ` < ` between them.
pub fn render(recording: &Recording, rows: &[Row]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(TEXTS.iter().chain(NUMBERS.iter().map(|(name, _)| name)))?;
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
        let metrics = JsonMetrics::new(&row.metrics, &tariff);
        fields.extend(
            NUMBERS.iter().map(|(_, value)| value(&metrics).map(|number| number.to_string()).unwrap_or_default()),
        );
        writer.write_record(fields)?;
    }
    writer.flush()?;
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
