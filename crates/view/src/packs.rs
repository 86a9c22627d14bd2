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
        or { "activity": FaultColumns, } [];
    AdvicePack {};
    BlocksPack { "blocks": BlockColumns, "sites": MapSiteColumns, "frames": FrameColumns, };
    ChangedTreesPack { "tree": ChangedTreeColumns, "before.frames": FrameColumns, "after.frames": FrameColumns, };
    ChangesPack { "compare": ChangeColumns, } ["before", "after", "margin"];
    GenerationsPack { "sites": SiteColumns, "frames": FrameColumns, } ["bytes", "blocks"];
    GroupsPack {} ["groups"];
    LanesPack { "lanes": LaneColumns, "waits": WaitColumns, };
    LayoutPack {};
    LevelPack { "tree": LevelColumns, "frames": FrameColumns, } ["tree"];
    MapPack { "areas": AreaColumns, "cells": CellColumns, "sites": MapSiteColumns, "frames": FrameColumns, };
    NothingPack {};
    PatternsPack { "rows": PatternColumns, "sizes": HistogramColumns, "lifetimes": HistogramColumns, "cells": SizeLifetimeColumns, };
    ProfilePack { "sites": SiteColumns, "frames": FrameColumns, } ["sites"] or { "tree": TreeColumns, } ["tree"];
    SlicePack { "sites": PartColumns, "tree": PartColumns, } ["sites", "tree"];
    SourcePack { "own": LineColumns, "through": LineColumns, } ["own", "through"];
    SourcesPack {};
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
    use std::fmt::Write;
    use std::fs;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../viewer/src/model/packs.ts");

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
