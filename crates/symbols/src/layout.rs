//! How a type's members lie in memory, from the debug information, and whether another order would take less.

mod find;
mod order;
mod read;

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::debug_files::{DebugFile, DebugFolders};
use crate::dwarf::DebugSections;
use crate::elf::{self, MappedFiles};

pub use order::Better;

/// Bytes of a cache line on the processors that memtoll knows.
pub const CACHE_LINE: u64 = 64;

/// Why there is no layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The file cannot be read.
    #[error("cannot read {}: {why}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing says how types lie in memory.
    #[error(
        "{} has no debug information, and neither has a file beside it or in {}: compile with -g (Rust: debug = true \
         under [profile.release]), or name the folder of its debug file with --debug-dir",
        path.display(), folders.join(", ")
    )]
    NoDebugInfo {
        /// Of which file.
        path: PathBuf,
        /// Where debug files were looked for.
        folders: Vec<String>,
    },
    /// There is no such type.
    #[error("no type is called \"{name}\"{}", near(there_are))]
    NoType {
        /// What was asked for.
        name: String,
        /// Names that are similar.
        there_are: Vec<String>,
    },
    /// Several types end in this name.
    #[error("several types are called \"{name}\": expected one of {}", there_are.join(", "))]
    Several {
        /// What was asked for.
        name: String,
        /// Which ones there are.
        there_are: Vec<String>,
    },
}

impl LayoutError {
    /// Names of types that may be meant.
    pub fn names(&self) -> &[String] {
        match self {
            LayoutError::NoType { there_are, .. } | LayoutError::Several { there_are, .. } => there_are,
            LayoutError::File { .. } | LayoutError::NoDebugInfo { .. } => &[],
        }
    }
}

fn near(names: &[String]) -> String {
    match names {
        [] => ": only types that the program uses are in the debug information".to_owned(),
        names => format!("; similar ones are {}", names.join(", ")),
    }
}

/// What kind of type it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Struct,
    Class,
    /// `union`: all members lie in one place.
    Union,
    /// Rust's `enum` with data.
    Enum,
}

/// What a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Field,
    /// A field of some bits.
    BitField,
    /// A base class.
    Base,
    /// A base class that the most derived class places: only that one knows where.
    VirtualBase,
    /// The pointer to the table of virtual functions.
    VirtualTable,
    /// What one variant of an enum holds: it shares its place with the others.
    Variant,
}

/// A member of a type.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Member {
    /// Its name; `None`: it has none.
    pub name: Option<String>,
    #[serde(rename = "type")]
    pub type_name: String,
    /// What it is.
    pub role: Role,
    /// Where it begins, bits from the begin of the type.
    pub bit_offset: u64,
    /// What it takes, bits; `None`: the debug information does not tell.
    pub bit_size: Option<u64>,
    /// What its offset is a multiple of, bytes.
    pub alignment: u64,
}

impl Member {
    /// Where it begins, bytes.
    pub fn offset(&self) -> u64 {
        self.bit_offset / 8
    }

    /// The first bit after it.
    pub fn bit_end(&self) -> u64 {
        self.bit_offset.saturating_add(self.bit_size.unwrap_or(0))
    }
}

/// How a type lies in memory.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Layout {
    /// Its name with its scopes.
    pub name: String,
    /// What kind of type it is.
    pub kind: Kind,
    /// Bytes.
    pub size: u64,
    /// What addresses of it are multiples of, bytes.
    pub alignment: u64,
    /// Whether members lie closer than their alignments allow: it was declared as packed.
    pub is_packed: bool,
    /// The source file.
    pub file: Option<String>,
    pub line: Option<u64>,
    /// Its members, by offset.
    pub members: Vec<Member>,
}

/// Bits of a type that no member takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Hole {
    /// Where it begins, bits from the begin of the type.
    pub bit_offset: u64,
    pub bits: u64,
}

impl Layout {
    /// What no member takes. `None` where the size of a member is not known.
    pub fn holes(&self) -> Option<Vec<Hole>> {
        let mut holes = Vec::new();
        let mut end = 0;
        for member in &self.members {
            // Where a virtual base lies, only the most derived class knows.
            if member.role == Role::VirtualBase {
                return None;
            }
            member.bit_size?;
            if member.bit_offset > end {
                holes.push(Hole { bit_offset: end, bits: member.bit_offset - end });
            }
            end = end.max(member.bit_end());
        }
        let whole = self.size.saturating_mul(8);
        if whole > end && !self.members.is_empty() {
            holes.push(Hole { bit_offset: end, bits: whole - end });
        }
        Some(holes)
    }

    /// Bytes of padding, with those that only some bits of are used counted by their bits.
    pub fn padding_bits(&self) -> Option<u64> {
        Some(self.holes()?.iter().map(|hole| hole.bits).sum())
    }

    /// Cache lines that it touches at least, where it begins with one.
    pub fn cache_lines(&self) -> u64 {
        self.size.div_ceil(CACHE_LINE)
    }

    /// An order of members that takes less, if there is one.
    pub fn better(&self) -> Option<Better> {
        order::better(self)
    }
}

/// How a type lies in memory, from the debug information of a program or library, or of its debug file in `folders`.
pub fn layout(path: &Path, type_name: &str, folders: &DebugFolders) -> Result<Layout, LayoutError> {
    let files = MappedFiles::default();
    let failed = |why: String| LayoutError::File { path: path.to_owned(), why };
    let file = files.open(path).map_err(|error| failed(error.to_string()))?;
    let own = DebugFile { file, path: path.to_owned() };
    let holder = match elf::has_debug_info(&own.file) {
        true => Some(own),
        false => folders
            .by_build_id(&files, path, elf::build_id(&own.file))
            .or_else(|| folders.by_debug_link(&files, path, &own.file))
            .filter(|found| elf::has_debug_info(&found.file)),
    };
    let holder = holder.ok_or_else(|| LayoutError::NoDebugInfo { path: path.to_owned(), folders: folders.names() })?;
    let supplementary = folders.supplementary(&files, &holder).and_then(Result::ok);
    let sections = DebugSections::load(&files, path, &holder, supplementary.as_ref())
        .map_err(|error| failed(error.to_string()))?;
    find::find(&sections, type_name)
}
