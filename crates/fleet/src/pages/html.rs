//! HTML of texts that may hold anything.

use super::link::Link;
use super::order::{Order, is_sum, next};
use crate::table::{Kind, Table};
use std::fmt::Write;

/// A text as HTML shows it, also between quotes.
pub fn escaped(text: &str) -> String {
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

/// Where a cell of a table leads to.
pub enum Door {
    Page(Link),
    /// A command, which a page cannot run.
    Command(String),
}

impl Html {
    /// Text that is HTML already.
    pub fn raw(html: String) -> Html {
        Html(html)
    }

    pub fn heading(text: &str) -> Html {
        Html(format!("<h1>{}</h1>\n", escaped(text)))
    }

    /// A paragraph.
    pub fn message(text: &str) -> Html {
        Html(format!("<p>{}</p>\n", escaped(text)))
    }

    /// Adds another part.
    pub fn add(&mut self, other: &Html) {
        self.0 += &other.0;
    }

    /// The whole page.
    pub fn page(&self, navigation: &Html) -> String {
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<title>memtoll fleet</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<link rel=\"stylesheet\" href=\"/fleet.css\">\n\
             <body>\n<header>\n{}</header>\n<main>\n{}</main>\n</body>\n</html>\n",
            navigation.0, self.0
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
            let title = escaped(title);
            let _ = writeln!(self.0, "<nav aria-label=\"{title}\"><span>{title}</span>{links}</nav>");
        }
    }

    /// A table; names come first. `link`: to this page; `door`: where a cell leads to, by its row and column.
    pub fn table(&mut self, table: &Table, order: &Order, link: &Link, door: impl Fn(usize, usize) -> Option<Door>) {
        let name = table.columns.len() - 1;
        let columns: Vec<usize> = std::iter::once(name).chain(0..name).collect();
        let class = |column: usize| if table.columns[column].kind == Kind::Text { "" } else { " class=\"number\"" };
        self.0 += "<div class=\"scroll\"><table>\n<thead><tr>";
        for column in &columns {
            let title = escaped(&table.columns[*column].title);
            if title.is_empty() {
                self.0 += "<td></td>";
                continue;
            }
            let sorted = match order.sort.as_ref().filter(|sort| sort.column == table.columns[*column].name) {
                Some(sort) if sort.is_up => " aria-sort=\"ascending\"",
                Some(_) => " aria-sort=\"descending\"",
                None => "",
            };
            let to = Link { sort: Some(next(table, *column, order.sort.as_ref())), ..link.clone() };
            let to = format!("<a href=\"{}\">{title}</a>", escaped(&to.url()));
            let _ = write!(self.0, "<th scope=\"col\"{}{sorted}>{to}</th>", class(*column));
        }
        self.0 += "</tr></thead>\n<tbody>\n";
        for row in &order.rows {
            let values = &table.rows[*row];
            let cells: Vec<String> = table.cells(values).collect();
            self.0 += if is_sum(values) { "<tr class=\"sum\">" } else { "<tr>" };
            for column in &columns {
                let text = format!("<bdi>{}</bdi>", escaped(&cells[*column]));
                let cell = match door(*row, *column) {
                    Some(Door::Page(link)) => format!("<a href=\"{}\">{text}</a>", escaped(&link.url())),
                    Some(Door::Command(command)) => format!("<code>{}</code>", escaped(&command)),
                    None => text,
                };
                let _ = match *column == name {
                    true => write!(self.0, "<th scope=\"row\">{cell}</th>"),
                    false => write!(self.0, "<td{}>{cell}</td>", class(*column)),
                };
            }
            self.0 += "</tr>\n";
        }
        self.0 += "</tbody>\n</table></div>\n";
        table.notes.iter().for_each(|note| self.add(&Html::message(note)));
    }
}
