//! Who holds the resident set of a process: the balance of its pages, who pins, and a map of them.

use crate::frame_table::FrameTable;
use crate::no_answer::NoAnswer;
use crate::pack::Pack;
use crate::packs::{
    GlobalOfResident, HeldBelowOfResident, LookOfResident, PageAreaColumns, PageCellColumns, PageOwnerColumns,
    PartOfResident, PinOfResident, ResidentPack, ResidentSet, WasteOfResident,
};
use crate::recordings::Recordings;
use memtoll_analysis::page_balance::Part;
use memtoll_analysis::page_balance::page_map::{Area, Cell, PageMap};
use memtoll_query::choices::Items;
use memtoll_query::looks::Look;
use memtoll_query::query::List;
use memtoll_query::resident::{GlobalRow, Resident};
use memtoll_query::resident_map::MapOwners;
use memtoll_query::{Query, Shown, View, resident_words};
use std::cmp::Reverse;

/// Areas of a map, those with most bytes in memory: browsers draw nothing on a canvas of more than 32,767 pixels.
const MOST_AREAS: usize = 300;

/// Lines that pin.
const MOST_PINS: usize = 200;

const MOST_GLOBALS: usize = 200;

impl Recordings<'_> {
    /// What a query for the resident set says.
    pub(crate) fn resident_set(&self, query: &Query) -> Result<Pack, NoAnswer> {
        let answer = match self.session().ask(query) {
            Ok(answer) => answer,
            Err(why) if !why.is_wrong() => return Ok(self.no_resident_set(NoAnswer::from(why).to_string())),
            Err(why) => return Err(why.into()),
        };
        let Shown::Resident { resident } = answer.shown else { return Err(NoAnswer::Lacks("resident")) };
        let mut frames = FrameTable::default();
        let set = self.set(&resident, &mut frames);
        let none = MapOwners { all: Vec::new(), of_cells: Vec::new() };
        let owners = resident.owners.as_ref().unwrap_or(&none);
        let mut files = Vec::new();
        let mut of_owners = PageOwnerColumns::default();
        for owner in &owners.all {
            of_owners.frame.push(owner.frame.map_or(0.0, |frame| f64::from(frames.number(frame)) + 1.0));
            of_owners.file.push(if owner.file.is_some() { files.len() as f64 + 1.0 } else { 0.0 });
            files.extend(owner.file.clone());
        }
        let (of_frames, texts) = frames.columns(self.recording());
        let (areas, cells, left_out) = match &resident.found.map {
            Some(map) => columns(map, owners),
            None => Default::default(),
        };
        let mut pack = Pack::new(&ResidentPack {
            resident: Some(set),
            why: String::new(),
            cell: resident.found.map.as_ref().map_or(0, |map| map.cell),
            areas_left_out: left_out,
            files,
            texts,
        });
        pack.columns("areas", &areas);
        pack.columns("cells", &cells);
        pack.columns("owners", &of_owners);
        pack.columns("frames", &of_frames);
        Ok(pack)
    }

    fn no_resident_set(&self, why: String) -> Pack {
        let (frames, texts) = FrameTable::default().columns(self.recording());
        let none = ResidentPack { resident: None, why, cell: 0, areas_left_out: 0, files: Vec::new(), texts };
        let mut pack = Pack::new(&none);
        pack.columns("areas", &PageAreaColumns::default());
        pack.columns("cells", &PageCellColumns::default());
        pack.columns("owners", &PageOwnerColumns::default());
        pack.columns("frames", &frames);
        pack
    }

    /// All looks at a process's pages, by time.
    fn looks_of(&self, process_id: &str) -> Vec<LookOfResident> {
        let Ok(answer) = self.session().ask(&Query::of(View::List { of: List::Looks })) else { return Vec::new() };
        let Shown::List(Items::Looks { looks }) = answer.shown else { return Vec::new() };
        let of_process = looks.into_iter().filter(|look| look.process_id == process_id);
        let look = |look: Look| LookOfResident { at_ns: look.at_ns, name: look.name(), rss: look.rss };
        of_process.map(look).collect()
    }

    fn set(&self, of: &Resident, frames: &mut FrameTable) -> ResidentSet {
        let part = |part: Part| PartOfResident {
            name: resident_words::name(part).to_owned(),
            title: resident_words::is_held_by(&of.found, part),
            bytes: of.bytes_of(part),
        };
        let pins = of.found.pins.iter().zip(&of.pins).take(MOST_PINS).map(|(found, pin)| PinOfResident {
            frame: found.frame.map_or(0, |frame| frames.number(frame) + 1),
            share: pin.share,
            alone: pin.alone,
            blocks: pin.blocks,
            bytes: pin.bytes,
            median_age_ns: pin.median_age_ns,
        });
        let globals = of.large_globals();
        let global = |row: &GlobalRow| GlobalOfResident {
            symbol: row.symbol.clone(),
            module: row.module_name.clone(),
            place: row.place().unwrap_or_default(),
            bytes: row.bytes,
            size: row.size,
        };
        let pins = pins.collect();
        let wastes = of.found.wastes.iter().zip(&of.wastes).map(|(found, waste)| WasteOfResident {
            frame: found.frame.map_or(0, |frame| frames.number(frame) + 1),
            saves: waste.saves(),
            remedy: waste.remedy.clone(),
        });
        let wastes = wastes.collect();
        ResidentSet {
            pid: of.pid,
            id: of.process_id.clone(),
            program: of.program.to_owned(),
            allocator: of.allocator.clone(),
            at_ns: of.at_ns,
            looks: self.looks_of(&of.process_id),
            rss: of.rss,
            kernel: of.kernel[1],
            swapped: of.swapped,
            never_touched: of.never_touched,
            live_blocks: of.found.live_blocks,
            parts: Part::ALL.into_iter().map(part).collect(),
            pins,
            globals: globals.iter().take(MOST_GLOBALS).map(global).collect(),
            globals_left_out: globals.len().saturating_sub(MOST_GLOBALS),
            held_below: (of.held_below.as_ref())
                .map(|held| HeldBelowOfResident { function: held.place.function.to_owned(), alone: held.alone }),
            wastes,
            on_wastes: of.on_what_helps().into_iter().map(str::to_owned).collect(),
            huge_pages: of.huge_pages_half_used().unwrap_or_default(),
            missed_peak: of.missed_peak_in_words().unwrap_or_default(),
            others: of.others,
        }
    }
}

/// The columns of a map, and how many of its areas are left out.
fn columns(map: &PageMap, owners: &MapOwners) -> (PageAreaColumns, PageCellColumns, usize) {
    let resident = |area: &Area| map.cells_of(area).iter().map(Cell::resident).sum::<u64>();
    let mut order: Vec<(u64, usize)> =
        map.areas.iter().enumerate().map(|(number, area)| (resident(area), number)).collect();
    order.sort_by_key(|(bytes, number)| (Reverse(*bytes), *number));
    order.truncate(MOST_AREAS);
    order.sort_by_key(|(_, number)| *number);
    let (mut areas, mut cells) = (PageAreaColumns::default(), PageCellColumns::default());
    // Cells are numbered anew, without those of areas that are left out.
    let mut before = 0;
    for (bytes, number) in &order {
        let area = &map.areas[*number];
        let own = map.cells_of(area);
        areas.from.push(area.addresses.start as f64);
        areas.cells.push(own.len() as f64);
        areas.resident.push(*bytes as f64);
        for (inside, cell) in own.iter().enumerate().filter(|(_, cell)| cell.resident() > 0) {
            cells.number.push((before + inside) as f64);
            for part in Part::ALL {
                column(&mut cells, part).push(cell.parts[part as usize] as f64);
            }
            cells.owner.push(owners.of_cells[area.first + inside].map_or(0.0, |owner| owner as f64 + 1.0));
        }
        before += own.len();
    }
    (areas, cells, map.areas.len() - order.len())
}

fn column(cells: &mut PageCellColumns, part: Part) -> &mut Vec<f64> {
    match part {
        Part::Live => &mut cells.live,
        Part::Slack => &mut cells.slack,
        Part::Pinned => &mut cells.pinned,
        Part::FreePages => &mut cells.free_pages,
        Part::Mappings => &mut cells.mappings,
        Part::Stacks => &mut cells.stacks,
        Part::Globals => &mut cells.globals,
        Part::Files => &mut cells.files,
        Part::Recorder => &mut cells.recorder,
        Part::Other => &mut cells.other,
    }
}
