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
mod reuse;
mod same_callee;
mod small_vectors;
mod temporary;
mod untouched;

use crate::facts::{Draft, Facts};

pub struct Rule {
    /// Short name.
    pub id: &'static str,
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
    ($($module:ident $id:literal $title:literal $needs:ident;)*) => {
        /// All rules, in the order of docs/advice.md.
        pub const RULES: &[Rule] = &[$(Rule {
            id: $id,
            title: $title,
            needs_frees: needs!($needs),
            page: include_str!(concat!("rules/", stringify!($module), ".md")),
            find: $module::find,
        }),*];
    };
}

rules! {
    growth "growth" "Blocks grow step by step" frees;
    small_vectors "small-vectors" "Many small vectors, each with a block of its own" frees;
    node_container "node-container" "A block for each element of a container" frees;
    arena "arena" "Many blocks that die together" frees;
    reuse "reuse" "Large blocks that fault each time" frees;
    temporary "temporary" "Blocks freed before the next allocation" frees;
    append "append" "Text that is copied to append to it" frees;
    hoist "hoist" "The same thing made in each turn of a loop" frees;
    copies "copies" "Copies that are kept" frees;
    formatting "formatting" "Text formatting that allocates" calls;
    contention "contention" "Threads that wait in the allocator" calls;
    free_null "free-null" "Calls of free with a null pointer" calls;
    untouched "untouched" "Memory that is hardly used, or zeroed twice" frees;
    heap_thrash "heap-thrash" "A heap that is trimmed and grown again" frees;
    huge_pages "huge-pages" "Large blocks in small pages" frees;
    never_freed "never-freed" "Blocks that pile up" frees;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_rule_has_a_page() {
        let ids: BTreeSet<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), RULES.len());
        let index = include_str!("../../../docs/advice.md");
        for rule in RULES {
            assert!(rule.page.starts_with(&format!("# {}: ", rule.id)), "{}: {}", rule.id, rule.page);
            assert!(rule.summary().len() > 40 && rule.summary().ends_with('.'), "{}: {}", rule.id, rule.summary());
            let link = format!("](../crates/advise/src/rules/{}.md)", rule.id.replace('-', "_"));
            assert!(index.contains(&link), "docs/advice.md does not link {}", rule.id);
        }
    }
}
