//! The order in which the kernel runs threads. Only the calling thread is changed, and nothing that it starts inherits that.

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
}
