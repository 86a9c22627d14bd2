//! A map of the pages in memory: areas of addresses, cut into cells of equal size, and of each cell what holds how much of it.

use super::Part;
use memtoll_model::StackId;
use memtoll_trace::snapshot::Snapshot;
use std::ops::Range;

/// Pages that lie no farther apart than this are in one area, bytes.
const GAP: u64 = 1 << 20;

/// Who has memory.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Owner {
    /// A block or a mapping: the node that made it.
    Stack(StackId),
    File(String),
}

/// A part of an area.
#[derive(Clone, Default, Debug)]
pub struct Cell {
    /// Bytes in memory by [`Part`].
    pub parts: [u64; Part::ALL.len()],
    /// Who has most of a page or a range in it.
    pub owner: Option<Owner>,
    /// How much that is.
    most: u64,
}

impl Cell {
    /// Bytes in memory.
    pub fn resident(&self) -> u64 {
        self.parts.iter().sum()
    }

    /// What holds most of it; `None`: nothing of it is in memory.
    pub fn largest(&self) -> Option<Part> {
        let parts = Part::ALL.into_iter().filter(|part| self.parts[*part as usize] > 0);
        parts.rev().max_by_key(|part| self.parts[*part as usize])
    }
}

/// Addresses without a large gap between pages in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Area {
    pub addresses: Range<u64>,
    /// Its first cell's number.
    pub first: usize,
}

/// The map.
#[derive(Debug)]
pub struct PageMap {
    /// Bytes of a cell.
    pub cell: u64,
    /// By address.
    pub areas: Vec<Area>,
    /// Those of all areas.
    pub cells: Vec<Cell>,
    /// The area of what was painted last: it comes by address.
    at: usize,
}

impl PageMap {
    /// An empty one, with the smallest cells of which at most `most` show all pages.
    pub fn new(snapshot: &Snapshot, most: usize) -> PageMap {
        let runs: Vec<Range<u64>> = (snapshot.runs.iter().filter(|run| !run.is_swapped))
            .map(|run| run.start..run.start.saturating_add(run.pages.saturating_mul(snapshot.page)))
            .collect();
        let mut cell = snapshot.page.max(1).next_power_of_two();
        loop {
            let areas = areas(&runs, cell);
            let count: u64 = areas.iter().map(|area| (area.addresses.end - area.addresses.start) / cell).sum();
            if count <= most.max(1) as u64 || cell > 1 << 40 {
                return PageMap { cell, areas, cells: vec![Cell::default(); count as usize], at: 0 };
            }
            cell *= 2;
        }
    }

    /// The cells of an area.
    pub fn cells_of(&self, area: &Area) -> &[Cell] {
        let count = ((area.addresses.end - area.addresses.start) / self.cell) as usize;
        &self.cells[area.first..area.first + count]
    }

    /// A range in memory is one part as a whole. Ranges come by address.
    pub fn paint(&mut self, range: Range<u64>, part: Part, owner: Option<&Owner>) {
        let mut start = range.start;
        while start < range.end {
            let Some(number) = self.number(start) else { return };
            let end = range.end.min((start / self.cell + 1) * self.cell);
            let cell = &mut self.cells[number];
            cell.parts[part as usize] += end - start;
            cell.owned(owner, end - start);
            start = end;
        }
    }

    /// A page, by what is on it.
    pub fn page(&mut self, start: u64, parts: &[(Part, u64)], owner: Option<&Owner>, owned: u64) {
        let Some(number) = self.number(start) else { return };
        let cell = &mut self.cells[number];
        parts.iter().for_each(|(part, bytes)| cell.parts[*part as usize] += bytes);
        cell.owned(owner, owned);
    }

    fn number(&mut self, address: u64) -> Option<usize> {
        while self.areas.get(self.at).is_some_and(|area| area.addresses.end <= address) {
            self.at += 1;
        }
        let area = self.areas.get(self.at).filter(|area| area.addresses.contains(&address))?;
        Some(area.first + ((address - area.addresses.start) / self.cell) as usize)
    }
}

impl Cell {
    fn owned(&mut self, owner: Option<&Owner>, bytes: u64) {
        if owner.is_some() && bytes > self.most {
            self.owner = owner.cloned();
            self.most = bytes;
        }
    }
}

/// Runs by address, those of an area together. Areas begin and end with a cell.
fn areas(runs: &[Range<u64>], cell: u64) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for run in runs {
        let (start, end) = (run.start / cell * cell, run.end.next_multiple_of(cell));
        match areas.last_mut() {
            Some(last) if start.saturating_sub(last.addresses.end) <= GAP => {
                last.addresses.end = last.addresses.end.max(end);
            }
            _ => areas.push(Area { addresses: start..end, first: 0 }),
        }
    }
    let mut first = 0;
    for area in &mut areas {
        area.first = first;
        first += ((area.addresses.end - area.addresses.start) / cell) as usize;
    }
    areas
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::ids::Units;
    use memtoll_trace::snapshot::{Cause, Run};

    fn snapshot(runs: &[(u64, u64)]) -> Snapshot {
        let runs = runs.iter().map(|(start, pages)| Run { start: *start, pages: *pages, ..Run::default() }).collect();
        let (mappings, recorder, threads) = Default::default();
        Snapshot {
            time: Units::ZERO,
            cause: Cause::End,
            page: 4096,
            resident: (0, 0),
            mappings,
            runs,
            recorder,
            threads,
        }
    }

    #[test]
    fn pages_far_apart_are_in_areas_of_their_own() {
        let of = snapshot(&[(0x10_0000, 4), (0x11_0000, 1), (0x80_0000, 2)]);
        let map = PageMap::new(&of, 1_000);
        let areas: Vec<_> = map.areas.iter().map(|area| (area.addresses.clone(), area.first)).collect();
        assert_eq!((map.cell, areas), (4096, vec![(0x10_0000..0x11_1000, 0), (0x80_0000..0x80_2000, 17)]));
        assert_eq!(map.cells.len(), 19);
        let map = PageMap::new(&of, 10);
        assert_eq!((map.cell, map.cells.len()), (8192, 10));
    }

    #[test]
    fn what_is_painted_is_in_its_cells() {
        let mut map = PageMap::new(&snapshot(&[(0x10_0000, 8), (0x80_0000, 2)]), 5);
        assert_eq!(map.cell, 8192);
        let file = Owner::File("a".to_owned());
        map.paint(0x10_1000..0x10_3000, Part::Files, Some(&file));
        map.page(0x10_3000, &[(Part::Live, 100), (Part::Pinned, 3996)], Some(&Owner::Stack(StackId::NONE)), 5_000);
        map.paint(0x80_0000..0x80_2000, Part::Recorder, None);
        let resident: Vec<u64> = map.cells.iter().map(Cell::resident).collect();
        assert_eq!(resident, [4096, 8192, 0, 0, 8192]);
        assert_eq!(map.cells[0].owner, Some(file));
        assert_eq!(map.cells[1].largest(), Some(Part::Files));
        assert_eq!(map.cells[1].owner, Some(Owner::Stack(StackId::NONE)));
        assert_eq!((map.cells[2].largest(), map.cells[4].largest()), (None, Some(Part::Recorder)));
        assert_eq!(map.cells_of(&map.areas[1]).len(), 1);
    }
}
