//! `memtoll calibrate`: what the program of a recording takes without the recorder, in turn with recorded runs of it.

use crate::command::CommandLine;
use crate::run::Ran;
use crate::sampled::{PERIOD, Sampler};
use memtoll_trace::meta::{Calibration, Exit, PlainRun};
use rustix::fs::{FileType, fstat};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::process::Stdio;
use std::time::{SystemTime, UNIX_EPOCH};

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Standard input can be read only once.
    #[error(
        "cannot run the program again: its standard input is {0}, which can be read only once; put the input into a file and \
         use < FILE, or < /dev/null if the program does not read"
    )]
    Stdin(&'static str),
    /// The program cannot be started.
    #[error("cannot run \"{command}\" without the recorder: {source}")]
    Start {
        command: String,
        /// What the system says.
        source: io::Error,
    },
    /// Two runs ended differently.
    #[error("runs of \"{command}\" end differently: one {one}, another {other}{stderr}")]
    Differs {
        command: String,
        /// How the first run ended.
        one: String,
        /// How another one did.
        other: String,
        /// The last lines that it wrote to standard error, on lines of their own.
        stderr: String,
    },
    /// A recorded run among the others failed.
    #[error("cannot record \"{command}\" again: {why}")]
    Recorded {
        command: String,
        /// What happened.
        why: String,
    },
    /// Something that running programs needs cannot be had.
    #[error("cannot calibrate: {0}")]
    Setup(#[from] io::Error),
}

/// What runs get on standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// Nothing.
    Empty,
    /// This process's file, from the place on where it is now.
    File {
        /// The place, bytes.
        from: u64,
    },
}

impl Stdin {
    /// What this process's own standard input is.
    pub fn of_this_process() -> Result<Stdin, Error> {
        let stdin = io::stdin();
        let Ok(stat) = fstat(stdin.as_fd()) else { return Ok(Stdin::Empty) };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {
                let from = rustix::fs::tell(stdin.as_fd()).map_err(io::Error::from)?;
                Ok(Stdin::File { from })
            }
            FileType::Fifo => Err(Error::Stdin("a pipe")),
            FileType::Socket => Err(Error::Stdin("a socket")),
            // Terminals, /dev/null.
            _ => Ok(Stdin::Empty),
        }
    }

    /// Gives this process, and so what it starts, what the other runs get: no terminal. Returns whether there was one.
    pub fn settle(self) -> io::Result<bool> {
        let is_terminal = self == Stdin::Empty && rustix::termios::isatty(io::stdin());
        if is_terminal {
            rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        }
        Ok(is_terminal)
    }

    /// For the next run.
    pub fn open(self) -> io::Result<Stdio> {
        match self {
            Stdin::Empty => Ok(Stdio::null()),
            Stdin::File { from } => {
                // A description of its own: reading does not move the place of the others.
                let mut file = File::open("/proc/self/fd/0")?;
                file.seek(SeekFrom::Start(from))?;
                Ok(file.into())
            }
        }
    }
}

/// What to run.
pub struct Plan<'a> {
    /// Program and arguments.
    pub words: &'a [OsString],
    /// What it gets on standard input.
    pub stdin: Stdin,
    /// Runs without the recorder.
    pub plain: usize,
    /// Runs with it.
    pub recorded: usize,
}

/// A recorded run.
pub struct Recorded {
    /// How it ended.
    pub exit: Exit,
    /// What it took.
    pub taken: PlainRun,
    /// The last lines that it wrote to standard error, each on a line of its own and indented.
    pub stderr: String,
}

/// Kinds of runs.
#[derive(Clone, Copy)]
enum Kind {
    Plain,
    Sampled,
    Recorded,
}

/// Runs the program: once unmeasured, then without the recorder, sampled, and, by `record`, recorded, in random order.
/// `record` says what the run took; `progress` receives how many runs are done, of how many. Tells also how all runs ended.
pub fn calibrate(
    plan: &Plan,
    mut record: impl FnMut() -> Result<Recorded, String>,
    mut progress: impl FnMut(usize, usize),
) -> Result<(Calibration, Exit), Error> {
    let command = CommandLine::words(plan.words);
    let shown = || command.shown().to_owned();
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
    let mut sampler = Sampler::default();
    let plain_run = |sampler: Option<&mut Sampler>| {
        Ran::start(&command, plan.stdin.open()?, Stdio::null(), sampler)
            .map_err(|source| Error::Start { command: shown(), source })
    };
    let all = 1 + plan.plain + plan.sampled() + plan.recorded;
    progress(0, all);
    let exit = plain_run(None)?.exit;
    let mut calibration = Calibration {
        started,
        command: plan.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        period: PERIOD.into(),
        sees_kernel: false,
        refused: None,
        plain: Vec::new(),
        sampled: Vec::new(),
        code: Vec::new(),
        recorded: Vec::new(),
    };
    let differs = |other: Exit, stderr: String| match other == exit {
        true => Ok(()),
        false => Err(Error::Differs { command: shown(), one: exit.how(), other: other.how(), stderr }),
    };
    for (done, kind) in plan.order().into_iter().enumerate() {
        progress(done + 1, all);
        match kind {
            Kind::Plain => {
                let mut ran = plain_run(None)?;
                differs(ran.exit, ran.last_lines())?;
                calibration.plain.push(ran.taken());
            }
            Kind::Sampled => {
                let mut ran = plain_run(Some(&mut sampler))?;
                differs(ran.exit, ran.last_lines())?;
                calibration.sees_kernel |= ran.sees_kernel;
                match ran.samples {
                    Some(Ok(samples)) => calibration.sampled.push(samples),
                    Some(Err(why)) => calibration.refused = Some(why.to_string()),
                    None => {}
                }
            }
            Kind::Recorded => {
                let ran = record().map_err(|why| Error::Recorded { command: shown(), why })?;
                differs(ran.exit, ran.stderr)?;
                calibration.recorded.push(ran.taken);
            }
        }
    }
    calibration.code = sampler.code();
    Ok((calibration, exit))
}

impl Plan<'_> {
    /// Runs that are sampled, half as many as plain ones. Samples take time, so what a run takes is learnt from the others.
    /// A single one would not say how far it is off.
    fn sampled(&self) -> usize {
        self.plain.div_ceil(2).max(2)
    }

    /// In rounds of one each, which are in random order, so that what disturbs the machine meanwhile meets all kinds.
    fn order(&self) -> Vec<Kind> {
        let kinds = [(Kind::Plain, self.plain), (Kind::Sampled, self.sampled()), (Kind::Recorded, self.recorded)];
        let rounds = (0..self.plain.max(self.sampled()).max(self.recorded)).map(|round| {
            let mut kinds: Vec<Kind> = kinds.iter().filter(|(_, runs)| round < *runs).map(|(kind, _)| *kind).collect();
            fastrand::shuffle(&mut kinds);
            kinds
        });
        rounds.flatten().collect()
    }
}
