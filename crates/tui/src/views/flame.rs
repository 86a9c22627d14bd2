//! The call tree as a picture: what is below a frame is what it calls, and widths are shares of the metric.

use super::Shown;
use super::lines::{share, value};
use super::tree::place;
use crate::colors::{BOLD, CURSOR, FOUND, SOFT};
use crate::draw::{Pane, columns_of};
use crate::fitted_text::{fit, fit_name};
use crate::keys::{Action, Step};
use memtoll_query::Shown as Found;
use memtoll_query::tree::Node;
use memtoll_text::format;
use ratatui::style::{Color, Style};

/// Two shades for neighbors.
const SHADES: [Style; 2] = [
    Style::new().bg(Color::Indexed(24)).fg(Color::Indexed(255)),
    Style::new().bg(Color::Indexed(60)).fg(Color::Indexed(255)),
];

/// A frame as it was last drawn.
struct Cell {
    key: String,
    depth: usize,
    x: usize,
    columns: usize,
    outer: Option<usize>,
}

/// The flame graph.
#[derive(Default)]
pub struct FlameView {
    cells: Vec<Cell>,
    /// The frame that is as wide as the screen.
    zoom: Option<String>,
    /// Where the cursor is.
    at: Option<String>,
    top: usize,
}

impl FlameView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        self.cells.clear();
        let Some((answer, _)) = shown.answer(&shown.state.flame(), &mut pane) else { return };
        let Found::Tree(tree) = &answer.shown else { return };
        let metric = shown.state.metric;
        let zoomed = self.zoom.as_deref().and_then(|key| find(&tree.tree, key));
        if zoomed.is_none() {
            self.zoom = None;
        }
        let root = zoomed.unwrap_or(&tree.tree);
        let height = pane.height().saturating_sub(2);
        let mut drawn: Vec<(&Node, usize)> = Vec::new();
        self.lay_out(root, (0, pane.width()), metric, &mut drawn);
        let at = self.at.as_deref().and_then(|key| self.cells.iter().position(|cell| cell.key == key)).unwrap_or(0);
        let depth = self.cells.get(at).map_or(0, |cell| cell.depth);
        let deepest = self.cells.iter().map(|cell| cell.depth).max().unwrap_or(0);
        self.top = crate::draw::top_of_window(self.top, depth, height.max(1), deepest + 1);
        for (index, (node, shade)) in drawn.iter().enumerate() {
            let cell = &self.cells[index];
            let Some(y) = cell.depth.checked_sub(self.top).filter(|y| *y < height) else { continue };
            let name = node.place.as_ref().map_or_else(|| "all".to_owned(), |of| place(of, answer.alike()));
            let mut style = SHADES[*shade % 2];
            if shown.finds(&name) {
                style = style.patch(FOUND).fg(Color::Indexed(227));
            }
            pane.fill(cell.x, y, cell.columns, " ", style);
            // Without colors, the edges are what is seen.
            pane.put(cell.x, y, 1, "▏", style);
            let room = cell.columns.saturating_sub(2);
            if room >= 3 {
                pane.put(cell.x + 1, y, room, &fit_name(&name, room), style);
            }
            if index == at {
                pane.restyle(cell.x, y, cell.columns, CURSOR);
            }
        }
        let Some((node, _)) = drawn.get(at) else { return };
        let columns = pane.width();
        let all = share(&node.figures, &tree.tree.figures, metric);
        let number = format!(
            "{} {}{}",
            value(&node.figures, metric),
            metric.about().title,
            all.map_or(String::new(), |share| format!(", {:.1} % of all", share * 100.0))
        );
        let name = node.place.as_ref().map_or_else(|| "all".to_owned(), |of| place(of, answer.alike()));
        pane.put(0, height, columns, &fit_name(&name, columns), BOLD);
        let smaller = node.smaller.as_ref().map(|smaller| {
            let paths = format::counted(smaller.number as u64, "smaller call path");
            format!(" · {} in {paths}, not shown", value(&smaller.figures, metric))
        });
        pane.put(0, height + 1, columns, &fit(&(number + &smaller.unwrap_or_default()), columns), SOFT);
        self.at = self.cells.get(at).map(|cell| cell.key.clone());
    }

    /// Finds where frames go; those that are narrower than a column are left out.
    fn lay_out<'a>(
        &mut self,
        root: &'a Node<'a>,
        (x, columns): (usize, usize),
        metric: memtoll_analysis::metric::Metric,
        drawn: &mut Vec<(&'a Node<'a>, usize)>,
    ) {
        let mut next = vec![(root, 0, x, columns, None, 0)];
        while let Some((node, depth, x, columns, outer, shade)) = next.pop() {
            let index = self.cells.len();
            self.cells.push(Cell { key: node.key.clone(), depth, x, columns, outer });
            drawn.push((node, shade));
            let of = |node: &Node| node.figures.of(metric).unwrap_or(0) as f64;
            let own = of(node) - node.children.iter().map(of).sum::<f64>();
            let mut parts: Vec<f64> = node.children.iter().map(of).collect();
            parts.push(own.max(0.0));
            let mut left = x;
            let mut inner = Vec::new();
            for (number, (child, columns)) in node.children.iter().zip(columns_of(&parts, columns)).enumerate() {
                if columns > 0 {
                    inner.push((child, depth + 1, left, columns, Some(index), depth + 1 + number));
                }
                left += columns;
            }
            next.extend(inner.into_iter().rev());
        }
    }

    /// Moves among frames and zooms. False: that is nothing to do here.
    pub fn act(&mut self, action: Action) -> bool {
        let Some(at) = self.cells.iter().position(|cell| self.at.as_deref() == Some(&cell.key)) else { return false };
        let cell = &self.cells[at];
        let beside = |step: Step| {
            let row = self.cells.iter().enumerate().filter(|(_, other)| other.depth == cell.depth);
            match step {
                Step::Next => row.filter(|(_, other)| other.x > cell.x).min_by_key(|(_, other)| other.x),
                Step::Previous => row.filter(|(_, other)| other.x < cell.x).max_by_key(|(_, other)| other.x),
            }
            .map(|(index, _)| index)
        };
        let widest = |at: usize| {
            let inner = self.cells.iter().enumerate().filter(|(_, other)| other.outer == Some(at));
            inner.max_by_key(|(index, other)| (other.columns, usize::MAX - index)).map(|(index, _)| index)
        };
        let next = match action {
            Action::Up => cell.outer,
            Action::Down => widest(at),
            Action::Left => beside(Step::Previous),
            Action::Right => beside(Step::Next),
            Action::First => Some(0),
            Action::Heaviest => {
                let mut last = at;
                while let Some(inner) = widest(last) {
                    last = inner;
                }
                Some(last)
            }
            Action::Enter => {
                self.zoom = (at > 0).then(|| cell.key.clone());
                return true;
            }
            Action::Escape if self.zoom.is_some() => {
                self.zoom = None;
                return true;
            }
            _ => return false,
        };
        if let Some(next) = next {
            self.at = Some(self.cells[next].key.clone());
        }
        true
    }
}

fn find<'a>(root: &'a Node<'a>, key: &str) -> Option<&'a Node<'a>> {
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        if node.key == key {
            return Some(node);
        }
        open.extend(&node.children);
    }
    None
}
