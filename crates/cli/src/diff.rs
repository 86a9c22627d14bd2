//! `memtoll diff`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code};
use crate::named_values::group_parser;
use crate::output::{Printing, TextJsonOrMarkdown};
use crate::stack_options::StackArguments;
use clap::ValueHint;
use memtoll_analysis::sites::GroupBy;
use memtoll_model::Recording;
use memtoll_query::comparison::{Answers, Comparison, Side};
use memtoll_query::{Answer, Query, Session};
use memtoll_report::diff;
use std::path::PathBuf;

/// Compare recordings
///
/// Shows totals side by side, then the call sites that changed, named as in the report. Their differences, with a line
/// for what is left, add up to the difference of the totals. Give several recordings a side to tell changes from noise:
/// figures are then means with 95 % intervals.
#[derive(clap::Args)]
#[command(override_usage = "memtoll diff [OPTIONS] BEFORE AFTER\n       \
                            memtoll diff [OPTIONS] --before FILE... --after FILE...")]
pub struct Arguments {
    /// The recording before the change, and the one after it
    #[arg(
        value_names = ["BEFORE", "AFTER"],
        num_args = 2,
        required_unless_present = "before",
        conflicts_with_all = ["before", "after"],
        value_hint = ValueHint::FilePath
    )]
    pair: Vec<PathBuf>,

    /// Recordings before the change
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after", value_hint = ValueHint::FilePath)]
    before: Vec<PathBuf>,

    /// Recordings after it
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before", value_hint = ValueHint::FilePath)]
    after: Vec<PathBuf>,

    /// Group the compared rows by this
    #[arg(long, default_value = "site", value_name = "WHAT", value_parser = group_parser(
        &[GroupBy::Site, GroupBy::Function, GroupBy::Path],
        &[
            (GroupBy::Site, "Lines with their types, as the report shows them"),
            (GroupBy::Path, "Call paths, from the allocation outwards"),
        ],
    ))]
    group: GroupBy,

    /// Compare what lies in memory when processes end, too: resident and pinned bytes (reads all events)
    #[arg(long)]
    resident: bool,

    #[command(flatten)]
    stacks: StackArguments,

    /// Show this many rows
    #[arg(short = 'n', long, value_name = "N", default_value_t = 15)]
    limit: usize,

    #[command(flatten)]
    names: NameArguments,

    #[command(flatten)]
    printing: Printing<TextJsonOrMarkdown>,
}

impl Arguments {
    /// The files before and after.
    fn files(&self) -> [&[PathBuf]; 2] {
        match &self.pair[..] {
            [before, after] => [std::slice::from_ref(before), std::slice::from_ref(after)],
            _ => [&self.before, &self.after],
        }
    }

    /// Opens the recordings of one side.
    fn open(&self, files: &[PathBuf]) -> Result<Vec<Recording>, memtoll_trace::reader::Error> {
        files.iter().map(|path| self.names.open(path)).collect()
    }
}

pub fn run(arguments: &Arguments) -> Code {
    let [before, after] = arguments.files().map(|files| arguments.open(files));
    let sides = match (before, after) {
        (Ok(before), Ok(after)) => [before, after],
        (Err(error), _) | (_, Err(error)) => return exit::fail(error, Code::Usage),
    };
    let query = Query { pages: arguments.resident, ..arguments.stacks.query() };
    let sessions = Session::of_all(sides.iter().flatten());
    let (before, after) = sessions.split_at(sides[0].len());
    let answers = match Answers::ask([before, after].map(|sessions| Side { sessions, query: query.clone() })) {
        Ok(answers) => answers,
        Err(why) => return exit::fail(&why, Code::of(&why)),
    };
    for answer in answers.sides().iter().flatten() {
        let path = answer.basis.recording.path().display();
        answer.missing.iter().for_each(|statement| exit::say(format!("{path}: {statement}")));
    }
    let comparison = Comparison::new(&answers, arguments.group);
    let screen = arguments.printing.screen();
    let text = match arguments.printing.format {
        TextJsonOrMarkdown::Text => diff::text(&comparison, arguments.limit, screen.width),
        TextJsonOrMarkdown::Markdown => diff::markdown(&comparison, arguments.limit),
        TextJsonOrMarkdown::Json => match comparison.json() {
            Ok(text) => text,
            Err(error) => return exit::fail(error, Code::Failed),
        },
    };
    let printed = screen.print(&text);
    let is_damaged = answers.sides().iter().flatten().any(Answer::is_damaged);
    printed.or(Code::damaged(is_damaged))
}
