//! The packs: what is in each, declared once for both sides. The writers fill these types; a test keeps
//! `viewer/src/model/packs.ts`, through which the front end reads, the same.

mod columns;
mod declare;
mod heads;
#[cfg(test)]
mod typed;

pub(crate) use columns::*;
pub(crate) use heads::*;

use serde::Serialize;

/// Columns that belong together.
pub(crate) trait Columns {
    /// Their names.
    const NAMES: &'static [&'static str];
    /// Each with its numbers.
    fn each(&self) -> Vec<(&'static str, &[f64])>;
}

/// The object of a pack.
pub(crate) trait Declared: Serialize {
    /// What the pack is called.
    const NAME: &'static str;
}

/// What a pack has beside its object.
pub(crate) struct Description {
    name: &'static str,
    /// The beginning of the names, and the names.
    columns: &'static [(&'static str, &'static [&'static str])],
    /// Those that not every pack of this name has.
    optional: &'static [(&'static str, &'static [&'static str])],
    /// Columns of which there is one for each metric or the like.
    families: &'static [&'static str],
    optional_families: &'static [&'static str],
}

macro_rules! packs {
    ($($name:ident { $($prefix:literal: $columns:ty,)* } $([$($family:literal),*])? $(or { $($maybe:literal: $maybe_columns:ty,)* } [$($maybe_family:literal),*])?;)*) => {
        $(impl Declared for $name { const NAME: &'static str = stringify!($name); })*

        /// All packs.
        const PACKS: &[Description] = &[$(Description {
            name: stringify!($name),
            columns: &[$(($prefix, <$columns as Columns>::NAMES)),*],
            optional: &[$($(($maybe, <$maybe_columns as Columns>::NAMES)),*)?],
            families: &[$($($family),*)?],
            optional_families: &[$($($maybe_family),*)?],
        }),*];

        #[cfg(test)]
        fn interfaces() -> std::collections::BTreeMap<String, String> {
            let mut all = std::collections::BTreeMap::new();
            $(<$name as typed::Typed>::declare(&mut all);)*
            all
        }
    };
}

packs! {
    AboutPack { "timeline": TimelineColumns, };
    ActivityPack { "activity": ActivityColumns, "marks": MarkColumns, "regions": RegionColumns, }
        or { "activity": FaultColumns, "activity": ResidentColumns, } [];
    AdvicePack {};
    BlocksPack { "blocks": BlockColumns, "sites": MapSiteColumns, "frames": FrameColumns, };
    ChangedTreesPack { "tree": ChangedTreeColumns, "before.frames": FrameColumns, "after.frames": FrameColumns, };
    ChangesPack { "compare": ChangeColumns, } ["before", "after", "before.margin", "after.margin", "margin"];
    FindingsPack {};
    FunctionsPack { "functions": FunctionColumns, "frames": FrameColumns, } ["own", "total"];
    GenerationsPack { "sites": SiteColumns, "frames": FrameColumns, } ["bytes", "blocks"];
    GroupsPack {} ["groups"];
    LanesPack { "lanes": LaneColumns, "waits": WaitColumns, };
    LayoutPack {};
    LevelPack { "tree": LevelColumns, "frames": FrameColumns, } ["tree"];
    MapPack { "areas": AreaColumns, "cells": CellColumns, "sites": MapSiteColumns, "frames": FrameColumns, };
    MetricsPack {};
    NothingPack {};
    PatternsPack { "rows": PatternColumns, "sizes": HistogramColumns, "lifetimes": HistogramColumns, "cells": SizeLifetimeColumns, };
    ProfilePack { "sites": SiteColumns, "frames": FrameColumns, } ["sites"] or { "tree": TreeColumns, } ["tree"];
    ResidentPack { "areas": PageAreaColumns, "cells": PageCellColumns, "owners": PageOwnerColumns, "frames": FrameColumns, };
    SlicePack { "sites": PartColumns, "tree": PartColumns, } ["sites", "tree"];
    SourcePack { "own": LineColumns, "through": LineColumns, } ["own", "through"];
    SourcesPack {};
    // The first row of bars' numbers is of the thread.
    StackChartPack { "columns": ChartColumns, "bars": BarColumns, "frames": FrameColumns, } ["bars"];
    StackedPack {} or {} ["groups", "variances"];
}

fn names(of: &'static [(&str, &[&str])]) -> impl Iterator<Item = String> {
    of.iter().flat_map(|(prefix, names)| names.iter().map(move |name| format!("{prefix}.{name}")))
}

/// Where what was written is not what is declared; `None`: it is.
pub(crate) fn disagreement(pack: &str, written: &[String]) -> Option<String> {
    let of = PACKS.iter().find(|of| of.name == pack)?;
    let family = |name: &&str| format!("{name}.*");
    let needed: Vec<String> = names(of.columns).chain(of.families.iter().map(family)).collect();
    let allowed: Vec<String> = names(of.optional).chain(of.optional_families.iter().map(family)).collect();
    let missing = needed.iter().find(|name| !written.contains(name)).map(|name| format!("{pack} lacks {name}"));
    let unknown = written.iter().find(|name| !needed.contains(name) && !allowed.contains(name));
    missing.or_else(|| unknown.map(|name| format!("{pack} has {name}, which is not declared")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Ask, Changes, Page};
    use crate::{Compared, Engine, Recordings};
    use memtoll_analysis::metric::{Metric, Place};
    use memtoll_model::Recording;
    use memtoll_query::View;
    use memtoll_query::query::When;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fmt::Write;
    use std::fs;
    use std::path::Path;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../viewer/src/model/packs.ts");

    const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../format/golden/");

    fn union(names: impl Iterator<Item = String>) -> String {
        let names: Vec<String> = names.map(|name| format!("\"{name}\"")).collect();
        if names.is_empty() { "never".to_owned() } else { names.join(" | ") }
    }

    fn typescript() -> String {
        let mut text = "// What is in packs, as crates/view/src/packs declares it: UPDATE_PACKS=1 cargo test -p memtoll-view packs\n\
                        // writes this file.\n\n\
                        import type { Advised } from \"./advice\";\n\
                        import type { Finding, Metric } from \"./answer\";\n\
                        import type { Layout } from \"./type_layout\";\n"
            .to_owned();
        let of_pages = Metric::shown_in(Place::Viewer).filter(|metric| metric.is_of_pages());
        let of_pages: Vec<String> = of_pages.map(|metric| format!("\"{}\"", metric.about().name)).collect();
        let _ = write!(
            text,
            "\n/** Metrics that come from what lies in memory at the end: a query has to ask for that. */\n\
             export const OF_PAGES = [{}];\n",
            of_pages.join(", ")
        );
        for (name, fields) in interfaces() {
            let _ = write!(text, "\nexport interface {name} {{\n{fields}");
            if let Some(of) = PACKS.iter().find(|of| of.name == name) {
                text.truncate(text.len() - fields.len());
                let head = fields.trim_end().replace("\n    ", " ");
                let columns = union(names(of.columns).chain(names(of.optional)));
                let families = union(of.families.iter().chain(of.optional_families).map(|name| (*name).to_owned()));
                let _ =
                    write!(text, "    head: {{ {} }};\n    column: {columns};\n    family: {families};\n", head.trim());
            }
            text += "}\n";
        }
        text
    }

    #[test]
    fn the_front_end_reads_what_is_declared() {
        let (expected, committed) = (typescript(), fs::read_to_string(FILE).unwrap_or_default());
        if std::env::var_os("UPDATE_PACKS").is_some() {
            fs::write(FILE, &expected).unwrap();
        } else {
            assert_eq!(committed, expected, "UPDATE_PACKS=1 cargo test -p memtoll-view packs writes {FILE}");
        }
    }

    /// Which packs only a page has.
    const OF_PAGES: [&str; 4] = ["SlicePack", "SourcesPack", "MetricsPack", "NothingPack"];

    /// Small recordings have none of what the questions select.
    fn select_all(query: &mut memtoll_query::Query) {
        (query.processes, query.threads, query.when) = (Vec::new(), Vec::new(), When::All);
        (query.filter, query.drop, query.focus, query.min_size, query.max_size) = (None, None, None, None, None);
        if let View::Tree(tree) = &mut query.view {
            tree.function = None;
        }
    }

    /// Each question of the front end, of recordings that were written once; [`crate::pack::Pack::bytes`] holds each pack
    /// against its declaration.
    #[test]
    fn each_pack_is_as_it_is_declared() {
        let open = |name: &str| Recording::open(Path::new(&format!("{GOLDEN}{name}.memtoll"))).unwrap();
        let mut made = BTreeSet::new();
        for name in ["costs", "forks", "killed", "tiny"] {
            let recording = open(name);
            let mut files = recording.frames.ids().filter_map(|id| recording.frames.frame(id).file);
            let named = files.next().map(|file| recording.frames.text(file).to_owned());
            let mut engine = Engine::new(Recordings::new(&recording, Compared::default()));
            for Ask { mut query, mut page } in crate::ask::tests::questions() {
                select_all(&mut query);
                match &mut page {
                    Page::Changes(changes) => *changes = Changes { before: Some(When::All), ..Changes::default() },
                    Page::Source { file } => match &named {
                        Some(named) => named.clone_into(file),
                        None => continue,
                    },
                    _ => {}
                }
                let ask = Ask { query, page };
                let pack = engine.answer(&ask).unwrap_or_else(|why| panic!("{name}: {ask:?}: {why}"));
                made.insert(pack.name());
                pack.bytes();
            }
            let before = [open("tiny")];
            let compared = Compared { before: &before, after: &[] };
            crate::page::page(&recording, compared, &crate::page::Options::default(), &|_| {}).unwrap();
        }
        let all: BTreeSet<&str> = PACKS.iter().map(|of| of.name).filter(|name| !OF_PAGES.contains(name)).collect();
        assert_eq!(made, all);
    }

    /// The columns of variances in all packs of rows, and the sum of each.
    fn variances(recording: &Recording) -> BTreeMap<(&'static str, String), f64> {
        let mut found = BTreeMap::new();
        let mut engine = Engine::new(Recordings::new(recording, Compared::default()));
        for Ask { mut query, page } in crate::ask::tests::questions() {
            select_all(&mut query);
            let Ok(pack) = engine.answer(&Ask { query, page }) else { continue };
            let name = pack.name();
            for (column, numbers) in pack.numbers().into_iter().filter(|(column, _)| column.ends_with(".variance")) {
                found.insert((name, column), numbers.iter().sum());
            }
        }
        found
    }

    #[test]
    fn rows_of_what_was_sampled_have_variances_and_others_have_none() {
        let mut recording = Recording::open(Path::new(&format!("{GOLDEN}costs.memtoll"))).unwrap();
        assert_eq!(variances(&recording), BTreeMap::new());
        // As if one of 17 faults had been seen.
        recording.kernel.faults_error = (recording.kernel.faults_seen as f64 * 16.0).sqrt();
        let found = variances(&recording);
        let answer = memtoll_query::ask(&recording, &memtoll_query::Query { view: View::Totals, ..Default::default() });
        let faults = answer.ok().unwrap().basis.sums.unwrap().total.faults();
        let expected = faults as f64 * 16.0;
        let of = |pack, column: &str| found[&(pack, format!("{column}.variance"))];
        for (pack, column) in [("ProfilePack", "sites.faults"), ("GroupsPack", "groups.faults")] {
            assert!((of(pack, column) / expected - 1.0).abs() < 1e-6, "{found:?}");
        }
        assert!(of("LevelPack", "tree.faults") >= expected && of("ProfilePack", "sites.touched") > 0.0, "{found:?}");
        assert!(
            found.keys().all(|(_, column)| ["fault", "touched", "zeroing"].iter().any(|of| column.contains(of))),
            "{found:?}"
        );
    }

    #[test]
    fn a_pack_has_all_its_columns_and_no_others() {
        let all =
            |more: &[&str]| ["timeline.live"].iter().chain(more).map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(disagreement("AboutPack", &all(&[])), None);
        assert_eq!(disagreement("AboutPack", &[]).unwrap(), "AboutPack lacks timeline.live");
        assert!(disagreement("AboutPack", &all(&["x.y"])).unwrap().contains("not declared"));
        let written = ["activity.live", "activity.allocations", "marks.at", "regions.begin", "regions.end"];
        let written = |more: &[&str]| written.iter().chain(more).map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(disagreement("ActivityPack", &written(&["activity.faults"])), None);
        assert_eq!(disagreement("ActivityPack", &written(&[])), None);
    }
}
