//! Forked children that make no call of the allocator: only the kernel tells of them. Those that pay for what they
//! inherit are written as images of their own when they are over.

use super::Sink;
use super::fork_inheritance::InheritedNodes;
use super::image_facts::Facts;
use super::write_order::{
    NODES_PER_BLOCK, addresses_into_book, in_files, places_in, write_in_parts, write_inherited_nodes,
};
use crate::fork_family::{Ancestor, SilentChild};
use crate::join::Join;
use memtoll_tally::{Everything, Tally};
use memtoll_trace::costs::MAX_COSTS;
use memtoll_trace::frame::BlockKind;
use memtoll_trace::ids::{ThreadNo, Ticks};
use memtoll_trace::meta::{Exit, Image, ImageEnd, LeakSearch, RecorderStats, Thread};
use memtoll_trace::nodes;

/// Its only thread that says anything.
const THREAD: ThreadNo = ThreadNo::FIRST;

impl Sink {
    /// See [`crate::fork_family::Ancestor::child_was_silent`].
    pub(super) fn write_silent_child(&self, at: u64, silent: SilentChild) {
        let SilentChild { pid, parent, ended, exit, events } = silent;
        let (run, clock) = (&self.run, &self.run.around.clock);
        let began = events.front().map_or(ended, |event| event.ticks);
        let mut join = Join::new(run.around.clone(), Ticks(began), Some(&[]));
        join.is_forked_with(self.inheritable.space_at(at));
        join.thread_begins(THREAD, pid, 0);
        events.iter().for_each(|event| join.event(event, |_, _, _| None));
        join.finish(Ticks(ended));
        let mut inherited_nodes = InheritedNodes::default();
        for question in join.take_questions() {
            let owned = self.owner_at_fork(question.address(), at);
            let answer = owned.map(|owned| owned.answer(inherited_nodes.id(owned.from)));
            join.answered(question, answer);
        }
        if inherited_nodes.is_empty() {
            return;
        }
        let output = &run.output;
        let image = run.roster.next_image();
        let (began, ended) = (clock.units(began), clock.units(ended));
        let Facts { name, command, executable, .. } = &self.facts;
        let (name, command, executable) = (name.clone(), command.clone(), executable.clone());
        let forked_from = Some(self.facts.image);
        let rank = self.facts.rank;
        let forked_at = Some(at);
        let about = Image { image, pid, parent, forked_from, forked_at, name, command, executable, began, rank };
        output.json(BlockKind::Image, image, &about);
        output.json(BlockKind::Modules, image, &self.facts.modules);
        let thread = Thread { number: THREAD, tid: pid, name: None, began, ended: Some(ended), usage: None };
        output.json(BlockKind::Threads, image, &[thread]);
        write_inherited_nodes(output, image, &mut inherited_nodes);
        let mut tally = Tally::new(Everything);
        let costs = std::mem::take(join.costs());
        costs.chunks(MAX_COSTS).for_each(|part| output.costs(image, part));
        costs.iter().for_each(|cost| tally.cost(cost));
        let places: Vec<_> = places_in(&join, &self.facts).collect();
        let placed = in_files(places.clone(), &self.facts.modules);
        write_in_parts(output, BlockKind::Places, image, &placed, NODES_PER_BLOCK, nodes::encode);
        let (curve, peak_time, peak_with_mappings) = (tally.curve(), tally.peak_time(), tally.peak_with_mappings());
        let sites = tally.sites(|_| false).map(|(node, _, metrics)| (node, metrics));
        let summary = memtoll_trace::summary::encode(sites, &curve, peak_time, &peak_with_mappings);
        output.block(BlockKind::Summary, image, &summary);
        let exit = exit.or_else(|| run.roster.exit_of(pid)).unwrap_or(Exit::Unknown);
        let (recorder, kernel) = (RecorderStats::default(), join.stats(|path| run.allocator_code(path)));
        output.json(
            BlockKind::ImageEnd,
            image,
            &ImageEnd {
                exit,
                ended,
                title: None,
                resident_curve: Vec::new(),
                pages_refused: None,
                look_missed: false,
                leak_search: LeakSearch::default(),
                leak_suppressions: None,
                recorder,
                kernel,
            },
        );
        addresses_into_book(run, &self.facts.modules, image, pid, places.into_iter());
    }
}
