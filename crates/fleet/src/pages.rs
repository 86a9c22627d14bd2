//! Answers as pages with links from one to the next: what costs most, how that went, what a version changed. They have no
//! scripts and no forms, so whatever is called how in a store, it is only read.
//!
//! * [`link`]: the address of a page is the question
//! * [`html`]: tables as HTML; all texts are escaped there
//! * [`order`]: what a table is sorted by
//! * [`chart`]: the curve of a trend

mod chart;
mod html;
mod link;
mod order;

use crate::error::Error;
use crate::grouping::{By, Per};
use crate::question::{Question, compare, runs, top, trend, usual_label};
use crate::run::{HOST, SERVICE, VERSION};
use crate::selection::Selection;
use crate::statement;
use crate::store::Store;
use crate::table::{NAME, Table, Value};
use html::{Door, Html};
use link::{GROUPS, Link, View};
use regex::Regex;

/// What a browser gets.
#[derive(Debug)]
pub struct Page {
    /// HTTP's status.
    pub status: u16,
    /// Its media type.
    pub kind: &'static str,
    /// Its text.
    pub body: String,
}

/// Answers a request for an address, which begins with `/`.
pub fn page(store: &mut dyn Store, url: &str) -> Page {
    if url == "/fleet.css" {
        return Page { status: 200, kind: "text/css; charset=utf-8", body: style() };
    }
    let link = match Link::parse(url) {
        Ok(Some(link)) => link,
        Ok(None) => return wrong(404, &Html::default(), "There is nothing here."),
        Err(why) => return wrong(400, &Html::default(), &why.to_string()),
    };
    let known = known_labels(store);
    let answer = answer(store, &link);
    let navigation = navigation(&link, &known);
    match answer {
        Ok((link, table)) => html_page(200, &navigation, &shown(&link, &table)),
        Err(error @ Error::Question(_)) => wrong(422, &navigation, &error.to_string()),
        Err(error) => wrong(502, &navigation, &error.to_string()),
    }
}

fn html_page(status: u16, navigation: &Html, html: &Html) -> Page {
    Page { status, kind: "text/html; charset=utf-8", body: html.page(navigation) }
}

fn wrong(status: u16, navigation: &Html, why: &str) -> Page {
    let mut html = Html::heading("No answer");
    html.add(&Html::message(why));
    html_page(status, navigation, &html)
}

/// Colors and sizes are the viewer's. It has a button for the dark ones; here, the browser says what the reader prefers.
fn style() -> String {
    const DARK: &str = ":root[data-theme=\"dark\"] {";
    let look = include_str!("../../../viewer/src/look.css");
    let (light, rest) = look.split_once(DARK).unwrap_or((look, ""));
    let (dark, common) = rest.split_once("}\n").unwrap_or_default();
    let own = include_str!("pages/style.css");
    format!("{light}@media (prefers-color-scheme: dark) {{\n:root {{{dark}}}\n}}\n{common}{own}")
}

/// An answer.
fn shown(link: &Link, table: &Table) -> Html {
    let mut html = Html::heading(&table.title);
    let of_row = |row: usize| match table.rows[row].last() {
        Some(Value::Text(name)) => next(link, table, row, name),
        _ => None,
    };
    if link.view == View::Trend {
        html.add(&chart::chart(link.metric, table, of_row));
    }
    let door = |row: usize, column: usize| match (link.view, table.columns[column].name.as_str()) {
        (View::Runs, NAME) => match table.rows[row].last() {
            Some(Value::Text(path)) => {
                Some(Door::Command(format!("memtoll view {}", memtoll_text::shell::file(path.as_ref()))))
            }
            _ => None,
        },
        (View::Trend, "runs") => runs_of(link, table, row).map(Door::Page),
        (_, NAME) => of_row(row).map(Door::Page),
        _ => None,
    };
    html.table(table, &order::order(link, table), link, door);
    if link.view == View::Runs {
        let how = "A command opens the recording on the machine that added it; a click selects the command to copy it.";
        html.add(&Html::message(how));
    }
    html
}

/// The runs of a row of a trend. Those of a day have no label.
fn runs_of(link: &Link, table: &Table, row: usize) -> Option<Link> {
    let label = link.label.clone()?;
    let Value::Text(value) = table.rows[row].last()? else { return None };
    Some(Link { view: View::Runs, sort: None, ..link.with((label, value.clone())) })
}

type Label = (String, String);

/// Labels to choose from. A store that does not say them says nothing else either.
fn known_labels(store: &mut dyn Store) -> Vec<Label> {
    let rows = statement::labels().map(|select| store.ask(&select).unwrap_or_default());
    rows.into_iter().flatten().map(|row| (row[0].text(), row[1].text())).collect()
}

/// The answer to a link, and the link with all that it left open.
fn answer(store: &mut dyn Store, link: &Link) -> Result<(Link, Table), Error> {
    let mut link = link.clone();
    let filter = link.filter.as_deref().map(Regex::new).transpose();
    let filter = filter.map_err(|error| Error::Question(format!("expected a regular expression: {error}")))?;
    let selection = Selection { labels: link.labels.clone(), filter, ..Selection::default() };
    let by = if matches!(link.view, View::Trend | View::Runs) { By::All } else { link.by };
    let question = Question { selection, metric: link.metric, by, per: link.per.clone(), limit: link.limit };
    if link.view == View::Trend && link.label.is_none() && !link.by_day {
        link.label = usual_label(store, &question)?.map(str::to_owned);
    }
    if link.view == View::Compare && (link.before.is_empty() || link.after.is_empty()) {
        [link.before, link.after] = last_two(store, &question)?;
    }
    let table = match link.view {
        View::Top => top(store, &question),
        View::Trend => trend(store, &question, link.label.as_deref()),
        View::Compare => compare(store, &question, &link.before, &link.after),
        View::Runs => runs(store, &question),
    }?;
    Ok((link, table))
}

/// The last two versions.
fn last_two(store: &mut dyn Store, question: &Question) -> Result<[Vec<Label>; 2], Error> {
    let table = trend(store, &Question { by: By::All, limit: 2, ..question.clone() }, Some(VERSION))?;
    let versions = table.rows.iter().filter_map(|row| match row.last() {
        Some(Value::Text(name)) => Some(vec![(VERSION.to_owned(), name.clone())]),
        _ => None,
    });
    versions.collect::<Vec<_>>().try_into().map_err(|_| {
        Error::Question(
            "two versions are to be compared, and there is one: add runs with another --label version".to_owned(),
        )
    })
}

/// Where a row leads to.
fn next(link: &Link, table: &Table, row: usize, name: &str) -> Option<Link> {
    let link = &Link { sort: None, ..link.clone() };
    let is_sum = matches!(name, crate::question::TOTAL | crate::question::OTHERS);
    let of_name = |label: &str| (label.to_owned(), name.to_owned());
    match (link.view, link.by) {
        (View::Runs, _) => None,
        (View::Trend, _) => {
            let label = link.label.as_deref()?;
            // The first one changed nothing that is known.
            let Some(before) = row.checked_sub(1) else { return runs_of(link, table, row) };
            let before = table.rows.get(before)?.last()?;
            let Value::Text(before) = before else { return None };
            let (before, after) = (vec![(label.to_owned(), before.clone())], vec![of_name(label)]);
            Some(Link { view: View::Compare, before, after, ..link.clone() })
        }
        _ if is_sum => Some(Link { view: View::Trend, filter: None, ..link.clone() }),
        (_, By::Process | By::All) => None,
        (_, By::Service | By::Host) => {
            let label = of_name(if link.by == By::Service { SERVICE } else { HOST });
            Some(Link { view: View::Top, by: By::Function, ..link.with(label) })
        }
        (view, by) => {
            let wanted = if by == By::Line { without_place(name) } else { name.to_owned() };
            let filter = Some(format!("^{}$", regex::escape(&wanted)));
            let label = link.after.first().filter(|_| view == View::Compare).map(|(label, _)| label.clone());
            Some(Link { view: View::Trend, filter, label, ..link.clone() })
        }
    }
}

/// The function of a line, with its loaded file if the row has it.
fn without_place(line: &str) -> String {
    let parts = line.split("  ").enumerate().filter(|(at, part)| *at == 0 || part.starts_with('['));
    parts.map(|(_, part)| part).collect::<Vec<_>>().join("  ")
}

/// Links to the same question in other words.
fn navigation(link: &Link, known: &[Label]) -> Html {
    let link = &Link { sort: None, ..link.clone() };
    let mut html = Html::default();
    let views = [("top", View::Top), ("trend", View::Trend), ("compare", View::Compare), ("runs", View::Runs)];
    html.choice(
        "memtoll fleet",
        views.map(|(name, view)| (name.to_owned(), Link { view, ..link.clone() }, view == link.view)),
    );
    let metrics = crate::columns::METRICS
        .map(|metric| (metric.about().name.to_owned(), Link { metric, ..link.clone() }, metric == link.metric));
    html.choice("metric", metrics);
    if matches!(link.view, View::Top | View::Compare) {
        let groups = GROUPS.map(|(name, by)| (name.to_owned(), Link { by, ..link.clone() }, by == link.by));
        html.choice("group", groups);
    } else if link.view == View::Trend {
        let mut names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
        names.dedup();
        let has_versions = names.contains(&VERSION);
        let label = link.label.as_deref().or((has_versions && !link.by_day).then_some(VERSION));
        let of = |label: &str| Link { label: Some(label.to_owned()), by_day: false, ..link.clone() };
        let day = ("day".to_owned(), Link { label: None, by_day: true, ..link.clone() }, label.is_none());
        let names = names.into_iter().map(|name| (name.to_owned(), of(name), label == Some(name)));
        html.choice("row for each", std::iter::once(day).chain(names));
    }
    let mut pers = vec![("run".to_owned(), Some(Per::Run)), ("second of CPU".to_owned(), Some(Per::Cpu))];
    if link.view == View::Top {
        pers.insert(0, ("all".to_owned(), None));
    }
    let mut numbers: Vec<&String> = known
        .iter()
        .filter(|(name, value)| name != VERSION && crate::run::number(value) > 0.0)
        .map(|(name, _)| name)
        .collect();
    numbers.dedup();
    pers.extend(numbers.into_iter().map(|name| (name.clone(), Some(Per::Label(name.clone())))));
    let chosen = link.per.clone().or((link.view != View::Top).then_some(Per::Run));
    html.choice(
        "per",
        pers.into_iter().map(|(name, per)| (name, Link { per: per.clone(), ..link.clone() }, per == chosen)),
    );
    let labels = known.iter().map(|label| {
        let is_chosen = link.labels.contains(label);
        let other = if is_chosen { link.without(label) } else { link.with(label.clone()) };
        (format!("{}={}", label.0, label.1), other, is_chosen)
    });
    let unknown = link.labels.iter().filter(|label| !known.contains(label));
    let unknown = unknown.map(|label| (format!("{}={}", label.0, label.1), link.without(label), true));
    html.choice("only", labels.chain(unknown));
    if let Some(filter) = &link.filter {
        let all = Link { filter: None, ..link.clone() };
        html.choice("stacks with", [(filter.clone(), all, true)]);
    }
    html
}

#[cfg(test)]
mod tests;
