//! `memtoll advise`

mod place;

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use crate::output::Printing;
use clap::ValueHint;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use memtoll_advise::{Advice, Finding, RULES, Root, RuleId, Wish, json, markdown, patch, read_sources, sarif, text};
use memtoll_analysis::stacks::Names;
use memtoll_analysis::sums::Sums;
use memtoll_query::{Query, Session};
use memtoll_text::shell;
use place::{Chosen, Place};
use std::path::PathBuf;

/// Suggest what to change, on which line, and predict the saving
///
/// Looks for patterns that have a remedy, such as vectors that grow, strings that die together, or buffers that fault each
/// time. Each finding names the line, shows its evidence and a snippet, and predicts the saving as a range. memtoll verify
/// checks the prediction without the recorder. docs/advice.md describes the rules.
#[derive(clap::Args)]
pub struct Arguments {
    /// The recording
    #[arg(required_unless_present = "explain", value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,

    /// Look only for this (repeatable)
    #[arg(long, value_name = "RULE", value_parser = rules())]
    rule: Vec<RuleId>,

    /// Hide findings that save less than this percentage of CPU time (or, for memory, ten times this percentage of the peak)
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    threshold: f64,

    /// Show only what is found here: the id of a finding, a line (main.rs:22), a file or a function. If there is nothing, show what
    /// is found in the functions that it calls
    #[arg(value_name = "PLACE")]
    place: Option<String>,

    /// Print the change of the finding with this id as a patch for git apply, where the change is mechanical
    #[arg(long, value_name = "ID", conflicts_with_all = ["place", "format"])]
    patch: Option<String>,

    /// Explain a rule: what it looks for, what helps, when it is wrong
    #[arg(long, value_name = "RULE", value_parser = rules(), exclusive = true)]
    explain: Option<RuleId>,

    /// Fold matching functions away like library frames, such as the program's own wrappers of malloc [default: those that
    /// memtoll finds]
    #[arg(long, value_name = "REGEX")]
    fold: Option<Names>,

    /// Name files relative to this folder [default: the sources' repository, or where the program ran]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    root: Option<PathBuf>,

    #[command(flatten)]
    names: NameArguments,

    #[command(flatten)]
    printing: Printing<Format>,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    Text,
    Json,
    Markdown,
    /// For code scanning
    Sarif,
}

fn rules() -> impl TypedValueParser<Value = RuleId> {
    let names = PossibleValuesParser::new(RULES.iter().map(|rule| rule.id.name()));
    names.try_map(|name| RuleId::named(&name).ok_or("no rule"))
}

pub fn run(arguments: &Arguments) -> Code {
    let screen = arguments.printing.screen();
    if let Some(rule) = arguments.explain {
        return screen.print(rule.about().page);
    }
    let Some(file) = &arguments.file else { return Code::Usage };
    let recording = match arguments.names.open(file) {
        Ok(recording) => recording,
        Err(error) => return exit::fail(error, Code::Usage),
    };
    // Who asks for one place wants to see it, however little it is.
    let minor = arguments.place.is_some();
    let wish = Wish { rules: &arguments.rule, threshold: arguments.threshold / 100.0, minor };
    let (mut advice, sums) = match advise(&Session::new(&recording), arguments.fold.as_ref(), &wish) {
        Ok(found) => found,
        Err(failure) => return failure.say(),
    };
    for statement in memtoll_report::caveats::statements(&recording, &sums) {
        exit::say(statement);
    }
    advice.notes.iter().for_each(exit::say);
    let root = arguments.root.as_ref().map_or_else(|| Root::of(&recording, &advice.findings), |root| Root::at(root));
    read_sources(&recording, &mut advice, &root, |_| true);
    if let Some(id) = &arguments.patch {
        let made = finding(&advice, id).and_then(|finding| {
            patch(&recording, finding, &root).map_err(|why| format!("there is no patch for {id}: {why}"))
        });
        return match made {
            Ok(patch) => screen.print_exactly(&patch.diff()),
            Err(why) => exit::fail(why, Code::NotFound),
        };
    }
    let found = match &arguments.place {
        Some(asked) => {
            match Place::of(&recording, asked).choose(&sums, &mut advice, &shell::file(file), screen.width) {
                Ok(chosen) => chosen,
                Err(why) => return exit::fail(why, Code::NotFound),
            }
        }
        None => Chosen::default(),
    };
    let shown = match arguments.printing.format {
        Format::Text => {
            let patched = advice.findings.iter().find(|finding| patch(&recording, finding, &root).is_ok());
            let shown = match found.nothing {
                Some(nothing) => nothing,
                None => found.head + &text(&advice, &root, &shell::file(file), screen.width, patched),
            };
            Ok(shown + &found.elsewhere)
        }
        Format::Markdown => Ok(markdown(&advice, &root)),
        Format::Json => json(&advice),
        Format::Sarif => sarif(&advice, &root),
    };
    let printed = match shown {
        Ok(shown) => screen.print(&shown),
        Err(error) => return exit::fail(error, Code::Failed),
    };
    let is_damaged = !recording.damage.is_empty() || !sums.damage.is_empty() || !advice.notes.is_empty();
    printed.or(Code::damaged(is_damaged))
}

/// The advice on a recording. Functions that match `fold` are folded; without it, the program's wrappers of malloc are.
pub fn advise(session: &Session, fold: Option<&Names>, wish: &Wish) -> Result<(Advice, Sums), Failure> {
    let query = Query { fold: fold.map(Names::to_string), wrappers: fold.is_some(), ..Query::default() };
    let (sums, view) = session.sums(&query).map_err(|why| Code::of(&why).because(why))?;
    Ok((memtoll_advise::advise(session.recording(), &sums, &mut session.stacks(&view), wish), sums))
}

/// The finding with an id.
pub fn finding<'a>(advice: &'a Advice, id: &str) -> Result<&'a Finding, String> {
    advice.findings.iter().find(|finding| finding.id == *id).ok_or_else(|| {
        let known: Vec<&str> = advice.findings.iter().map(|finding| finding.id.as_str()).collect();
        let known =
            if known.is_empty() { "it has no findings".to_owned() } else { format!("it has: {}", known.join(", ")) };
        format!("the recording has no finding \"{id}\"; {known}")
    })
}
