//! The threads of a process image, as the file lists them.

use memtoll_trace::ids::{ThreadNo, Units};
use memtoll_trace::meta::{Thread, Usage};
use rustc_hash::FxHashMap;

/// The threads, in the order in which they began to record.
#[derive(Default)]
pub struct ThreadList {
    all: Vec<Thread>,
    /// Where in `all`.
    by_number: FxHashMap<ThreadNo, usize>,
    by_tid: FxHashMap<u32, usize>,
    /// The C library's handle of a thread: another one may have it later.
    by_handle: FxHashMap<u64, ThreadNo>,
    /// Names of threads that have not recorded anything yet, by handle.
    names: FxHashMap<u64, String>,
    changed: bool,
}

impl ThreadList {
    /// A thread begins. False if it is known: it borrows another slot.
    pub fn begins(&mut self, number: ThreadNo, tid: u32, handle: u64, began: Units) -> bool {
        if self.by_number.contains_key(&number) {
            return false;
        }
        self.by_handle.insert(handle, number);
        let name = self.names.remove(&handle);
        self.by_number.insert(number, self.all.len());
        self.by_tid.insert(tid, self.all.len());
        self.all.push(Thread { number, tid, name, began: began.0, ended: None, usage: None });
        self.changed = true;
        true
    }

    /// What the C library has called all threads but `main` so far: where it lies in their stacks.
    pub fn handles(&self, main: u32) -> Vec<u64> {
        let tid = |number: &ThreadNo| self.by_number.get(number).map(|index| self.all[*index].tid);
        let others = self.by_handle.iter().filter(|(_, number)| tid(number) != Some(main));
        let mut all: Vec<u64> = others.map(|(handle, _)| *handle).collect();
        all.sort_unstable();
        all
    }

    /// What the C library called threads that have ended, and no other one since, as far as calls tell.
    pub fn ended_handles(&self) -> Vec<u64> {
        let has_ended = |number: &ThreadNo| self.by_number.get(number).is_some_and(|at| self.all[*at].ended.is_some());
        self.by_handle.iter().filter(|(_, number)| has_ended(number)).map(|(handle, _)| *handle).collect()
    }

    /// Something that is no thread has blocks as a thread has.
    pub fn stands_for(&mut self, number: ThreadNo, name: &str, began: Units) {
        self.by_number.insert(number, self.all.len());
        self.all.push(Thread { number, tid: 0, name: Some(name.to_owned()), began: began.0, ended: None, usage: None });
        self.changed = true;
    }

    pub fn ends(&mut self, number: ThreadNo, ended: Units) {
        if let Some(thread) = self.get(number) {
            thread.ended = Some(ended.0);
            self.changed = true;
        }
    }

    /// The kernel says that a thread ends. One whose first call is one of the C library's last does not say so itself.
    pub fn is_gone(&mut self, tid: u32, ended: Units) {
        let thread = self.by_tid.get(&tid).map(|index| &mut self.all[*index]);
        if let Some(thread) = thread.filter(|thread| thread.ended.is_none()) {
            thread.ended = Some(ended.0);
            self.changed = true;
        }
    }

    /// A thread is started with a handle: an earlier one that had it is over.
    pub fn handle_is_new(&mut self, handle: u64, at: Units) {
        let Some(&number) = self.by_handle.get(&handle) else { return };
        if self.get(number).is_some_and(|thread| thread.ended.is_none() && thread.began < at.0) {
            self.ends(number, at);
        }
    }

    pub fn is_named(&mut self, handle: u64, name: String) {
        let number = self.by_handle.get(&handle).copied();
        match number.and_then(|number| self.get(number)).filter(|thread| thread.ended.is_none()) {
            Some(thread) => {
                thread.name = Some(name);
                self.changed = true;
            }
            None => {
                self.names.insert(handle, name);
            }
        }
    }

    /// What the kernel counted for a thread.
    pub fn used(&mut self, number: ThreadNo, usage: Usage) {
        if let Some(thread) = self.get(number) {
            thread.usage = Some(usage);
            self.changed = true;
        }
    }

    /// The thread with this id of the kernel's; the last one, if there were several.
    pub fn of_tid(&self, tid: u32) -> Option<ThreadNo> {
        self.by_tid.get(&tid).map(|index| self.all[*index].number)
    }

    /// The kernel's id of a thread.
    pub fn tid(&mut self, number: ThreadNo) -> Option<u32> {
        self.get(number).map(|thread| thread.tid)
    }

    fn get(&mut self, number: ThreadNo) -> Option<&mut Thread> {
        self.by_number.get(&number).map(|index| &mut self.all[*index])
    }

    /// All threads, if they are other than when this was asked last and no more than `most`.
    pub fn take_changed(&mut self, most: usize) -> Option<&[Thread]> {
        if !self.changed || self.all.len() > most {
            return None;
        }
        self.changed = false;
        Some(&self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(number: u32) -> ThreadNo {
        ThreadNo::new(number).unwrap()
    }

    #[test]
    fn a_name_waits_for_its_thread() {
        let mut threads = ThreadList::default();
        threads.is_named(0x700, "worker".to_owned());
        assert!(threads.take_changed(usize::MAX).is_none(), "not written yet");
        assert!(threads.begins(number(1), 71, 0x700, Units(5)));
        assert!(!threads.begins(number(1), 71, 0x700, Units(6)), "it is known");
        threads.is_named(0x700, "writer".to_owned());
        let all = threads.take_changed(usize::MAX).unwrap();
        assert_eq!((all.len(), all[0].name.as_deref(), all[0].began), (1, Some("writer"), 5));
        assert!(threads.take_changed(usize::MAX).is_none(), "nothing is new");
    }

    #[test]
    fn a_handle_that_is_used_again_ends_the_thread_that_had_it() {
        let mut threads = ThreadList::default();
        threads.begins(number(1), 71, 0x700, Units(5));
        threads.handle_is_new(0x700, Units(5));
        threads.handle_is_new(0x800, Units(6));
        assert_eq!(threads.all[0].ended, None, "its own start is told late");
        assert!(threads.ended_handles().is_empty());
        threads.handle_is_new(0x700, Units(9));
        threads.begins(number(2), 72, 0x700, Units(10));
        threads.handle_is_new(0x700, Units(10));
        assert_eq!((threads.all[0].ended, threads.all[1].ended), (Some(9), None));
        threads.is_gone(71, Units(20));
        threads.is_gone(72, Units(20));
        assert_eq!((threads.all[0].ended, threads.all[1].ended), (Some(9), Some(20)));
    }

    #[test]
    fn a_list_that_is_too_long_is_written_at_the_end() {
        let mut threads = ThreadList::default();
        threads.begins(number(1), 71, 1, Units(0));
        threads.begins(number(2), 72, 2, Units(0));
        threads.ends(number(2), Units(3));
        assert!(threads.take_changed(1).is_none());
        assert_eq!(threads.take_changed(2).map(<[Thread]>::len), Some(2));
        assert_eq!((threads.tid(number(2)), threads.tid(number(3))), (Some(72), None));
    }
}
