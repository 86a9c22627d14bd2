//! `memtoll view`

mod fleet;

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use crate::own_heap;
use crate::shown_recordings::ShownArguments;
use clap::{ArgGroup, ValueHint};
use memtoll_model::Recording;
use memtoll_record::Live;
use memtoll_trace::reader::Error;
use memtoll_view::serve::{self, Listening};
use memtoll_view::{Compared, Editor, Settings};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Look at a recording in a browser
///
/// Starts a server on this machine that only this machine reaches, prints its link, and opens the link in a browser where
/// there is a screen. The link works once. Ctrl-C ends the server. With two recordings, shows the second and what changed since
/// the first. Give several recordings a side to tell changes from noise. With --store, shows the answers of memtoll fleet top,
/// trend, compare and runs.
#[derive(clap::Args)]
#[command(
    override_usage = "memtoll view [OPTIONS] FILE [AFTER]\n       \
                      memtoll view [OPTIONS] --before FILE... --after FILE...\n       \
                      memtoll view [OPTIONS] --store URL",
    group(ArgGroup::new("what").required(true).args(["file", "before", "store"]))
)]
pub struct Arguments {
    #[command(flatten)]
    shown: ShownArguments,

    /// Show this store of memtoll fleet: a file, or clickhouse://[USER@]HOST[:PORT]/DATABASE
    #[arg(long, value_name = "URL", value_hint = ValueHint::FilePath, conflicts_with_all = ["sources", "editor"])]
    store: Option<String>,

    /// Open the link in a browser, even if memtoll finds no screen
    #[arg(long, conflicts_with = "no_open")]
    open: bool,

    /// Print the link and open no browser
    #[arg(long)]
    no_open: bool,

    /// Serve the source files that the recording names and this machine has
    #[arg(long)]
    sources: bool,

    /// Open source lines with this link, such as idea://open?file={file}&line={line}, or none
    #[arg(long, value_name = "LINK", default_value_t)]
    editor: Editor,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> Code {
    own_heap::keep_freed_memory();
    if let Some(store) = &arguments.store {
        return fleet::show(store, arguments);
    }
    let shown = match arguments.shown.open(&arguments.names) {
        Ok(Some(shown)) => shown,
        // clap says what is missing.
        Ok(None) => return Code::Usage,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let listening = match listen(arguments) {
        Ok(listening) => listening,
        Err(code) => return code,
    };
    let folders = arguments.names.folders();
    let settings = Settings { sources: arguments.sources, editor: arguments.editor.clone(), folders, live: None };
    listening.serve(&shown.recording, shown.compared(), &settings);
    Code::Done
}

/// Starts a server, and shows its link.
fn listen(arguments: &Arguments) -> Result<Listening, Code> {
    let listening = Listening::new().map_err(|error| exit::fail(error, Code::Usage))?;
    let url = listening.url();
    let mut out = std::io::stdout();
    writeln!(out, "{url}").and_then(|()| out.flush()).map_err(|_| Code::Failed)?;
    if arguments.open || !arguments.no_open && has_screen() {
        open(&url);
    }
    exit::say("Ctrl-C ends the viewer");
    Ok(listening)
}

/// Shows a recording that was just made, until a signal ends the viewer. Standard output is the program's: the link goes to
/// stderr. An error is a statement for the user.
pub fn show_until_signal(recording: Recording) -> Result<(), String> {
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
    let mut signals = signals.map_err(|error| format!("cannot wait for signals: {error}"))?;
    let listening = Listening::new().map_err(|error| error.to_string())?;
    let url = listening.url();
    exit::say(&url);
    if has_screen() {
        open(&url);
    }
    exit::say("Ctrl-C ends the viewer");
    // It answers until the process ends.
    std::thread::spawn(move || listening.serve(&recording, Compared::default(), &Settings::default()));
    signals.forever().next();
    Ok(())
}

/// A recording that is being made.
pub struct Growing {
    live: Live,
    is_over: AtomicBool,
}

impl serve::Growing for Growing {
    fn bytes(&self) -> u64 {
        std::fs::metadata(self.live.path()).map_or(0, |data| data.len())
    }

    fn open(&self) -> Result<Recording, Error> {
        Recording::open(self.live.path())
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Relaxed)
    }

    fn mark(&self, name: &str) -> Option<f64> {
        self.live.mark(name)
    }

    fn look(&self, pid: u32) -> Result<f64, String> {
        memtoll_record::snapshot(pid).map(|snapped| snapped.seconds)
    }
}

impl Growing {
    /// Shows a recording from now on, while it is made. The program comes first: what this takes is what is left over.
    pub fn show(live: Live) -> Arc<Growing> {
        let growing = Arc::new(Growing { live, is_over: AtomicBool::new(false) });
        let shown = growing.clone();
        let serve = move || {
            // It is the thread's, and that of those that it starts.
            let _ = rustix::process::nice(19);
            let listening = match Listening::new() {
                Ok(listening) => listening,
                Err(error) => return exit::say(error),
            };
            let url = listening.url();
            exit::say(&url);
            if has_screen() {
                open(&url);
            }
            if let Err(error) = listening.serve_growing(&*shown, &Settings::default()) {
                exit::say(format!("the recording is not shown: {error}"));
            }
        };
        if let Err(error) = std::thread::Builder::new().name("viewer".to_owned()).spawn(serve) {
            exit::say(format!("the recording is not shown: {error}"));
        }
        growing
    }

    /// The recording is complete; it is shown until a signal ends the viewer. An error is a statement for the user.
    pub fn finish(&self) -> Result<(), String> {
        let signals = Signals::new([SIGINT, SIGTERM, SIGHUP]);
        let mut signals = signals.map_err(|error| format!("cannot wait for signals: {error}"))?;
        self.is_over.store(true, Relaxed);
        exit::say("Ctrl-C ends the viewer");
        signals.forever().next();
        Ok(())
    }
}

/// Whether this machine has a screen that a user sees.
fn has_screen() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

fn open(url: &str) {
    let started =
        Command::new("xdg-open").arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        // It ends by itself; memtoll does not wait for it.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => exit::say(format!("cannot start xdg-open: {error}; open the link yourself")),
    }
}
