//! Threads that do one job after the other: short processes come too fast to start a thread for each.

use crate::thread_spawning::{self, Stack};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// A thread ends after this time without work.
const PATIENCE: Duration = Duration::from_secs(2);

/// Threads for jobs that run at the same time, as many as there are jobs.
#[derive(Default)]
pub struct JobThreads {
    state: Mutex<State>,
    called: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>, // that no thread has begun; there is one for each
    free: usize,         // threads without a job
}

/// A thread that waits for its job.
pub struct Worker<'a> {
    job_threads: &'a JobThreads,
}

impl JobThreads {
    /// A thread for one job.
    pub fn hire(self: &Arc<Self>) -> io::Result<Worker<'_>> {
        let mut state = self.locked();
        if state.free > 0 {
            state.free -= 1;
        } else {
            let job_threads = self.clone();
            thread_spawning::start("worker", Stack::Large, move || job_threads.work())?;
        }
        Ok(Worker { job_threads: self })
    }

    fn work(&self) {
        let mut state = self.locked();
        loop {
            let wait = self.called.wait_timeout_while(state, PATIENCE, |state| state.jobs.is_empty());
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            match state.jobs.pop_front() {
                Some(job) => {
                    drop(state);
                    job();
                    state = self.locked();
                    state.free += 1;
                }
                None if state.free > 0 => {
                    state.free -= 1;
                    return;
                }
                // All that wait have a job.
                None => {}
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Worker<'_> {
    /// Has the job done, and whatever comes after it.
    pub fn start(self, job: impl FnOnce() + Send + 'static) {
        self.job_threads.locked().jobs.push_back(Box::new(job));
        self.job_threads.called.notify_one();
        std::mem::forget(self);
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.job_threads.locked().free += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::mpsc::channel;
    use std::thread::ThreadId;

    #[test]
    fn jobs_run_at_the_same_time() {
        let job_threads = Arc::new(JobThreads::default());
        let meeting = Arc::new(Barrier::new(5));
        for _ in 0..4 {
            let meeting = meeting.clone();
            job_threads.hire().unwrap().start(move || _ = meeting.wait());
        }
        meeting.wait(); // all of them
    }

    #[test]
    fn a_thread_does_many_jobs() {
        let job_threads = Arc::new(JobThreads::default());
        let (sender, threads) = channel::<ThreadId>();
        let mut seen = Vec::new();
        for _ in 0..100 {
            let sender = sender.clone();
            job_threads.hire().unwrap().start(move || _ = sender.send(std::thread::current().id()));
            let thread = threads.recv().unwrap();
            if !seen.contains(&thread) {
                seen.push(thread);
            }
            while job_threads.locked().free < seen.len() {
                std::thread::yield_now();
            }
        }
        assert_eq!(seen.len(), 1);
        drop(job_threads.hire()); // it has no job after all
        assert_eq!(job_threads.locked().free, 1);
    }
}
