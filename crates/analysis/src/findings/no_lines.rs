//! Code of the program's own that was built without line numbers.

use super::unnamed_code::{is_good_part, ranked};
use super::{Finding, Share, What, Whole};
use crate::library::{Owner, owner};
use crate::sites::Row;
use crate::stacks::Texts;
use memtoll_model::{Frames, Recording, TextId};
use memtoll_trace::meta::{OwnAllocator, RecordedCalls};
use serde::Serialize;

/// Builds a Rust program with line numbers, whatever its Cargo.toml says.
pub const BUILD_RUST_WITH_LINES: &str = "CARGO_PROFILE_RELEASE_DEBUG=line-tables-only cargo build --release";

/// A good part of the allocations are made in code without line numbers.
#[derive(Clone, Debug, Serialize)]
pub struct NoLines {
    /// The loaded file in which most of them are made.
    pub file: String,
    /// Whether Rust's runtime is in it: then Cargo builds it with lines.
    pub is_rust: bool,
}

impl NoLines {
    /// The command that builds the program with line numbers, if it can be typed as it is.
    pub fn command(&self) -> Option<&'static str> {
        let is_built_here = self.is_rust && self.file.contains("/target/release/");
        is_built_here.then_some(BUILD_RUST_WITH_LINES)
    }
}

/// `sites`: all call sites.
pub(super) fn find(recording: &Recording, sites: &[Row]) -> Option<Finding> {
    let frames = &recording.frames;
    let modules = ranked(sites, |row| {
        let frame = row.frame?;
        let texts = Texts::of(frames, frame);
        let is_own = texts.line.is_none() && frames.frame(frame).address.is_none() && !is_installed(texts.module);
        is_own.then(|| frames.frame(frame).module)
    });
    let (part, whole) = is_good_part(&modules, sites)?;
    let (module, _) = *modules.first()?;
    // Some code of a file that has lines may have none: what another compiler made, or what the compiler wrote. A language's
    // library has lines in any case.
    let has_lines = |id| {
        let (frame, texts) = (frames.frame(id), Texts::of(frames, id));
        frame.module == module
            && frame.line.is_some()
            && owner(texts.function, texts.file, texts.module) == Owner::Program
    };
    if frames.ids().any(has_lines) {
        return None;
    }
    let file = frames.shown(frames.text(module)).to_owned();
    // Where its own calls are not recorded, those that are tell of its start only.
    let hides_calls = |own: &OwnAllocator| own.recorded != RecordedCalls::All && own.file == file;
    if recording.images.iter().flat_map(|image| &image.own_allocators.allocators).any(hides_calls) {
        return None;
    }
    let what = What::NoLines(NoLines { file, is_rust: is_rust(frames, module) });
    Some(Finding::new(what, None, Share::new(part as f64, whole as f64, Whole::Allocations)))
}

/// Whether a file comes from a package of the system: its user did not build it.
fn is_installed(module: &str) -> bool {
    let system = ["/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/nix/store/", "/snap/"];
    let packages = ["/site-packages/", "/dist-packages/", "/node_modules/"];
    !module.starts_with('/')
        || packages.iter().any(|folder| module.contains(folder))
        || system.iter().any(|folder| module.starts_with(folder)) && !module.starts_with("/usr/local/")
}

/// Whether Rust's runtime is in a file.
fn is_rust(frames: &Frames, module: TextId) -> bool {
    let runtime = ["std::rt::lang_start", "core::", "<core::", "alloc::", "<alloc::", "__rust"];
    frames.ids().map(|id| frames.frame(id)).filter(|frame| frame.module == module).any(|frame| {
        let function = frames.text(frame.function);
        runtime.iter().any(|start| function.starts_with(start))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_package_installed_is_not_built_again() {
        for installed in ["/usr/bin/git", "[vdso]", "/opt/venv/lib/site-packages/numpy/core.so", "/snap/x/1/bin/y"] {
            assert!(is_installed(installed), "{installed}");
        }
        assert!(!is_installed("/home/me/target/release/app") && !is_installed("/usr/local/bin/app"));
    }

    #[test]
    fn only_what_cargo_builds_here_is_built_again_by_a_command() {
        let command = |file: &str, is_rust| NoLines { file: file.to_owned(), is_rust }.command();
        assert_eq!(command("/home/me/app/target/release/app", true), Some(BUILD_RUST_WITH_LINES));
        assert_eq!(command("/home/me/.cargo/bin/app", true), None);
        assert_eq!(command("/home/me/target/release/app", false), None);
    }
}
