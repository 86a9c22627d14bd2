//! How a type lies in memory, what another order of its members saves, and how many objects of it there were: what `memtoll
//! layout` and the viewer show.

use crate::schema_version::SCHEMA_VERSION;
use memtoll_analysis::container_elements::{Element, Layout as Lying};
use memtoll_analysis::sites::Row;
use memtoll_analysis::type_name::{Holds, holds};
use memtoll_model::layout::{Hole, Layout, LayoutError, layout};
use memtoll_model::{DebugFolders, Recording};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

#[derive(Serialize)]
pub struct TypeLayout {
    schema_version: u32,
    /// Its members.
    #[serde(flatten)]
    pub layout: Layout,
    /// What no member takes; `None` where that is not known.
    pub holes: Option<Vec<Hole>>,
    pub padding_bits: Option<u64>,
    /// Cache lines that an object takes at least.
    pub cache_lines: u64,
    /// An order of members that takes less, if there is one.
    pub better: Option<Better>,
    /// Objects of it, where a recording is asked.
    pub instances: Option<Instances>,
}

/// Another order of members.
#[derive(Serialize)]
pub struct Better {
    /// Indices of `members`.
    pub order: Vec<usize>,
    /// The size then, bytes.
    pub size: u64,
    /// What it saves in each object, bytes.
    pub saves: u64,
    /// And in all objects that were live at the peak.
    pub saves_at_peak: Option<u64>,
}

/// Objects of a type in blocks whose type is known: containers are counted as if they were full.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Serialize)]
pub struct Instances {
    /// Live at the peak.
    pub at_peak: u64,
    /// Bytes of these blocks.
    pub bytes_at_peak: u64,
    /// Live at the end.
    pub at_end: u64,
    /// Bytes of these blocks.
    pub bytes_at_end: u64,
    /// Whether there may be more: blocks of containers hold some beside something else, such as those of hash tables.
    pub is_least: bool,
}

impl Instances {
    /// Adds those of a type in the blocks of a call site.
    fn add(&mut self, name: &str, row: &Row) {
        let Some(kind) = row.type_name.as_deref() else { return };
        let holds = holds(kind);
        let held = if holds == Holds::Itself { kind } else { element_of(kind) };
        if !is_same(held, name) {
            return;
        }
        let counts = &row.metrics.counts;
        let (at_peak, at_end) = match (holds, row.element) {
            (Holds::Itself | Holds::One, _) => (counts.peak_blocks, counts.live_blocks),
            (Holds::Several, Some(Element { size: size @ 1.., layout: Lying::Elements })) => {
                (counts.peak_bytes.0 / size, counts.live_bytes.0 / size)
            }
            (Holds::Several, _) => {
                self.is_least |= counts.peak_blocks + counts.live_blocks > 0;
                return;
            }
        };
        self.at_peak = self.at_peak.saturating_add(at_peak);
        self.at_end = self.at_end.saturating_add(at_end);
        self.bytes_at_peak = self.bytes_at_peak.saturating_add(counts.peak_bytes.0);
        self.bytes_at_end = self.bytes_at_end.saturating_add(counts.live_bytes.0);
    }
}

impl TypeLayout {
    /// Of a type, without instances.
    pub fn new(layout: Layout) -> TypeLayout {
        let better = layout.better().map(|better| {
            let saves = layout.size - better.size;
            Better { order: better.order, size: better.size, saves, saves_at_peak: None }
        });
        TypeLayout {
            schema_version: SCHEMA_VERSION,
            holes: layout.holes(),
            padding_bits: layout.padding_bits(),
            cache_lines: layout.cache_lines(),
            better,
            instances: None,
            layout,
        }
    }

    /// Counts its objects in the blocks of these call sites.
    pub fn count<'r>(&mut self, rows: impl IntoIterator<Item = &'r Row>) {
        let mut instances = Instances::default();
        rows.into_iter().for_each(|row| instances.add(&self.layout.name, row));
        self.instances = Some(instances);
        if let Some(better) = &mut self.better {
            better.saves_at_peak = Some(instances.at_peak.saturating_mul(better.saves));
        }
    }
}

/// The type in the first of a recording's files that has it, as these files are now; and that file.
pub fn find(
    recording: &Recording,
    name: &str,
    folders: &DebugFolders,
) -> Result<(Layout, PathBuf), Option<LayoutError>> {
    let mut why: Option<LayoutError> = None;
    for path in modules(recording) {
        match layout(&path, name, folders) {
            Ok(found) => return Ok((found, path)),
            Err(error) if why.as_ref().is_none_or(|why| tells(why) < tells(&error)) => why = Some(error),
            Err(_) => {}
        }
    }
    Err(why)
}

/// How much an error tells. A library without debug information says less than a program that lacks the type, and that says less
/// than one that has similar ones.
fn tells(error: &LayoutError) -> u8 {
    match error {
        LayoutError::File { .. } | LayoutError::NoDebugInfo { .. } => 0,
        LayoutError::NoType { there_are, .. } => 1 + u8::from(!there_are.is_empty()),
        LayoutError::Several { .. } => 3,
    }
}

/// Whether a file was written after the recording began.
pub fn is_newer(path: &Path, recording: &Recording) -> bool {
    let recorded = UNIX_EPOCH + Duration::from_nanos(recording.about.started);
    path.metadata().and_then(|about| about.modified()).is_ok_and(|written| written > recorded)
}

/// The files that a recording names, the program first. Of what is no plain file, nothing is read.
fn modules(recording: &Recording) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for image in &recording.images {
        for (path, _) in image.files() {
            let path = PathBuf::from(recording.frames.text(*path));
            if path.is_absolute() && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths.retain(|path| path.metadata().is_ok_and(|about| about.is_file()));
    paths
}

/// Whether two spellings are one name, whatever blanks they have.
fn is_same(one: &str, other: &str) -> bool {
    let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    letters(one) == letters(other)
}

/// What a container holds, as far as its first argument tells: `app::Row` of `std::vector<app::Row, std::allocator<app::Row>
/// >`. Nothing of other types.
pub fn element_of(kind: &str) -> &str {
    let Some((_, arguments)) = kind.split_once('<') else { return "" };
    let mut depth = 0usize;
    let end = arguments.find(|c| {
        let is_end = depth == 0 && matches!(c, ',' | '>');
        depth = match c {
            '<' | '(' | '[' => depth + 1,
            '>' | ')' | ']' => depth.saturating_sub(1),
            _ => depth,
        };
        is_end
    });
    end.map_or("", |end| &arguments[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::Bytes;

    /// Of blocks that are all live, at the peak and at the end.
    fn instances(name: &str, kind: &str, element: Option<Element>, blocks: u64, bytes: u64) -> Instances {
        let mut row = Row { type_name: Some(kind.to_owned()), element, ..Row::default() };
        let counts = &mut row.metrics.counts;
        (counts.peak_blocks, counts.live_blocks) = (blocks, blocks);
        (counts.peak_bytes, counts.live_bytes) = (Bytes(bytes), Bytes(bytes));
        let mut found = Instances::default();
        found.add(name, &row);
        found
    }

    #[test]
    fn objects_are_counted_as_their_blocks_hold_them() {
        let of = |kind, element: Option<u64>, blocks, bytes| {
            let element = element.map(|size| Element { size, layout: Lying::Elements });
            let found = instances("app::Row", kind, element, blocks, bytes);
            (found.at_peak, found.at_end, found.is_least)
        };
        assert_eq!(of("std::vector<app::Row>", Some(40), 2, 400), (10, 10, false));
        // `make_shared` and nodes have pointers or counters beside the object.
        assert_eq!(of("app::Row", None, 10, 10 * (40 + 16)), (10, 10, false));
        assert_eq!(of("std::set<app::Row>", None, 10, 10 * (40 + 32)), (10, 10, false));
        assert_eq!(of("std::unordered_set<app::Row>", None, 11, 10 * 56 + 104), (0, 0, true));
        assert_eq!(of("std::unordered_set<app::Row>", None, 0, 0), (0, 0, false));
        assert_eq!(of("app::Other", None, 10, 400), (0, 0, false));
        // The characters of strings are none.
        assert_eq!(instances("std::string", "std::string", None, 20_000, 728_890), Instances::default());
    }

    #[test]
    fn the_type_of_elements() {
        assert_eq!(element_of("std::vector<app::Row, std::allocator<app::Row> >"), "app::Row");
        assert_eq!(element_of("Vec<app::Pair<u8, u8>>"), "app::Pair<u8, u8>");
        assert_eq!(element_of("app::Row"), "");
        assert!(is_same("A<B<C> >", "A<B<C>>"));
    }
}
