//! `memtoll manual`

use crate::exit::{self, Code};
use crate::help;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

/// Write the manual pages into a directory
///
/// One page for memtoll and one for each command. `make install` puts them where man looks.
#[derive(clap::Args)]
pub struct Arguments {
    /// An existing directory, such as ~/.local/share/man/man1
    #[arg(value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
}

pub fn run(arguments: &Arguments) -> Code {
    // What stands below the options has sections of its own in a manual page.
    let mut main = help::command().disable_help_subcommand(true).after_help("").after_long_help("");
    main.build();
    for page in pages(&main, "") {
        let path = arguments.directory.join(format!("{}.1", page.name()));
        let written = File::create(&path).and_then(|file| page.write(&mut BufWriter::new(file)));
        if let Err(error) = written {
            return exit::fail(format!("cannot write the manual page {}: {error}", path.display()), Code::Failed);
        }
    }
    Code::Done
}

/// A command, and the words after `memtoll` that lead to it.
struct Page {
    path: String,
    command: clap::Command,
}

/// A command and all below it.
fn pages(command: &clap::Command, path: &str) -> Vec<Page> {
    let below = command.get_subcommands().flat_map(|below| {
        let path = format!("{path} {}", below.get_name());
        pages(below, path.trim_start())
    });
    below.chain([Page { path: path.to_owned(), command: command.clone() }]).collect()
}

impl Page {
    fn name(&self) -> &str {
        self.command.get_display_name().unwrap_or(self.command.get_name())
    }

    fn write(self, to: &mut dyn Write) -> io::Result<()> {
        let has_commands = self.command.has_subcommands();
        let version = env!("CARGO_PKG_VERSION");
        writeln!(to, ".TH {} 1 \"\" \"memtoll {version}\" \"User Commands\"", self.name().to_uppercase())?;
        let man = Man::new(self.command);
        man.render_name_section(to)?;
        man.render_synopsis_section(to)?;
        man.render_description_section(to)?;
        if self.path.is_empty() {
            Roff::new().control("PP", []).text([roman(help::NOTES.replace('\n', " "))]).to_writer(to)?;
        }
        if has_commands {
            man.render_subcommands_section(to)?;
        }
        man.render_options_section(to)?;
        if self.path.is_empty() {
            list("EXAMPLES", help::EXAMPLES).to_writer(to)?;
            list("EXIT STATUS", exit::rows().into_iter().map(|(code, meaning, _)| (code, meaning))).to_writer(to)?;
        } else {
            if !has_commands {
                list("EXIT STATUS", exit::rows_of(&self.path)).to_writer(to)?;
            }
            Roff::new().control("SH", ["SEE ALSO"]).text([bold("memtoll"), roman("(1)")]).to_writer(to)?;
        }
        to.flush()
    }
}

/// A section that is a list of names with what they mean.
fn list(title: &str, entries: impl IntoIterator<Item = (impl Into<String>, &'static str)>) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (name, what) in entries {
        section.control("TP", []).text([bold(name)]).text([roman(what)]);
    }
    section
}
