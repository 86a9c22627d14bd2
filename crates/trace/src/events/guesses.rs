//! What the next event probably says, from the events before it. Writer and reader do the same steps in the same order.

use crate::ids::{Address, Bytes, NodeId, ThreadNo};
use crate::op::Op;

/// No site: nothing is guessed.
pub(super) const NO_SITE: u32 = u32::MAX;

/// Where events come from: a function, its detail, and a stack. Numbered by first appearance in the block.
#[derive(Clone, Copy)]
pub(super) struct Site {
    /// See [`site_key`].
    pub key: u64,
    /// Size in the last event from here.
    pub size: Bytes,
    /// Site of the acquisition that followed one from here (of the release, for sites that release).
    next: u32,
    /// Site that released the last block from here.
    release: u32,
}

/// All that makes a site, in one number: node in bits 63..32, detail in 23..8, operation in 7..0.
#[inline(always)]
pub(super) fn site_key(node: Option<NodeId>, detail: u16, op: Op) -> u64 {
    u64::from(NodeId::or_zero(node)) << 32 | u64::from(detail) << 8 | u64::from(op.0)
}

impl Site {
    /// A site that was not seen before.
    pub fn new(key: u64) -> Site {
        Site { key, size: Bytes::ZERO, next: NO_SITE, release: NO_SITE }
    }

    /// The stack's node.
    pub fn node(&self) -> Option<NodeId> {
        NodeId::new((self.key >> 32) as u32)
    }

    /// The events' detail.
    pub fn detail(&self) -> u16 {
        (self.key >> 8) as u16
    }

    /// The function.
    pub fn op(&self) -> Op {
        Op(self.key as u8)
    }
}

/// What is known of a block acquired in this events block.
#[derive(Clone, Copy)]
pub(super) struct Recent {
    site: u16,
    class: u16,
}

const SIZE_CLASSES: usize = 512;
/// Addresses remembered for each size class: as many as glibc's per-thread cache holds, rounded up.
const FREED_DEPTH: usize = 8;

/// The addresses of a size class that were released last: a ring. Older ones are overwritten, and a guess that leads
/// to an overwritten one is wrong, which the flag says.
#[derive(Clone, Copy)]
struct Freed {
    top: u64,
    addresses: [Address; FREED_DEPTH],
}

/// The last sites of a thread.
#[derive(Clone, Copy)]
struct ThreadGuess {
    acquire: u32,
    release: u32,
}

const NOTHING: ThreadGuess = ThreadGuess { acquire: NO_SITE, release: NO_SITE };

/// The state from which both sides guess.
pub(super) struct Guesses {
    pub sites: Vec<Site>,
    /// The present thread.
    pub thread: ThreadNo,
    last: ThreadGuess,
    others: Vec<(ThreadNo, ThreadGuess)>, // last sites of the threads of this block: few
    recent: Vec<Recent>,
    freed: Box<[Freed; SIZE_CLASSES]>,
}

impl Guesses {
    pub fn new() -> Self {
        Guesses {
            sites: Vec::new(),
            thread: ThreadNo::FIRST,
            last: NOTHING,
            others: Vec::new(),
            recent: Vec::new(),
            freed: Box::new([Freed { top: 0, addresses: [Address::NULL; FREED_DEPTH] }; SIZE_CLASSES]),
        }
    }

    /// Forgets everything: a new events block begins.
    pub fn restart(&mut self, thread: ThreadNo) {
        self.sites.clear();
        self.recent.clear();
        self.freed.iter_mut().for_each(|freed| freed.top = 0);
        self.others.clear();
        self.thread = thread;
        self.last = NOTHING;
    }

    /// The next event is another thread's.
    #[cold]
    pub fn switch_thread(&mut self, thread: ThreadNo) {
        let place =
            |others: &[(ThreadNo, ThreadGuess)], wanted| others.iter().position(|(number, _)| *number == wanted);
        match place(&self.others, self.thread) {
            Some(index) => self.others[index].1 = self.last,
            None => self.others.push((self.thread, self.last)),
        }
        self.last = place(&self.others, thread).map_or(NOTHING, |index| self.others[index].1);
        self.thread = thread;
    }

    /// As allocators round sizes up; glibc's classes. Others' are coarser, which costs guesses but nothing else.
    #[inline(always)]
    fn class(size: Bytes) -> usize {
        (size.0.wrapping_add(23) / 16) as usize % SIZE_CLASSES
    }

    /// What is known of the block that was acquired as number `index` of this events block.
    #[inline(always)]
    pub fn recent(&self, index: u64) -> Option<Recent> {
        self.recent.get(usize::try_from(index).unwrap_or(usize::MAX)).copied()
    }

    /// Where the next acquisition (or other event) comes from.
    #[inline(always)]
    pub fn acquiring_site(&self) -> u32 {
        self.sites.get(self.last.acquire as usize).map_or(NO_SITE, |site| site.next)
    }

    /// Where a block is released.
    #[inline(always)]
    pub fn releasing_site(&self, recent: Option<Recent>) -> u32 {
        match recent {
            Some(recent) => self.sites.get(recent.site as usize).map_or(NO_SITE, |site| site.release),
            None => self.sites.get(self.last.release as usize).map_or(NO_SITE, |site| site.next),
        }
    }

    /// The address of a block of this size.
    #[inline(always)]
    pub fn address(&self, size: Bytes) -> Option<Address> {
        let freed = &self.freed[Self::class(size)];
        (freed.top > 0).then(|| freed.addresses[(freed.top - 1) as usize % FREED_DEPTH])
    }

    /// An acquisition (or other event) comes from `site`.
    #[inline(always)]
    pub fn note_acquiring_site(&mut self, site: u32) {
        let before = std::mem::replace(&mut self.last.acquire, site);
        if let Some(before) = self.sites.get_mut(before as usize) {
            before.next = site;
        }
    }

    /// A block is acquired.
    #[inline(always)]
    pub fn note_acquired(&mut self, site: u32, size: Bytes, address_was_guessed: bool) {
        let class = Self::class(size);
        self.freed[class].top -= address_was_guessed as u64;
        // Both fit: there are at most MAX_EVENTS sites and SIZE_CLASSES classes.
        self.recent.push(Recent { site: site as u16, class: class as u16 });
    }

    /// A block from this events block is released.
    #[inline(always)]
    pub fn note_released(&mut self, recent: Recent, address: Address, site: u32) {
        if let Some(origin) = self.sites.get_mut(recent.site as usize) {
            origin.release = site;
        }
        let freed = &mut self.freed[recent.class as usize % SIZE_CLASSES];
        freed.addresses[freed.top as usize % FREED_DEPTH] = address;
        freed.top += 1;
    }

    /// Anything else is released.
    #[inline(always)]
    pub fn note_released_other(&mut self, site: u32) {
        let before = std::mem::replace(&mut self.last.release, site);
        if let Some(before) = self.sites.get_mut(before as usize) {
            before.next = site;
        }
    }
}
