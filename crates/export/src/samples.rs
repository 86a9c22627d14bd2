//! What formats are made from: call stacks as the report shows them, each with its sums.

use crate::proportional_shares::shares;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stacks::{Path, Stack, Stacks, TypeNo};
use memtoll_analysis::sums::{Part, sums_by_thread};
use memtoll_model::{Recording, StackId};
use memtoll_query::Answer;
use memtoll_trace::ids::ThreadNo;
use rustc_hash::FxHashMap;

/// A thread: the index of its image, and its number, if that is known.
pub type Thread = (usize, Option<ThreadNo>);

/// A call stack with its sums.
pub struct Sample {
    /// A node that has this stack: that of [`Recording::stacks`].
    pub node: StackId,
    /// The stack.
    pub stack: Stack,
    /// The thread that it is of, if threads were asked for.
    pub thread: Option<Thread>,
    /// The sums.
    pub metrics: Priced,
}

/// All call stacks of an answer.
pub struct Samples<'r> {
    /// What they are of.
    pub recording: &'r Recording,
    /// What they look like.
    pub stacks: Stacks<'r>,
    /// In the order in which the file has them.
    pub all: Vec<Sample>,
}

impl<'r> Samples<'r> {
    /// One for each path.
    pub fn by_path(answer: &Answer<'r>) -> Samples<'r> {
        let sites = answer.basis.sums.iter().flat_map(|sums| &sums.sites);
        let parts = sites.map(|site| (site.node, None, site.metrics()));
        Samples::of(answer, parts, |_, _| None)
    }

    /// One for each path, type of blocks and thread. What threads paid are shares of what the report says of the stack: the
    /// sums stay the same.
    pub fn by_thread(answer: &Answer<'r>) -> Samples<'r> {
        let Some(sums) = &answer.basis.sums else { return Samples::by_path(answer) };
        let mut threads: FxHashMap<StackId, Vec<(Thread, Priced)>> = FxHashMap::default();
        let basis = &answer.basis;
        let by_thread = sums_by_thread(basis.recording, basis.known(), basis.selection, basis.thread_filter.clone());
        for site in &by_thread.sites {
            if let Part::Thread(image, number) = site.part {
                threads.entry(site.node).or_default().push(((image, number), site.metrics()));
            }
        }
        let parts = sums.sites.iter().flat_map(|site| {
            let of_site = threads.remove(&site.node).unwrap_or_default();
            let (names, weights): (Vec<Thread>, Vec<Priced>) = of_site.into_iter().unzip();
            let without_thread = names.is_empty().then_some((site.node, None, site.metrics()));
            let shares = shares(&site.metrics(), weights);
            let shares = names.into_iter().zip(shares).map(|(thread, share)| (site.node, Some(thread), share));
            without_thread.into_iter().chain(shares).collect::<Vec<_>>()
        });
        Samples::of(answer, parts, |stacks, stack| stacks.type_of(stack))
    }

    fn of(
        answer: &Answer<'r>,
        parts: impl Iterator<Item = (StackId, Option<Thread>, Priced)>,
        type_of: impl Fn(&Stacks, &Stack) -> Option<TypeNo>,
    ) -> Samples<'r> {
        let recording = answer.basis.recording;
        let mut stacks = Stacks::new(recording, &answer.basis.view);
        let mut all: Vec<Sample> = Vec::new();
        let mut known: FxHashMap<(Path, Option<TypeNo>, Option<Thread>), usize> = FxHashMap::default();
        for (node, thread, metrics) in parts {
            let stack = stacks.of(node);
            if !stack.matches || metrics == Priced::default() {
                continue;
            }
            let key = (stack.path, type_of(&stacks, &stack), thread);
            let index = *known.entry(key).or_insert(all.len());
            match all.get_mut(index) {
                Some(sample) => sample.metrics.add(&metrics),
                None => all.push(Sample { node, stack, thread, metrics }),
            }
        }
        Samples { recording, stacks, all }
    }
}
