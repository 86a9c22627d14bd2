//! The server of a recording that is being made: the same pages, of the file as it was a moment ago.
//!
//! The file is opened anew when it has grown. What opening and answering take is a twentieth of the time at the most, so the
//! larger the recording, the rarer that is; but what the user asks for, a mark or a look, is shown at once.

use super::{Engines, Listening};
use crate::recordings::{Compared, Recordings};
use crate::settings::Settings;
use memtoll_model::Recording;
use memtoll_trace::reader::Error;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A recording that grows while somebody looks at it.
pub trait Growing: Sync {
    /// How long the file is now, bytes.
    fn bytes(&self) -> u64;
    /// The recording as far as it is there.
    fn open(&self) -> Result<Recording, Error>;
    /// Whether it is complete.
    fn is_over(&self) -> bool;
    /// Sets a mark at this instant. When that was, seconds; `None`: it is not in the file.
    fn mark(&self, name: &str) -> Option<f64>;
    /// Looks at the pages of a process now, as `memtoll snapshot` does. When that was, seconds; an error is a sentence.
    fn look(&self, pid: u32) -> Result<f64, String>;
}

/// Between two looks at the file's length, and for requests.
const STEP: Duration = Duration::from_millis(100);
/// The file is not opened more often.
const SHORTEST: Duration = Duration::from_secs(1);
/// The time between, in times of what answering took in it.
const REST: u32 = 20;
/// Bytes of a mark's name.
const LONGEST_NAME: usize = 200;

/// What a request may ask of a recording that grows.
pub(super) struct Look<'a> {
    growing: &'a dyn Growing,
    /// How often the file was opened.
    generation: u32,
    ended_ns: f64,
    is_over: bool,
    /// What answering took since then, ns.
    busy: AtomicU64,
    /// Whether the user has added to the file since then.
    is_asked: AtomicBool,
}

impl Look<'_> {
    /// What the page polls.
    pub(super) fn state(&self) -> Value {
        json!({ "generation": self.generation, "ns": self.ended_ns, "over": self.is_over })
    }

    /// Sets a mark, if the name is one.
    pub(super) fn mark(&self, name: &str) -> Option<Value> {
        let name = name.trim();
        let may_be_set = !name.is_empty() && name.len() <= LONGEST_NAME && !self.is_over;
        let marked = may_be_set.then(|| self.growing.mark(name)).flatten();
        marked.map(|at| self.added(at))
    }

    /// Looks at the pages of the process whose number this is.
    pub(super) fn look(&self, pid: &str) -> Result<Value, String> {
        let pid =
            pid.trim().parse().map_err(|_| format!("expected the number of a process, found \"{}\"", pid.trim()))?;
        if self.is_over {
            return Err("The program has exited; memtoll cannot look at its pages.".to_owned());
        }
        self.growing.look(pid).map(|at| self.added(at))
    }

    /// The user's mark or look is in the file, in the next generation: the instant, given in seconds, as the page gets it.
    fn added(&self, seconds: f64) -> Value {
        self.is_asked.store(true, Relaxed);
        json!({ "at_ns": (seconds * 1e9).ceil() as u64, "generation": self.generation })
    }

    pub(super) fn add(&self, took: Duration) {
        self.busy.fetch_add(took.as_nanos() as u64, Relaxed);
    }
}

impl Listening {
    /// Answers until the process ends.
    pub fn serve_growing(&self, growing: &dyn Growing, settings: &Settings) -> Result<(), Error> {
        let mut generation = 0;
        loop {
            let is_over = growing.is_over();
            let bytes = growing.bytes();
            let began = Instant::now();
            let recording = match growing.open() {
                Ok(recording) => recording,
                Err(why) if is_over => return Err(why),
                Err(_) => {
                    std::thread::sleep(STEP);
                    continue;
                }
            };
            if recording.images.is_empty() && !is_over {
                std::thread::sleep(STEP);
                continue;
            }
            generation += 1;
            let settings = Settings { live: Some(generation), ..settings.clone() };
            let ended_ns = recording.about.clock.seconds(recording.ended()) * 1e9;
            let busy = AtomicU64::new(began.elapsed().as_nanos() as u64);
            let look = Look { growing, generation, ended_ns, is_over, busy, is_asked: AtomicBool::new(false) };
            match is_over {
                true => self.serve_complete(&recording, Compared::default(), &settings, Some(&look)),
                false => self.serve_until_old(&recording, &settings, &look, bytes),
            }
        }
    }

    /// Answers until the recording is complete, or has grown and it is time to open it again.
    fn serve_until_old(&self, recording: &Recording, settings: &Settings, look: &Look, bytes: u64) {
        let engines = Engines::of(Recordings::new(recording, Compared::default()).with(settings));
        let is_old = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Few: what waits for another question counts as busy, too.
            for _ in 0..super::THREADS / 2 {
                scope.spawn(|| {
                    while !is_old.load(Relaxed) {
                        match self.server.recv_timeout(STEP) {
                            Ok(Some(request)) => {
                                let began = Instant::now();
                                self.answer(request, &engines, Some(look));
                                look.add(began.elapsed());
                            }
                            Ok(None) => {}
                            Err(_) => return,
                        }
                    }
                });
            }
            let began = Instant::now();
            loop {
                std::thread::sleep(STEP);
                let rest = (Duration::from_nanos(look.busy.load(Relaxed)) * REST).max(SHORTEST);
                let has_grown = look.growing.bytes() != bytes && began.elapsed() >= rest;
                if has_grown || look.is_asked.load(Relaxed) || look.growing.is_over() {
                    break;
                }
            }
            is_old.store(true, Relaxed);
        });
    }
}
