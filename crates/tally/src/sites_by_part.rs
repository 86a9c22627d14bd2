//! Finds sites that are split by threads or sizes. Where a stack has very many sizes, looking for one among all would miss the
//! caches each time: such a stack gets a table of its own.

use crate::site_index::SiteIndex;
use memtoll_trace::ids::NodeId;
use rustc_hash::FxHashMap;

/// A stack with more parts gets a table.
const MANY: usize = 256;
/// Parts with larger numbers are in no such table.
const LARGEST: u64 = 1 << 20;
/// Tables at the most, each of 4 MiB at the most.
const MOST_TABLES: usize = 16;

/// Sites by stack node, and by what they are split by.
#[derive(Default)]
pub struct SitesByPart {
    all: FxHashMap<(Option<NodeId>, u64), SiteIndex>,
    /// How many parts a node has.
    parts: FxHashMap<Option<NodeId>, usize>,
    /// The sites of a node, by part.
    tables: Vec<(Option<NodeId>, Vec<SiteIndex>)>,
}

impl SitesByPart {
    pub fn get(&self, node: Option<NodeId>, part: u64) -> Option<SiteIndex> {
        let table = self.tables.iter().find(|(of, _)| *of == node);
        let known = table.and_then(|(_, sites)| sites.get(part as usize)).copied();
        known.filter(|site| *site != SiteIndex::NONE).or_else(|| self.all.get(&(node, part)).copied())
    }

    pub fn insert(&mut self, node: Option<NodeId>, part: u64, site: SiteIndex) {
        let parts = self.parts.entry(node).or_default();
        *parts += 1;
        if *parts == MANY && self.tables.len() < MOST_TABLES {
            self.tables.push((node, Vec::new()));
        }
        match self.tables.iter_mut().find(|(of, _)| *of == node) {
            Some((_, sites)) if part < LARGEST => {
                let place = part as usize;
                sites.resize(sites.len().max(place + 1), SiteIndex::NONE);
                sites[place] = site;
            }
            _ => _ = self.all.insert((node, part), site),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_with_and_without_tables() {
        let mut sites = SitesByPart::default();
        let node = |number: u32| NodeId::new(number);
        // Few parts of one stack, many of another, some of them large; and a third one between.
        let many = (0..3 * MANY as u64).map(|part| (node(9), part * 7 % 5000));
        let large = (0..10).map(|part| (node(9), LARGEST - 5 + part));
        let all: Vec<_> =
            [(node(8), 16), (None, 16)].into_iter().chain(many).chain(large).chain([(node(8), 24)]).collect();
        for (index, (node, part)) in all.iter().enumerate() {
            assert_eq!(sites.get(*node, *part), None);
            sites.insert(*node, *part, SiteIndex::at(index));
        }
        for (index, (node, part)) in all.iter().enumerate() {
            assert_eq!(sites.get(*node, *part), Some(SiteIndex::at(index)));
        }
        assert_eq!(sites.get(node(9), 3), None);
        assert_eq!(sites.get(node(10), 16), None);
    }
}
