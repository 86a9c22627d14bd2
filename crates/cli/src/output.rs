//! Where results go, in which format, and whether in color.

use crate::exit::{self, Code};
use anstream::AutoStream;
use clap::ValueEnum;
use std::io::{self, IsTerminal, Write};

/// When to use color.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

impl From<ColorChoice> for anstream::ColorChoice {
    fn from(choice: ColorChoice) -> Self {
        match choice {
            ColorChoice::Auto => anstream::ColorChoice::Auto,
            ColorChoice::Always => anstream::ColorChoice::AlwaysAnsi,
            ColorChoice::Never => anstream::ColorChoice::Never,
        }
    }
}

/// Options of all commands that print results. `F` are the formats that a command knows.
#[derive(clap::Args)]
pub struct Printing<F: ValueEnum + Clone + Send + Sync + 'static> {
    /// Output format
    #[arg(long, value_enum, default_value = "text", value_name = "FORMAT")]
    pub format: F,

    #[command(flatten)]
    color: ColorArgument,
}

/// The option for colored results.
#[derive(clap::Args)]
pub struct ColorArgument {
    /// When to use color; NO_COLOR is respected
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: ColorChoice,
}

impl ColorArgument {
    /// Where results go.
    pub fn screen(&self) -> Screen {
        Screen::stdout(self.color)
    }
}

impl<F: ValueEnum + Clone + Send + Sync + 'static> Printing<F> {
    /// Where results go.
    pub fn screen(&self) -> Screen {
        self.color.screen()
    }
}

/// For readers and for scripts.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum TextOrJson {
    Text,
    Json,
}

/// These and for a page, such as a pull request's.
#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
pub enum TextJsonOrMarkdown {
    Text,
    Json,
    Markdown,
}

/// A stream for results.
pub struct Screen {
    color: ColorChoice,
    /// Width of the terminal; `None` if the stream is none.
    pub width: Option<usize>,
}

fn terminal_width(is_terminal: bool) -> Option<usize> {
    let width = terminal_size::terminal_size().map(|(width, _)| width.0 as usize);
    width.filter(|width| is_terminal && *width > 20)
}

impl Screen {
    /// Standard output.
    pub fn stdout(color: ColorChoice) -> Screen {
        Screen { color, width: terminal_width(io::stdout().is_terminal()) }
    }

    /// Prints a page for people to standard output: names in it cannot do harm on a terminal. A reader that has seen enough (a
    /// closed pipe) is no error.
    pub fn print(&self, text: &str) -> Code {
        self.print_exactly(&memtoll_text::harmless(text))
    }

    /// The same for what other programs read, byte for byte.
    pub fn print_exactly(&self, text: &str) -> Code {
        let mut stdout = io::stdout().lock();
        // Looking for colors to leave out takes longer than making a large JSON text, which has none.
        let may_have_color = text.bytes().any(|byte| byte.is_ascii_control() && !byte.is_ascii_whitespace());
        let written = match may_have_color {
            true => AutoStream::new(&mut stdout, self.color.into()).write_all(text.as_bytes()),
            false => stdout.write_all(text.as_bytes()),
        };
        match written.and_then(|()| stdout.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                exit::fail(format!("cannot write the report: {error}"), Code::Failed)
            }
            _ => Code::Done,
        }
    }

    /// Prints to standard error.
    pub fn print_to_stderr(text: &str) {
        let mut stream = AutoStream::auto(io::stderr().lock());
        let _ = stream.write_all(memtoll_text::harmless(text).as_bytes());
    }

    /// Standard error's width.
    pub fn stderr_width() -> Option<usize> {
        terminal_width(io::stderr().is_terminal())
    }
}
