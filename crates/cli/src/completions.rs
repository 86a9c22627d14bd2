//! `memtoll completions`

use crate::Cli;
use crate::exit::Code;
use crate::output::{ColorChoice, Screen};
use clap::CommandFactory;
use clap_complete::Shell;

/// Print completions for a shell
///
/// `make install` puts them where the shells look. To try them in the shell that you are in:
///   bash:  source <(memtoll completions bash)
///   zsh:   source <(memtoll completions zsh)
///   fish:  memtoll completions fish | source
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Known,
}

/// The shells whose completions are tested.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Known {
    Bash,
    Zsh,
    Fish,
}

pub fn run(arguments: &Arguments) -> Code {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "memtoll", &mut script);
    Screen::stdout(ColorChoice::Never).print_exactly(&String::from_utf8_lossy(&script))
}
