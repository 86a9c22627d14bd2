//! How recordings are opened: where names of functions are looked for when a recording lacks them, and what shall not be told of it.

use crate::exit;
use clap::ValueHint;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use memtoll_debuginfod::{Client, Progress, Settings};
use memtoll_model::{Asked, DebugFolders, Error, Recording, Search, Servers, Suppressions, Wish, is_debug_file};
use memtoll_text::{format, shell};
use std::path::{Path, PathBuf};

/// Options of all commands that show names.
#[derive(clap::Args)]
pub struct NameArguments {
    /// Look for debug files and unstripped programs in this folder, too, and below it. Repeat it for more folders
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    debug_dir: Vec<PathBuf>,

    /// Do not fetch debug files from the servers in DEBUGINFOD_URLS
    #[arg(long)]
    no_debuginfod: bool,

    /// Do not tell lost blocks that this file suppresses, in LeakSanitizer's format: a line leak:PATTERN for each
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, value_parser = suppressions)]
    suppressions: Option<Suppressions>,
}

/// Reads a file of suppressions.
fn suppressions(file: &str) -> Result<Suppressions, String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    Suppressions::parse(&text).map_err(|wrong| wrong.to_string())
}

impl NameArguments {
    /// Opens a recording and looks for names that it lacks. Prints in one line what was found.
    pub fn open(&self, path: &Path) -> Result<Recording, Error> {
        let mut recording = self.with_search(path, Wish::Names, |search| Recording::open_and_search(path, search))?;
        if let Some(suppressions) = &self.suppressions {
            recording.suppress(suppressions);
        }
        let found = &recording.findings.found;
        if !found.is_empty() {
            exit::say(format!(
                "found names for {}; to keep them in the recording: memtoll symbolize {}",
                listed(found),
                shell::file(path)
            ));
        }
        Ok(recording)
    }

    /// Where debug files of programs may lie.
    pub fn folders(&self) -> DebugFolders {
        let mut folders = usual_folders();
        for folder in &self.debug_dir {
            add_folder(&mut folders, folder);
        }
        folders
    }

    /// Does something with a search for the names of the recording at `path`.
    pub fn with_search<T>(&self, path: &Path, wish: Wish, act: impl FnOnce(&mut Search) -> T) -> T {
        let settings = Settings::from_environment();
        let mut folders = DebugFolders::of_system();
        for folder in &self.debug_dir {
            add_folder(&mut folders, folder);
        }
        if let Some(folder) = path.parent() {
            folders.set_recording(folder.to_owned());
        }
        if self.no_debuginfod {
            return act(&mut Search::new(folders));
        }
        if let Some(cache) = &settings.cache {
            folders.set_cache(cache.clone());
        }
        let search = Search::new(folders);
        if settings.servers.is_empty() {
            return act(&mut { search });
        }
        let mut line = DownloadLine::default();
        let mut servers = Debuginfod(Client::new(settings, &is_debug_file, &mut line));
        act(&mut search.with_servers(&mut servers, wish))
    }
}

/// Where debug files lie without any option: where distributions install them, and in the cache of debuginfod's clients.
pub fn usual_folders() -> DebugFolders {
    let mut folders = DebugFolders::of_system();
    if let Some(cache) = Settings::from_environment().cache {
        folders.set_cache(cache);
    }
    folders
}

/// Whether there are servers that could be asked for names.
pub fn servers_to_ask() -> Asked {
    if Settings::from_environment().servers.is_empty() { Asked::NoServer } else { Asked::NotYet }
}

/// `git, libz.so.1 and 3 more files`.
pub fn listed(names: &[String]) -> String {
    const SHOWN: usize = 4;
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {}", names[..SHOWN].join(", "), format::counted(more as u64, "more file")),
    }
}

/// The servers of debuginfod, as a search asks them.
struct Debuginfod<'a>(Client<'a>);

impl Servers for Debuginfod<'_> {
    fn fetch(&mut self, build_id: &str, name: &str) -> bool {
        self.0.fetch(build_id, name)
    }

    fn answers(&self) -> Vec<String> {
        self.0.statements()
    }
}

/// Shows on stderr, where that is a terminal, how a download goes on; prints what came in any case.
#[derive(Default)]
struct DownloadLine {
    bar: Option<ProgressBar>,
}

impl Progress for DownloadLine {
    fn part(&mut self, name: &str, bytes: u64, all: Option<u64>) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(all, ProgressDrawTarget::stderr());
            let template = match all {
                Some(_) => "memtoll: fetching the debug file of {msg}: {binary_bytes} of {binary_total_bytes}",
                None => "memtoll: fetching the debug file of {msg}: {binary_bytes}",
            };
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(name.to_owned());
            bar
        });
        bar.set_position(bytes);
    }

    fn done(&mut self, name: &str, server: &str, bytes: Option<u64>) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if let Some(bytes) = bytes {
            let size = memtoll_text::format::bytes(bytes);
            exit::say(format!("fetched the debug file of {name} ({size}) from {server}"));
        }
    }
}

/// Adds a folder of `--debug-dir`, or says that it is none.
fn add_folder(folders: &mut DebugFolders, folder: &Path) {
    if folder.is_dir() {
        folders.add(folder.to_owned());
    } else {
        exit::say(format!("cannot search {}: not a folder", folder.display()));
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn long_lists_are_cut() {
        let names = |count: usize| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!(listed(&names(2)), "1, 2");
        assert_eq!(listed(&names(4)), "1, 2, 3, 4");
        assert_eq!(listed(&names(5)), "1, 2, 3, 4 and 1 more file");
        assert_eq!(listed(&names(9)), "1, 2, 3, 4 and 5 more files");
    }
}
