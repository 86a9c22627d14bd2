//! HTML of texts that may hold anything.

use super::link::Link;
use crate::table::{Kind, NAME, Table, Value};
use std::fmt::Write;

/// A text as HTML shows it, also between quotes.
fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            c if c.is_control() => html.push('\u{fffd}'),
            c => html.push(c),
        }
    }
    html
}

/// A part of a page.
#[derive(Default)]
pub struct Html(String);

impl Html {
    /// A paragraph.
    pub fn message(text: &str) -> Html {
        Html(format!("<p>{}</p>\n", escaped(text)))
    }

    /// Adds another part.
    pub fn add(&mut self, other: &Html) {
        self.0 += &other.0;
    }

    /// The whole page.
    pub fn page(&self) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>memtoll fleet</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/fleet.css\">\n<body>\n{}</body>\n</html>\n",
            self.0
        )
    }

    /// Links of which some are where the reader is: their names, where they lead to, and whether they are chosen.
    pub fn choice(&mut self, title: &str, all: impl IntoIterator<Item = (String, Link, bool)>) {
        let mut links = String::new();
        for (name, link, is_chosen) in all {
            let current = if is_chosen { " aria-current=\"true\"" } else { "" };
            let _ = write!(links, " <a href=\"{}\"{current}><bdi>{}</bdi></a>", escaped(&link.url()), escaped(&name));
        }
        if !links.is_empty() {
            let _ = writeln!(self.0, "<nav><span>{}</span>{links}</nav>", escaped(title));
        }
    }

    /// A table. `next`: where the name of a row leads to.
    pub fn table(&mut self, table: &Table, next: impl Fn(usize, &str) -> Option<Link>) {
        let _ = writeln!(self.0, "<h1>{}</h1>\n<table>\n<thead><tr>", escaped(&table.title));
        let class = |kind: Kind| if kind == Kind::Text { "" } else { " class=\"number\"" };
        for column in &table.columns {
            let _ = write!(self.0, "<th scope=\"col\"{}>{}</th>", class(column.kind), escaped(&column.title));
        }
        self.0 += "</tr></thead>\n<tbody>\n";
        for (index, row) in table.rows.iter().enumerate() {
            self.0 += "<tr>";
            for ((cell, value), column) in table.cells(row).zip(row).zip(&table.columns) {
                let cell = format!("<bdi>{}</bdi>", escaped(&cell));
                // The last column is what rows are called.
                let link = match value {
                    Value::Text(name) if column.name == NAME => next(index, name),
                    _ => None,
                };
                let cell = link.map_or(cell.clone(), |link| format!("<a href=\"{}\">{cell}</a>", escaped(&link.url())));
                let _ = write!(self.0, "<td{}>{cell}</td>", class(column.kind));
            }
            self.0 += "</tr>\n";
        }
        self.0 += "</tbody>\n</table>\n";
        table.notes.iter().for_each(|note| self.add(&Html::message(note)));
    }
}
