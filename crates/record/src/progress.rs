//! A line on stderr that shows, while the program runs, that something is being recorded.

use crate::run::Run;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
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
    let mut before = (Instant::now(), run.events.load(Relaxed));
    while !over.load(Relaxed) {
        thread::park_timeout(INTERVAL);
        if began.elapsed() < FIRST_AFTER || over.load(Relaxed) {
            continue;
        }
        let now = (Instant::now(), run.events.load(Relaxed));
        let rate = (now.1 - before.1) as f64 / (now.0 - before.0).as_secs_f64();
        before = now;
        bar.set_message(format!(
            "{} s, {} events, {} events/s, {} live, {} written",
            began.elapsed().as_secs(),
            HumanCount(now.1),
            HumanCount(rate as u64),
            HumanBytes(run.live_bytes.load(Relaxed)),
            HumanBytes(run.output.bytes()),
        ));
    }
    bar.finish_and_clear();
}
