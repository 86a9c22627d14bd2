//! Why functions are shown as addresses, and the one command that names them.

use memtoll_analysis::library::qualified_name;
use memtoll_analysis::names::last_part;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{Asked, FrameId, Frames, LoadedFile, Recording, System, is_of_distribution};
use memtoll_text::shell;

/// That functions have no names, where names were looked for, and what helps. `paths` are the files that lack them.
pub(crate) fn sentence(recording: &Recording, paths: &[String]) -> String {
    let names: Vec<&str> = paths.iter().map(|path| last_part(path)).collect();
    let help = first_loaded(recording, paths).map(|file| help(recording, file).0).unwrap_or_default();
    let looked_in = match &recording.findings.looked_in[..] {
        [] => String::new(),
        places => format!("; looked for names in {}", places.join(", ")),
    };
    format!("Functions shown as addresses are in files without symbols ({}){looked_in}{help}", names.join(", "))
}

/// The command that names the functions of these files, if it can be typed as it is.
pub fn command(recording: &Recording, paths: &[String]) -> Option<String> {
    help(recording, first_loaded(recording, paths)?).1
}

/// The loaded file of a frame that is shown as an address; nothing of one with a name.
pub fn module(frames: &Frames, frame: FrameId) -> Option<&str> {
    frames.frame(frame).address.map(|_| Texts::of(frames, frame).module)
}

/// The command that shows who calls a function: its callers may have names.
pub fn callers(recording: &Recording, frame: FrameId) -> String {
    tree(recording, frame, "--callers --metric cost --filter")
}

/// The command that shows what a function calls.
pub fn callees(recording: &Recording, frame: FrameId) -> String {
    tree(recording, frame, "--tree --metric cost --focus")
}

fn tree(recording: &Recording, frame: FrameId, options: &str) -> String {
    let file = shell::file(recording.path());
    let function = qualified_name(Texts::of(&recording.frames, frame).function);
    format!("memtoll report {file} {options} {}", shell::word(&regex::escape(function)))
}

/// Why there is no advice for a function without a name, and what helps.
pub fn no_advice(recording: &Recording, path: &str) -> String {
    let help = first_loaded(recording, &[path.to_owned()]).map(|file| help(recording, file).0).unwrap_or_default();
    format!("the function has no name, so its source is not known{help}")
}

fn first_loaded<'a>(recording: &'a Recording, paths: &[String]) -> Option<&'a LoadedFile> {
    paths.iter().find_map(|path| recording.modules.iter().find(|module| module.path == *path))
}

/// What gives the functions of a file their names: the end of a sentence, and the command if it needs nothing else.
fn help(recording: &Recording, file: &LoadedFile) -> (String, Option<String>) {
    let name = last_part(&file.path);
    let recording_file = shell::file(recording.path());
    if file.build_id.is_empty() {
        let why = format!(
            "; {name} has no build id, so no other file can stand in for it: build it with debug information, and link it \
             with -Wl,--build-id"
        );
        return (why, None);
    }
    if !is_of_distribution(&file.path) {
        let unstripped = format!(
            "; if you built {name}, name them from the unstripped file: memtoll symbolize {recording_file} --debug-dir \
             FOLDER_OF_THE_BUILD"
        );
        return (unstripped, None);
    }
    let names = &recording.about.machine.system;
    let system = if names.is_empty() { System::here() } else { System { names: names.clone() } };
    let symbolize = format!("memtoll symbolize {recording_file}");
    let command = match recording.findings.asked {
        Asked::NoServer => format!("DEBUGINFOD_URLS={} {symbolize}", system.server()),
        Asked::NotYet => symbolize,
        Asked::Yes => {
            let Some(install) = system.install(&file.path) else { return (String::new(), None) };
            let host = &recording.about.machine.host;
            let is_here = System::host() == *host && System::here() == system;
            let there = if is_here { String::new() } else { format!(" on {host}") };
            return (format!("; install its debug package{there} ({install}), then run{there}: {symbolize}"), None);
        }
    };
    (format!("; name them with: {command}"), Some(command))
}
