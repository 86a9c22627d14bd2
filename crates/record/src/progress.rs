//! A line on stderr that shows, while the program runs, that something is being recorded.

use crate::run::Run;
use crate::thread_spawning::{self, Stack};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memtoll_text::format::{bytes, count, counted, rate};
use rustix::stdio::stderr;
use rustix::termios::{LocalModes, isatty, tcgetattr, tcgetpgrp};
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// When the line is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProgressLine {
    /// Always. Where stderr is no terminal, as a new line every ten seconds.
    Always,
    /// On a terminal, but not while a program has it in its hands.
    WhileFree,
    Never,
}

/// Between two looks at the numbers.
const INTERVAL: Duration = Duration::from_millis(250);
/// Between two lines in a file.
const INTERVAL_IN_FILE: Duration = Duration::from_secs(10);
/// Short runs show nothing.
const FIRST_AFTER: Duration = Duration::from_millis(750);

pub struct Progress {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Shows the line from now on, if it is wanted.
    pub fn start(line: ProgressLine, run: Arc<Run>) -> Option<Progress> {
        let is_terminal = isatty(stderr());
        if line == ProgressLine::Never || line == ProgressLine::WhileFree && !is_terminal {
            return None;
        }
        let over = Arc::new(AtomicBool::new(false));
        let done = over.clone();
        let show = move || match is_terminal {
            true => show_on_terminal(line, &run, &done),
            false => show_in_file(&run, &done),
        };
        let thread = thread_spawning::start("progress", Stack::Large, show).ok()?;
        Some(Progress { over, thread })
    }

    /// Removes the line.
    pub fn finish(self) {
        self.over.store(true, Relaxed);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

/// Whether no program uses the terminal as a screen (it then reads keys, not lines) or as a job of its own.
fn is_free() -> bool {
    let reads_lines =
        tcgetattr(stderr()).is_ok_and(|modes| modes.local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    let is_ours = tcgetpgrp(stderr()).is_ok_and(|group| group == rustix::process::getpgrp());
    reads_lines && is_ours
}

fn show_on_terminal(line: ProgressLine, run: &Run, over: &AtomicBool) {
    let is_allowed = || line == ProgressLine::Always || is_free();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("memtoll: {msg}") {
        bar.set_style(style);
    }
    let mut numbers = Numbers::new(run);
    while !over.load(Relaxed) {
        thread::park_timeout(INTERVAL);
        let text = numbers.now(run);
        if numbers.began.elapsed() >= FIRST_AFTER && !over.load(Relaxed) && is_allowed() {
            bar.set_message(text);
        }
    }
    if is_allowed() {
        bar.finish_and_clear();
    } else {
        // What stands there now is not ours.
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

fn show_in_file(run: &Run, over: &AtomicBool) {
    let mut numbers = Numbers::new(run);
    let mut last = numbers.began;
    while !over.load(Relaxed) {
        thread::park_timeout(INTERVAL);
        let text = numbers.now(run);
        if last.elapsed() >= INTERVAL_IN_FILE {
            last = Instant::now();
            let _ = writeln!(io::stderr(), "memtoll: {text}");
        }
    }
}

/// What the line says.
struct Numbers {
    began: Instant,
    rate: Rate,
}

impl Numbers {
    fn new(run: &Run) -> Numbers {
        Numbers { began: Instant::now(), rate: Rate::new(Duration::ZERO, run.events.load(Relaxed)) }
    }

    fn now(&mut self, run: &Run) -> String {
        let events = run.events.load(Relaxed);
        let per_second = self.rate.now(self.began.elapsed(), events);
        format!(
            "{} s, {}, {} events/s, {} live, {} written",
            count(self.began.elapsed().as_secs()),
            counted(events, "event"),
            rate(per_second.round()),
            bytes(run.live_bytes.load(Relaxed)),
            bytes(run.output.bytes()),
        )
    }
}

/// Events a second. They are counted when they are written, and that is once a second where there are few: so the average
/// goes from one increase to another, over a few of them.
struct Rate {
    increases: VecDeque<(Duration, u64)>, // when, and what the count was then
}

impl Rate {
    /// The average goes over at least this time, if the run has lasted as long.
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
