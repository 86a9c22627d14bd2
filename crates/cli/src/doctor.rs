//! `memtoll doctor`: what memtoll can do on this machine and with a program, and the one command that would help.
//!
//! * `machine`: what the kernel, the limits and the system allow
//! * `program`: how a program was built, read by `binary` from its file

mod binary;
mod checks;
mod machine;
mod program;
#[cfg(test)]
mod tests;

use crate::exit::{self, Code};
use crate::output::{Printing, TextOrJson};
use anstyle::{AnsiColor, Style};
use checks::{Finding, Status};
use clap::ValueHint;
use memtoll_text::format::wrapped;
use program::Examined;
use serde::Serialize;
use std::path::PathBuf;

/// Check what memtoll can do here, and what would help
///
/// Checks this machine and, if given, how a program was built. For everything that is missing, one command or flag says
/// what helps. Nothing is changed.
#[derive(clap::Args)]
pub struct Arguments {
    /// A program to check, as you would start it
    #[arg(value_name = "PROGRAM", value_hint = ValueHint::CommandName)]
    program: Option<PathBuf>,

    #[command(flatten)]
    printing: Printing<TextOrJson>,
}

/// All that was found. `docs/json.md` describes it.
#[derive(Serialize)]
struct Findings {
    schema_version: u32,
    machine: Vec<Finding>,
    program: Option<Examined>,
}

impl Findings {
    fn all(&self) -> impl Iterator<Item = &Finding> {
        self.machine.iter().chain(self.program.iter().flat_map(|program| &program.checks))
    }

    fn text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if let Some(Examined { path, script, checks, .. }) = &self.program {
            let title = match script {
                Some(script) => format!("{}, which runs {}", path.display(), script.display()),
                None => path.display().to_string(),
            };
            text += &format!("{}\n", section(&title, checks, width));
        }
        text + &section("This machine", &self.machine, width)
    }
}

fn section(title: &str, findings: &[Finding], width: Option<usize>) -> String {
    let bold = Style::new().bold();
    let widest = findings.iter().map(|finding| finding.check.len()).max().unwrap_or(0);
    let mut text = format!("{bold}{title}{bold:#}\n");
    for Finding { check, status, found, remedy } in findings {
        let (word, color) = match status {
            Status::Ok => ("ok", AnsiColor::Green),
            Status::Note => ("note", AnsiColor::Yellow),
            Status::Missing => ("missing", AnsiColor::Red),
        };
        let style = color.on_default();
        let head = format!("  {word:7}  {check:widest$}  ");
        let line = wrapped(&head, found, width);
        text += &line.replacen(word, &format!("{style}{word}{style:#}"), 1);
        if let Some(remedy) = remedy {
            text += &wrapped(&format!("  {:7}  {:widest$}  → ", "", ""), remedy, width);
        }
    }
    text
}

pub fn run(arguments: &Arguments) -> Code {
    let program = match arguments.program.as_deref().map(program::program).transpose() {
        Ok(program) => program,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    let findings = Findings { schema_version: memtoll_query::SCHEMA_VERSION, machine: machine::machine(), program };
    let screen = arguments.printing.screen();
    let text = match arguments.printing.format {
        TextOrJson::Text => findings.text(screen.width),
        TextOrJson::Json => match serde_json::to_string_pretty(&findings) {
            Ok(text) => text + "\n",
            Err(error) => return exit::fail(error, Code::Failed),
        },
    };
    let printed = screen.print(&text);
    let is_missing = findings.all().any(|finding| finding.status == Status::Missing);
    printed.or(if is_missing { Code::Missing } else { Code::Done })
}
