//! The order in which the kernel runs threads. Only the calling thread is changed, and nothing that it starts inherits that.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// The shortest time that the kernel lets a thread run without a break, ns: it comes the sooner for it.
const SHORTEST_SLICE: u64 = 100_000;
/// From the most on: what `ulimit -e` allows is not known.
const NICE: [i32; 4] = [-20, -15, -10, -5];

/// The calling thread goes ahead of threads with the usual priority, as far as the user may do that: root, CAP_SYS_NICE,
/// RLIMIT_NICE. It still goes to a processor that is free, if there is one, rather than interrupt others.
pub fn ahead() {
    // SAFETY: a system call without memory. 0 is the calling thread.
    let _ = NICE.iter().any(|nice| unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, *nice) } == 0);
}

/// The calling thread runs as soon as it has something to do, whatever else runs, if the user may do that: root, CAP_SYS_NICE,
/// RLIMIT_RTPRIO. It interrupts others even where a processor is free. Only for threads that hardly run.
pub fn at_once() {
    let parameters = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_RR | libc::SCHED_RESET_ON_FORK;
    // SAFETY: the kernel reads the structure. 0 is the calling thread.
    let _ = unsafe { libc::sched_setscheduler(0, policy, &parameters) };
}

/// While it is there, the thread that made it runs as soon as it has something to do: as after [`at_once`] or, where the user may
/// not do that, ahead of others that have had as much of the processors as this thread (from Linux 6.12 on).
pub struct AtOnce {
    before: Option<libc::sched_attr>,
    _of_this_thread: PhantomData<*const ()>,
}

impl AtOnce {
    pub fn begin() -> AtOnce {
        // Who has no right beyond RLIMIT_RTPRIO may not take the flag back that `at_once` sets.
        let stays = libc::SCHED_FLAG_RESET_ON_FORK as u64;
        let before = attributes().map(|before| libc::sched_attr { sched_flags: before.sched_flags | stays, ..before });
        at_once();
        let is_usual = |now: &libc::sched_attr| now.sched_policy == libc::SCHED_OTHER as u32;
        if let Some(usual) = attributes().filter(is_usual) {
            set(libc::sched_attr { sched_runtime: SHORTEST_SLICE, ..usual });
        }
        AtOnce { before, _of_this_thread: PhantomData }
    }
}

impl Drop for AtOnce {
    fn drop(&mut self) {
        self.before.into_iter().for_each(set);
    }
}

/// How the kernel runs the calling thread.
fn attributes() -> Option<libc::sched_attr> {
    let mut attributes = MaybeUninit::<libc::sched_attr>::zeroed();
    let bytes = size_of::<libc::sched_attr>();
    // SAFETY: the kernel writes as many bytes as the structure has, at the most. 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, attributes.as_mut_ptr(), bytes, 0) };
    // SAFETY: zeros are such a structure, too.
    (result == 0).then(|| unsafe { attributes.assume_init() })
}

fn set(attributes: libc::sched_attr) {
    // SAFETY: the kernel reads the structure. 0 is the calling thread.
    let _ = unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &attributes, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_calling_thread_is_changed() {
        // SAFETY: system calls without memory.
        let (nice, policy) =
            (|| unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }, || unsafe { libc::sched_getscheduler(0) });
        let before = (nice(), policy());
        let urgent = std::thread::spawn(move || {
            ahead();
            let ahead = nice();
            at_once();
            let started = std::thread::spawn(policy).join();
            (ahead, started.unwrap_or(-1))
        });
        let (ahead, started) = urgent.join().unwrap_or_default();
        assert!(ahead <= before.0, "{ahead}");
        assert_eq!(started, libc::SCHED_OTHER, "nothing inherits it");
        assert_eq!((nice(), policy()), before);
    }

    #[test]
    fn at_once_lasts_until_it_is_dropped() {
        let policy = |now: Option<libc::sched_attr>| now.map(|now| now.sched_policy);
        let at_work = std::thread::spawn(move || {
            let before = attributes();
            let first = AtOnce::begin();
            let during = attributes();
            drop(first);
            let after = attributes();
            // Who may do it once may do it again.
            let _second = AtOnce::begin();
            assert_eq!(policy(attributes()), policy(during));
            assert_eq!(policy(after), policy(before));
            assert_eq!(after.map(|after| after.sched_nice), before.map(|before| before.sched_nice));
            during
        });
        let during = at_work.join().unwrap().expect("the kernel says how it runs a thread");
        let is_ahead = during.sched_runtime == 0 || during.sched_runtime == SHORTEST_SLICE;
        assert!(during.sched_policy == libc::SCHED_RR as u32 || is_ahead, "{}", during.sched_runtime);
    }
}
