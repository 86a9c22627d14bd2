//! Answers as text, JSON, CSV and Markdown: all from the same columns.

use crate::table::{Column, Kind, Table, Value};
use memtoll_analysis::estimate::Estimate;
use memtoll_text::format::Unit;
use serde_json::{Map, json};

/// A value for people, without escapes.
fn shown(value: &Value, kind: Kind) -> String {
    let plain = |value: f64| match kind {
        Kind::Metric(unit) => unit.show(value),
        Kind::Change(unit) => unit.signed(value),
        Kind::Share => Unit::Share.show(value),
        Kind::ShareMore => Unit::Share.signed(value),
        Kind::Number | Kind::Text => Unit::Count.show(value.round()),
    };
    match value {
        Value::Number(value) => plain(*value),
        Value::Estimate(of) if of.margin() == 0.0 || !of.margin().is_finite() => plain(of.value),
        Value::Estimate(of) => match kind {
            Kind::Metric(unit) | Kind::Change(unit) => format!("{} ± {}", plain(of.value), unit.show(of.margin())),
            _ => plain(of.value),
        },
        // A name is one line, and moves no cursor.
        Value::Text(text) => text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect(),
        Value::Nothing => String::new(),
    }
}

/// A column as scripts get it.
struct PlainColumn {
    name: String,
    /// Of the table's column.
    index: usize,
    /// What it shows of an estimate.
    part: fn(&Estimate) -> f64,
}

impl Table {
    /// The values of a row for people, without escapes.
    pub(crate) fn cells<'t>(&'t self, row: &'t [Value]) -> impl Iterator<Item = String> + 't {
        self.columns.iter().zip(row).map(|(column, value)| shown(value, column.kind))
    }

    /// For people. `width`: columns of the terminal.
    pub fn text(&self, width: Option<usize>) -> String {
        let titles: Vec<&str> = self.columns.iter().map(|column| column.title.as_str()).collect();
        let mut table = memtoll_text::table::Table::new(&titles);
        self.rows.iter().for_each(|row| table.add(self.cells(row)));
        let mut text = format!("{}\n\n", self.title);
        text += &table.render(width);
        if !self.notes.is_empty() {
            text += "\n";
        }
        self.notes.iter().for_each(|note| text += &memtoll_text::format::wrapped("", note, width));
        text
    }

    /// For a page.
    pub fn markdown(&self) -> String {
        let escaped =
            |text: String| text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('`', "\\`");
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("{}\n\n", escaped(self.title.clone()));
        text += &line(self.columns.iter().map(|column| column.title.clone()).collect());
        text += &line(
            self.columns
                .iter()
                .map(|column| if column.kind == Kind::Text { "---" } else { "---:" }.to_owned())
                .collect(),
        );
        self.rows.iter().for_each(|row| text += &line(self.cells(row).map(escaped).collect()));
        self.notes.iter().for_each(|note| text += &format!("\n{}\n", escaped(note.clone())));
        text
    }

    /// The names of the plain columns: those of estimates have their interval in two further ones.
    fn plain_columns(&self) -> Vec<PlainColumn> {
        let has_interval = |index: usize| self.rows.iter().any(|row| matches!(row[index], Value::Estimate(_)));
        let mut all = Vec::new();
        let mut push = |name, index, part| all.push(PlainColumn { name, index, part });
        for (index, Column { name, .. }) in self.columns.iter().enumerate() {
            push(name.clone(), index, |of: &Estimate| of.value);
            if has_interval(index) {
                push(format!("{name}_low"), index, |of| of.low);
                push(format!("{name}_high"), index, |of| of.high);
            }
        }
        all
    }

    /// For scripts: an object for each row, in the base units of metrics (counts, bytes, ns).
    pub fn json(&self) -> Result<String, serde_json::Error> {
        let columns = self.plain_columns();
        let rows: Vec<serde_json::Value> = self
            .rows
            .iter()
            .map(|row| {
                let mut object = Map::new();
                for PlainColumn { name, index, part } in &columns {
                    let value = match &row[*index] {
                        Value::Number(value) => plain(*value),
                        Value::Estimate(of) => plain(part(of)),
                        Value::Text(text) => json!(text),
                        Value::Nothing => serde_json::Value::Null,
                    };
                    object.insert(name.clone(), value);
                }
                serde_json::Value::Object(object)
            })
            .collect();
        let all = json!({ "schema_version": 1, "title": self.title, "rows": rows, "notes": self.notes });
        Ok(serde_json::to_string_pretty(&all)? + "\n")
    }

    /// For spreadsheets.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let columns = self.plain_columns();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(columns.iter().map(|column| &column.name))?;
        for row in &self.rows {
            writer.write_record(columns.iter().map(|PlainColumn { index, part, .. }| match &row[*index] {
                Value::Number(value) => plain(*value).to_string(),
                Value::Estimate(of) => match plain(part(of)) {
                    serde_json::Value::Null => String::new(),
                    value => value.to_string(),
                },
                Value::Text(text) => text.clone(),
                Value::Nothing => String::new(),
            }))?;
        }
        let bytes = writer.into_inner().map_err(|error| csv::Error::from(error.into_error()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// A number without needless decimals; an interval without an end is nothing.
fn plain(value: f64) -> serde_json::Value {
    match value {
        value if value.fract() == 0.0 && value.abs() < 9e15 => json!(value as i64),
        value if value.is_finite() => json!(value),
        _ => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let estimate = Estimate::exact(2e9).give_or_take(5e8);
        Table {
            title: "cost per run".to_owned(),
            columns: vec![
                Column::new("cost_ns", "cost", Kind::Metric(Unit::Time)),
                Column::new("share", "share", Kind::Share),
                Column::new("name", "function", Kind::Text),
            ],
            rows: vec![
                vec![Value::Estimate(estimate), Value::Number(0.5), Value::Text("a|b \u{1b}[31m\"x\"".to_owned())],
                vec![Value::Estimate(Estimate::exact(1e9)), Value::Nothing, Value::Text("c,d".to_owned())],
            ],
            notes: vec!["1 run is left out.".to_owned()],
        }
    }

    #[test]
    fn names_do_no_harm_in_any_format() {
        let table = table();
        let text = table.text(None);
        // The header is set off by an escape of memtoll's own; names bring none.
        let cost = "2.00 s ± 500 ms";
        assert!(text.contains(cost), "{text}");
        assert!(!text.contains("\u{1b}[31m"), "{text}");
        assert!(table.markdown().contains("a\\|b"), "{}", table.markdown());
        let csv = table.csv().unwrap();
        assert!(csv.starts_with("cost_ns,cost_ns_low,cost_ns_high,share,name\n"), "{csv}");
        assert!(csv.contains("\"c,d\""), "{csv}");
        let json: serde_json::Value = serde_json::from_str(&table.json().unwrap()).unwrap();
        assert_eq!(json["rows"][0]["cost_ns_low"], 1_500_000_000);
        assert_eq!(json["rows"][1]["share"], serde_json::Value::Null);
    }
}
