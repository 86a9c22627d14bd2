//! Exit codes, and how errors reach the user. `--help`, the manual pages and `docs/exit-codes.md` come from the table here.

use memtoll_query::Impossible;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

/// How a command of memtoll ends. A code means the same whichever command ends with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    Done = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    Damaged = 4,
    LimitBroken = 5,
    PredictionWrong = 6,
    NotKnown = 7,
    Missing = 8,
    /// As `env` and `timeout` end when they fail themselves: a program's own code is rarely this one.
    CannotRecord = 125,
    /// As shells end when they find no program.
    CannotStart = 127,
}

/// The commands that end with a code.
enum Ends {
    All,
    AllBut(&'static [&'static str]),
    Only(&'static [&'static str]),
}

/// A row of the table.
pub struct About {
    pub code: Code,
    pub meaning: &'static str,
    ends: Ends,
}

/// Exit codes and what they mean.
pub const TABLE: [About; 11] = [
    About {
        code: Code::Done,
        meaning: "Done; limits are kept, predictions came true, nothing is missing",
        ends: Ends::All,
    },
    About {
        code: Code::Failed,
        meaning: "Failed: output cannot be written, a command or a store fails, something needed is not there",
        ends: Ends::AllBut(&["record", "attach"]),
    },
    About { code: Code::Usage, meaning: "Wrong usage, or a file that cannot be read", ends: Ends::All },
    About {
        code: Code::NotFound,
        meaning: "The recording has nothing that matches the question",
        ends: Ends::Only(&[
            "report", "diff", "advise", "layout", "export", "verify", "replay", "compare-allocators", "fleet top",
            "fleet trend", "fleet compare", "fleet runs",
        ]),
    },
    About {
        code: Code::Damaged,
        meaning: "A recording is damaged or was cut off: budget refuses it, other commands use what can be read",
        ends: Ends::Only(&[
            "report", "html", "tui", "diff", "advise", "layout", "export", "budget", "replay", "compare-allocators",
            "fleet add",
        ]),
    },
    About {
        code: Code::LimitBroken,
        meaning: "A limit of the budget is broken",
        ends: Ends::Only(&["check", "fleet check"]),
    },
    About { code: Code::PredictionWrong, meaning: "A prediction did not come true", ends: Ends::Only(&["verify"]) },
    About {
        code: Code::NotKnown,
        meaning: "It is not known whether limits are kept, or whether a prediction came true",
        ends: Ends::Only(&["verify", "check", "fleet check"]),
    },
    About {
        code: Code::Missing,
        meaning: "The machine or the program lacks something that memtoll needs",
        ends: Ends::Only(&["doctor"]),
    },
    About {
        code: Code::CannotRecord,
        meaning: "memtoll cannot record: the program did not start, is left alone, or its end is not known",
        ends: Ends::Only(&["record", "attach"]),
    },
    About { code: Code::CannotStart, meaning: "The program cannot be started", ends: Ends::Only(&["record"]) },
];

/// What `record` ends with once the program has run: a row for the table that has no code of its own.
pub const OF_PROGRAM: (&str, &str) =
    ("other", "The program's own exit code; if a signal ends it, memtoll ends by that signal");

/// The command that ends as the program does.
const RECORD: &str = "record";

impl About {
    /// Whether a command, such as `fleet add`, can end with this code.
    fn is_of(&self, command: &str) -> bool {
        match self.ends {
            Ends::All => true,
            Ends::AllBut(others) => !others.contains(&command),
            Ends::Only(these) => these.contains(&command),
        }
    }

    /// The commands in words, for the table of all.
    fn commands(&self) -> String {
        match self.ends {
            Ends::All => "all".to_owned(),
            Ends::AllBut(others) => format!("all but {}", others.join(", ")),
            Ends::Only(these) => these.join(", "),
        }
    }
}

/// A row for each code that a command can end with: the code, its meaning.
pub fn rows_of(command: &str) -> Vec<(String, &'static str)> {
    let of = TABLE.iter().filter(|about| about.is_of(command));
    let rows = of.map(|about| ((about.code as u8).to_string(), about.meaning));
    let program = (command == RECORD).then(|| (OF_PROGRAM.0.to_owned(), OF_PROGRAM.1));
    rows.chain(program).collect()
}

/// A row for each code: the code, its meaning, the commands that end with it.
pub fn rows() -> Vec<(String, &'static str, String)> {
    let rows = TABLE.iter().map(|about| ((about.code as u8).to_string(), about.meaning, about.commands()));
    rows.chain([(OF_PROGRAM.0.to_owned(), OF_PROGRAM.1, RECORD.to_owned())]).collect()
}

impl Code {
    /// With the statement that says why.
    pub fn because(self, why: impl Display) -> Failure {
        Failure { code: self, why: why.to_string() }
    }

    /// This one if something went wrong already; else `next`.
    pub fn or(self, next: Code) -> Code {
        if self == Code::Done { next } else { self }
    }

    /// For a question that has no answer.
    pub fn of(why: &Impossible) -> Code {
        if why.is_wrong() { Code::Usage } else { Code::NotFound }
    }

    /// [`Code::Damaged`] if that is so.
    pub fn damaged(is_damaged: bool) -> Code {
        if is_damaged { Code::Damaged } else { Code::Done }
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub struct Failure {
    pub code: Code,
    pub why: String,
}

impl Failure {
    /// Says why.
    pub fn say(self) -> Code {
        fail(self.why, self.code)
    }
}

/// Begins each statement.
pub const WHO: &str = "memtoll: ";

/// A statement for the user, on stderr. Where it cannot be written (a closed pipe, a full disk), that changes nothing else.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{WHO}{text}");
}

/// Says what went wrong; returns `code`.
pub fn fail(error: impl Display, code: Code) -> Code {
    say(error);
    code
}

/// Ends this process by a signal, without a core dump. Returns the code for signals that end nothing.
pub fn by_signal(signal: i32) -> ExitCode {
    let nothing = rustix::process::Rlimit { current: Some(0), maximum: Some(0) };
    let _ = rustix::process::setrlimit(rustix::process::Resource::Core, nothing);
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    ExitCode::from(128 + signal as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `UPDATE_EXIT_CODES=1 cargo test -p memtoll exit` writes the table.
    #[test]
    fn the_page_has_the_table() {
        const BEGIN: &str = "| code | meaning | commands |\n|--:|---|---|\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-codes.md");
        let found = std::fs::read_to_string(path).unwrap();
        let (before, rest) = found.split_once(BEGIN).expect("the table");
        let after = rest.split_once("\n\n").expect("text after the table").1;
        let table: String = rows()
            .into_iter()
            .map(|(code, meaning, commands)| format!("| {code} | {meaning} | {commands} |\n"))
            .collect();
        let text = format!("{before}{BEGIN}{table}\n{after}");
        if std::env::var_os("UPDATE_EXIT_CODES").is_some() {
            std::fs::write(path, &text).unwrap();
            return;
        }
        assert!(found == text, "docs/exit-codes.md: run UPDATE_EXIT_CODES=1 cargo test -p memtoll exit");
    }

    #[test]
    fn each_code_has_one_row_and_each_row_a_command() {
        let codes: BTreeSet<u8> = TABLE.iter().map(|about| about.code as u8).collect();
        assert_eq!(codes.len(), TABLE.len());
        let cli = crate::help::command();
        let names: BTreeSet<String> = cli
            .get_subcommands()
            .flat_map(|command| {
                let name = command.get_name().to_owned();
                let below: Vec<_> =
                    command.get_subcommands().map(|below| format!("{name} {}", below.get_name())).collect();
                if below.is_empty() { vec![name] } else { below }
            })
            .collect();
        for about in &TABLE {
            let (Ends::AllBut(named) | Ends::Only(named)) = about.ends else { continue };
            for name in named {
                assert!(names.contains(*name), "{:?}: there is no command {name}", about.code);
            }
        }
    }
}
