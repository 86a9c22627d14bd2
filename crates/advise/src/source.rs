//! Where frames are in the source, and how files are called from a project's folder.

use crate::finding::Place;
use memtoll_analysis::library::Owner;
use memtoll_analysis::names;
use memtoll_analysis::packages::Packages;
use memtoll_analysis::stacks::Texts;
use memtoll_model::{FrameId, Recording, StackId};
use std::path::{Component, Path, PathBuf};

/// Frames as places.
pub(crate) struct Places<'a> {
    recording: &'a Recording,
}

impl<'a> Places<'a> {
    pub(crate) fn new(recording: &'a Recording) -> Places<'a> {
        Places { recording }
    }

    pub(crate) fn of(&self, frame: FrameId) -> Place {
        let texts = Texts::of(&self.recording.frames, frame);
        Place {
            function: names::function(&self.recording.frames, frame),
            file: texts.file.map(str::to_owned),
            line: texts.line,
        }
    }

    /// The program's own frames of a stack, from `line` outwards.
    pub(crate) fn stack(&self, packages: &Packages, node: StackId, line: Option<FrameId>) -> Vec<Place> {
        let frames = &self.recording.frames;
        let is_own = |frame: &FrameId| {
            let texts = Texts::of(frames, *frame);
            packages.owner(&texts) == Owner::Program && !frames.frame(*frame).is_implicit
        };
        let all = self.recording.frames_of(node);
        all.skip_while(|frame| Some(*frame) != line)
            .filter(|frame| Some(*frame) == line || is_own(frame))
            .map(|frame| self.of(frame))
            .collect()
    }
}

/// The folder from which files are named, such as the root of a repository.
#[derive(Clone, Debug)]
pub struct Root {
    folder: PathBuf,
}

impl Root {
    pub fn at(folder: &Path) -> Root {
        Root { folder: folder.canonicalize().unwrap_or_else(|_| folder.to_owned()) }
    }

    /// The innermost folder with `.git` around the program's own sources or around where it ran; else where it ran.
    pub fn of(recording: &Recording, findings: &[crate::Finding]) -> Root {
        let ran = PathBuf::from(&recording.about.directory);
        let files = findings.iter().filter_map(|finding| finding.file.as_deref().map(|file| ran.join(file)));
        let found = files
            .chain([ran.clone()])
            .find_map(|path| path.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_owned));
        Root { folder: found.unwrap_or(ran) }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A file's name from here, with slashes; nothing if it is not below.
    pub fn relative(&self, file: &str) -> Option<String> {
        let path = Path::new(file);
        let below = match path.is_absolute() {
            true => path.strip_prefix(&self.folder).ok()?,
            false => path,
        };
        let names = below.components().map(|component| match component {
            Component::Normal(name) => name.to_str(),
            _ => None,
        });
        names.collect::<Option<Vec<&str>>>().map(|names| names.join("/"))
    }

    /// The text of a line, if the file is at hand.
    pub fn line(&self, file: &str, line: u32) -> Option<String> {
        let path = match Path::new(file).is_absolute() {
            true => PathBuf::from(file),
            false => self.folder.join(file),
        };
        let text = std::fs::read_to_string(path).ok()?;
        let text = text.lines().nth(line.checked_sub(1)? as usize)?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_the_root_are_relative() {
        let root = Root { folder: PathBuf::from("/home/me/app") };
        assert_eq!(root.relative("/home/me/app/src/a b.cpp").as_deref(), Some("src/a b.cpp"));
        assert_eq!(root.relative("src/a.cpp").as_deref(), Some("src/a.cpp"));
        assert_eq!(root.relative("/usr/include/c++/12/vector"), None);
        assert_eq!(root.relative("../a.cpp"), None);
    }
}
