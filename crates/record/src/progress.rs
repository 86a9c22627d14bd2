//! A line on stderr that shows, while the program runs, that something is being recorded.

use crate::run::Run;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const INTERVAL: Duration = Duration::from_millis(250);
/// Short runs show nothing.
const FIRST_AFTER: Duration = Duration::from_millis(750);

pub struct Progress {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Progress {
    pub fn start(run: Arc<Run>) -> Progress {
        let over = Arc::new(AtomicBool::new(false));
        let done = over.clone();
        let thread = thread::spawn(move || show(&run, &done));
        Progress { over, thread }
    }

    /// Removes the line.
    pub fn finish(self) {
        self.over.store(true, Relaxed);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

fn show(run: &Run, over: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("memtoll: {msg}") {
        bar.set_style(style);
    }
    let began = Instant::now();
    let mut rate = Rate::new(Duration::ZERO, run.events.load(Relaxed));
    while !over.load(Relaxed) {
        thread::park_timeout(INTERVAL);
        let events = run.events.load(Relaxed);
        let per_second = rate.now(began.elapsed(), events);
        if began.elapsed() < FIRST_AFTER || over.load(Relaxed) {
            continue;
        }
        bar.set_message(format!(
            "{} s, {} events, {} events/s, {} live, {} written",
            began.elapsed().as_secs(),
            HumanCount(events),
            HumanCount(per_second as u64),
            HumanBytes(run.live_bytes.load(Relaxed)),
            HumanBytes(run.output.bytes()),
        ));
    }
    bar.finish_and_clear();
}

/// Events a second. They are counted when they are written, and that is once a second where there are few: so the average
/// goes from one increase to another, over a few of them.
struct Rate {
    increases: VecDeque<(Duration, u64)>, // when, and what the count was then
}

impl Rate {
    /// The average goes over at least this time, if there was so much.
    const SPAN: Duration = Duration::from_secs(2);

    fn new(now: Duration, events: u64) -> Rate {
        Rate { increases: VecDeque::from([(now, events)]) }
    }

    /// The rate, now that the count is `events`.
    fn now(&mut self, now: Duration, events: u64) -> f64 {
        let (last, before) = self.increases.back().copied().unwrap_or_default();
        // After such a silence, there is nothing.
        if events != before || now - last > Self::SPAN {
            self.increases.push_back((now, events));
        }
        let (last, events) = self.increases.back().copied().unwrap_or_default();
        while self.increases.get(1).is_some_and(|(time, _)| last - *time >= Self::SPAN) {
            self.increases.pop_front();
        }
        let (first, before) = self.increases.front().copied().unwrap_or_default();
        if last > first { (events - before) as f64 / (last - first).as_secs_f64() } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks every 250 ms at a count that grows by `step` every `every` ms, until it stops after 10 s.
    fn rates(every: u64, step: u64) -> Vec<f64> {
        let mut rate = Rate::new(Duration::ZERO, 0);
        let look = |time: u64| rate.now(Duration::from_millis(time), time.min(10_000) / every * step);
        (1..80).map(|look| look * 250).map(look).collect()
    }

    #[test]
    fn a_steady_rate_is_shown_as_such() {
        for (every, step) in [(1000, 9900), (250, 2475), (10, 99)] {
            let rates = rates(every, step);
            let during = &rates[8..39]; // from 2.25 s to 9.75 s
            assert!(during.iter().all(|rate| (rate - 9900.0).abs() < 1.0), "{every}: {during:?}");
            assert_eq!(rates.last(), Some(&0.0), "{every}");
        }
    }
}
