//! What threads or processes have together, as columns.

use crate::ask::Page;
use crate::metrics;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{GroupsPack, Member};
use crate::recordings::Recordings;
use memtoll_analysis::processor::ImageOrThread;
use memtoll_query::{Query, Shown, View};

impl Recordings<'_> {
    /// The rows of a query's table, of more than `most` the largest.
    pub(crate) fn groups(&self, query: &Query, most: usize) -> Result<Pack, NoAnswer> {
        let View::Table { group, .. } = query.view else {
            return Err(NoAnswer::NoPage { page: Page::Shown, view: Box::new(query.view.clone()) });
        };
        // No row is written out: which ones are the largest, all metrics say together.
        let answer = self.ask(&Query { view: View::Table { group, limit: Some(0) }, ..query.clone() })?;
        let Shown::Table(table) = answer.shown else { return Err(NoAnswer::Lacks("table")) };
        let sums = answer.basis.sums.ok_or(NoAnswer::Lacks("sums"))?;
        let rows = table.rest;
        let sites = self.sites(&sums, &rows, most);
        let labels = sites.shown.iter().map(|&index| rows[index].label.clone()).collect();
        let members = sites.shown.iter().map(|&index| self.member(rows[index].of)).collect();
        let titles = metrics::titles(sums.titles());
        let mut pack =
            Pack::new(&GroupsPack { labels, members, site_others: sites.others, damage: sums.damage, titles });
        metrics::write(&mut pack, "groups", &sites.values);
        Ok(pack)
    }

    fn member(&self, of: Option<ImageOrThread>) -> Member {
        let image = of.and_then(|of| self.recording().images.get(of.image));
        let thread = of.and_then(|of| image?.thread(of.thread?));
        Member {
            image: of.map(|of| of.image),
            pid: image.map(|image| image.about.pid),
            tid: thread.map(|thread| thread.tid),
        }
    }
}
