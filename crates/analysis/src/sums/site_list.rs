//! The sites of sums. A recording can have millions, and most of the sixty numbers of a site are 0: so they are packed, as a
//! word with a bit for each number that is none, and these numbers.

use crate::metric::Metric;
use crate::priced::Priced;
use crate::site_processes::Images;
use memtoll_metrics::place_of;
use memtoll_model::StackId;
use memtoll_tally::Split;
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::sparse::{self, Sparse};
use rustc_hash::FxHashMap;

/// What sums are split by, beside stacks; see [`Split`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// Nothing.
    All,
    /// An image, by its index.
    Process(usize),
    /// A thread: the index of its image, and its number, if that is known.
    Thread(usize, Option<ThreadNo>),
    /// Blocks of this size, bytes.
    Size(u64),
}

impl Part {
    pub(super) fn of(split: Split, image: usize, extra: u64) -> Part {
        match split {
            Split::None => Part::All,
            Split::Process => Part::Process(image),
            Split::Thread => Part::Thread(image, ThreadNo::new(extra as u32)),
            Split::Size => Part::Size(extra),
        }
    }
}

/// A stack, or a part of the recording, with its sums.
#[derive(Clone, Copy)]
pub struct Site<'s> {
    /// Node of [`memtoll_model::Recording::stacks`]; 0 where sums are split, unless both are asked for.
    pub node: StackId,
    pub part: Part,
    pub images: Images,
    sums: Numbers<'s>,
}

#[derive(Clone, Copy)]
enum Numbers<'s> {
    Packed(Sparse<'s>),
    Plain(&'s Priced),
}

const _: () = assert!(Priced::NUMBERS <= sparse::PLACES);

/// Places of counts that are asked for without the others.
const NEW_BLOCKS: usize = place_of(1);
const REALLOCATIONS: usize = place_of(2);
const FREES: usize = place_of(3);
const LIVE_BLOCKS: usize = place_of(10);
const EVENTS: usize = place_of(35);

impl Site<'_> {
    /// Allocations and reallocations.
    pub fn allocations(&self) -> u64 {
        self.number(NEW_BLOCKS).wrapping_add(self.number(REALLOCATIONS))
    }

    /// Blocks that the site released.
    pub fn frees(&self) -> u64 {
        self.number(FREES)
    }

    /// Blocks that are live at the end.
    pub fn live_blocks(&self) -> u64 {
        self.number(LIVE_BLOCKS)
    }

    /// Calls.
    pub fn events(&self) -> u64 {
        self.number(EVENTS)
    }

    /// What it has of a metric.
    pub fn value(&self, metric: Metric) -> u64 {
        match metric {
            Metric::Allocations => self.allocations(),
            metric => metric.value(&self.metrics()),
        }
    }

    /// A count, by its place, without the others.
    fn number(&self, place: usize) -> u64 {
        match self.sums {
            Numbers::Plain(sums) => sums.values()[place],
            Numbers::Packed(numbers) => numbers.number(place),
        }
    }

    /// The sums.
    pub fn metrics(&self) -> Priced {
        match self.sums {
            Numbers::Plain(sums) => *sums,
            Numbers::Packed(numbers) => {
                let mut values = [0; Priced::NUMBERS];
                numbers.for_each(|(place, number)| values[place] = number);
                Priced::of_values(&values)
            }
        }
    }

    /// Adds the sums to those of others.
    pub fn add_to(&self, together: &mut Priced) {
        match self.sums {
            Numbers::Plain(sums) => together.add(sums),
            Numbers::Packed(numbers) => numbers.for_each(|(place, number)| together.add_number(place, number)),
        }
    }
}

/// Where the numbers of a site stand.
#[derive(Clone, Copy)]
enum Place {
    /// In [`Sites::packed`], from here on.
    Packed(usize),
    /// In [`Sites::plain`].
    Plain(u32),
}

#[derive(Clone, Copy)]
struct Kept {
    node: StackId,
    images: Images,
    place: Place,
}

/// Sites, each once.
#[derive(Default)]
pub struct Sites {
    all: Vec<Kept>,
    /// By site; none where all are [`Part::All`].
    parts: Vec<Part>,
    packed: Vec<u8>,
    /// Of sites to which was added.
    plain: Vec<Priced>,
}

impl Sites {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn iter(&self) -> Iter<'_> {
        Iter { sites: self, next: 0 }
    }

    fn numbers(&self, place: Place) -> Numbers<'_> {
        match place {
            Place::Plain(at) => Numbers::Plain(&self.plain[at as usize]),
            Place::Packed(at) => Numbers::Packed(Sparse::at(&self.packed[at..])),
        }
    }

    fn put(&mut self, sums: &[u8]) -> Place {
        let start = self.packed.len();
        self.packed.extend_from_slice(sums);
        Place::Packed(start)
    }
}

/// Goes through sites.
#[derive(Clone)]
pub struct Iter<'s> {
    sites: &'s Sites,
    next: usize,
}

impl<'s> Iterator for Iter<'s> {
    type Item = Site<'s>;

    fn next(&mut self) -> Option<Site<'s>> {
        let sites = self.sites;
        let Kept { node, images, place } = *sites.all.get(self.next)?;
        let part = sites.parts.get(self.next).copied().unwrap_or(Part::All);
        self.next += 1;
        Some(Site { node, part, images, sums: sites.numbers(place) })
    }
}

impl<'s> IntoIterator for &'s Sites {
    type Item = Site<'s>;
    type IntoIter = Iter<'s>;

    fn into_iter(self) -> Iter<'s> {
        self.iter()
    }
}

/// Some sites of an image, each with its sums.
#[derive(Default)]
pub(super) struct SomeSites {
    /// All of them together.
    pub total: Priced,
    /// Stack nodes, what sites are split by, and where their sums end.
    sites: Vec<(StackId, u64, usize)>,
    packed: Vec<u8>,
}

impl SomeSites {
    pub fn add(&mut self, node: StackId, extra: u64, sums: &Priced) {
        self.total.add(sums);
        sparse::pack(&mut self.packed, &sums.values());
        self.sites.push((node, extra, self.packed.len()));
    }

    /// Calls `take` with each, and its sums, packed.
    pub fn each(&self, mut take: impl FnMut(StackId, u64, &[u8])) {
        let mut from = 0;
        for &(node, extra, to) in &self.sites {
            take(node, extra, &self.packed[from..to]);
            from = to;
        }
    }
}

/// Sites that are being added up.
#[derive(Default)]
pub(super) struct Adding {
    sites: Sites,
    /// Where the site of a stack stands, and one more: 0 if there is none yet. Of sums that are not split.
    of_nodes: Vec<u32>,
    /// The same of parts.
    of_parts: FxHashMap<(StackId, Part), usize>,
}

impl Adding {
    /// Makes room for sites, most of which are new if they are the first.
    pub fn reserve(&mut self, sites: usize) {
        if self.sites.is_empty() {
            self.sites.all.reserve_exact(sites);
        }
    }

    fn number(&mut self, node: StackId, part: Part) -> usize {
        let next = self.sites.len();
        if part != Part::All {
            return *self.of_parts.entry((node, part)).or_insert(next);
        }
        if node.index() >= self.of_nodes.len() {
            self.of_nodes.resize(node.index() + 1, 0);
        }
        match &mut self.of_nodes[node.index()] {
            0 => {
                self.of_nodes[node.index()] = next as u32 + 1;
                next
            }
            known => *known as usize - 1,
        }
    }

    /// `sums` are packed.
    pub fn add(&mut self, node: StackId, part: Part, images: Images, sums: &[u8]) {
        let number = self.number(node, part);
        let sites = &mut self.sites;
        let Some(kept) = sites.all.get_mut(number) else {
            let place = sites.put(sums);
            sites.all.push(Kept { node, images, place });
            if part != Part::All {
                sites.parts.push(part);
            }
            return;
        };
        kept.images.add(images);
        let at = match kept.place {
            Place::Plain(at) => at as usize,
            Place::Packed(at) => {
                kept.place = Place::Plain(sites.plain.len() as u32);
                let before = Site { node, part, images, sums: sites.numbers(Place::Packed(at)) }.metrics();
                sites.plain.push(before);
                sites.plain.len() - 1
            }
        };
        Sparse::at(sums).for_each(|(place, number)| sites.plain[at].add_number(place, number));
    }

    pub fn finish(self) -> Sites {
        self.sites
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::Bytes;
    use memtoll_trace::metrics::Metrics;

    fn images(of: usize) -> Images {
        Images::single(of as u32, 0)
    }

    /// Counts that add up, and some that do not.
    fn priced(blocks: u64, largest: u64, operation: u32, pinned: u64) -> Priced {
        let counts = Metrics {
            new_blocks: blocks,
            reallocations: blocks / 3,
            live_blocks: blocks / 2,
            frees: blocks * 5,
            largest_bytes: Bytes(largest),
            operations: 1 << operation,
            possibly_lost_blocks: u64::MAX,
            ..Metrics::default()
        };
        Priced { pinned_bytes: Bytes(pinned), suppressed_bytes: Bytes(u64::MAX - blocks), ..Priced::from(counts) }
    }

    fn packed(sums: &Priced) -> Vec<u8> {
        let mut some = SomeSites::default();
        some.add(StackId::NONE, 0, sums);
        some.packed
    }

    #[test]
    fn sites_come_back_as_they_were_added() {
        let (first, second, third) = (priced(3, 100, 4, 7), priced(300, 50, 63, 1 << 40), Priced::default());
        let mut adding = Adding::default();
        let (one, other) = (StackId::new(9), StackId::new(20));
        adding.add(one, Part::All, images(0), &packed(&first));
        adding.add(other, Part::All, images(0), &packed(&third));
        let metrics = |sites: &Sites| sites.iter().map(|site| (site.node, site.metrics())).collect::<Vec<_>>();
        assert_eq!(metrics(&adding.sites), [(one, first), (other, third)]);
        for image in [1, 2] {
            adding.add(one, Part::All, images(image), &packed(&second));
        }
        let mut together = first;
        together.add(&second);
        together.add(&second);
        let sites = adding.finish();
        assert_eq!(metrics(&sites), [(one, together), (other, third)]);
        for site in &sites {
            let metrics = site.metrics();
            assert_eq!((site.allocations(), site.frees()), (metrics.allocations(), metrics.frees));
            assert_eq!(site.live_blocks(), metrics.live_blocks);
            assert_eq!(site.value(Metric::Largest), metrics.largest_bytes.0);
        }
        assert_eq!((together.new_blocks, together.live_blocks, together.largest_bytes), (603, 301, Bytes(100)));
        let mut of_one = images(0);
        of_one.add(images(2));
        assert_eq!(sites.iter().map(|site| (site.part, site.images)).next(), Some((Part::All, of_one)));
    }

    #[test]
    fn parts_of_one_stack_are_sites() {
        let mut adding = Adding::default();
        let sizes = [8u64, 16, 8];
        for size in sizes {
            adding.add(StackId::NONE, Part::Size(size), images(0), &packed(&priced(size, size, 1, 0)));
        }
        let sites = adding.finish();
        let found: Vec<_> = sites.iter().map(|site| (site.part, site.metrics().new_blocks)).collect();
        assert_eq!(found, [(Part::Size(8), 16), (Part::Size(16), 16)]);
    }
}
