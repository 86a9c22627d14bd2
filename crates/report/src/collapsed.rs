//! Collapsed stacks, as flame graph tools read them: frames from the thread's entry on, separated by semicolons, then a
//! number; times are in ns.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::sites::Row;
use memtoll_analysis::stacks::Texts;
use memtoll_model::Recording;

/// One line for each call path whose `metric` is not 0. `rows` are call paths.
pub fn render(recording: &Recording, rows: &[Row], metric: Metric) -> String {
    let mut text = String::new();
    for row in rows {
        let value = metric.value(&row.metrics);
        if value == 0 {
            continue;
        }
        let names: Vec<String> = row
            .path
            .iter()
            .rev()
            .map(|frame| qualified_name(Texts::of(&recording.frames, *frame).function).replace([';', '\n'], ","))
            .collect();
        let stack = if names.is_empty() { row.label.clone() } else { names.join(";") };
        text.push_str(&format!("{stack} {value}\n"));
    }
    text
}
