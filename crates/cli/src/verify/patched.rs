//! `memtoll verify --patch`: both sides from copies of the sources, one of them with the change.

use super::{Arguments, failed};
use crate::advise::{advise, finding};
use crate::exit::{self, Code, Failure};
use memtoll_advise::{Advice, Root, Wish, json, patch};
use memtoll_model::Recording;
use memtoll_query::Session;
use memtoll_verify::command::CommandLine;
use memtoll_verify::prediction::{self, Prediction};
use memtoll_verify::source_copy::Copied;
use std::ffi::OsString;
use std::path::Path;

/// A recording and all its findings, those with small savings included: the user asks for one of them by its id.
pub fn advice(arguments: &Arguments, file: &Path) -> Result<(Recording, Advice), Failure> {
    let recording = arguments.names.open(file).map_err(|error| Code::Usage.because(error))?;
    let (advice, _) = advise(&Session::new(&recording), None, &Wish { threshold: 0.0, ..Wish::default() })?;
    Ok((recording, advice))
}

/// What a finding promises.
pub fn predictions(advice: &Advice, id: &str) -> Result<Vec<Prediction>, Failure> {
    finding(advice, id).map_err(|why| Code::NotFound.because(why))?;
    prediction::in_text(&json(advice).unwrap_or_default(), "memtoll advise", id).map_err(failed)
}

/// Both sides, built.
pub struct Patched {
    /// What is measured: before the change, after it.
    pub commands: [CommandLine; 2],
    /// What the finding promises.
    pub predictions: Vec<Prediction>,
    /// The copies, for as long as the programs run.
    _copies: [Copied; 2],
}

impl Patched {
    /// Copies the sources twice, changes one copy, and builds both with the same command.
    pub fn new(arguments: &Arguments, id: &str, file: &Path, build: &str) -> Result<Patched, Failure> {
        let (recording, advice) = advice(arguments, file)?;
        let found = finding(&advice, id).map_err(|why| Code::NotFound.because(why))?;
        let root = match &arguments.root {
            Some(root) => Root::at(root),
            None => Root::of(&recording, std::slice::from_ref(found)),
        };
        let patch = patch(&recording, found, &root)
            .map_err(|why| Code::NotFound.because(format!("there is no patch for {id}: {why}")))?;
        let predictions = predictions(&advice, id)?;
        // The recorded command is one of where it was recorded.
        let here = match arguments.command.is_empty() {
            true => recording.about.directory.clone().into(),
            false => std::env::current_dir().map_err(failed)?,
        };
        let [before, after] = [(); 2].map(|()| Copied::of(root.folder(), &here).map_err(failed));
        let copies = [before?, after?];
        copies[1].write(&patch.file, &patch.after).map_err(failed)?;
        let recorded: Vec<OsString> = recording.about.command.iter().map(OsString::from).collect();
        let words = if arguments.command.is_empty() { &recorded } else { &arguments.command };
        let mut commands = Vec::new();
        for (copy, side) in copies.iter().zip(["before", "after"]) {
            exit::say(format!("building {side} the change"));
            copy.build(side, build).map_err(failed)?;
            commands.push(copy.command(words).map_err(|why| Code::Failed.because(why))?);
        }
        if !copies[1].differs(&copies[0], &patch.file).map_err(failed)? {
            let what =
                format!("the build makes the same program with the patch as without: does it compile {}?", patch.name);
            return Err(Code::Failed.because(what));
        }
        let commands = commands.try_into().map_err(|_| Code::Failed.because("a side is missing"))?;
        Ok(Patched { commands, predictions, _copies: copies })
    }
}
