//! A finding: what to change, on which line, what that saves.

use crate::range::Range;
use crate::rules::RuleId;
use crate::savings::Saves;
use memtoll_analysis::findings::Share;
use memtoll_model::{FrameId, Recording, StackId};
use memtoll_trace::meta::Verified;
use serde::Serialize;
use std::collections::BTreeMap;

/// A frame, as the JSON has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The function, without its parameters.
    pub function: String,
    /// The source file, as the debug information spells it.
    pub file: Option<String>,
    pub line: Option<u32>,
}

/// How sure it is that the change saves something like that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// The pattern has other explanations, or what it costs is hardly known.
    Low,
    /// The pattern is clear, the saving is known within a factor of two.
    Medium,
    /// The pattern is clear, and so is the saving.
    High,
}

impl Confidence {
    /// As in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }

    /// From how well a saving is known.
    pub fn of(saves: &Range) -> Confidence {
        match () {
            () if saves.low <= 0.0 => Confidence::Low,
            () if saves.low * 2.0 >= saves.high => Confidence::High,
            () => Confidence::Medium,
        }
    }
}

/// Numbers of this run that show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Evidence {
    /// Statements.
    pub text: Vec<String>,
    /// The numbers in them, by name; times in ns, sizes in bytes.
    pub numbers: BTreeMap<&'static str, f64>,
}

impl Evidence {
    /// One more statement.
    pub fn say(&mut self, text: impl Into<String>) {
        self.text.push(text.into());
    }

    /// One more number.
    pub fn number(&mut self, name: &'static str, value: f64) {
        self.numbers.insert(name, value);
    }
}

/// A change that is mechanical, so that it can be made in the source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Remedy {
    /// Room for all elements before the first one is added: their number is in the source.
    Reserve,
    /// The memory is not filled: only what it is filled with says whether that is right.
    NoFill,
    /// The object is moved where it is used for the last time.
    Move,
    /// The object is kept from one turn of its loop to the next.
    Keep,
    /// Options of glibc's `mallopt`, with their values as C has them.
    Mallopt {
        /// `M_TOP_PAD`, and what it is set to.
        options: Vec<(&'static str, String)>,
    },
}

/// What a snippet calls an object of the line, which may have another name in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    /// An object that the line adds to.
    Filled(&'static str),
    /// An object that the line makes.
    Made(&'static str),
}

/// The call paths that lead to a line.
#[derive(Clone, Debug, Default)]
pub struct CallPaths {
    /// Nodes of [`Recording::stacks`].
    pub nodes: Vec<StackId>,
    /// The line.
    pub line: Option<FrameId>,
}

impl CallPaths {
    /// The frames of the line and its callers, path by path.
    pub fn frames<'r>(&'r self, recording: &'r Recording) -> impl Iterator<Item = FrameId> + 'r {
        self.nodes.iter().flat_map(|node| recording.frames_of(*node).skip_while(|frame| Some(*frame) != self.line))
    }
}

/// Something worth changing.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The rule that found it.
    pub rule: RuleId,
    /// One of its own in a recording; from run to run, the same for the same rule, line and type of blocks.
    pub id: String,
    /// The function of the line.
    pub function: String,
    /// Its source file.
    pub file: Option<String>,
    /// The line to change, the first one of the program's own code.
    pub line: Option<u32>,
    /// Functions into which that is inlined, from the inside out.
    pub inlined: Vec<Place>,
    /// Callers, from the line outwards; of several call paths the one with most allocations.
    pub stack: Vec<Place>,
    /// The type of the blocks, where the names of functions tell it.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// What it costs, of what.
    pub share: Option<Share>,
    /// What was seen.
    pub evidence: Evidence,
    /// What to do, in a sentence.
    pub change: String,
    /// How that looks in the source.
    pub snippet: String,
    /// Which word of the snippet stands for a name of the source.
    #[serde(skip)]
    pub called: Option<Called>,
    /// The same for `--patch`, if it is mechanical.
    pub remedy: Option<Remedy>,
    /// Where memory of the line is filled, for rules about that: what with, only the source tells.
    #[serde(skip)]
    pub filled_at: Vec<Place>,
    /// The loaded file with the code of the line.
    #[serde(skip)]
    pub module: String,
    /// Whether it saves less than was asked for.
    #[serde(skip)]
    pub is_minor: bool,
    /// The call paths that lead to its line.
    #[serde(skip)]
    pub paths: CallPaths,
    pub saves: Saves,
    /// What the change saved when it was measured, if it was (`memtoll verify`).
    pub verified: Option<Verified>,
    /// What that depends on.
    pub assumptions: Vec<String>,
    /// Ids of findings that save the same costs: do one of them.
    pub conflicts: Vec<String>,
    /// How sure it is.
    pub confidence: Confidence,
}

/// All of it.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Those that are worth it, the one that saves most first.
    pub findings: Vec<Finding>,
    /// What all of them save together. Savings do not add up: of findings that conflict, only one counts.
    pub bound: Saves,
    /// CPU time of the program, without the recorder, ns, as far as it is known.
    pub processor_ns: Option<f64>,
    /// Wall time of the program at the most, ns: with the recorder, unless plain runs measured it.
    pub wall_ns: f64,
    /// Bytes live at the peak.
    pub peak_bytes: u64,
    /// Findings below this share of either are left out, from 0 to 1.
    pub threshold: f64,
    /// Findings below it.
    pub below_threshold: usize,
    /// What lines cost whose functions have no names, ns: they are left out, as a reader could not find them in the source.
    pub unnamed_ns: f64,
    /// Statements about what could not be looked at.
    pub notes: Vec<String>,
}

impl Advice {
    /// Leaves out findings that do not hold.
    pub fn retain(&mut self, holds: impl FnMut(&Finding) -> bool) {
        self.findings.retain(holds);
        let ids: Vec<String> = self.findings.iter().map(|finding| finding.id.clone()).collect();
        self.findings.iter_mut().for_each(|finding| finding.conflicts.retain(|id| ids.contains(id)));
        self.bound = self.together();
    }

    /// Only the findings that `admits`, and what these save together.
    pub fn only(&mut self, admits: impl Fn(&Finding) -> bool) {
        self.findings.retain(admits);
        self.bound = self.together();
    }

    /// What all findings save together: of those that conflict, the first counts.
    pub(crate) fn together(&self) -> Saves {
        let mut counted: Vec<&str> = Vec::new();
        let mut sum = Saves::default();
        for finding in &self.findings {
            if !finding.conflicts.iter().any(|other| counted.contains(&other.as_str())) {
                counted.push(&finding.id);
                sum = sum.plus(&finding.saves);
            }
        }
        sum.cut_to_program(self.processor_ns.unwrap_or(f64::INFINITY));
        sum.wall_ns = sum.wall_ns.of_at_most(self.wall_ns).up_to(self.wall_ns);
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_memory_is_not_spoken_of() {
        let (peak_bytes, resident_peak_bytes) = (Range::new(0.0, 128.0, 256.0), Range::new(-2e6, 0.0, 0.0));
        let mut saves = Saves { peak_bytes, resident_peak_bytes, ..Saves::default() };
        saves.without_little_memory(1e4);
        assert!(saves.peak_bytes.is_nothing());
        assert_eq!(saves.resident_peak_bytes, resident_peak_bytes);
    }

    /// A good change was condemned: predicted -1 to -1, and 16 of 4,573 faults measured.
    #[test]
    fn no_prediction_is_narrower_than_chance() {
        let mut saves =
            Saves { faults: Range::exact(-1.0), resident_peak_bytes: Range::exact(4096.0), ..Saves::default() };
        saves.at_least_as_wide_as_chance(4573.0, 8e6, 4096.0);
        assert!(saves.faults.is_nothing() && saves.resident_peak_bytes.is_nothing(), "{saves:?}");
        let mut saves = Saves { faults: Range::exact(1000.0), ..Saves::default() };
        saves.at_least_as_wide_as_chance(4573.0, 8e6, 4096.0);
        assert!(saves.faults.low < 955.0 && saves.faults.high > 1045.0, "{saves:?}");
    }

    #[test]
    fn confidence_is_how_well_the_saving_is_known() {
        assert_eq!(Confidence::of(&Range::new(-1.0, 5.0, 6.0)), Confidence::Low);
        assert_eq!(Confidence::of(&Range::new(1.0, 5.0, 6.0)), Confidence::Medium);
        assert_eq!(Confidence::of(&Range::new(4.0, 5.0, 6.0)), Confidence::High);
    }
}
