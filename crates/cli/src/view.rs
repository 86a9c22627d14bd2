//! `memtoll view`

use crate::exit;
use crate::names::NameArguments;
use memtoll_view::serve::Listening;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// Look at a recording in a browser
///
/// Starts a server on this machine that only this machine reaches, prints its link, and opens the link in a browser where
/// there is a screen. The link works once. Ctrl-C ends the server.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    file: PathBuf,

    /// Open the link in a browser, even if memtoll finds no screen
    #[arg(long, conflicts_with = "no_open")]
    open: bool,

    /// Only print the link
    #[arg(long)]
    no_open: bool,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let recording = match arguments.names.open(&arguments.file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    recording.damage.iter().chain(&recording.missing).for_each(exit::say);
    let listening = match Listening::new() {
        Ok(listening) => listening,
        Err(error) => return exit::fail(error, exit::BAD_INPUT),
    };
    let url = listening.url();
    let mut out = std::io::stdout();
    if writeln!(out, "{url}").and_then(|()| out.flush()).is_err() {
        return ExitCode::from(exit::CANNOT_WRITE);
    }
    if arguments.open || !arguments.no_open && has_screen() {
        open(&url);
    }
    exit::say("Ctrl-C ends the viewer");
    listening.serve(&recording);
    ExitCode::SUCCESS
}

/// Whether somebody sits before a screen of this machine.
fn has_screen() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

fn open(url: &str) {
    let started =
        Command::new("xdg-open").arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    match started {
        // It ends by itself; nobody waits for it.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(error) => exit::say(format!("cannot start xdg-open: {error}; open the link yourself")),
    }
}
