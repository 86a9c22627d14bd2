//! `memtoll layout`

mod text;

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use crate::output::{Printing, TextOrJson};
use clap::ValueHint;
use memtoll_analysis::sites::GroupBy;
use memtoll_model::Recording;
use memtoll_model::layout::{LayoutError, layout};
use memtoll_query::layout::{TypeLayout, find, is_newer};
use memtoll_query::{Query, Shown, View, ask};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Show how the members of a type lie in memory
///
/// Shows members with their offsets and sizes, padding, and cache lines, from the debug information of a program or library,
/// and an order of members that takes less, if there is one. For a recording, also shows how many instances were live at its
/// peak, where the types of its blocks are known.
#[derive(clap::Args)]
pub struct Arguments {
    /// A program, a library, or a recording
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The type, such as app::Row or 'Table<int>'; namespaces may be left out where the rest is unique
    #[arg(value_name = "TYPE")]
    name: String,

    #[command(flatten)]
    printing: Printing<TextOrJson>,

    #[command(flatten)]
    names: NameArguments,
}

pub fn run(arguments: &Arguments) -> Code {
    let found = match is_program(&arguments.file) {
        Ok(true) => layout(&arguments.file, &arguments.name, &arguments.names.folders())
            .map(|found| (TypeLayout::new(found), false))
            .map_err(|error| code(&error).because(error)),
        Ok(false) => arguments.of_recording(),
        Err(error) => Err(Code::Usage.because(format!("cannot read {}: {error}", arguments.file.display()))),
    };
    let (shown, is_damaged) = match found {
        Ok(found) => found,
        Err(failure) => return failure.say(),
    };
    let screen = arguments.printing.screen();
    let printed = match arguments.printing.format {
        TextOrJson::Text => screen.print(&text::text(&shown)),
        TextOrJson::Json => match serde_json::to_string_pretty(&shown) {
            Ok(json) => screen.print(&(json + "\n")),
            Err(error) => exit::fail(error, Code::Failed),
        },
    };
    Code::damaged(is_damaged).or(printed)
}

fn code(error: &LayoutError) -> Code {
    match error {
        LayoutError::NoType { .. } | LayoutError::Several { .. } => Code::NotFound,
        LayoutError::File { .. } | LayoutError::NoDebugInfo { .. } => Code::Usage,
    }
}

/// Whether a file is an ELF file; else it should be a recording.
fn is_program(path: &Path) -> std::io::Result<bool> {
    let mut magic = [0; 4];
    let read = File::open(path)?.take(4).read(&mut magic)?;
    Ok(read == 4 && magic == *b"\x7fELF")
}

impl Arguments {
    /// The type in the first of the recorded files that has it, as these files are now, with its instances; and whether the
    /// recording is damaged.
    fn of_recording(&self) -> Result<(TypeLayout, bool), Failure> {
        let recording = Recording::open(&self.file).map_err(|error| Code::Usage.because(error))?;
        let (found, path) = find(&recording, &self.name, &self.names.folders()).map_err(|why| match why {
            Some(error) => code(&error).because(error),
            None => Code::NotFound.because("the files of the recorded program are not on this machine"),
        })?;
        if is_newer(&path, &recording) {
            exit::say(format!(
                "{} is newer than the recording: how many instances there were is of an older {}",
                path.display(),
                found.name
            ));
        }
        let view = View::Table { group: GroupBy::Site, limit: None };
        let answer = ask(&recording, &Query::of(view)).map_err(|why| Code::of(&why).because(why))?;
        let mut shown = TypeLayout::new(found);
        if let Shown::Table(table) = &answer.shown
            && recording.sees_frees()
        {
            shown.count(table.sites.iter().map(|site| &site.row));
        }
        Ok((shown, answer.is_damaged()))
    }
}
