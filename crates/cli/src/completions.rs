//! `memtoll completions`

use crate::Cli;
use crate::output::{ColorChoice, Screen};
use clap::CommandFactory;
use clap_complete::Shell;
use std::process::ExitCode;

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

pub fn run(arguments: &Arguments) -> ExitCode {
    let shell = match arguments.shell {
        Known::Bash => Shell::Bash,
        Known::Zsh => Shell::Zsh,
        Known::Fish => Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "memtoll", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if let Known::Bash = arguments.shell {
        leave_out_hidden(&mut script, &Cli::command());
    }
    Screen::stdout(ColorChoice::Never).print(&script)
}

/// Options that help does not show, which clap's completions for bash offer all the same: in a line `opts="…"` for each
/// command.
fn leave_out_hidden(script: &mut String, command: &clap::Command) {
    for command in command.get_subcommands() {
        let head = format!("memtoll__subcmd__{})", command.get_name());
        let hidden = command.get_arguments().filter(|argument| argument.is_hide_set()).filter_map(|one| one.get_long());
        for option in hidden.map(|long| format!("--{long} ")) {
            let line = script.find(&head).and_then(|at| Some(at + script[at..].find("opts=\"")?));
            let end = line.and_then(|at| Some(at + script[at..].find('\n')?));
            if let Some((line, end)) = line.zip(end)
                && let Some(at) = script[line..end].find(&option)
            {
                script.replace_range(line + at..line + at + option.len(), "");
            }
        }
    }
}
