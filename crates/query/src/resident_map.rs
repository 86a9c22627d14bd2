//! Whose memory the cells of a map of pages are.

use crate::rows::Place;
use memtoll_analysis::page_balance::page_map::{Owner, PageMap};
use memtoll_analysis::stacks::Stacks;
use memtoll_model::{FrameId, Recording};
use rustc_hash::FxHashMap;

/// A line that has blocks or mappings, or a file.
pub struct MapOwner<'r> {
    /// The line's frame and place; `None`: it is a file, or its stack is not known.
    pub frame: Option<FrameId>,
    pub place: Option<Place<'r>>,
    /// The file; `None`: it is a line.
    pub file: Option<String>,
}

/// The owners of a map's cells.
pub struct MapOwners<'r> {
    /// Each once.
    pub all: Vec<MapOwner<'r>>,
    /// The owner of each cell, an index into `all`; `None`: the cell has no owner.
    pub of_cells: Vec<Option<usize>>,
}

impl<'r> MapOwners<'r> {
    pub(crate) fn new(recording: &'r Recording, stacks: &mut Stacks<'r>, map: &PageMap) -> MapOwners<'r> {
        let mut all: Vec<MapOwner<'r>> = Vec::new();
        let mut known: FxHashMap<(Option<FrameId>, Option<&str>), usize> = FxHashMap::default();
        let mut of_cells = Vec::with_capacity(map.cells.len());
        for owner in map.cells.iter().map(|cell| cell.owner.as_ref()) {
            let (frame, file) = match owner {
                None => {
                    of_cells.push(None);
                    continue;
                }
                Some(Owner::Stack(node)) => {
                    let leading = stacks.leading(*node).leading;
                    (stacks.first(leading), None)
                }
                Some(Owner::File(path)) => (None, Some(path.as_str())),
            };
            let number = *known.entry((frame, file)).or_insert_with(|| {
                let place = frame.map(|frame| Place::of(&recording.frames, frame));
                all.push(MapOwner { frame, place, file: file.map(str::to_owned) });
                all.len() - 1
            });
            of_cells.push(Some(number));
        }
        MapOwners { all, of_cells }
    }
}
