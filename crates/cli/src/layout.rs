//! `memtoll layout`

mod instances;
mod text;

use crate::exit;
use crate::names::NameArguments;
use crate::output::{Printing, TextOrJson};
use clap::ValueHint;
use instances::Instances;
use memtoll_model::Recording;
use memtoll_model::layout::{Layout, LayoutError, layout};
use serde::Serialize;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};

/// Show how the members of a type lie in memory
///
/// Members with their offsets and sizes, padding, and cache lines, from the debug information of a program or library, and
/// an order of members that takes less, if there is one. Of a recording, also how many instances were live at its peak,
/// where it knows the type of its blocks.
#[derive(clap::Args)]
pub struct Arguments {
    /// A program, a library, or a recording
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// The type, such as app::Row or 'Table<int>'; without its namespaces if that is enough to tell it
    #[arg(value_name = "TYPE")]
    name: String,

    #[command(flatten)]
    printing: Printing<TextOrJson>,

    #[command(flatten)]
    names: NameArguments,
}

/// What is shown.
#[derive(Serialize)]
struct Shown {
    schema_version: u32,
    #[serde(flatten)]
    layout: Layout,
    padding_bits: Option<u64>,
    cache_lines: u64,
    better: Option<Better>,
    instances: Option<Instances>,
}

/// Another order of members.
#[derive(Serialize)]
struct Better {
    /// Indices of `members`.
    order: Vec<usize>,
    /// The size then, bytes.
    size: u64,
    /// What it saves in each instance, bytes.
    saves: u64,
    /// And in all instances that were live at the peak.
    saves_at_peak: Option<u64>,
}

pub fn run(arguments: &Arguments) -> ExitCode {
    let found = match is_program(&arguments.file) {
        Ok(true) => layout(&arguments.file, &arguments.name, &arguments.names.folders())
            .map(|layout| (layout, None))
            .map_err(|error| (error.to_string(), code(&error))),
        Ok(false) => arguments.of_recording(),
        Err(error) => Err((format!("cannot read {}: {error}", arguments.file.display()), exit::BAD_INPUT)),
    };
    let (layout, instances) = match found {
        Ok(found) => found,
        Err((why, code)) => return exit::fail(why, code),
    };
    let better = layout.better().map(|better| {
        let saves = layout.size - better.size;
        let saves_at_peak = instances.as_ref().map(|found| found.at_peak.saturating_mul(saves));
        Better { order: better.order, size: better.size, saves, saves_at_peak }
    });
    let (padding_bits, cache_lines) = (layout.padding_bits(), layout.cache_lines());
    let shown =
        Shown { schema_version: memtoll_query::SCHEMA_VERSION, layout, padding_bits, cache_lines, better, instances };
    let screen = arguments.printing.screen();
    match arguments.printing.format {
        TextOrJson::Text => screen.print(&text::text(&shown)),
        TextOrJson::Json => match serde_json::to_string_pretty(&shown) {
            Ok(json) => screen.print(&(json + "\n")),
            Err(error) => exit::fail(error, exit::CANNOT_WRITE),
        },
    }
}

fn code(error: &LayoutError) -> u8 {
    match error {
        LayoutError::NoType { .. } | LayoutError::Several { .. } => exit::NOTHING,
        LayoutError::File { .. } | LayoutError::NoDebugInfo { .. } => exit::BAD_INPUT,
    }
}

/// Whether a file is an ELF file; else it should be a recording.
fn is_program(path: &Path) -> std::io::Result<bool> {
    let mut magic = [0; 4];
    let read = File::open(path)?.take(4).read(&mut magic)?;
    Ok(read == 4 && magic == *b"\x7fELF")
}

/// Whether a file was written after the recording began.
fn is_newer(path: &Path, recording: &Recording) -> bool {
    let recorded = UNIX_EPOCH + Duration::from_nanos(recording.about.started);
    path.metadata().and_then(|about| about.modified()).is_ok_and(|written| written > recorded)
}

impl Arguments {
    /// The type in the first of the recorded files that has it, as these files are now.
    fn of_recording(&self) -> Result<(Layout, Option<Instances>), (String, u8)> {
        let recording = Recording::open(&self.file).map_err(|error| (error.to_string(), exit::BAD_INPUT))?;
        let folders = self.names.folders();
        let mut why: Option<LayoutError> = None;
        for path in instances::modules(&recording) {
            match layout(Path::new(&path), &self.name, &folders) {
                Ok(found) => {
                    if is_newer(Path::new(&path), &recording) {
                        exit::say(format!(
                            "{path} is newer than the recording: how many instances there were is of an older {}",
                            found.name
                        ));
                    }
                    let instances = Instances::of(&recording, &found).map_err(|why| (why, exit::BAD_INPUT))?;
                    return Ok((found, Some(instances)));
                }
                // A library without debug information says less than a program that lacks the type.
                Err(error) if matches!(error, LayoutError::NoType { .. } | LayoutError::Several { .. }) => {
                    let is_first = !matches!(why, Some(LayoutError::NoType { .. } | LayoutError::Several { .. }));
                    why = if is_first { Some(error) } else { why };
                }
                Err(error) => why = why.or(Some(error)),
            }
        }
        Err(match why {
            Some(error) => (error.to_string(), code(&error)),
            None => ("the recording names no program".to_owned(), exit::NOTHING),
        })
    }
}
