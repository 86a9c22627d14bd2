//! `memtoll replay` and `memtoll compare-allocators`

use crate::debug_file_options::NameArguments;
use crate::exit::{self, Code, Failure};
use crate::output::{Printing, Screen, TextOrJson};
use crate::wait_messages::Waiting;
use clap::ValueHint;
use memtoll_analysis::thread_filter::{ThreadFilter, program};
use memtoll_model::{Image, Recording};
use memtoll_verify::candidates;
use memtoll_verify::replay::contest::{Contestant, play};
use memtoll_verify::replay::fidelity::recorded;
use memtoll_verify::replay::plan::{Change, Plan, Treatment};
use memtoll_verify::replay::player::Player;
use memtoll_verify::replay::prepare::prepare;
use memtoll_verify::replay::text::Replay;
use memtoll_verify::replay::{Error, json};
use memtoll_verify::setting::Setting;
use regex::Regex;
use std::fs::File;
use std::io::BufWriter;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What both commands have in common.
#[derive(clap::Args)]
pub struct Playing {
    /// The recording
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,

    /// Replay this process [default: the one with most calls]
    #[arg(long, value_name = "NAME|PID")]
    process: Option<String>,

    /// Scale the recorded pauses between calls by N [default: no pauses]
    #[arg(long, value_name = "N", value_parser = parse_pace)]
    pace: Option<f64>,

    /// Play N rounds
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    repeat: u16,

    #[command(flatten)]
    names: NameArguments,

    #[command(flatten)]
    printing: Printing<TextOrJson>,
}

/// Replay the calls of a recording and measure their cost
///
/// Plays the recorded calls of one process, without the program: the same sizes, alignments, lifetimes, threads and touched
/// pages. First as they were recorded, against the system's malloc; then with another allocator, with tunables, without some
/// call sites, or with a pool in their place. A SITE is a regular expression for lines such as `parse (parser.cpp:120)`.
#[derive(clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    playing: Playing,

    /// Replay against this allocator: a name such as jemalloc, or the path of its library (repeatable)
    #[arg(long, value_name = "NAME|PATH")]
    allocator: Vec<String>,

    /// Replay with these tunables of glibc, such as glibc.malloc.arena_max=1
    #[arg(long, value_name = "NAME=VALUE:...")]
    tunables: Option<String>,

    /// Leave out the blocks of these lines (repeatable)
    #[arg(long, value_name = "SITE")]
    without: Vec<Regex>,

    /// Serve these lines from an arena, which gives its memory back once all its blocks are freed (repeatable)
    #[arg(long, value_name = "SITE")]
    arena: Vec<Regex>,

    /// Keep freed blocks of these lines for their next allocations (repeatable)
    #[arg(long, value_name = "SITE")]
    reuse: Vec<Regex>,

    /// Write the player and its scripts into this folder instead of playing
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    keep: Option<PathBuf>,
}

/// Replay a recording against all installed allocators
///
/// The same as memtoll replay with --allocator for jemalloc, mimalloc and tcmalloc, as far as they are installed.
#[derive(clap::Args)]
pub struct CompareArguments {
    #[command(flatten)]
    playing: Playing,
}

fn parse_pace(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("expected a factor above 0, such as 1 or 0.1, found \"{text}\""))
}

/// The name that the table gives to what was recorded.
const AS_RECORDED: &str = "as recorded";

pub fn compare(arguments: &CompareArguments) -> Code {
    finish(&arguments.playing, installed)
}

/// All allocators that are installed.
fn installed() -> Result<Asked, Failure> {
    let (all, missing) = candidates::all();
    let libraries: Vec<String> =
        all.into_iter().filter(|one| one.setting.library().is_some()).map(|one| one.name).collect();
    let missing = missing.join(", ");
    if libraries.is_empty() {
        return Err(Code::Failed.because(format!("no other allocator is installed; memtoll looks for {missing}")));
    }
    if !missing.is_empty() {
        exit::say(format!("not installed, so not compared: {missing}"));
    }
    Ok(Asked { allocators: libraries, ..Asked::default() })
}

pub fn run(arguments: &Arguments) -> Code {
    let of = |treatment, sites: &[Regex]| -> Vec<Change> {
        sites.iter().map(|site| Change { treatment, site: site.clone() }).collect()
    };
    let changes = [
        of(Treatment::LeftOut, &arguments.without),
        of(Treatment::Arena, &arguments.arena),
        of(Treatment::Kept, &arguments.reuse),
    ];
    let asked = Asked {
        allocators: arguments.allocator.clone(),
        tunables: arguments.tunables.clone(),
        changes: changes.into_iter().flatten().collect(),
        keep: arguments.keep.clone(),
    };
    finish(&arguments.playing, || Ok(asked))
}

#[derive(Default)]
struct Asked {
    allocators: Vec<String>,
    tunables: Option<String>,
    changes: Vec<Change>,
    keep: Option<PathBuf>,
}

fn finish(playing: &Playing, asked: impl FnOnce() -> Result<Asked, Failure>) -> Code {
    let screen = playing.printing.screen();
    match replay(playing, asked, &screen) {
        Ok((text, is_damaged)) => screen.print(&text).or(Code::damaged(is_damaged)),
        Err(failure) => failure.say(),
    }
}

impl Asked {
    /// Who plays: the recorded calls as they are, then everything that was asked for.
    /// `own`: the allocator that the program has inside itself, where that is a library here, too.
    fn contestants(&self, own: Option<(String, String)>) -> Result<Vec<Contestant>, String> {
        let script = usize::from(!self.changes.is_empty());
        let (name, settings) = match own {
            Some((name, path)) => (format!("{AS_RECORDED}, {name}"), vec![Setting::Library(path)]),
            None => (AS_RECORDED.to_owned(), Vec::new()),
        };
        let mut all = vec![Contestant { name, settings, script: 0 }];
        let tunables = self.tunables.iter().map(|value| Setting::Tunables(value.clone()));
        let changed = || {
            let words = self.changes.iter().map(|change| {
                let what = match change.treatment {
                    Treatment::LeftOut => "without",
                    Treatment::Arena => "arena for",
                    Treatment::Kept => "reuse of",
                };
                format!("{what} {}", change.site)
            });
            words.chain(self.tunables.clone()).collect::<Vec<_>>().join(", ")
        };
        if self.allocators.is_empty() && !changed().is_empty() {
            all.push(Contestant { name: changed(), settings: tunables.clone().collect(), script });
        }
        for asked in &self.allocators {
            let (name, path) = library(asked)?;
            let name = if changed().is_empty() { name } else { format!("{name}, {}", changed()) };
            let preload = Setting::Library(path);
            all.push(Contestant { name, settings: tunables.clone().chain([preload]).collect(), script });
        }
        Ok(all)
    }
}

/// An allocator's short name and path.
fn library(asked: &str) -> Result<(String, String), String> {
    let (all, _) = candidates::all();
    let known: Vec<(&str, &str)> = all.iter().filter_map(|one| Some((&*one.name, one.setting.library()?))).collect();
    if let Some((name, path)) = known.iter().find(|(name, _)| *name == asked) {
        return Ok(((*name).to_owned(), (*path).to_owned()));
    }
    let path = Path::new(asked);
    if asked.contains('/') && path.is_file() {
        let name = path.file_name().map_or(asked.into(), |name| name.to_string_lossy());
        let whole = path.canonicalize().map_err(|error| format!("{asked}: {error}"))?;
        return Ok((name.into_owned(), whole.display().to_string()));
    }
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    Err(format!("--allocator: expected the path of a library, or one of: {}; found \"{asked}\"", names.join(", ")))
}

/// The allocator that answered most calls of an image, where it is one that the program has inside itself: its name, and the
/// library with the same one. Says so if there is none.
fn own_allocator(image: &Image) -> Option<(String, String)> {
    let all = image.own_allocators.allocators.iter();
    let own = all.max_by_key(|own| own.answered.calls)?;
    let events = image.end.as_ref().map_or(0, |end| end.recorder.events);
    if own.answered.calls * 2 < events {
        return None;
    }
    let found = library(&own.name).ok();
    if found.is_none() {
        exit::say(format!(
            "{} has {} inside itself, which is not installed as a library: its calls are replayed with the system's malloc",
            program(image),
            own.name
        ));
    }
    found
}

/// The image to replay: that with most calls of those that are meant.
fn image_of(recording: &Recording, process: Option<&String>) -> Result<usize, String> {
    let names: Vec<String> = process.cloned().into_iter().collect();
    let thread_filter = ThreadFilter::select(recording, &names, &[])
        .map_err(|_| format!("the recording has no process \"{}\"", names.join(" ")))?;
    let events = |index: &usize| recording.images[*index].end.as_ref().map_or(0, |end| end.recorder.events);
    let meant = (0..recording.images.len()).filter(|index| thread_filter.of(*index).is_some());
    meant.max_by_key(events).ok_or_else(|| "the recording has no process".to_owned())
}

/// What came out, and whether the recording is damaged.
fn replay(
    playing: &Playing,
    asked: impl FnOnce() -> Result<Asked, Failure>,
    screen: &Screen,
) -> Result<(String, bool), Failure> {
    let failed = |error: Error| match error {
        Error::NoSite(_) | Error::NoCalls => Code::NotFound.because(error),
        Error::Unreadable(_) => Code::Damaged.because(error),
        _ => Code::Failed.because(error),
    };
    let recording = playing.names.open(&playing.file).map_err(|error| Code::Usage.because(error))?;
    let is_damaged = !recording.damage.is_empty();
    recording.damage.iter().for_each(exit::say);
    let image = image_of(&recording, playing.process.as_ref()).map_err(|why| Code::NotFound.because(why))?;
    let asked = asked()?;
    let contestants =
        asked.contestants(own_allocator(&recording.images[image])).map_err(|why| Code::Usage.because(why))?;
    let plain = Plan { changes: Vec::new(), pace: playing.pace };
    let mut plans = vec![plain];
    if !asked.changes.is_empty() {
        let copy = |change: &Change| Change { treatment: change.treatment, site: change.site.clone() };
        plans.push(Plan { changes: asked.changes.iter().map(copy).collect(), pace: playing.pace });
    }
    let folder = scripts_folder()
        .map_err(|error| Code::Failed.because(format!("no folder for the player's scripts: {error}")))?;
    let place = asked.keep.as_deref().unwrap_or(folder.path());
    let cannot_write =
        |error: std::io::Error| Code::Failed.because(format!("cannot write to {}: {error}", place.display()));
    std::fs::create_dir_all(place).map_err(cannot_write)?;
    let (mut prepared, mut scripts) = (Vec::new(), Vec::new());
    let waiting = Waiting::new("replaying");
    waiting.tell("writing the calls that are made again");
    for (plan, name) in plans.iter().zip(["recorded.script", "changed.script"]) {
        let path = place.join(name);
        let to = BufWriter::new(File::create(&path).map_err(cannot_write)?);
        prepared.push(prepare(&recording, image, plan, to).map_err(failed)?);
        scripts.push(path);
    }
    if asked.keep.is_some() {
        return keep(place, &scripts).map(|text| (text, is_damaged)).map_err(cannot_write);
    }
    let rounds = usize::from(playing.repeat);
    let player = Player::new().map_err(failed)?;
    let paths: Vec<&Path> = scripts.iter().map(PathBuf::as_path).collect();
    let outcomes = play(&player, &paths, contestants, rounds, |round| {
        waiting.tell(format!("round {round} of {}", rounds + 1));
    });
    drop(waiting);
    let outcomes = outcomes.map_err(failed)?;
    let about = &recording.images[image];
    let replay = Replay {
        process: format!("{} ({})", program(about), about.about.pid),
        recorded: recorded(&recording, image),
        prepared: &prepared,
        pace: playing.pace,
        outcomes,
        rounds,
    };
    let text = match playing.printing.format {
        TextOrJson::Text => replay.text(screen.width),
        TextOrJson::Json => json::render(&replay).map_err(|error| Code::Failed.because(error))?,
    };
    Ok((text, is_damaged))
}

/// A folder for scripts, which may be as large as the recording: where TMPDIR says, or else on a disk, which the usual folder
/// for temporary files need not be.
fn scripts_folder() -> std::io::Result<tempfile::TempDir> {
    let on_disk = Path::new("/var/tmp");
    match std::env::var_os("TMPDIR").is_none() && on_disk.is_dir() {
        true => tempfile::tempdir_in(on_disk),
        false => tempfile::tempdir(),
    }
}

/// Leaves the player beside its scripts; says how to start it.
fn keep(folder: &Path, scripts: &[PathBuf]) -> std::io::Result<String> {
    let player = folder.join("player");
    std::fs::write(&player, Player::code())?;
    std::fs::set_permissions(&player, std::fs::Permissions::from_mode(0o755))?;
    let lines = scripts.iter().map(|script| format!("{} {} real\n", player.display(), script.display()));
    Ok(lines.collect())
}
