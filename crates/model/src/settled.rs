//! What is settled once for the call sites of an image; what that is, the analysis says.

use crate::{Recording, reading};
use memtoll_metrics::Settled;
use memtoll_trace::costs::Charge;
use memtoll_trace::ids::NodeId;

/// By the image's own node ids. Sums ask for thousands of sites nearly in the order of their ids: a table by id stays in the
/// caches of the processor.
pub struct SettledSites {
    /// By node: one more than the place in `all`; 0: nothing is settled.
    numbers: Vec<u32>,
    all: Vec<Settled>,
}

impl SettledSites {
    /// For the sites of an image with this many nodes.
    fn of(nodes: usize) -> SettledSites {
        SettledSites { numbers: vec![0; nodes], all: Vec::new() }
    }

    /// Settles a site. A damaged file may have sites of nodes that it does not have: of these, nothing is.
    pub fn insert(&mut self, node: Option<NodeId>, settled: Settled) {
        if let Some(number) = self.numbers.get_mut(NodeId::index_of(node)) {
            self.all.push(settled);
            *number = self.all.len() as u32;
        }
    }

    /// Changes what is settled for each site.
    pub fn change(&mut self, change: impl Fn(Settled) -> Settled) {
        self.all.iter_mut().for_each(|settled| *settled = change(*settled));
    }

    pub fn get(&self, node: Option<NodeId>) -> Option<Settled> {
        let number = self.numbers.get(NodeId::index_of(node))?.checked_sub(1)?;
        Some(self.all[number as usize])
    }
}

impl Recording {
    /// What `settle` says of the call sites of image number `index` where these are charged in this way, once for all who ask.
    pub fn settled(
        &self,
        index: usize,
        charge: Charge,
        settle: impl FnOnce(&mut SettledSites),
    ) -> Option<&SettledSites> {
        let image = self.images.get(index)?;
        let settled = || {
            let mut sites = SettledSites::of(image.nodes.len());
            settle(&mut sites);
            sites
        };
        // Later questions use it, too, so it cannot be cancelled.
        Some(image.settled[charge as usize].get_or_init(|| reading::during(None, settled)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_metrics::Ratio;

    #[test]
    fn sites_have_what_was_settled_for_them_and_nodes_without_a_place_have_nothing() {
        let settled = |part| Settled { beyond: Ratio { part, whole: 9.0 }, ..Settled::default() };
        let mut sites = SettledSites::of(5);
        let all = [(NodeId::new(4), settled(4.0)), (None, settled(0.5)), (NodeId::new(2), settled(2.0))];
        all.into_iter().for_each(|(node, of)| sites.insert(node, of));
        sites.insert(NodeId::new(5), settled(5.0));
        all.into_iter().for_each(|(node, of)| assert_eq!(sites.get(node), Some(of)));
        [1, 3, 5, u32::MAX].into_iter().for_each(|node| assert_eq!(sites.get(NodeId::new(node)), None, "{node}"));
    }
}
