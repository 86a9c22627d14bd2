//! The map of a process's pages as SVG: the heap as strips, coloured by what holds each cell.

use memtoll_analysis::page_balance::Part;
use memtoll_analysis::page_balance::page_map::{Area, Cell, PageMap};
use memtoll_model::Recording;
use memtoll_query::resident::Resident;
use memtoll_query::resident_map::MapOwners;
use memtoll_query::resident_words::is_held_by;
use memtoll_query::wastes::shown;
use memtoll_text::format;
use memtoll_trace::path::last_part;
use std::fmt::Write;

/// Cells of a chart at the most.
pub const CELLS: usize = 1 << 14;

/// Of a chart, pixels.
const WIDTH: usize = 1_000;
const MARGIN: usize = 16;
/// Room for addresses left of the strips.
const LABEL: usize = 150;
/// Of a strip, and between two areas.
const ROW: usize = 8;
const BETWEEN: usize = 8;
/// An area is as high as its text at the least.
const LEAST: usize = 28;
/// Cells of a row, and pixels of each.
const COLUMNS: usize = 128;
const CELL: usize = 6;
/// Rows and columns of the legend.
const LEGEND_ROW: usize = 18;
const LEGEND_COLUMNS: usize = 2;
/// Areas that are drawn, those with most bytes in memory.
const AREAS: usize = 200;
const CURVE: usize = 90;

/// The colour of a part, told apart by colour-blind people, as in the viewer.
const fn colour(part: Part) -> &'static str {
    match part {
        Part::Live => "#0072b2",
        Part::Slack => "#56b4e9",
        Part::Pinned => "#d55e00",
        Part::FreePages => "#f0e442",
        Part::Mappings => "#009e73",
        Part::Stacks => "#cc79a7",
        Part::Globals => "#8c5a2b",
        Part::Files => "#8b95a0",
        Part::Recorder => "#c9ced4",
        Part::Other => "#4a525b",
    }
}

/// The chart of a balance that has a map; nothing if it has none.
pub fn svg(recording: &Recording, resident: &Resident) -> Option<String> {
    let (map, owners) = (resident.found.map.as_ref()?, resident.owners.as_ref()?);
    let title = format!(
        "{} of {}, {}, in memory after {}",
        format::bytes(resident.rss),
        resident.program,
        resident.allocator,
        format::seconds(resident.at_ns as f64 / 1e9)
    );
    let mut drawing = Drawing { text: String::new(), y: MARGIN };
    drawing.words(MARGIN, 13, "title", &title);
    drawing.y += 28;
    drawing.legend(resident);
    drawing.curve(recording, resident);
    let shown = largest(map);
    for area in map.areas.iter().zip(&shown).filter(|(_, is_shown)| **is_shown).map(|(area, _)| area) {
        drawing.area(map, area, owners);
    }
    let left_out = shown.iter().filter(|is_shown| !**is_shown).count();
    let cell = format!("A cell is {}. Blank: not in memory.", format::bytes(map.cell));
    let left_out = match left_out {
        0 => String::new(),
        _ => format!(" {} with fewer bytes are not drawn.", format::counted(left_out as u64, "area")),
    };
    drawing.words(MARGIN, 12, "soft", &(cell + &left_out));
    let height = drawing.y + 12 + MARGIN;
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\">\n\
         <style>text {{ font: 12px system-ui, sans-serif; fill: #16191d }} .title {{ font-size: 15px; font-weight: 600 }} \
         .soft {{ fill: #59616b }} .address {{ font-family: ui-monospace, monospace; font-size: 11px }}</style>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n{}</svg>\n",
        drawing.text
    ))
}

/// Which areas are drawn.
fn largest(map: &PageMap) -> Vec<bool> {
    let resident: Vec<u64> = map.areas.iter().map(|area| map.cells_of(area).iter().map(Cell::resident).sum()).collect();
    let mut order: Vec<usize> = (0..resident.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(resident[*index]));
    let mut are_shown = vec![false; resident.len()];
    order.into_iter().take(AREAS).for_each(|index| are_shown[index] = true);
    are_shown
}

struct Drawing {
    text: String,
    /// Where the next thing begins.
    y: usize,
}

impl Drawing {
    fn words(&mut self, x: usize, below: usize, class: &str, words: &str) {
        let y = self.y + below;
        let _ = writeln!(self.text, "<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{}</text>", escaped(words));
    }

    fn legend(&mut self, resident: &Resident) {
        let parts = Part::ALL.into_iter().filter(|part| resident.found.part(*part) > 0);
        let parts: Vec<Part> = parts.collect();
        let rows = parts.len().div_ceil(LEGEND_COLUMNS);
        for (number, part) in parts.iter().enumerate() {
            let x = MARGIN + number / rows.max(1) * (WIDTH - 2 * MARGIN) / LEGEND_COLUMNS;
            let y = self.y + number % rows.max(1) * LEGEND_ROW;
            let bytes = resident.found.part(*part);
            let share = format::percent(bytes, resident.rss);
            let words = format!("{}, {share}: {}", format::bytes(bytes), is_held_by(&resident.found, *part));
            let _ = writeln!(
                self.text,
                "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{}</text>",
                colour(*part),
                x + 18,
                y + 10,
                escaped(&words)
            );
        }
        self.y += rows * LEGEND_ROW + BETWEEN;
    }

    /// The resident set over time, and the instant of the map.
    fn curve(&mut self, recording: &Recording, resident: &Resident) {
        let most = resident.curve.iter().map(|point| point.bytes).max().unwrap_or(0);
        let end = resident.curve.last().map_or(0, |point| point.at_ns).max(resident.at_ns);
        if resident.curve.len() < 2 || most == 0 || recording.ended() == 0 {
            return;
        }
        let (left, width) = (MARGIN + LABEL, COLUMNS * CELL);
        let x = |at: u64| left as f64 + at as f64 / end as f64 * width as f64;
        let y = |bytes: u64| self.y as f64 + (1.0 - bytes as f64 / most as f64) * (CURVE as f64 - 4.0) + 2.0;
        let mut path = String::new();
        for (number, point) in resident.curve.iter().enumerate() {
            let (x, y) = (x(point.at_ns), y(point.bytes));
            let _ = if number == 0 { write!(path, "M{x:.1} {y:.1}") } else { write!(path, "H{x:.1}V{y:.1}") };
        }
        let (at, bottom) = (x(resident.at_ns), self.y + CURVE);
        let _ = writeln!(
            self.text,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#7a3e9d\" stroke-width=\"1.5\"/>\n\
             <path d=\"M{left} {bottom}h{width}M{at:.1} {}V{bottom}\" fill=\"none\" stroke=\"#b9c3ce\"/>",
            self.y
        );
        self.words(MARGIN, 12, "", "resident set over time");
        self.words(MARGIN, 28, "soft", &format!("at most {}, without", format::bytes(most)));
        self.words(MARGIN, 44, "soft", "memtoll's recorder");
        self.y += CURVE + 2 * BETWEEN;
    }

    fn area(&mut self, map: &PageMap, area: &Area, owners: &MapOwners) {
        let cells = map.cells_of(area);
        let resident: u64 = cells.iter().map(Cell::resident).sum();
        self.words(MARGIN, 10, "address", &format!("{:#x}", area.addresses.start));
        let size = format::bytes(area.addresses.end - area.addresses.start);
        self.words(MARGIN, 24, "soft", &format!("{} of {size}", format::bytes(resident)));
        for (row, strip) in cells.chunks(COLUMNS).enumerate() {
            let y = self.y + row * ROW;
            let mut start = 0;
            while start < strip.len() {
                let number = |column: usize| area.first + row * COLUMNS + column;
                let kind = |column: usize| (strip[column].largest(), owners.of_cells[number(column)]);
                let same = (start..strip.len()).take_while(|column| kind(*column) == kind(start)).count();
                if let (Some(part), owner) = kind(start) {
                    let said = said(&strip[start..start + same], part, owner.map(|owner| &owners.all[owner]));
                    let _ = writeln!(
                        self.text,
                        "<rect x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{}\" fill=\"{}\"><title>{}</title></rect>",
                        MARGIN + LABEL + start * CELL,
                        same * CELL,
                        ROW - 1,
                        colour(part),
                        escaped(&said)
                    );
                }
                start += same;
            }
        }
        self.y += LEAST.max(cells.len().div_ceil(COLUMNS) * ROW) + BETWEEN;
    }
}

/// What some cells side by side are.
fn said(cells: &[Cell], part: Part, owner: Option<&memtoll_query::resident_map::MapOwner>) -> String {
    let sum = |part: Part| cells.iter().map(|cell| cell.parts[part as usize]).sum::<u64>();
    let parts = Part::ALL.into_iter().filter(|other| sum(*other) > 0);
    let parts: Vec<String> =
        parts.map(|of| format!("{} {}", format::bytes(sum(of)), memtoll_query::resident_words::name(of))).collect();
    let owner = owner.map(|owner| match (&owner.place, &owner.file) {
        (Some(place), _) => shown(place),
        (None, Some(file)) => last_part(file).to_owned(),
        (None, None) => "(no stack)".to_owned(),
    });
    let most = memtoll_query::resident_words::name(part);
    format!("mostly {most}: {}{}", parts.join(", "), owner.map_or(String::new(), |owner| format!("; {owner}")))
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        assert_eq!(escaped("a<b> & \"c\"\n"), "a&lt;b&gt; &amp; &quot;c&quot; ");
    }

    #[test]
    fn each_part_has_a_colour_of_its_own() {
        let colours: std::collections::BTreeSet<&str> = Part::ALL.into_iter().map(colour).collect();
        assert_eq!(colours.len(), Part::ALL.len());
    }
}
