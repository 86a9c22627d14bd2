//! The buffer that the kernel of one processor writes its records into.
//!
//! ```text
//! | page 0: data_head, data_tail, ... | data: a power of two of pages |
//!                                        tail <= position < head, both counted without wrapping
//! ```

use crate::perf::PerfEvent;
use linux_perf_event_reader::RawData;
use perf_event_open_sys::bindings::perf_event_mmap_page;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a record's header: u32 type, u16 misc, u16 size including the header.
const HEADER: usize = 8;

/// The ring of an event. Its data is a power of two of bytes.
pub struct Ring {
    /// The event it belongs to: it must live as long as the mapping is written to.
    event: PerfEvent,
    cpu: u32,
    memory: NonNull<perf_event_mmap_page>,
    page: usize,
    bytes: usize,
}

// SAFETY: the memory belongs to this value alone; the kernel is the only other party, and the head and tail order the two.
unsafe impl Send for Ring {}

/// A record, as the kernel wrote it.
pub struct Record<'a> {
    pub kind: u32,
    pub misc: u16,
    pub body: RawData<'a>,
}

impl Ring {
    /// `bytes` is a power of two and at least a page.
    ///
    /// EPERM where the user's share of locked memory is used up.
    pub fn new(event: PerfEvent, cpu: u32, bytes: usize) -> io::Result<Ring> {
        let page = rustix::param::page_size();
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe { mmap(std::ptr::null_mut(), page + bytes, protection, MapFlags::SHARED, &event, 0) }?;
        let memory = NonNull::new(memory.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Ring { event, cpu, memory, page, bytes })
    }

    /// The event that the ring belongs to.
    pub fn event(&self) -> &PerfEvent {
        &self.event
    }

    /// Its processor.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Up to where the kernel has written.
    pub fn head(&self) -> u64 {
        // SAFETY: only the address of a field of the mapped page is taken.
        self.word(|page| unsafe { &raw mut (*page).data_head }).load(Ordering::Acquire)
    }

    /// Bytes up to `head` that were not taken yet.
    pub fn filled(&self, head: u64) -> usize {
        head.saturating_sub(self.tail().load(Ordering::Relaxed)) as usize
    }

    /// Bytes that it can hold.
    pub fn capacity(&self) -> usize {
        self.bytes
    }

    /// Appends the records up to `head` to `records`, and gives their room back to the kernel.
    pub fn take(&mut self, head: u64, records: &mut Vec<u8>) {
        let (start, length) = (self.tail().load(Ordering::Relaxed), self.filled(head).min(self.bytes));
        let start = start as usize & (self.bytes - 1);
        let data = self.data();
        let (end, wrapped) = (start + length, (start + length).saturating_sub(self.bytes));
        records.extend_from_slice(&data[start..end - wrapped]);
        records.extend_from_slice(&data[..wrapped]);
        self.tail().store(head, Ordering::Release);
    }

    /// Up to where the records have been taken.
    fn tail(&self) -> &AtomicU64 {
        // SAFETY: only the address of a field of the mapped page is taken.
        self.word(|page| unsafe { &raw mut (*page).data_tail })
    }

    /// The bytes of the ring. Only those between the tail and a head that was read are looked at: the kernel does not
    /// write there until the tail moves.
    fn data(&self) -> &[u8] {
        // SAFETY: mapped behind the first page, for as long as self lives.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().cast::<u8>().add(self.page), self.bytes) }
    }

    fn word(&self, field: impl FnOnce(*mut perf_event_mmap_page) -> *mut u64) -> &AtomicU64 {
        // SAFETY: an aligned word of the mapped first page, which both sides access atomically.
        unsafe { AtomicU64::from_ptr(field(self.memory.as_ptr())) }
    }
}

/// Reads records that were taken from a ring. Returns false if there is something else than whole records; then the rest is
/// left out.
pub fn read(mut records: &[u8], mut each: impl FnMut(Record)) -> bool {
    while let Some((&[k0, k1, k2, k3, m0, m1, s0, s1], _)) = records.split_first_chunk::<HEADER>() {
        let size = usize::from(u16::from_ne_bytes([s0, s1]));
        let Some(body) = records.get(HEADER..size) else { return false };
        let kind = u32::from_ne_bytes([k0, k1, k2, k3]);
        each(Record { kind, misc: u16::from_ne_bytes([m0, m1]), body: RawData::Single(body) });
        records = &records[size..];
    }
    records.is_empty()
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: mapped by new with this length; nothing borrows from it any more.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.page + self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of a kind with a body of these bytes.
    fn record(kind: u32, body: &[u8]) -> Vec<u8> {
        let size = (HEADER + body.len()) as u16;
        [&kind.to_ne_bytes()[..], &7_u16.to_ne_bytes(), &size.to_ne_bytes(), body].concat()
    }

    #[test]
    fn records_follow_each_other_until_one_is_cut_off() {
        let whole = [record(1, b"abcdefgh"), record(2, b"")].concat();
        let kinds = |bytes: &[u8]| {
            let mut kinds = Vec::new();
            let whole = read(bytes, |record| kinds.push((record.kind, record.misc)));
            (whole, kinds)
        };
        assert_eq!(kinds(&whole), (true, vec![(1, 7), (2, 7)]));
        assert_eq!(kinds(&whole[..20]), (false, vec![(1, 7)]));
        assert_eq!(kinds(&[&whole[..], &[0; 8]].concat()), (false, vec![(1, 7), (2, 7)]), "a record of no bytes");
        assert_eq!(kinds(&[]), (true, vec![]));
    }
}
