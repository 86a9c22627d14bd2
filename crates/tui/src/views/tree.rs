//! The call tree, from the threads' entries or from the allocations.

use super::Shown;
use super::lines::{NUMBER, SHARE, share, shares_of, value};
use crate::colors::{BOLD, CURSOR, FOUND, SOFT};
use crate::draw::Pane;
use crate::fitted_text::fit_name;
use crate::keys::{Action, Step};
use crate::scrolled_rows::Cursor;
use memtoll_analysis::alike::Alike;
use memtoll_analysis::names;
use memtoll_analysis::tree::By;
use memtoll_query::rows::Place;
use memtoll_query::tree::Node;
use memtoll_query::{Figures, Shown as Found};
use memtoll_text::format;
use memtoll_text::visible;
use ratatui::style::Style;
use rustc_hash::FxHashSet;

/// Levels that are indented; deeper ones say how deep they are.
const INDENTED: usize = 24;

/// A row, as it was last drawn.
struct Row {
    key: String,
    depth: usize,
    has_children: bool,
    is_open: bool,
    found: bool,
}

/// The call tree.
#[derive(Default)]
pub struct TreeView {
    cursor: Cursor,
    /// Keys of branches that are open.
    open: FxHashSet<String>,
    rows: Vec<Row>,
    /// What is to be done when the tree is there: it needs the whole of it.
    wish: Option<Wish>,
    /// What the tree was when its first branches were opened.
    seen: Option<(bool, Option<By>, String)>,
}

#[derive(Clone, Copy)]
enum Wish {
    Heaviest,
    Match(Step),
}

/// What is drawn in a row.
struct Drawn<'a> {
    depth: usize,
    what: What<'a>,
}

enum What<'a> {
    Node(&'a Node<'a>),
    /// Branches that are too small, by their caller's key.
    Smaller(usize, &'a Figures, &'a str),
}

impl TreeView {
    pub fn draw(&mut self, shown: &Shown, mut pane: Pane) {
        self.rows.clear();
        let Some((answer, _)) = shown.answer(&shown.state.tree(), &mut pane) else { return };
        let Found::Tree(tree) = &answer.shown else { return };
        let root = &tree.tree;
        let seen = (
            shown.state.reversed,
            shown.state.tree_by,
            root.children.first().map_or(String::new(), |child| child.key.clone()),
        );
        if self.seen.as_ref() != Some(&seen) {
            // The first sight is not a list of threads' entries.
            self.seen = Some(seen);
            self.open_heaviest(root, |at| at.children.len() > 1);
            self.cursor.at = 0;
        }
        match self.wish.take() {
            Some(Wish::Heaviest) => {
                let last = self.open_heaviest(root, |_| false);
                self.go_to(root, last);
            }
            Some(Wish::Match(step)) => self.go_to_match(root, answer.alike(), shown, step),
            None => {}
        }
        let mut drawn = Vec::new();
        self.flatten(root, 0, &mut drawn);
        let columns = pane.width();
        let metric = shown.state.metric;
        pane.put_right(0, 0, NUMBER, answer.titles().in_rows(metric), BOLD);
        let end = if shown.state.reversed { "from the allocations outward" } else { "from the entry inward" };
        let shares = shares_of(answer, metric);
        let head = match shown.state.tree_by {
            None => format!("call tree, {end}{shares} (r turns it round)"),
            Some(By::Module) => format!("call tree by module, {end}{shares}"),
            Some(By::Type) => format!("call tree by type, {end}{shares}"),
        };
        pane.put(NUMBER + SHARE + 1, 0, columns, &head, BOLD);
        let height = pane.height().saturating_sub(1);
        let top = self.cursor.window(drawn.len(), height);
        for (y, row) in drawn.iter().enumerate().skip(top).take(height) {
            let line = 1 + y - top;
            let indent = row.depth.min(INDENTED);
            let deep = if row.depth > INDENTED { format!("[{}] ", row.depth) } else { String::new() };
            let (figures, sign, name, found) = match &row.what {
                What::Node(node) => {
                    let name = name(node, answer.alike());
                    let sign = match (node.children.is_empty() && node.smaller.is_none(), self.open.contains(&node.key))
                    {
                        (true, _) => "  ",
                        (false, true) => "▾ ",
                        (false, false) => "▸ ",
                    };
                    let found = shown.finds(&name);
                    (&node.figures, sign, name, found)
                }
                What::Smaller(number, figures, _) => {
                    (*figures, "  ", format::counted(*number as u64, "smaller call path"), false)
                }
            };
            pane.put_right(0, line, NUMBER, &value(figures, metric), Style::new());
            let share =
                share(figures, &root.figures, metric).map(|share| memtoll_text::format::Unit::Share.show(share));
            pane.put_right(NUMBER, line, SHARE, &share.unwrap_or_default(), Style::new());
            let x = NUMBER + SHARE + 1 + indent;
            let style = match &row.what {
                What::Smaller(..) => SOFT,
                What::Node(_) if found => FOUND,
                What::Node(_) => Style::new(),
            };
            let before = format!("{sign}{deep}");
            let room = columns.saturating_sub(x + before.chars().count());
            pane.put(x, line, columns, &format!("{before}{}", fit_name(&name, room)), style);
            if y == self.cursor.at {
                pane.restyle(0, line, columns, CURSOR);
            }
        }
        self.rows = drawn
            .iter()
            .map(|row| match &row.what {
                What::Node(node) => Row {
                    key: node.key.clone(),
                    depth: row.depth,
                    has_children: !node.children.is_empty() || node.smaller.is_some(),
                    is_open: self.open.contains(&node.key),
                    found: false,
                },
                What::Smaller(_, _, caller) => Row {
                    key: (*caller).to_owned(),
                    depth: row.depth,
                    has_children: false,
                    is_open: false,
                    found: false,
                },
            })
            .collect();
        self.rows.iter_mut().zip(&drawn).for_each(|(row, drawn)| {
            row.found = matches!(&drawn.what, What::Node(node) if shown.finds(&name(node, answer.alike())));
        });
    }

    fn flatten<'a>(&self, node: &'a Node<'a>, depth: usize, rows: &mut Vec<Drawn<'a>>) {
        for child in &node.children {
            rows.push(Drawn { depth, what: What::Node(child) });
            if self.open.contains(&child.key) {
                self.flatten(child, depth + 1, rows);
            }
        }
        if let Some(smaller) = &node.smaller {
            rows.push(Drawn { depth, what: What::Smaller(smaller.number, &smaller.figures, &node.key) });
        }
    }

    /// Opens the heaviest path, up to where it ends or `stops`; gives its end.
    fn open_heaviest(&mut self, root: &Node, stops: impl Fn(&Node) -> bool) -> String {
        let mut at = root;
        while let Some(child) = at.children.first().filter(|_| !stops(at)) {
            self.open.insert(child.key.clone());
            at = child;
        }
        at.key.clone()
    }

    fn go_to(&mut self, root: &Node, key: String) {
        let mut drawn = Vec::new();
        self.flatten(root, 0, &mut drawn);
        let at = drawn.iter().position(|row| matches!(&row.what, What::Node(node) if node.key == key));
        self.cursor.at = at.unwrap_or(0);
    }

    /// Goes to the next branch that has what is searched, in the order of the whole tree, and opens what is around it.
    fn go_to_match(&mut self, root: &Node, alike: &Alike, shown: &Shown, step: Step) {
        // Each with the place of the branch around it: paths can be long.
        let mut all: Vec<(&Node, usize)> = Vec::new();
        let mut open: Vec<(&Node, usize)> = vec![(root, 0)];
        while let Some((node, around)) = open.pop() {
            let place = all.len();
            all.push((node, around));
            open.extend(node.children.iter().rev().map(|child| (child, place)));
        }
        let mut drawn = Vec::new();
        self.flatten(root, 0, &mut drawn);
        let here = match drawn.get(self.cursor.at).map(|row| &row.what) {
            Some(What::Node(node)) => node.key.clone(),
            Some(What::Smaller(_, _, caller)) => (*caller).to_owned(),
            None => String::new(),
        };
        let at = all.iter().position(|(node, _)| node.key == here).unwrap_or(0);
        let count = all.len();
        let order = (1..=count).map(|away| match step {
            Step::Previous => (at + count - away) % count,
            Step::Next => (at + away) % count,
        });
        let order: Vec<usize> = order.collect();
        let is_match = |index: &&usize| shown.finds(&name(all[**index].0, alike));
        if let Some(&index) = order.iter().find(is_match) {
            let (node, mut around) = all[index];
            while around > 0 {
                self.open.insert(all[around].0.key.clone());
                around = all[around].1;
            }
            self.go_to(root, node.key.clone());
        }
    }

    /// Moves the cursor, opens and closes branches.
    pub fn act(&mut self, action: Action) -> bool {
        let Some(row) = self.rows.get(self.cursor.at) else { return false };
        match action {
            Action::Right if row.has_children && !row.is_open => drop(self.open.insert(row.key.clone())),
            Action::Right => return self.cursor.act(Action::Down),
            Action::Left if row.is_open => drop(self.open.remove(&row.key)),
            Action::Left => {
                let outer = self.rows[..self.cursor.at].iter().rposition(|outer| outer.depth < row.depth);
                self.cursor.at = outer.unwrap_or(self.cursor.at);
            }
            Action::Enter if row.has_children => {
                if !self.open.remove(&row.key) {
                    self.open.insert(row.key.clone());
                }
            }
            Action::Heaviest => self.wish = Some(Wish::Heaviest),
            Action::NextMatch => self.wish = Some(Wish::Match(Step::Next)),
            Action::PreviousMatch => self.wish = Some(Wish::Match(Step::Previous)),
            _ => return self.cursor.act(action),
        }
        true
    }
}

/// What a branch is called; the root is called nothing.
fn name(node: &Node, alike: &Alike) -> String {
    match (&node.place, &node.label) {
        (Some(of), _) => place(of, alike),
        (None, label) => visible(label.as_deref().unwrap_or_default()),
    }
}

/// `grow (buffer.cpp:120)`.
pub fn place(place: &Place, alike: &Alike) -> String {
    let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
    let file = place.file.map(|file| format!("{}{line}", names::last_part(file)));
    let remarks: Vec<String> =
        file.into_iter().chain(place.without_tables.then(|| names::NO_UNWIND_TABLES.to_owned())).collect();
    let function = alike.name(place.whole);
    visible(&match remarks.is_empty() {
        false => format!("{function} ({})", remarks.join(", ")),
        true => function,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_called_as_in_the_lines() {
        let function = "std::vector<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, std::allocator<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > > >::reserve";
        let of = Place {
            function,
            whole: function,
            address: None,
            module: None,
            file: Some("/src/rows.cpp"),
            line: Some(7),
            without_tables: false,
        };
        assert_eq!(place(&of, &Alike::default()), "std::vector<std::string>::reserve (rows.cpp:7)");
    }
}
