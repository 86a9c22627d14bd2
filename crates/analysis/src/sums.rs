//! A recording's sums: by stack, by thread, by process or by size, and for each process image as a whole.
//!
//! A recording can have tens of thousands of processes that run the same few programs. Their sums are added up image by
//! image, by the nodes of the one tree of all stacks: what stays in memory are as many sites as there are different stacks.

mod found;
mod pricing;
mod site_list;

use crate::finer_chapters::Sliced;
use crate::live_blocks::Block;
use crate::looks::{Look, Looks};
use crate::peak_of_sum::PeakOfSum;
use crate::priced::Priced;
use crate::process_ends::{ended, until};
use crate::processor::ProcessorTimes;
use crate::site_processes::{Images, Programs};
use crate::stacks::Stacks;
use crate::tariff::Tariff;
use crate::thread_filter::ThreadFilter;
use crate::titles::Titles;
use crate::uncharged_faults::HeapAndOtherFaults;
use found::{Found, found_in};
use memtoll_model::{Recording, StackId};
use memtoll_tally::{Selection, Split, Threads, in_order};
use memtoll_trace::ids::{Bytes, NodeId, Units};
use memtoll_trace::metrics::Metrics;
use memtoll_trace::summary::{LiveCurve, PeakWithMappings};
use pricing::Pricing;
use site_list::{Adding, SomeSites};
use std::convert::Infallible;
use std::ops::Range;

pub use site_list::{Part, Site, Sites};

/// The sums of one image; its number is that in [`Recording::images`].
#[derive(Default)]
pub struct ImageSums {
    /// Whether it was added up at all; see [`ThreadFilter`].
    pub counts: bool,
    /// Whether an allocator hides frees: what needs them is in no sum.
    pub hides_frees: bool,
    /// All sites together.
    pub total: Priced,
    /// What is charged to no site.
    pub beside: HeapAndOtherFaults,
    /// When live bytes were at their peak, units.
    pub peak_time: u64,
    /// The peak with the program's own mappings, where it is known: not of some threads or sizes, of which it has no share.
    pub peak_with_mappings: Option<PeakWithMappings>,
}

/// What a peak of live bytes is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PeakIs {
    /// What was live at one instant.
    Exact,
    /// No less than what several processes had at one instant: that is known of intervals of time.
    AtMost,
    /// The peaks of several processes, each at an instant of its own: what they have together is unknown of a span that does not
    /// begin with the recording, and of some threads or sizes.
    AddedUp,
}

impl PeakIs {
    /// In JSON, and beside the number.
    pub fn words(self) -> &'static str {
        match self {
            PeakIs::Exact => "exact",
            PeakIs::AtMost => "at most",
            PeakIs::AddedUp => "added up",
        }
    }
}

/// The sums of a recording.
pub struct Sums {
    /// What was added up.
    pub selection: Selection,
    /// Whose events were added up.
    pub thread_filter: ThreadFilter,
    pub images: Vec<ImageSums>,
    /// The images that count; nothing: none does.
    pub counting: Option<Images>,
    /// What the images run.
    pub programs: Programs,
    /// By stack or, where the selection splits them, by what it splits them.
    pub sites: Sites,
    /// Live bytes over time, where only one image counts, with all of its threads and sizes.
    pub curve: Option<LiveCurve>,
    /// All images together. Its `peak_bytes` is the peak of all processes at one instant, unless [`Sums::peak_is`] says otherwise.
    pub total: Priced,
    /// When that was, or when the largest image's peak was, units.
    pub peak_time: u64,
    /// Whether the pages of one of the processes that count, at least, were looked at when it ended, and that was asked for; and
    /// whether the units of the allocator of one of these are known.
    sees_pages: bool,
    sees_units: bool,
    /// CPU time in a selected span of time, or of selected threads, where it is known; `None` without such.
    pub processor: Option<ProcessorTimes>,
    /// How long the selected span of time was, from the first image's beginning to the last one's end, units.
    pub duration: u64,
    /// Statements about what is missing.
    pub damage: Vec<String>,
}

impl Sums {
    /// The images that count, with their numbers.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &ImageSums)> {
        self.images.iter().enumerate().filter(|(_, image)| image.counts)
    }

    /// How many images count, and in how many of them frees are hidden.
    pub fn hidden(&self) -> (usize, usize) {
        (self.counted().count(), self.counted().filter(|(_, image)| image.hides_frees).count())
    }

    /// Whether frees are known of one of the images that count, at least.
    pub fn see_frees(&self) -> bool {
        let (all, hidden) = self.hidden();
        all == 0 || hidden < all
    }

    /// Whether it is known what lies in memory at the end, of one of the processes at least.
    pub fn see_pages(&self) -> bool {
        self.sees_pages
    }

    /// Whether memtoll knows the allocator's units of at least one of them.
    pub fn see_units(&self) -> bool {
        self.sees_units
    }

    /// Whether several images count: each has its peak at a time of its own.
    pub fn are_of_several(&self) -> bool {
        self.counted().nth(1).is_some()
    }

    /// What their metrics are called.
    pub fn titles(&self) -> Titles {
        Titles { are_of_several: self.are_of_several(), end_early: self.selection.to < Units::MAX }
    }

    /// The peak with the program's own mappings, where only one image counts and it is known.
    pub fn peak_with_mappings(&self) -> Option<PeakWithMappings> {
        if self.are_of_several() {
            return None;
        }
        self.counted().next().and_then(|(_, image)| image.peak_with_mappings)
    }

    /// The peaks of the images that count, added up, each with the program's own mappings where that is known.
    pub fn peaks_with_mappings(&self) -> Bytes {
        let of_image =
            |image: &ImageSums| image.peak_with_mappings.map_or(image.total.peak_bytes, |peak| Bytes(peak.bytes()));
        self.counted().map(|(_, image)| of_image(image)).fold(Bytes::ZERO, Bytes::saturating_add)
    }

    /// What the peak of all images together is.
    pub fn peak_is(&self) -> PeakIs {
        let highest = self.counted().map(|(_, image)| image.total.peak_bytes).max();
        match self.are_of_several() {
            true if adds_peaks(&self.selection, &self.thread_filter) => PeakIs::AddedUp,
            true if highest < Some(self.total.peak_bytes) => PeakIs::AtMost,
            _ => PeakIs::Exact,
        }
    }

    /// Whether only some threads or sizes count.
    pub fn are_parts(&self) -> bool {
        are_parts(&self.selection, &self.thread_filter)
    }

    /// Whether some times, sizes or threads are left out: what is known only of whole processes has no place beside that.
    pub fn is_part(&self) -> bool {
        self.selection.is_part() || self.thread_filter.are_threads()
    }
}

fn adds_peaks(selection: &Selection, thread_filter: &ThreadFilter) -> bool {
    selection.from > Units::ZERO || are_parts(selection, thread_filter)
}

/// Whether only some threads or sizes count.
fn are_parts(selection: &Selection, thread_filter: &ThreadFilter) -> bool {
    !selection.is_of_all_sizes() || thread_filter.are_threads()
}

/// Adds up what `selection` selects: from what the file says of the whole recording or of its chapters. Of chapters in which a
/// span begins or ends, and of recordings without chapters, events are read.
pub fn sums(recording: &Recording, selection: Selection) -> Sums {
    sums_of(recording, selection, ThreadFilter::default())
}

/// The same of some processes and threads.
pub fn sums_of(recording: &Recording, selection: Selection, thread_filter: ThreadFilter) -> Sums {
    add_up(recording, Known::default(), selection, thread_filter, |_| Some(StackId::NONE))
}

/// What is known of a recording before it is added up.
#[derive(Clone, Copy, Default)]
pub struct Known<'a> {
    /// Slices of its time, which make sums of spans faster.
    pub sliced: Option<&'a Sliced>,
    /// What lies in memory: without, nothing is known of pages.
    pub looks: Option<&'a Looks>,
}

/// The same, with what is known.
pub fn sums_knowing(recording: &Recording, known: Known, selection: Selection, thread_filter: ThreadFilter) -> Sums {
    add_up(recording, known, selection, thread_filter, |_| Some(StackId::NONE))
}

/// The same by stack and thread: each site has both.
pub fn sums_by_thread(recording: &Recording, known: Known, selection: Selection, thread_filter: ThreadFilter) -> Sums {
    add_up(recording, known, Selection { split: Split::Thread, ..selection }, thread_filter, Some)
}

/// The same; if the selection splits sums, only stacks that `stacks` lets through count in what they are split by.
pub fn sums_that_match(
    recording: &Recording,
    known: Known,
    selection: Selection,
    thread_filter: ThreadFilter,
    stacks: &Stacks,
) -> Sums {
    add_up(recording, known, selection, thread_filter, |node| stacks.counts(node).then_some(StackId::NONE))
}

/// `under` says under which node the sums of a node stand, if they are split and count at all.
fn add_up(
    recording: &Recording,
    known: Known,
    selection: Selection,
    thread_filter: ThreadFilter,
    mut under: impl FnMut(StackId) -> Option<StackId>,
) -> Sums {
    let tariff = Tariff::of(recording);
    let programs = Programs::of(recording);
    let looks = known.looks.filter(|looks| looks.are_of(&selection));
    let (mut sees_pages, mut sees_units) = (false, false);
    let mut sites = Adding::default();
    let mut counting: Option<Images> = None;
    let mut images = Vec::with_capacity(recording.images.len());
    let mut damage = Vec::new();
    let (mut only_curve, mut counted) = (None, 0);
    let mut peak = PeakOfSum::default();
    let until = until(recording, selection.to, &thread_filter);
    for (index, image) in recording.images.iter().enumerate() {
        let Some(threads) = thread_filter.of(index) else {
            images.push(ImageSums::default());
            continue;
        };
        let here = programs.image(index);
        counting.get_or_insert(here).add(here);
        let mut found = found_in(recording, known.sliced, index, selection, threads, &mut damage);
        if matches!(selection.split, Split::Thread | Split::Size) {
            found.sites.sort();
        }
        let hides_frees = !image.own_allocators.show_frees();
        let mut total = Priced::default();
        if selection.split == Split::None {
            sites.reserve(found.sites.len());
        }
        let look = looks.and_then(|looks| looks.of(index));
        let knows_units = look.is_some_and(|look| look.knows_units);
        (sees_pages, sees_units) = (sees_pages || look.is_some(), sees_units || knows_units);
        let mut add = |some: SomeSites| {
            total.add(&some.total);
            some.each(|node, extra, sums| match selection.split {
                Split::None => sites.add(node, Part::All, here, sums),
                split => {
                    if let Some(under) = under(node) {
                        sites.add(under, Part::of(split, index, extra), here, sums);
                    }
                }
            });
        };
        let pricing = Pricing::of(&found.sites, (recording, index), &tariff, (&selection, &thread_filter), until);
        let priced = |part: Range<usize>| {
            let mut some = SomeSites::default();
            pricing.each(part, |node, extra, metrics| {
                if looks.is_some() {
                    let blocks = metrics.blocks();
                    metrics.without_pages = if look.is_some() { 0 } else { blocks };
                    metrics.without_units = if knows_units { 0 } else { blocks };
                }
                some.add(image.node(node), extra, metrics);
            });
            some
        };
        let parts = found.sites.parts();
        let Ok(()) = in_order(
            0..parts.len(),
            || (),
            |(), part| priced(parts[part].clone()),
            |_, some| {
                add(some);
                Ok::<(), Infallible>(())
            },
        );
        look.iter().for_each(|look| add(sites_of_blocks(look, &selection, threads)));
        if !hides_frees {
            peak.add(image.about.began, ended(recording, index).min(selection.to.0), &found.curve);
        }
        let Found { peak_time, peak_with_mappings, .. } = found;
        let peak_with_mappings = peak_with_mappings.filter(|_| !hides_frees);
        let beside = found.beside;
        images.push(ImageSums { counts: true, hides_frees, total, beside, peak_time, peak_with_mappings });
        counted += 1;
        only_curve = (counted == 1 && !hides_frees && !are_parts(&selection, &thread_filter)).then_some(found.curve);
    }
    let mut total = Priced::default();
    images.iter().for_each(|image| total.add(&image.total));
    let largest = images.iter().filter(|image| !image.hides_frees).max_by_key(|image| image.total.peak_bytes);
    let peak_time = largest.map_or(0, |image| image.peak_time);
    if counted > 1 && !adds_peaks(&selection, &thread_filter) {
        let highest = largest.map_or(Bytes::ZERO, |image| image.total.peak_bytes);
        total.counts.peak_bytes = Bytes(peak.finish()).clamp(highest, total.peak_bytes.max(highest));
    }
    let began = recording.images.iter().map(|image| image.about.began).min().unwrap_or(0);
    let duration = recording.ended().min(selection.to.0).saturating_sub(began.max(selection.from.0));
    let is_told = selection.is_span() || thread_filter.are_threads() && !selection.is_part();
    let span = is_told.then_some((selection.from, selection.to));
    let processor = span.and_then(|(from, to)| ProcessorTimes::between(recording, from.0, to.0, &thread_filter));
    Sums {
        selection,
        thread_filter,
        images,
        counting,
        programs,
        sites: sites.finish(),
        curve: only_curve,
        total,
        peak_time,
        sees_pages,
        sees_units,
        processor,
        duration,
        damage,
    }
}

/// Calls `take` with what each call site of an image counted of `selection`. `sliced`: slices of the recording, if there are some.
pub(crate) fn each_counted(
    recording: &Recording,
    sliced: Option<&Sliced>,
    index: usize,
    selection: Selection,
    threads: &Threads,
    mut take: impl FnMut(Option<NodeId>, &Metrics),
) {
    // The sums of the part that is asked for list the damage.
    let found = found_in(recording, sliced, index, selection, threads, &mut Vec::new());
    found.sites.all(|_| false, |node, _, counts| take(node, counts));
}

/// What blocks hold, by site.
fn sites_of_blocks(look: &Look, selection: &Selection, threads: &Threads) -> SomeSites {
    let mut some = SomeSites::default();
    let counts = |block: &Block| selection.admits_size(Bytes(block.size)) && threads.admit(block.thread);
    for (block, held) in look.blocks.iter().filter(|(block, _)| counts(block)) {
        let extra = match selection.split {
            Split::Thread => u64::from(block.thread.get()),
            Split::Size => block.size,
            Split::None | Split::Process => 0,
        };
        some.add(block.node, extra, &look.of_block(block, held));
    }
    some
}

/// Calls `take` with each stack of one image: its node of [`Recording::stacks`], and what [`sums_of`] adds to that node's sums for
/// this image. Nothing of an image that does not count.
pub fn each_sum_in_image(
    recording: &Recording,
    index: usize,
    selection: Selection,
    thread_filter: &ThreadFilter,
    mut take: impl FnMut(StackId, &Priced),
) {
    let Some(threads) = thread_filter.of(index) else { return };
    let selection = Selection { split: Split::None, ..selection };
    let tariff = Tariff::of(recording);
    // The caller has the sums of all, and so knows what is damaged.
    let found = found_in(recording, None, index, selection, threads, &mut Vec::new());
    let image = &recording.images[index];
    let until = until(recording, selection.to, thread_filter);
    let pricing = Pricing::of(&found.sites, (recording, index), &tariff, (&selection, thread_filter), until);
    pricing.each(0..found.sites.len(), |id, _, metrics| take(image.node(id), metrics));
}
