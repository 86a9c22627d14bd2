//! Rows as CSV, with the column names of the JSON report.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::sites::{Row, mean_lifetime};
use memtoll_analysis::stacks::Texts;
use memtoll_model::Recording;

/// All rows, with a header.
pub fn render(recording: &Recording, rows: &[Row]) -> Result<String, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "function",
        "file",
        "line",
        "module",
        "type",
        "allocations",
        "frees",
        "reallocations",
        "bytes_allocated",
        "peak_bytes",
        "live_bytes_at_end",
        "live_allocations_at_end",
        "temporary_allocations",
        "free_null_calls",
        "mean_lifetime_ns",
        "events",
        "truncated_stacks",
    ])?;
    for row in rows {
        let texts = row.frame.map(|frame| Texts::of(&recording.frames, frame));
        let m = &row.metrics;
        let lifetime = recording.about.clock.seconds(mean_lifetime(m)) * 1e9;
        let mut fields = vec![
            texts.as_ref().map_or(row.label.clone(), |t| qualified_name(t.function).to_owned()),
            texts.as_ref().and_then(|t| t.file).unwrap_or_default().to_owned(),
            texts.as_ref().and_then(|t| t.line).map(|line| line.to_string()).unwrap_or_default(),
            texts.as_ref().map_or("", |t| t.module).to_owned(),
            row.type_name.clone().unwrap_or_default(),
        ];
        let numbers = [
            m.allocations,
            m.frees,
            m.reallocations,
            m.bytes_allocated,
            m.peak_bytes,
            m.live_bytes,
            m.live_allocations,
            m.temporary,
            m.free_null_calls,
            lifetime as u64,
            m.events,
            m.truncated_stacks,
        ];
        fields.extend(numbers.iter().map(u64::to_string));
        writer.write_record(fields)?;
    }
    writer.flush()?;
    let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
