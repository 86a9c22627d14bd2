//! What functions cost: of themselves, and with all that they call.

use crate::bounded_tree::largest;
use crate::frame_table::FrameTable;
use crate::metrics::{self, NOTHING, Values, values};
use crate::pack::Pack;
use crate::packs::{FunctionColumns, FunctionsPack};
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_model::{FrameId, TextId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions that are shown one by one.
const MOST: usize = 5_000;

#[derive(Clone)]
struct Function {
    /// One of its frames; `None`: of calls without a stack.
    frame: Option<FrameId>,
    /// Loaded files that have a function of this name.
    modules: Vec<TextId>,
    own: Values,
    total: Values,
}

impl Function {
    fn new(frame: Option<FrameId>) -> Function {
        Function { frame, modules: Vec::new(), own: NOTHING, total: NOTHING }
    }
}

impl Recordings<'_> {
    /// All functions of the selected stacks. One that is in several loaded files has one row.
    pub(crate) fn functions(&self, selected: &Selected) -> Pack {
        let all = self.sums_of_functions(selected);
        let shown = largest(&all.iter().map(|function| function.total).collect::<Vec<_>>(), MOST);
        let mut rows: Vec<Function> = shown.iter().map(|&index| all[index].clone()).collect();
        let others = all.len() - rows.len();
        if others > 0 {
            let is_shown: FxHashSet<usize> = shown.into_iter().collect();
            // Several of them may stand in one stack: only what they cost themselves adds up.
            let mut rest = Function { total: [f64::NAN; NOTHING.len()], ..Function::new(None) };
            let hidden = all.iter().enumerate().filter(|(index, _)| !is_shown.contains(index));
            hidden.for_each(|(_, function)| metrics::add(&mut rest.own, &function.own));
            rows.push(rest);
        }
        let mut table = FrameTable::default();
        let number = |of: &Function| of.frame.map_or(0.0, |frame| f64::from(table.number(frame)) + 1.0);
        let columns = FunctionColumns {
            frame: rows.iter().map(number).collect(),
            modules: rows.iter().map(|row| row.modules.len() as f64).collect(),
        };
        let (frames, texts) = table.columns(self.recording());
        let mut pack = Pack::new(&FunctionsPack { others, damage: selected.sums.damage.clone(), texts });
        pack.columns("functions", &columns);
        pack.columns("frames", &frames);
        metrics::write(&mut pack, "own", &rows.iter().map(|row| row.own).collect::<Vec<_>>());
        metrics::write(&mut pack, "total", &rows.iter().map(|row| row.total).collect::<Vec<_>>());
        pack
    }

    fn sums_of_functions(&self, selected: &Selected) -> Vec<Function> {
        let frames = &self.recording().frames;
        let tariff = self.tariff.of_sums(&selected.sums);
        let mut stacks = self.stacks(&selected.view);
        let mut by_name: FxHashMap<Option<TextId>, usize> = FxHashMap::default();
        let mut all: Vec<Function> = Vec::new();
        let mut row_of = |frame: Option<FrameId>, all: &mut Vec<Function>| {
            let known = frame.map(|frame| frames.frame(frame));
            let row = *by_name.entry(known.map(|frame| frame.function)).or_insert_with(|| {
                all.push(Function::new(frame));
                all.len() - 1
            });
            if let Some(module) = known.map(|frame| frame.module).filter(|module| !all[row].modules.contains(module)) {
                all[row].modules.push(module);
            }
            row
        };
        let mut met = Vec::new();
        for site in &selected.sums.sites {
            let stack = stacks.of(site.node);
            if !stack.matches {
                continue;
            }
            let numbers = values(&site.metrics(), &tariff);
            met.clear();
            met.extend(stacks.frames(stack.path).into_iter().map(|frame| row_of(Some(frame), &mut all)));
            if met.is_empty() {
                met.push(row_of(None, &mut all));
            }
            metrics::add(&mut all[met[0]].own, &numbers);
            // A function that calls itself counts once.
            met.sort_unstable();
            met.dedup();
            met.iter().for_each(|&row| metrics::add(&mut all[row].total, &numbers));
        }
        all
    }
}
