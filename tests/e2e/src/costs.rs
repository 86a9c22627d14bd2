//! What a report says about costs, and what must hold in all of them: the parts add up.

use crate::report::matches;
use crate::run::Recording;
use crate::skipped::{announced, skipped};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The costs of a call site, a process, or of the whole run.
#[derive(Deserialize, Clone, Copy, Default, PartialEq, Debug)]
#[allow(missing_docs, reason = "the names are those of the JSON, which documents them")]
pub struct Costs {
    pub allocations: u64,
    pub frees: u64,
    #[serde(deserialize_with = "known")]
    pub minor_faults: u64,
    #[serde(deserialize_with = "known")]
    pub huge_faults: u64,
    #[serde(deserialize_with = "known")]
    pub major_faults: u64,
    #[serde(deserialize_with = "known")]
    pub file_faults: u64,
    pub mappings: u64,
    pub mapped_bytes: u64,
    #[serde(deserialize_with = "known")]
    pub touched_bytes: u64,
    pub allocator_ns: u64,
    #[serde(deserialize_with = "known")]
    pub fault_time_ns: u64,
    pub mapping_ns: u64,
    #[serde(deserialize_with = "known")]
    pub waiting_ns: u64,
    #[serde(deserialize_with = "known")]
    pub reading_ns: u64,
    pub cost_ns: u64,
}

/// What is not known is null; here, it is 0.
fn known<'de, D: Deserializer<'de>>(value: D) -> Result<u64, D::Error> {
    Ok(Option::deserialize(value)?.unwrap_or(0))
}

impl Costs {
    fn fields(&mut self) -> [&mut u64; 15] {
        let Costs { allocations, frees, minor_faults, huge_faults, major_faults, file_faults, .. } = self;
        let Costs { mappings, mapped_bytes, touched_bytes, .. } = self;
        let Costs { allocator_ns, fault_time_ns, mapping_ns, waiting_ns, reading_ns, cost_ns, .. } = self;
        [
            allocations, frees, minor_faults, huge_faults, major_faults, file_faults, mappings, mapped_bytes,
            touched_bytes, allocator_ns, fault_time_ns, mapping_ns, waiting_ns, reading_ns, cost_ns,
        ]
    }

    fn of(value: &Value) -> Costs {
        Costs::deserialize(value).unwrap_or_else(|error| panic!("no costs: {error}: {value}"))
    }

    fn add(mut self, mut other: Costs) -> Costs {
        for (sum, part) in self.fields().into_iter().zip(other.fields()) {
            *sum += *part;
        }
        self
    }
}

/// Whether the tests' machine is known to refuse to tell of page faults (MEMTOLL_WITHOUT_PERF).
pub fn without_perf() -> bool {
    announced("MEMTOLL_WITHOUT_PERF")
}

/// A JSON report, with what it says about costs.
#[derive(Debug)]
pub struct CostReport {
    /// The report.
    pub json: Value,
}

impl CostReport {
    /// The report of a recording, with options. Where the machine is known to refuse to tell of page faults, checks that
    /// the recording says so, and returns nothing.
    #[track_caller]
    pub fn of(recording: &Recording, options: &[&str]) -> Option<CostReport> {
        let json = recording.text(&[options, &["--format", "json"]].concat());
        let report = CostReport { json: serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}")) };
        report.check_parts();
        let notes = report.json["notes"].to_string();
        match (report.json["kernel"]["faults"].as_bool(), without_perf()) {
            (Some(true), false) => Some(report),
            (Some(true), true) => panic!("MEMTOLL_WITHOUT_PERF is set, but page faults are seen here: unset it"),
            (_, true) => {
                assert!(notes.contains("page faults and waiting are not charged"), "{notes}");
                skipped("costs are not checked, as announced by MEMTOLL_WITHOUT_PERF");
                None
            }
            (_, false) => panic!("this test needs perf events; or set MEMTOLL_WITHOUT_PERF=1: {notes}"),
        }
    }

    #[track_caller]
    fn check_parts(&self) {
        let totals = self.total();
        let sites = self.sites().map(Costs::of).chain([totals]);
        for costs in sites {
            let parts =
                costs.allocator_ns + costs.fault_time_ns + costs.mapping_ns + costs.waiting_ns + costs.reading_ns;
            assert_eq!(parts, costs.cost_ns, "the parts do not add up: {costs:?}");
        }
        // Null says that nothing is known, 0 that there were none.
        let faults = self.json["kernel"]["faults"].as_bool().unwrap_or(true);
        for name in ["minor_faults", "major_faults", "fault_time_ns", "zeroing_ns", "touched_bytes"] {
            assert_eq!(self.json["totals"][name].is_u64(), faults, "{name}: {}", self.json["totals"]);
        }
        let switches = self.json["kernel"]["switches"].as_bool().unwrap_or(true);
        assert_eq!(self.json["totals"]["waiting_ns"].is_u64(), switches, "{}", self.json["totals"]);
        type Field = (&'static str, fn(&Costs) -> u64);
        let fields: [Field; 9] = [
            ("file_faults", |costs| costs.file_faults),
            ("allocator_ns", |costs| costs.allocator_ns),
            ("fault_time_ns", |costs| costs.fault_time_ns),
            ("minor_faults", |costs| costs.minor_faults),
            ("huge_faults", |costs| costs.huge_faults),
            ("major_faults", |costs| costs.major_faults),
            ("mappings", |costs| costs.mappings),
            ("mapped_bytes", |costs| costs.mapped_bytes),
            ("touched_bytes", |costs| costs.touched_bytes),
        ];
        for (name, field) in fields {
            let sum: u64 = self.sites().map(|site| field(&Costs::of(site))).sum();
            assert_eq!(sum, field(&totals), "{name}: the sites do not add up to the total:\n{}", self.listing());
        }
    }

    /// Its rows.
    pub fn sites(&self) -> impl Iterator<Item = &Value> {
        self.json["sites"].as_array().into_iter().flatten()
    }

    /// The whole run.
    pub fn total(&self) -> Costs {
        Costs::of(&self.json["totals"])
    }

    /// A number of the report, by its JSON pointer.
    #[track_caller]
    pub fn number(&self, pointer: &str) -> u64 {
        let found = self.json.pointer(pointer);
        found.and_then(Value::as_u64).unwrap_or_else(|| panic!("no number {pointer}, but {found:?}"))
    }

    /// The sum over all sites in the function `name`, or in what was inlined into it.
    pub fn function(&self, name: &str) -> Costs {
        let is_in = |site: &&Value| {
            let inlined = site["inlined"].as_array().into_iter().flatten();
            std::iter::once(*site).chain(inlined).any(|f| f["function"].as_str().is_some_and(|f| matches(f, name)))
        };
        self.sites().filter(is_in).map(Costs::of).fold(Costs::default(), Costs::add)
    }

    /// All page faults are accounted for: charged and other ones together are what the kernel counted.
    #[track_caller]
    pub fn expect_all_faults(&self) {
        let total = self.total();
        let found = total.minor_faults + total.major_faults + total.file_faults + self.number("/totals/other_faults");
        let counted = self.number("/totals/faults_counted");
        let allowed = (counted / 100).max(2);
        assert!(
            found.abs_diff(counted) <= allowed,
            "{found} faults, the kernel counted {counted}: {}",
            self.json["totals"]
        );
        assert_eq!(self.number("/totals/lost_records"), 0);
    }

    /// The sites, one a line, for messages.
    pub fn listing(&self) -> String {
        let line = |site: &Value| {
            let costs = Costs::of(site);
            format!("  {} ({}:{}): {costs:?}", site["function"], site["file"], site["line"])
        };
        self.sites().take(40).map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The number behind a word that a program printed at the beginning of a line.
#[track_caller]
pub fn printed(output: &str, word: &str) -> u64 {
    let number = output.lines().find_map(|line| line.strip_prefix(word)?.trim().parse().ok());
    number.unwrap_or_else(|| panic!("the program printed no \"{word}\":\n{output}"))
}
