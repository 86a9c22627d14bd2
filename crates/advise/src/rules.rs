//! The rules: one table, from which names, texts, help and pages come. A rule is a file here, with its page beside it.

// Named here and not by the table's macro, where rustfmt would not find them.
mod append;
mod arena;
mod contention;
mod copies;
mod formatting;
mod free_null;
mod growth;
mod heap_thrash;
mod hoist;
mod huge_pages;
mod never_freed;
mod node_container;
mod resident;
mod reuse;
mod same_callee;
mod small_vectors;
mod temporary;
mod untouched;

use crate::facts::{Draft, Facts};
use serde::{Serialize, Serializer};
use std::fmt;

pub struct Rule {
    /// Which.
    pub id: RuleId,
    /// What it finds, in a few words.
    pub title: &'static str,
    /// Whether it needs to see when blocks are freed.
    pub needs_frees: bool,
    pub page: &'static str,
    /// Looks for it.
    pub find: fn(&Facts) -> Vec<Draft>,
}

impl Rule {
    /// What it finds: the first paragraph of its page, in one line.
    pub fn summary(&self) -> String {
        self.body().split("\n\n").next().unwrap_or_default().replace('\n', " ")
    }

    /// Its page without the title.
    pub fn body(&self) -> &'static str {
        self.page.split_once('\n').map_or(self.page, |(_, body)| body).trim()
    }
}

macro_rules! needs {
    (frees) => {
        true
    };
    (calls) => {
        false
    };
}

macro_rules! rules {
    ($($id:ident $module:ident $name:literal $title:literal $needs:ident;)*) => {
        /// Which rule: its place in [`RULES`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum RuleId {
            $(#[doc = $title] $id,)*
        }

        impl RuleId {
            /// What options, budgets and JSON call it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(RuleId::$id => $name,)*
                }
            }
        }

        /// All rules, in the order of docs/advice.md.
        pub const RULES: &[Rule] = &[$(Rule {
            id: RuleId::$id,
            title: $title,
            needs_frees: needs!($needs),
            page: include_str!(concat!("rules/", stringify!($module), ".md")),
            find: $module::find,
        }),*];
    };
}

rules! {
    Growth growth "growth" "Blocks grow step by step" frees;
    SmallVectors small_vectors "small-vectors" "Many small vectors, each with a block of its own" frees;
    NodeContainer node_container "node-container" "A block for each element of a container" frees;
    Arena arena "arena" "Many blocks that die together" frees;
    Reuse reuse "reuse" "Large blocks that fault each time" frees;
    Temporary temporary "temporary" "Blocks freed before the next allocation" frees;
    Append append "append" "Text that is copied to append to it" frees;
    Hoist hoist "hoist" "The same thing made in each turn of a loop" frees;
    Copies copies "copies" "Copies that are kept" frees;
    Formatting formatting "formatting" "Text formatting that allocates" calls;
    Contention contention "contention" "Threads that wait in the allocator" calls;
    FreeNull free_null "free-null" "Calls of free with a null pointer" calls;
    Untouched untouched "untouched" "Memory that is hardly used, or zeroed twice" frees;
    HeapThrash heap_thrash "heap-thrash" "A heap that is trimmed and grown again" frees;
    HugePages huge_pages "huge-pages" "Large blocks in small pages" frees;
    NeverFreed never_freed "never-freed" "Blocks that pile up" frees;
    Resident resident "resident" "Memory that is free and stays resident" frees;
}

impl RuleId {
    /// The one that is called so.
    pub fn named(name: &str) -> Option<RuleId> {
        RULES.iter().map(|rule| rule.id).find(|id| id.name() == name)
    }

    /// What the table has of it.
    pub const fn about(self) -> &'static Rule {
        &RULES[self as usize]
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str(self.name())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.name().serialize(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_page() {
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id.name()).collect();
        assert_eq!(ids.len(), RULES.len());
        let index = include_str!("../../../docs/advice.md");
        for rule in RULES {
            assert_eq!(rule.id.about().page, rule.page, "{}", rule.id);
            assert_eq!(RuleId::named(rule.id.name()), Some(rule.id));
            assert!(rule.page.starts_with(&format!("# {}: ", rule.id)), "{}: {}", rule.id, rule.page);
            assert!(rule.summary().len() > 40 && rule.summary().ends_with('.'), "{}: {}", rule.id, rule.summary());
            let link = format!("](../crates/advise/src/rules/{}.md)", rule.id.name().replace('-', "_"));
            assert!(index.contains(&link), "docs/advice.md does not link {}", rule.id);
        }
    }
}
