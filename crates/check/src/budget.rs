//! The budget file. TOML, read by hand over its spans, so that each mistake has its line, what was found, and
//! what is known.

use crate::limit::Limit;
use crate::metric::{Kind, Metric, by_key};
use memtoll_advise::{RULES, RuleId};
use memtoll_text::shell;
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

#[derive(Default, Debug)]
pub struct Budget {
    /// Recordings to compare with.
    pub baseline: Vec<PathBuf>,
    /// The limits, in the order of the file.
    pub entries: Vec<Entry>,
}

/// What a limit is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scope {
    /// What kind of thing.
    pub kind: Kind,
    /// Its name, where it has one; `*` stands for anything.
    pub name: String,
    /// For a function: what it calls counts, too.
    pub with_callees: bool,
    /// For a region: runs at the beginning that do not count.
    pub after: usize,
}

impl Scope {
    /// For people: `run`, `region frame after the first 10`.
    pub fn shown(&self) -> String {
        let mut text = self.kind.key().to_owned();
        if !self.name.is_empty() {
            text += &format!(" {}", self.name);
        }
        if self.with_callees {
            text += " and what it calls";
        }
        if self.after > 0 {
            text += &format!(" after the first {}", self.after);
        }
        text
    }
}

/// What is limited.
#[derive(Clone, Copy)]
pub enum What {
    Metric(Metric),
    /// Findings of a rule, or of all of them.
    Findings,
}

impl std::fmt::Debug for What {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        out.write_str(match self {
            What::Metric(metric) => metric.key(),
            What::Findings => "findings",
        })
    }
}

/// One limit.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Of what.
    pub scope: Scope,
    /// Of which metric.
    pub what: What,
    /// For findings: the rule; `None`: all rules.
    pub rule: Option<RuleId>,
    /// How much.
    pub limit: Limit,
    /// The line of the file.
    pub line: usize,
}

/// The command that writes a budget where there is none.
fn first_budget(error: &std::io::Error, file: &str) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("; write one with: memtoll budget RECORDING -o {}", shell::word(file)),
        _ => String::new(),
    }
}

/// Why a budget file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be read.
    #[error("cannot read the budget {file}: {source}{}", first_budget(source, file))]
    Read {
        file: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A line of it is wrong.
    #[error("{file}:{line}: {what}")]
    Line {
        file: String,
        line: usize,
        /// What was expected, and what was found.
        what: String,
    },
}

/// The table of findings by rule.
const FINDINGS: &str = "findings";
const BASELINE: &str = "baseline";
const AFTER: &str = "after";
const WITH_CALLEES: &str = "with_callees";

impl Budget {
    /// Whether a limit is about what lies in memory at the end.
    pub fn is_of_pages(&self) -> bool {
        let of_pages =
            |entry: &Entry| matches!(entry.what, What::Metric(Metric::Sum(counted)) if counted.is_of_pages());
        self.entries.iter().any(of_pages)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Budget, Error> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| Error::Read { file: file.clone(), source })?;
        let mut budget = Budget::parse(&text).map_err(|(line, what)| Error::Line { file: file.clone(), line, what })?;
        // Paths are those of the file's folder: a budget is used from any folder.
        let folder = path.parent().unwrap_or(Path::new(""));
        budget.baseline.iter_mut().for_each(|baseline| *baseline = folder.join(&*baseline));
        Ok(budget)
    }

    /// From its text. An error is a line, from 1, and what is wrong with it.
    pub fn parse(text: &str) -> Result<Budget, (usize, String)> {
        let line = |span: Range<usize>| text[..span.start.min(text.len())].matches('\n').count() + 1;
        let table = DeTable::parse(text).map_err(|error| (error.span().map_or(1, line), error.message().to_owned()))?;
        let mut reader = Reader { budget: Budget::default(), line: &line };
        reader.top(table.get_ref())?;
        let mut budget = reader.budget;
        budget.entries.sort_by_key(|entry| entry.line);
        if budget.entries.is_empty() {
            return Err((1, "there is no limit in it; `memtoll budget RECORDING` writes a first one".to_owned()));
        }
        Ok(budget)
    }
}

impl Budget {
    /// The limits on single tests, and those on everything else.
    pub fn split(self) -> (Budget, Budget) {
        let (tests, others) = self.entries.into_iter().partition(|entry| entry.scope.kind == Kind::Test);
        (Budget { baseline: Vec::new(), entries: tests }, Budget { baseline: self.baseline, entries: others })
    }
}

type Wrong = (usize, String);

struct Reader<'a> {
    budget: Budget,
    line: &'a dyn Fn(Range<usize>) -> usize,
}

impl Reader<'_> {
    fn wrong(&self, span: Range<usize>, what: String) -> Wrong {
        ((self.line)(span), what)
    }

    fn table<'v, 't>(&self, key: &str, value: &'v Spanned<DeValue<'t>>) -> Result<&'v DeTable<'t>, Wrong> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(value.span(), format!("expected a table [{key}], found {}", found(value))))
    }

    fn top(&mut self, table: &DeTable) -> Result<(), Wrong> {
        for (key, value) in table.iter() {
            let name: &str = key.get_ref();
            if name == BASELINE {
                self.budget.baseline = self.paths(value)?;
            } else if name == FINDINGS {
                for (rule, limit) in self.table(FINDINGS, value)?.iter() {
                    self.rule(rule, limit)?;
                }
            } else if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.key() == name) {
                let inner = self.table(name, value)?;
                match kind {
                    Kind::Run => self.scope(kind, "", inner)?,
                    _ => {
                        for (of, limits) in inner.iter() {
                            let of: &str = of.get_ref();
                            let limits = self.table(&format!("{name}.\"{of}\""), limits)?;
                            self.scope(kind, of, limits)?;
                        }
                    }
                }
            } else {
                let mut known = vec![BASELINE, FINDINGS];
                known.extend(Kind::ALL.map(Kind::key));
                return Err(self.wrong(key.span(), unknown("a table", name, &known)));
            }
        }
        Ok(())
    }

    fn paths(&self, value: &Spanned<DeValue>) -> Result<Vec<PathBuf>, Wrong> {
        let wrong = |of: &Spanned<DeValue>| {
            self.wrong(of.span(), format!("expected a recording's path or a list of them, found {}", found(of)))
        };
        let path = |of: &Spanned<DeValue>| of.get_ref().as_str().map(PathBuf::from).ok_or_else(|| wrong(of));
        match value.get_ref() {
            DeValue::Array(all) => all.iter().map(path).collect(),
            _ => Ok(vec![path(value)?]),
        }
    }

    fn rule(&mut self, rule: &Spanned<toml::de::DeString>, limit: &Spanned<DeValue>) -> Result<(), Wrong> {
        let name: &str = rule.get_ref();
        let id = RuleId::named(name).ok_or_else(|| {
            let known: Vec<&str> = RULES.iter().map(|rule| rule.id.name()).collect();
            self.wrong(rule.span(), unknown("a rule", name, &known))
        })?;
        let scope = Scope { kind: Kind::Run, name: String::new(), with_callees: false, after: 0 };
        self.findings(scope, Some(id), rule.span(), limit)
    }

    fn findings(
        &mut self,
        scope: Scope,
        rule: Option<RuleId>,
        key: Range<usize>,
        limit: &Spanned<DeValue>,
    ) -> Result<(), Wrong> {
        let parsed = Limit::parse(limit.get_ref(), memtoll_text::format::Unit::Count)
            .map_err(|expected| self.wrong(limit.span(), format!("{expected}; found {}", found(limit))))?;
        let line = (self.line)(key);
        self.budget.entries.push(Entry { scope, what: What::Findings, rule, limit: parsed, line });
        Ok(())
    }

    fn scope(&mut self, kind: Kind, name: &str, table: &DeTable) -> Result<(), Wrong> {
        let mut scope = Scope { kind, name: name.to_owned(), with_callees: false, after: 0 };
        let takes = |key: &str| match key {
            WITH_CALLEES => kind == Kind::Function,
            AFTER => kind == Kind::Region,
            _ => false,
        };
        for (key, value) in table.iter().filter(|(key, _)| takes(key.get_ref())) {
            let expected = |what: &str| self.wrong(value.span(), format!("expected {what}, found {}", found(value)));
            match value.get_ref() {
                DeValue::Boolean(yes) if &**key.get_ref() == WITH_CALLEES => scope.with_callees = *yes,
                DeValue::Integer(number) if &**key.get_ref() == AFTER => {
                    let parsed = usize::from_str_radix(number.as_str(), number.radix());
                    scope.after = parsed.map_err(|_| expected("a number of runs such as 10"))?;
                }
                _ if &**key.get_ref() == AFTER => return Err(expected("a number of runs such as 10")),
                _ => return Err(expected("true or false")),
            }
        }
        for (key, value) in table.iter().filter(|(key, _)| !takes(key.get_ref())) {
            let name: &str = key.get_ref();
            if name == FINDINGS && kind == Kind::Run {
                self.findings(scope.clone(), None, key.span(), value)?;
                continue;
            }
            let Some(metric) = by_key(name).filter(|metric| metric.is_known_of(kind)) else {
                let mut known: Vec<&str> = Metric::of_kind(kind).map(Metric::key).collect();
                known.extend([AFTER, WITH_CALLEES].into_iter().filter(|key| takes(key)));
                known.extend((kind == Kind::Run).then_some(FINDINGS));
                return Err(self.wrong(key.span(), unknown(&format!("a limit of a {}", kind.key()), name, &known)));
            };
            let limit = Limit::parse(value.get_ref(), metric.unit())
                .map_err(|expected| self.wrong(value.span(), format!("{name}: {expected}; found {}", found(value))))?;
            let (scope, line) = (scope.clone(), (self.line)(key.span()));
            self.budget.entries.push(Entry { scope, what: What::Metric(metric), rule: None, limit, line });
        }
        Ok(())
    }
}

fn unknown(expected: &str, found: &str, known: &[&str]) -> String {
    format!("expected {expected}, found \"{found}\"; there is: {}", known.join(", "))
}

fn found(value: &Spanned<DeValue>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(yes) => yes.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> (usize, String) {
        Budget::parse(text).unwrap_err()
    }

    #[test]
    fn a_budget_is_read() {
        let text = "baseline = 'main.memtoll'\n[run]\nallocations = 27_018\npeak = '12 MiB'\nfindings = 3\n\
                    [function.'Parser::*']\nwith_callees = true\nbytes = '+5 %'\n\
                    [region.frame]\nafter = 10\nallocations = 0\n[findings]\ngrowth = 0\n";
        let budget = Budget::parse(text).unwrap();
        assert_eq!(budget.baseline, [PathBuf::from("main.memtoll")]);
        let shown: Vec<String> = budget
            .entries
            .iter()
            .map(|entry| format!("{}: {} {:?} {:?}", entry.line, entry.scope.shown(), entry.what, entry.limit))
            .collect();
        let expected = [
            "3: run allocations AtMost(27018.0)",
            "4: run peak AtMost(12582912.0)",
            "5: run findings AtMost(3.0)",
            "8: function Parser::* and what it calls bytes ShareMore(0.05)",
            "11: region frame after the first 10 allocations AtMost(0.0)",
            "13: run findings AtMost(0.0)",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let (line, what) = wrong("[run]\nallocation = 3\n");
        assert!(line == 2 && what.contains("found \"allocation\"") && what.contains("there is: cost, "));
        let (line, what) = wrong("[run]\n\npeak = true\n");
        assert!(line == 3 && what.contains("found true") && what.contains("12 MiB"), "{what}");
        let (line, what) = wrong("[runs]\nallocations = 1\n");
        assert!(line == 1 && what.contains("\"runs\"") && what.contains("region"), "{what}");
        let (line, what) = wrong("[region.frame]\npeak = 1\n");
        assert!(line == 2 && what.contains("after"), "{what}");
        let (line, what) = wrong("[findings]\nchurn = 1\n");
        assert!(line == 2 && what.contains("there is: growth, small-vectors"), "{what}");
        assert_eq!(wrong("[run\n").0, 1);
        assert_eq!(wrong("run = 3\n"), (1, "expected a table [run], found 3".to_owned()));
        assert!(wrong("").1.contains("memtoll budget"));
        assert!(wrong("[region.frame]\nafter = -1\nallocations = 0\n").1.contains("found -1"));
    }
}
