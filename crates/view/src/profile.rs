//! A selection: its sums, its balance, and call sites.

use crate::bounded_tree::{Tree, largest};
use crate::frame_table::FrameTable;
use crate::metrics::{self, NOTHING, Values};
use crate::pack::Pack;
use crate::packs::{self, Estimated, FrameColumns, Memory, ProfilePack, SiteColumns, Slice, SlicePack, Totals};
use crate::recordings::Recordings;
use crate::selections::Selected;
use memtoll_analysis::balance::Balance;
use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::figures::{Facts, Figure};
use memtoll_analysis::sites::Row;
use memtoll_analysis::sums::{PeakIs, Sums};
use rustc_hash::FxHashSet;
use serde_json::Value;

impl From<Estimate> for Estimated {
    fn from(Estimate { value, low, high }: Estimate) -> Estimated {
        Estimated { value, low, high }
    }
}

/// Call sites that are shown.
pub(crate) struct Sites {
    /// Their indices among all rows.
    pub(crate) shown: Vec<usize>,
    /// Their numbers, and those of all others together, if there are others.
    pub(crate) values: Vec<Values>,
    pub(crate) others: usize,
}

impl Recordings<'_> {
    /// A selection with these of its call sites; in a page, with its call tree and findings.
    pub(crate) fn profile(&self, of: &Selected, in_page: Option<(&Tree, &Value)>, sites: &Sites) -> Pack {
        let mut frames = FrameTable::default();
        let tree = in_page.map(|(tree, _)| (tree, tree.columns(|frame| frames.number(frame))));
        let columns = self.site_columns(&mut frames, &of.rows, &sites.shown, sites.others);
        let mut pack = Pack::new(&ProfilePack {
            totals: self.totals(of),
            balance: self.balance(of),
            memory: self.resident(of),
            findings: in_page.map(|(_, findings)| findings.clone()),
            wrappers: of.wrappers.clone(),
            damage: of.sums.damage.clone(),
            missing: of.missing.clone(),
            notes: of.notes.clone(),
            types: columns.types,
            site_others: sites.others,
            texts: columns.texts,
        });
        if let Some((tree, columns)) = tree {
            pack.columns("tree", &columns);
            metrics::write(&mut pack, "tree", &tree.values());
        }
        pack.columns("sites", &columns.columns);
        pack.columns("frames", &columns.frames);
        metrics::write(&mut pack, "sites", &sites.values);
        pack
    }

    /// A part of the time, without the numbers of its rows.
    pub(crate) fn slice(&self, of: &Selected, slice: Slice) -> Pack {
        Pack::new(&SlicePack {
            totals: self.totals(of),
            balance: self.balance(of),
            memory: self.resident(of),
            wrappers: of.wrappers.clone(),
            damage: of.sums.damage.clone(),
            slice,
        })
    }

    /// All that is shown together: the number of each metric, and the interval of those that have one.
    fn totals(&self, of: &Selected) -> Totals {
        let (total, tariff) = (of.total(), &self.tariff.of_sums(&of.sums));
        // Call sites have what was live when their process had most.
        let adds_sites = of.matching.is_some() && of.sums.are_of_several();
        let peak_is = if adds_sites { PeakIs::AddedUp } else { of.sums.peak_is() };
        Totals {
            values: metrics::totals(total, tariff),
            intervals: metrics::intervals(total, tariff),
            peak_is: peak_is.words(),
            processes: of.sums.counted().count(),
            titles: metrics::titles(of.sums.titles()),
        }
    }

    /// The resident set, the peak of blocks and own mappings, and what is only reserved. Of stacks that match a filter, none is known.
    fn resident(&self, of: &Selected) -> Memory {
        if of.matching.is_some() {
            return Memory { resident: None, at_end: None, with_mappings: None, reserved: None };
        }
        let sums = &of.sums;
        let facts = Facts::of(self.recording(), sums, &self.tariff);
        let figure = |figure: Figure| figure.value(&facts).ok().map(Estimated::from);
        let peak = sums.peak_with_mappings();
        let at_end = facts.resident.and_then(|of| of.at_end);
        let at_end = at_end.map(|of| Estimate::exact(of.bytes as f64).give_or_take(of.error as f64).into());
        Memory {
            resident: figure(Figure::ResidentPeak),
            at_end,
            with_mappings: figure(Figure::PeakWithMappings).filter(|_| peak.is_some_and(|peak| peak.is_of_both())),
            reserved: figure(Figure::Reserved)
                .filter(|of| peak.is_some_and(|peak| peak.is_worth_telling(of.value as u64))),
        }
    }

    /// The program's CPU time, and what is charged to no call stack. With what is, as the totals have it, parts and rest are `processor`
    /// together, and the recorder's time is beside it. Of stacks that match a filter, only what is charged to them is known.
    fn balance(&self, of: &Selected) -> packs::Balance {
        let balance = Balance::of_all(self.recording(), &of.sums);
        let is_all = of.matching.is_none();
        let part = Estimated::from;
        let rest = balance.rest().or_else(|| {
            let processor = balance.processor?;
            Some(Estimate::exact(processor).minus(balance.explained()))
        });
        let sees = self.tariff.sees();
        let knows_others = sees.fault_prices && (sees.faults || balance.faults.counted.is_some());
        packs::Balance {
            processor: balance.program_or_zero().map(part),
            plain: balance.plain.map(part),
            other_faults: (knows_others && is_all).then(|| part(balance.other_faults)),
            other_faults_variance: balance.other_faults_variance,
            recorder: balance.recorder.filter(|_| is_all).map(part),
            rest: rest.filter(|_| is_all).map(part),
        }
    }

    /// The numbers of the call sites that are shown one by one, and of the others together, if there are any.
    pub(crate) fn sites<'r>(&self, sums: &Sums, rows: impl IntoIterator<Item = &'r Row>, most: usize) -> Sites {
        let tariff = self.tariff.of_sums(sums);
        let all: Vec<Values> = rows.into_iter().map(|row| metrics::values(&row.metrics, &tariff)).collect();
        let shown = largest(&all, most);
        let is_shown: FxHashSet<usize> = shown.iter().copied().collect();
        let mut others = NOTHING;
        for (_, values) in all.iter().enumerate().filter(|(index, _)| !is_shown.contains(index)) {
            metrics::add(&mut others, values);
        }
        let count = all.len() - shown.len();
        let mut values: Vec<Values> = shown.iter().map(|&index| all[index]).collect();
        values.extend((count > 0).then_some(others));
        Sites { shown, values, others: count }
    }

    /// The columns of call sites, with the names of all frames that have a number then.
    pub(crate) fn site_columns(
        &self,
        frames: &mut FrameTable,
        rows: &[Row],
        shown: &[usize],
        others: usize,
    ) -> SitesOfProfile {
        let shown = || shown.iter().map(|&index| &rows[index]);
        let mut types: Vec<&str> = shown().filter_map(|row| row.type_name.as_deref()).collect();
        types.sort_unstable();
        types.dedup();
        let column = |of: &mut dyn FnMut(&Row) -> f64| {
            let others = std::iter::repeat_n(0.0, usize::from(others > 0));
            shown().map(of).chain(others).collect::<Vec<f64>>()
        };
        let type_of = |row: &Row| row.type_name.as_deref().and_then(|name| types.binary_search(&name).ok());
        let elements =
            |row: &Row| memtoll_analysis::element_counts::elements(row).map_or(0.0, |elements| elements as f64);
        let columns = SiteColumns {
            frame: column(&mut |row| row.frame.map_or(0.0, |id| f64::from(frames.number(id)) + 1.0)),
            kind: column(&mut |row| type_of(row).map_or(0.0, |number| number as f64 + 1.0)),
            inlined: column(&mut |row| row.inlined.len() as f64),
            inlined_frames: shown().flat_map(|row| &row.inlined).map(|&id| f64::from(frames.number(id))).collect(),
            element: column(&mut |row| row.element.map_or(0.0, |element| element.size as f64)),
            elements: column(&mut |row| elements(row)),
        };
        let (frames, texts) = frames.columns(self.recording());
        SitesOfProfile { columns, types: types.into_iter().map(str::to_owned).collect(), frames, texts }
    }
}

/// Call sites with their names.
pub(crate) struct SitesOfProfile {
    pub(crate) columns: SiteColumns,
    pub(crate) types: Vec<String>,
    pub(crate) frames: FrameColumns,
    pub(crate) texts: Vec<String>,
}
