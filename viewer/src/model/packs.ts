// What is in packs, as crates/view/src/packs declares it: UPDATE_PACKS=1 cargo test -p memtoll-view packs
// writes this file.

import type { Advised } from "./advice";
import type { Finding, Metric } from "./answer";
import type { Layout } from "./type_layout";

/** Metrics that come from what lies in memory at the end: a query has to ask for that. */
export const OF_PAGES = ["resident", "never-touched", "slack", "pinned"];

export interface About {
    file: string;
    command: string;
    started: string;
    duration_ns: number | null;
    processor: string;
    processors: number;
    malloc: string;
    kept: string;
    events: number | null;
    processes: ProcessOfRun[];
    process_count: number;
    threads: ThreadOfRun[];
    thread_count: number;
    damage: string[];
    missing: string[];
    notes: string[];
}

export interface AboutPack {
    head: { about: About; metrics: Metric[]; timeline: Intervals; parts: number; compares: boolean; sources: boolean; editor: string; live: number | null; regions: boolean; marks: boolean; };
    column: "timeline.live";
    family: never;
}

export interface ActivityPack {
    head: { start_ns: number; interval_ns: number; sees_live: boolean; damage: string[]; marks: string[]; regions: string[]; left_out: number; region_count: number; spreads: RegionSpread[]; };
    column: "activity.live" | "activity.allocations" | "marks.at" | "regions.begin" | "regions.end" | "activity.faults" | "activity.resident";
    family: never;
}

export interface AdvicePack {
    head: { advice: Advised; };
    column: never;
    family: never;
}

export interface Balance {
    processor: Estimated | null;
    plain: Estimated | null;
    other_faults: Estimated | null;
    other_faults_variance: number;
    recorder: Estimated | null;
    rest: Estimated | null;
}

export interface BlocksPack {
    head: { blocks: number; live: number; types: string[]; texts: string[]; };
    column: "blocks.address" | "blocks.size" | "blocks.age" | "blocks.site" | "sites.frame" | "sites.live" | "sites.blocks" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: never;
}

export interface ChangedRow {
    function: string;
    full: string | null;
    file: string | null;
    line: number | null;
    module: string | null;
    module_name: string | null;
    unique_module: string | null;
    shared: boolean;
    shared_source: boolean;
    kind: string | null;
    fate: "changed" | "new" | "gone";
}

export interface ChangedTreesPack {
    head: { before_texts: string[]; after_texts: string[]; };
    column: "tree.parent" | "tree.frame" | "tree.side" | "tree.others" | "tree.width" | "tree.before" | "tree.after" | "tree.before_margin" | "tree.after_margin" | "before.frames.id" | "before.frames.function" | "before.frames.full" | "before.frames.qualified" | "before.frames.parameters" | "before.frames.file" | "before.frames.line" | "before.frames.module" | "before.frames.module_name" | "before.frames.unique_module" | "before.frames.shared" | "before.frames.shared_source" | "before.frames.without_tables" | "after.frames.id" | "after.frames.function" | "after.frames.full" | "after.frames.qualified" | "after.frames.parameters" | "after.frames.file" | "after.frames.line" | "after.frames.module" | "after.frames.module_name" | "after.frames.unique_module" | "after.frames.shared" | "after.frames.shared_source" | "after.frames.without_tables";
    family: never;
}

export interface ChangesPack {
    head: { rows: ChangedRow[]; others: number; files: [string, string] | null; };
    column: "compare.exceeds";
    family: "before" | "after" | "before.margin" | "after.margin" | "margin";
}

export interface Estimated {
    value: number;
    low: number;
    high: number;
}

export interface FindingsPack {
    head: { findings: Finding[]; };
    column: never;
    family: never;
}

export interface FunctionsPack {
    head: { others: number; damage: string[]; texts: string[]; };
    column: "functions.frame" | "functions.modules" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: "own" | "total";
}

export interface GenerationsPack {
    head: { at_ns: number; begins_ns: number[]; marks: (string | null)[]; damage: string[]; types: string[]; site_others: number; texts: string[]; };
    column: "sites.frame" | "sites.kind" | "sites.inlined" | "sites.inlined_frames" | "sites.element" | "sites.elements" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: "bytes" | "blocks";
}

export interface GlobalOfResident {
    symbol: string;
    module: string;
    place: string;
    bytes: number;
    size: number | null;
}

export interface GroupsPack {
    head: { labels: string[]; members: Member[]; site_others: number; damage: string[]; titles: Record<string, Titles>; };
    column: never;
    family: "groups";
}

export interface HeldBelowOfResident {
    function: string;
    alone: number;
}

export interface Intervals {
    end_ns: number;
    interval_ns: number;
    sum_of_peaks: boolean;
    known: boolean;
    resident_between_looks: Estimated | null;
}

export interface LaneOfThread {
    image: number;
    process: number;
    pid: number;
    tid: number | null;
    name: string | null;
}

export interface LanesPack {
    head: { lanes: LaneOfThread[]; count: number; start_ns: number; interval_ns: number; sees_switches: boolean; times_faults: boolean; waits: number; damage: string[]; };
    column: "lanes.alive" | "lanes.allocator" | "lanes.faulting" | "lanes.waiting" | "lanes.off" | "waits.lane" | "waits.holder" | "waits.began" | "waits.ended";
    family: never;
}

export interface LayoutPack {
    head: { types: ListedType[]; layout: Layout | null; newer: string | null; why: string; similar: string[]; };
    column: never;
    family: never;
}

export interface LevelPack {
    head: { labels: string[]; texts: string[]; };
    column: "tree.parent" | "tree.frame" | "tree.others" | "tree.more" | "tree.label" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: "tree";
}

export interface ListedType {
    name: string;
    asked: string;
    peak: number;
    live: number;
}

export interface LiveProcess {
    id: string;
    program: string;
    live: number;
}

export interface LookOfResident {
    at_ns: number;
    name: string;
    rss: number;
}

export interface MapPack {
    head: { at_ns: number; process: string | null; processes: LiveProcess[]; cell: number; live: number; blocks: number; areas_left_out: number; damage: string[]; types: string[]; texts: string[]; };
    column: "areas.from" | "areas.cells" | "areas.live" | "areas.blocks" | "cells.number" | "cells.live" | "cells.site" | "cells.age" | "sites.frame" | "sites.live" | "sites.blocks" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: never;
}

export interface Member {
    image: number | null;
    pid: number | null;
    tid: number | null;
}

export interface Memory {
    resident: Estimated | null;
    at_end: Estimated | null;
    with_mappings: Estimated | null;
    reserved: Estimated | null;
}

export interface MetricsPack {
    head: { metrics: Metric[]; };
    column: never;
    family: never;
}

export interface NothingPack {
    head: {  };
    column: never;
    family: never;
}

export interface PartOfResident {
    name: string;
    title: string;
    bytes: number | null;
}

export interface PatternsPack {
    head: { damage: string[]; cell_unit: number; };
    column: "rows.grown_steps" | "rows.grown_blocks" | "rows.elsewhere" | "rows.acquiring" | "sizes.site" | "sizes.low" | "sizes.high" | "sizes.count" | "lifetimes.site" | "lifetimes.low" | "lifetimes.high" | "lifetimes.count" | "cells.site" | "cells.size" | "cells.lifetime" | "cells.count";
    family: never;
}

export interface PinOfResident {
    frame: number;
    share: number;
    alone: number;
    blocks: number;
    bytes: number;
    median_age_ns: number;
}

export interface ProcessOfRun {
    pid: number;
    id: string;
    process: number;
    parent: number;
    program: string;
    command: string;
    began_ns: number;
    ended_ns: number | null;
    exit: string;
    threads: number;
}

export interface ProfilePack {
    head: { totals: Totals; balance: Balance; memory: Memory; findings: Finding[] | null; wrappers: Wrappers | null; damage: string[]; missing: string[]; notes: string[]; types: string[]; site_others: number; texts: string[]; };
    column: "sites.frame" | "sites.kind" | "sites.inlined" | "sites.inlined_frames" | "sites.element" | "sites.elements" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables" | "tree.parent" | "tree.frame" | "tree.others";
    family: "sites" | "tree";
}

export interface RegionSpread {
    name: string;
    count: number;
    median_ns: number;
    p99_ns: number;
    worst_ns: number;
    total_ns: number;
}

export interface ResidentPack {
    head: { resident: ResidentSet | null; why: string; cell: number; areas_left_out: number; files: string[]; texts: string[]; };
    column: "areas.from" | "areas.cells" | "areas.resident" | "cells.number" | "cells.live" | "cells.slack" | "cells.pinned" | "cells.free_pages" | "cells.mappings" | "cells.stacks" | "cells.globals" | "cells.files" | "cells.recorder" | "cells.other" | "cells.owner" | "owners.frame" | "owners.file" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: never;
}

export interface ResidentSet {
    pid: number;
    id: string;
    program: string;
    allocator: string;
    at_ns: number;
    looks: LookOfResident[];
    rss: number;
    kernel: number;
    swapped: number;
    never_touched: number;
    live_blocks: number;
    parts: PartOfResident[];
    pins: PinOfResident[];
    globals: GlobalOfResident[];
    globals_left_out: number;
    held_below: HeldBelowOfResident | null;
    wastes: WasteOfResident[];
    on_wastes: string[];
    huge_pages: string;
    missed_peak: string;
    others: number;
}

export interface Slice {
    from_ns: number;
    to_ns: number;
}

export interface SlicePack {
    head: { totals: Totals; balance: Balance; memory: Memory; wrappers: Wrappers | null; damage: string[]; slice: Slice; };
    column: "sites.index" | "tree.index";
    family: "sites" | "tree";
}

export interface SourcePack {
    head: { text: string | null; why: string | null; is_newer: boolean; functions: string[]; };
    column: "own.line" | "through.line";
    family: "own" | "through";
}

export interface SourceText {
    text: string;
    is_newer: boolean;
}

export interface SourcesPack {
    head: { sources: Record<string, SourceText>; };
    column: never;
    family: never;
}

export interface StackChartPack {
    head: { thread: LaneOfThread | null; others: number; why: string; texts: string[]; damage: string[]; };
    column: "columns.begin" | "columns.end" | "columns.value" | "bars.caller" | "bars.frame" | "bars.first" | "bars.behind" | "bars.value" | "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";
    family: "bars";
}

export interface StackedGroup {
    name: string;
    full: string;
    module: string;
    others: number | null;
}

export interface StackedPack {
    head: { start_ns: number; interval_ns: number; is_live: boolean; groups: StackedGroup[]; why: string; damage: string[]; };
    column: never;
    family: "groups" | "variances";
}

export interface ThreadOfRun {
    pid: number;
    process: number;
    tid: number;
    name: string | null;
}

export interface Titles {
    of_all: string;
    in_rows: string;
}

export interface Totals {
    values: Record<string, number | null>;
    intervals: Record<string, [number, number]>;
    peak_is: string;
    processes: number;
    titles: Record<string, Titles>;
}

export interface WasteOfResident {
    frame: number;
    saves: string;
    remedy: string;
}

export interface Wrappers {
    functions: string[];
    folded: string | null;
}
