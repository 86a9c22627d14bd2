//! `memtoll report --format json`, and what must hold in every report.

use serde::Deserialize;
use serde_json::Value;

/// In the place of a figure that is null.
pub const NOT_KNOWN: u64 = u64::MAX;

fn or_not_known<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Option::<u64>::deserialize(deserializer).map(|value| value.unwrap_or(NOT_KNOWN))
}

/// The figures that a call site, a process and the whole run have in common.
#[derive(Deserialize, Clone, Default, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names are those of the JSON, which documents them")]
pub struct Metrics {
    pub new_blocks: u64,
    pub frees: u64,
    pub reallocations: u64,
    pub bytes: u64,
    #[serde(deserialize_with = "or_not_known")]
    pub peak_bytes: u64,
    #[serde(deserialize_with = "or_not_known")]
    pub live_bytes: u64,
    #[serde(deserialize_with = "or_not_known")]
    pub live_blocks: u64,
    #[serde(deserialize_with = "or_not_known")]
    pub temporary: u64,
    pub null_frees: u64,
    pub failed: u64,
}

/// The figures of a process or of the whole run.
#[derive(Deserialize, Clone, Default, Debug)]
pub struct Totals {
    /// What sites have as well.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Calls and mappings of every kind.
    pub events: u64,
    /// How many of them have an incomplete stack.
    pub cut_off: u64,
}

/// What the recorder did.
#[derive(Deserialize, Clone, Default, Debug)]
pub struct Recorder {
    /// Stacks that were walked, because they could not be predicted.
    pub stack_walks: u64,
    /// Calls that could not be recorded.
    pub dropped: u64,
    /// Events that others overtook on their way.
    pub late_events: u64,
}

/// An allocator inside a program or a library.
#[derive(Deserialize, Clone, Debug)]
pub struct OwnAllocator {
    /// The file.
    pub file: String,
    /// Its name.
    pub name: String,
    /// Whose calls of it are recorded.
    pub recorded: String,
    /// What it was asked for.
    pub answered: Answered,
    /// The processes that have it.
    pub pids: Vec<u32>,
}

/// What an allocator was asked for.
#[derive(Deserialize, Clone, Debug)]
#[allow(missing_docs, reason = "the names are those of the JSON, which documents them")]
pub struct Answered {
    pub calls: u64,
    pub allocations: u64,
    pub bytes: u64,
    pub releases: u64,
}

/// One process of the run.
#[derive(Deserialize, Clone, Debug)]
pub struct Process {
    /// Its share of the totals.
    #[serde(flatten)]
    pub totals: Totals,
    /// Its number.
    pub pid: i64,
    /// The number of the process that started it.
    pub parent: Option<i64>,
    /// Its command line.
    pub command: Value,
    /// How it ended.
    pub exit: Value,
}

impl Process {
    /// The program's name, without its directory.
    pub fn program(&self) -> &str {
        let first = match &self.command {
            Value::Array(words) => words.first().and_then(Value::as_str).unwrap_or_default(),
            other => other.as_str().unwrap_or_default().split(' ').next().unwrap_or_default(),
        };
        first.rsplit('/').next().unwrap_or(first)
    }

    /// The exit code, if it ended with one.
    pub fn exit_code(&self) -> Option<i64> {
        self.exit.get("code").and_then(Value::as_i64)
    }

    /// The signal that ended it, if one did.
    pub fn exit_signal(&self) -> Option<i64> {
        self.exit.get("signal").and_then(Value::as_i64)
    }
}

/// One level of an inline chain.
#[derive(Deserialize, Clone, Debug)]
pub struct Frame {
    /// The function's name, demangled.
    pub function: String,
    /// Where it was called from in the next level.
    pub file: Option<String>,
    /// The line in `file`.
    pub line: Option<u64>,
}

/// A call site of allocation functions.
#[derive(Deserialize, Clone, Debug)]
pub struct Site {
    /// The first function that is the user's own.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line of the call.
    pub line: Option<u64>,
    /// The executable or library.
    pub module: Option<String>,
    /// The functions that `function` was inlined into, from the inside outwards.
    pub inlined: Vec<Frame>,
    /// The element type, where the inline chain tells it.
    #[serde(rename = "type")]
    pub element_type: Option<String>,
    /// The number of elements that each block has room for, where that is known.
    pub elements: Option<u64>,
    /// What it costs.
    #[serde(flatten)]
    pub metrics: Metrics,
}

impl Site {
    /// Whether the call is in the function `name`, or in one that was inlined into it.
    pub fn is_in(&self, name: &str) -> bool {
        matches(&self.function, name) || self.inlined.iter().any(|frame| matches(&frame.function, name))
    }
}

/// A whole report.
#[derive(Deserialize, Clone, Debug)]
pub struct Report {
    /// The version of the JSON's layout.
    pub schema_version: u64,
    /// The whole run.
    pub totals: Totals,
    /// What the recorder did.
    pub recorder: Recorder,
    /// What could not be recorded.
    pub missing: Vec<String>,
    /// What else readers should know.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Each process of it.
    pub processes: Vec<Process>,
    /// Each call site.
    pub sites: Vec<Site>,
    /// Allocators inside programs and libraries.
    #[serde(default)]
    pub own_allocators: Vec<OwnAllocator>,
}

impl Report {
    /// Parses the JSON of a part of the sites, which need not add up to the total.
    pub fn parse_part(json: &[u8]) -> Report {
        let report: Report = serde_json::from_slice(json)
            .unwrap_or_else(|error| panic!("not the expected JSON: {error}\n{}", String::from_utf8_lossy(json)));
        assert_eq!(report.schema_version, 1);
        report
    }

    /// Parses the JSON and checks what must hold in every report: it adds up.
    pub fn parse(json: &[u8]) -> Report {
        let report = Report::parse_part(json);
        type Field = (&'static str, fn(&Metrics) -> u64);
        let fields: [Field; 7] = [
            ("new_blocks", |m| m.new_blocks),
            ("reallocations", |m| m.reallocations),
            ("bytes", |m| m.bytes),
            ("live_bytes", |m| m.live_bytes),
            ("live_blocks", |m| m.live_blocks),
            ("temporary", |m| m.temporary),
            ("null_frees", |m| m.null_frees),
        ];
        let is_known = |value: &u64| *value != NOT_KNOWN;
        for (name, field) in fields {
            let total = field(&report.totals.metrics);
            if total == NOT_KNOWN {
                assert!(
                    report.sites.iter().all(|site| field(&site.metrics) == NOT_KNOWN),
                    "{name}: known of some sites"
                );
                continue;
            }
            let sites: u64 = report.sites.iter().map(|site| field(&site.metrics)).filter(is_known).sum();
            assert_eq!(sites, total, "{name}: the sites do not add up to the total");
            let of_processes = report.processes.iter().map(|process| field(&process.totals.metrics));
            let processes: u64 = of_processes.filter(is_known).sum();
            assert_eq!(processes, total, "{name}: the processes do not add up to the total");
        }
        let frees: u64 = report.processes.iter().map(|process| process.totals.metrics.frees).sum();
        assert_eq!(frees, report.totals.metrics.frees, "frees: the processes do not add up to the total");
        report
    }

    /// The sum over all sites in the function `name` and in what was inlined into it. All zero if there is none.
    pub fn function(&self, name: &str) -> Metrics {
        let mut sum = Metrics::default();
        for site in self.sites.iter().filter(|site| site.is_in(name)) {
            let metrics = &site.metrics;
            sum.new_blocks += metrics.new_blocks;
            sum.frees += metrics.frees;
            sum.reallocations += metrics.reallocations;
            sum.bytes += metrics.bytes;
            sum.peak_bytes = sum.peak_bytes.saturating_add(metrics.peak_bytes);
            sum.live_bytes = sum.live_bytes.saturating_add(metrics.live_bytes);
            sum.live_blocks = sum.live_blocks.saturating_add(metrics.live_blocks);
            sum.temporary = sum.temporary.saturating_add(metrics.temporary);
            sum.null_frees += metrics.null_frees;
            sum.failed += metrics.failed;
        }
        sum
    }

    /// Allocations in the function `name`.
    pub fn new_blocks(&self, name: &str) -> u64 {
        self.function(name).new_blocks
    }

    /// Fails, with a list of what there is, unless each of these functions has exactly this number of allocations.
    #[track_caller]
    pub fn expect_new_blocks(&self, expected: &[(&str, u64)]) {
        let found: Vec<(&str, u64)> = expected.iter().map(|(name, _)| (*name, self.new_blocks(name))).collect();
        assert_eq!(found, expected, "allocations by function; sites:\n{}", self.listing());
    }

    /// All sites, one a line, for messages.
    pub fn listing(&self) -> String {
        let line = |site: &Site| {
            let chain: Vec<_> = site.inlined.iter().map(|frame| frame.function.as_str()).collect();
            format!(
                "  {:8} x {} ({}:{}) in {chain:?}",
                site.metrics.new_blocks,
                site.function,
                site.file.as_deref().unwrap_or("?"),
                site.line.unwrap_or(0),
            )
        };
        self.sites.iter().take(60).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// Whether a demangled name is of the function that the source calls so, with or without its scopes, or of a closure in it.
pub fn matches(function: &str, name: &str) -> bool {
    let function = plain_name(without_closures(function));
    function == name || function.strip_suffix(name).is_some_and(|scope| scope.ends_with("::"))
}

/// A closure of Rust is a part of its function: `main::{closure#0}` is in `main`.
fn without_closures(function: &str) -> &str {
    let closure = ["::{closure#", "::{{closure}}"].iter().filter_map(|name| function.find(name)).min();
    closure.map_or(function, |at| &function[..at])
}

/// A demangled name without parameters, template arguments, anonymous namespaces, return type and clone suffixes:
/// `void (anonymous namespace)::fill<int>(int) [clone .part.0]` is `fill`.
pub fn plain_name(function: &str) -> String {
    let named = function.replace("(anonymous namespace)::", "").replace("{anonymous}::", "");
    let mut plain = String::new();
    let mut depth = 0;
    for c in named.chars() {
        match c {
            '<' => depth += 1,
            '>' if depth > 0 => depth -= 1,
            '(' | '[' if depth == 0 => break,
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    let word = plain.trim_end().rsplit(' ').next().unwrap_or_default();
    let end = word.find('.').unwrap_or(word.len());
    word[..end].to_owned()
}
