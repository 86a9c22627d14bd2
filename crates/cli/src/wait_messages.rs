//! What memtoll waits for, on stderr: a line that changes on a terminal, and a line now and then in a log.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

/// When messages are printed.
struct Pace {
    /// Print nothing before this time is over.
    patience: Duration,
    /// Time between two lines.
    pause: Duration,
}

const OF_TERMINALS: Pace = Pace { patience: Duration::from_millis(500), pause: Duration::from_millis(500) };
const OF_LOGS: Pace = Pace { patience: Duration::from_secs(5), pause: Duration::from_secs(10) };

/// Says what is going on, until it is dropped.
pub struct Waiting {
    shared: Arc<Mutex<Shared>>,
    shows: Option<(JoinHandle<()>, Thread)>,
}

#[derive(Clone, Default)]
struct Shared {
    text: String,
    is_over: bool,
}

impl Waiting {
    /// Work of this name begins: `replaying`.
    pub fn new(what: impl Display) -> Waiting {
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (seen, what) = (shared.clone(), what.to_string());
        let thread = std::thread::Builder::new().name("progress".to_owned());
        // Without a thread, there are no messages: the work goes on.
        let shows = thread.spawn(move || match std::io::stderr().is_terminal() {
            true => show_on_terminal(&what, &seen),
            false => show(&OF_LOGS, &what, &seen, |text| _ = writeln!(std::io::stderr(), "memtoll: {text}")),
        });
        let shows = shows.ok().map(|handle| {
            let thread = handle.thread().clone();
            (handle, thread)
        });
        Waiting { shared, shows }
    }

    /// How far it is: `round 2 of 10`.
    pub fn tell(&self, how_far: impl Display) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).text = how_far.to_string();
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        if let Some((handle, thread)) = self.shows.take() {
            thread.unpark();
            let _ = handle.join();
        }
    }
}

fn show_on_terminal(what: &str, shared: &Mutex<Shared>) {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("memtoll: {wide_msg}") {
        bar.set_style(style);
    }
    show(&OF_TERMINALS, what, shared, |text| {
        bar.set_message(text);
        bar.tick();
    });
    bar.finish_and_clear();
}

/// Calls `say` at this pace until the work is over.
fn show(pace: &Pace, what: &str, shared: &Mutex<Shared>, mut say: impl FnMut(String)) {
    let began = Instant::now();
    let mut next = began + pace.patience;
    loop {
        let Shared { text: how_far, is_over } = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if is_over {
            return;
        }
        let rest = next.saturating_duration_since(Instant::now());
        if !rest.is_zero() {
            std::thread::park_timeout(rest);
            continue;
        }
        let separator = if how_far.is_empty() { "" } else { ", " };
        say(format!("{what} for {} s{separator}{how_far}", began.elapsed().as_secs()));
        next += pace.pause;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_takes_long_is_said_again_and_again() {
        let shared = Mutex::new(Shared { text: "round 1 of 3".to_owned(), is_over: false });
        let pace = Pace { patience: Duration::from_millis(1), pause: Duration::from_millis(1) };
        let mut lines = Vec::new();
        show(&pace, "replaying", &shared, |text| {
            lines.push(text);
            let mut shared = shared.lock().unwrap();
            shared.text = "round 2 of 3".to_owned();
            shared.is_over = lines.len() >= 2;
        });
        assert_eq!(lines, ["replaying for 0 s, round 1 of 3", "replaying for 0 s, round 2 of 3"]);
    }

    /// Also where this thread comes late, and the next line is due already.
    #[test]
    fn nothing_is_said_of_work_that_is_over() {
        let pace = Pace { patience: Duration::ZERO, pause: Duration::ZERO };
        let shared = Mutex::new(Shared::default());
        let mut lines = 0;
        show(&pace, "replaying", &shared, |_| {
            lines += 1;
            shared.lock().unwrap().is_over = true;
            assert_eq!(lines, 1);
        });
    }
}
