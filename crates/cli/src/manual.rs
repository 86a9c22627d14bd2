//! `memtoll manual`

use crate::{Cli, exit, help};
use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Write the manual pages into a directory
///
/// One page for memtoll and one for each command. `make install` puts them where man looks.
#[derive(clap::Args)]
pub struct Arguments {
    /// An existing directory, such as ~/.local/share/man/man1
    #[arg(value_name = "DIRECTORY", value_hint = clap::ValueHint::DirPath)]
    directory: PathBuf,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    // What stands below the options has sections of its own in a manual page.
    let mut main = Cli::command().disable_help_subcommand(true).after_help("").after_long_help("");
    main.build();
    for page in pages(&main) {
        let name = page.get_display_name().unwrap_or(page.get_name()).to_owned();
        let path = arguments.directory.join(format!("{name}.1"));
        let written = File::create(&path).and_then(|file| write(&name, page, &mut BufWriter::new(file)));
        if let Err(error) = written {
            return exit::fail(format!("cannot write the manual page {}: {error}", path.display()), exit::CANNOT_WRITE);
        }
    }
    ExitCode::SUCCESS
}

/// A command and all below it.
fn pages(command: &clap::Command) -> Vec<clap::Command> {
    command.get_subcommands().flat_map(pages).chain([command.clone()]).collect()
}

fn write(name: &str, command: clap::Command, to: &mut dyn Write) -> io::Result<()> {
    let is_main = name == "memtoll";
    let has_commands = command.has_subcommands();
    let version = env!("CARGO_PKG_VERSION");
    writeln!(to, ".TH {} 1 \"\" \"memtoll {version}\" \"User Commands\"", name.to_uppercase())?;
    let man = Man::new(command);
    man.render_name_section(to)?;
    man.render_synopsis_section(to)?;
    man.render_description_section(to)?;
    if is_main {
        Roff::new().control("PP", []).text([roman(help::NOTES.replace('\n', " "))]).to_writer(to)?;
        man.render_subcommands_section(to)?;
        man.render_options_section(to)?;
        list("EXAMPLES", &help::EXAMPLES).to_writer(to)?;
        list("EXIT STATUS", &exit::CODES).to_writer(to)?;
    } else {
        if has_commands {
            man.render_subcommands_section(to)?;
        }
        man.render_options_section(to)?;
        Roff::new().control("SH", ["SEE ALSO"]).text([bold("memtoll"), roman("(1)")]).to_writer(to)?;
    }
    to.flush()
}

/// A section that is a list of names with what they mean.
fn list(title: &str, entries: &[(&str, &str)]) -> Roff {
    let mut section = Roff::new();
    section.control("SH", [title]);
    for (name, what) in entries {
        section.control("TP", []).text([bold(*name)]).text([roman(*what)]);
    }
    section
}
