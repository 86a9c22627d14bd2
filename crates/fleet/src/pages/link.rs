//! The address of a page: a question in words.

use crate::columns;
use crate::error::Error;
use crate::grouping::{By, Per};
use memtoll_analysis::metric::Metric;

/// What rows may be.
pub const GROUPS: [(&str, By); 7] = [
    ("function", By::Function),
    ("callees", By::FunctionWithCallees),
    ("line", By::Line),
    ("module", By::Module),
    ("process", By::Process),
    ("service", By::Service),
    ("host", By::Host),
];

/// Rows of a page.
const LIMIT: usize = 50;
const MOST: usize = 10_000;

/// The questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    Top,
    Trend,
    Compare,
    Runs,
}

/// What rows are sorted by.
#[derive(Clone, PartialEq, Debug)]
pub struct Sort {
    /// The name of a column.
    pub column: String,
    pub is_up: bool,
}

/// A question.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    pub view: View,
    pub metric: Metric,
    pub by: By,
    pub per: Option<Per>,
    /// Labels that runs must have.
    pub labels: Vec<(String, String)>,
    /// A regular expression.
    pub filter: Option<String>,
    /// The label whose values are the rows of a trend.
    pub label: Option<String>,
    /// Whether days are, though there are versions.
    pub by_day: bool,
    pub before: Vec<(String, String)>,
    pub after: Vec<(String, String)>,
    pub limit: usize,
    /// Nothing: the order of the answer.
    pub sort: Option<Sort>,
}

impl Default for Link {
    fn default() -> Link {
        Link {
            view: View::Top,
            metric: Metric::Cost,
            by: By::Function,
            per: None,
            labels: Vec::new(),
            filter: None,
            label: None,
            by_day: false,
            before: Vec::new(),
            after: Vec::new(),
            limit: LIMIT,
            sort: None,
        }
    }
}

/// What no page understands of an address.
#[derive(Debug, thiserror::Error)]
pub enum BadAddress {
    #[error("expected an address in UTF-8")]
    NoText,
    #[error("expected NAME=VALUE as a label")]
    Label,
    #[error(transparent)]
    Metric(#[from] Error),
    #[error("expected a group, such as function or line")]
    Group,
    #[error("expected a number after n=")]
    Number,
    #[error("the address has a word that no page knows")]
    Word,
}

impl Link {
    /// Understands an address; nothing if no page has it.
    pub fn parse(url: &str) -> Result<Option<Link>, BadAddress> {
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let view = match path {
            "/" | "/top" => View::Top,
            "/trend" => View::Trend,
            "/compare" => View::Compare,
            "/runs" => View::Runs,
            _ => return Ok(None),
        };
        let mut link = Link { view, ..Link::default() };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decoded(value).ok_or(BadAddress::NoText)?;
            let label = || {
                let (name, value) = value.split_once('=').ok_or(BadAddress::Label)?;
                Ok::<_, BadAddress>((name.to_owned(), value.to_owned()))
            };
            match name {
                "metric" => link.metric = columns::named(&value)?,
                "group" => {
                    let known = GROUPS.iter().find(|(name, _)| *name == value);
                    link.by = known.ok_or(BadAddress::Group)?.1;
                }
                "per" => {
                    link.per = Some(match value.as_str() {
                        "run" => Per::Run,
                        "cpu" => Per::Cpu,
                        _ => Per::Label(value),
                    });
                }
                "where" => link.labels.push(label()?),
                "filter" => link.filter = Some(value),
                "label" => link.label = Some(value),
                "by" => link.by_day = value == "day",
                "before" => link.before.push(label()?),
                "after" => link.after.push(label()?),
                "n" => link.limit = value.parse().ok().filter(|n| (1..=MOST).contains(n)).ok_or(BadAddress::Number)?,
                "sort" => {
                    let down = value.strip_prefix('-');
                    link.sort = Some(Sort { column: down.unwrap_or(&value).to_owned(), is_up: down.is_none() });
                }
                _ => return Err(BadAddress::Word),
            }
        }
        Ok(Some(link))
    }

    /// Its address.
    pub fn url(&self) -> String {
        let path = match self.view {
            View::Top => "/top",
            View::Trend => "/trend",
            View::Compare => "/compare",
            View::Runs => "/runs",
        };
        let mut words = Vec::new();
        let mut word = |name: &str, value: &str| words.push(format!("{name}={}", encoded(value)));
        let default = Link::default();
        if self.metric != default.metric {
            word("metric", self.metric.about().name);
        }
        if let Some((name, _)) = GROUPS.iter().find(|(_, by)| *by == self.by && self.by != default.by) {
            word("group", name);
        }
        match &self.per {
            None => {}
            Some(Per::Run) => word("per", "run"),
            Some(Per::Cpu) => word("per", "cpu"),
            Some(Per::Label(label)) => word("per", label),
        }
        let mut labels = |key: &str, all: &[(String, String)]| {
            all.iter().for_each(|(name, value)| word(key, &format!("{name}={value}")));
        };
        labels("where", &self.labels);
        if self.view == View::Compare {
            labels("before", &self.before);
            labels("after", &self.after);
        }
        self.filter.iter().for_each(|filter| word("filter", filter));
        if self.view == View::Trend {
            self.label.iter().for_each(|label| word("label", label));
            if self.by_day {
                word("by", "day");
            }
        }
        if self.limit != default.limit {
            word("n", &self.limit.to_string());
        }
        if let Some(Sort { column, is_up }) = &self.sort {
            word("sort", &format!("{}{column}", if *is_up { "" } else { "-" }));
        }
        if words.is_empty() { path.to_owned() } else { format!("{path}?{}", words.join("&")) }
    }

    /// Of runs that have a further label.
    pub fn with(&self, label: (String, String)) -> Link {
        let mut link = self.clone();
        link.labels.retain(|(name, _)| *name != label.0);
        link.labels.push(label);
        link
    }

    /// Whether they have a label or not.
    pub fn without(&self, label: &(String, String)) -> Link {
        let mut link = self.clone();
        link.labels.retain(|known| known != label);
        link
    }
}

/// A text as a part of an address.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut url, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => url.push(char::from(byte)),
            _ => url += &format!("%{byte:02X}"),
        }
        url
    })
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let (digits, behind) = others.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = behind;
            }
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_come_back_as_the_questions_that_they_were() {
        let label = |text: &str| vec![("ver'sion&".to_owned(), text.to_owned())];
        let links = [
            Link::default(),
            Link {
                view: View::Trend,
                label: Some("<b>".to_owned()),
                filter: Some("^a+ %b$".to_owned()),
                ..Link::default()
            },
            Link { view: View::Trend, by_day: true, metric: Metric::FaultTime, ..Link::default() },
            Link {
                view: View::Runs,
                sort: Some(Sort { column: "cost_ns".to_owned(), is_up: false }),
                ..Link::default()
            },
            Link { sort: Some(Sort { column: "name".to_owned(), is_up: true }), ..Link::default() },
            Link { view: View::Compare, before: label("1=2"), after: label("é\n"), by: By::Line, ..Link::default() },
            Link { per: Some(Per::Label("requests".to_owned())), labels: label("x"), limit: 7, ..Link::default() },
        ];
        for link in links {
            let url = link.url();
            assert!(url.chars().all(|c| c.is_ascii_graphic() && !"<>\"'".contains(c)), "{url}");
            assert_eq!(Link::parse(&url).unwrap(), Some(link), "{url}");
        }
        assert_eq!(Link::parse("/etc/passwd").unwrap(), None);
        for wrong in
            ["/?metric=x", "/?group=x", "/?where=x", "/?n=0", "/?n=1e9", "/?filter=%f", "/?filter=%ff", "/?x=1"]
        {
            assert!(Link::parse(wrong).is_err(), "{wrong}");
        }
    }
}
