//! The terminal: taken, given back on every way out, and listened to.

use crate::answers::{Opened, QuestionQueue};
use crate::app::App;
use crossterm::cursor;
use crossterm::event::{self, Event, KeyEventKind};
use crossterm::execute;
use crossterm::terminal::{self, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, TryRecvError};
use std::sync::{Arc, Once};
use std::time::Duration;

/// How often signals are looked for while no key is pressed.
const IDLE: Duration = Duration::from_millis(150);
/// How often replies are looked for while the screen waits for one.
const WAITING: Duration = Duration::from_millis(8);

/// How long the viewer may take to end after a signal.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Threads that answer: advice takes longest, and other views do not wait for it.
const THREADS: usize = 2;

/// Why the viewer cannot be shown, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no terminal to show it on.
    #[error("standard output is no terminal: expected one; for text, use memtoll report")]
    NoTerminal,
    /// The terminal cannot move its cursor.
    #[error("the terminal cannot show it: TERM is \"{0}\"; for text, use memtoll report")]
    Dumb(String),
    /// The terminal cannot be used, or is gone.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// What answers has ended.
    #[error("memtoll failed to answer; the statement above says why")]
    NoAnswers,
}

/// How the viewer ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Somebody pressed a key for it.
    Quit,
    /// By this signal, which has not had its effect yet.
    Signal(i32),
}

/// Shows a recording until somebody ends it. `file` is its name. What is being answered then is not waited for.
pub fn show(opened: Opened<'static>, file: &str) -> Result<End, Error> {
    if !io::stdout().is_terminal() {
        return Err(Error::NoTerminal);
    }
    let kind = std::env::var("TERM").unwrap_or_default();
    if kind.is_empty() || kind == "dumb" {
        return Err(Error::Dumb(kind));
    }
    let signal = Arc::new(AtomicUsize::new(0));
    listen_for_signals(signal.clone())?;
    listen_for_hangup()?;
    give_back_on_panic();
    let questions = Arc::new(QuestionQueue::default());
    let (sender, replies) = mpsc::channel();
    for _ in 0..THREADS {
        let (questions, sender) = (questions.clone(), sender.clone());
        std::thread::Builder::new().name("answers".to_owned()).spawn(move || questions.work(opened, &sender))?;
    }
    drop(sender);
    let _taken = Taken::new()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    let mut app = App::new(opened, file);
    let mut is_waiting = false;
    let mut is_changed = true;
    loop {
        if is_changed {
            terminal.draw(|frame| {
                let area = frame.area();
                app.draw(frame.buffer_mut(), area);
            })?;
            let wanted = app.take_wanted();
            is_waiting = !wanted.is_empty();
            questions.put(wanted);
        }
        is_changed = false;
        if event::poll(if is_waiting { WAITING } else { IDLE })? {
            match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => app.press(&key),
                _ => {} // a new size: the screen is drawn again
            }
            is_changed = true;
        }
        match replies.try_recv() {
            Ok((question, outcome)) => {
                app.learn(question, outcome);
                is_changed = true;
            }
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(Error::NoAnswers),
        }
        match signal.load(Ordering::Relaxed) {
            0 if app.quits => return Ok(End::Quit),
            0 => {}
            number => return Ok(End::Signal(number as i32)),
        }
    }
}

/// Signals end the viewer: `last` becomes the number of one that came. Who waits for keys may never come back once the
/// terminal is gone; then the process ends without that thread.
fn listen_for_signals(last: Arc<AtomicUsize>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for number in signals.forever() {
            last.store(number as usize, Ordering::Relaxed);
            std::thread::sleep(LAST_WORDS);
            give_back();
            let _ = signal_hook::low_level::emulate_default_handler(number);
        }
    })?;
    Ok(())
}

/// A terminal that is gone ends the viewer like its signal, which does not come where the shell ignores it (`nohup`): who waits
/// for keys would never come back.
fn listen_for_hangup() -> io::Result<()> {
    std::thread::Builder::new().name("terminal".to_owned()).spawn(|| {
        let screen = io::stdout();
        // What is waited for comes unasked: POLLHUP, POLLERR.
        while poll(&mut [PollFd::new(&screen, PollFlags::empty())], None) == Err(Errno::INTR) {}
        let _ = signal_hook::low_level::raise(SIGHUP);
    })?;
    Ok(())
}

/// The terminal while it is taken.
struct Taken;

impl Taken {
    fn new() -> io::Result<Taken> {
        terminal::enable_raw_mode()?;
        // From here on it is given back, whatever fails.
        let taken = Taken;
        execute!(io::stdout(), EnterAlternateScreen, cursor::Hide)?;
        Ok(taken)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// As it was before. A terminal that is gone needs nothing.
fn give_back() {
    let _ = execute!(io::stdout(), LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

/// A panic's statement is to be read, so the terminal is given back before it.
fn give_back_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
}
