// What the server or the page says of a selection.

import type { Unit } from "./format";
import { Pack, type Column } from "./pack";

/** Columns of the lines, columns beside the call tree, facts of the first page. */
export type List = "lines" | "tree" | "overview";

export interface Metric {
    name: string;
    title: string;
    unit: Unit;
    help: string;
    /** Where its numbers come from, and how those of rows add up. */
    origin: string;
    /** Whether the kernel showed what it takes to know it. */
    known: boolean;
    /** How the numbers of neighboring spans of time become that of both. */
    join: "sum" | "last" | "highest";
    color: string;
    /** Where it is shown beside others. */
    lists: List[];
    /** The metric that it is divided by, where it is a mean. */
    over: string | null;
    /** Whether it is compared. */
    compared: boolean;
    /** The smallest difference that two recordings resolve: a share of the whole, and a number; null: none by itself. */
    resolves: [share: number, least: number] | null;
}

/** The metrics that are shown there. */
export const shownIn = (metrics: Metric[], list: List) => metrics.filter((metric) => metric.lists.includes(list));

export interface About {
    file: string;
    command: string;
    started: string;
    duration_ns: number;
    processor: string;
    processors: number;
    events: number | null;
    processes: { pid: number; program: string; command: string }[];
    process_count: number;
    threads: { pid: number; tid: number; name: string | null }[];
    thread_count: number;
    notes: string[];
}

export interface Timeline {
    end_ns: number;
    interval_ns: number;
    sum_of_peaks: boolean;
    known: boolean;
    live: Column;
    /** Equal parts of the time, between which a mouse selects; only of a server. */
    parts: number;
}

/** A time and where the true one is in 95 of 100 recordings, ns. */
export interface Part {
    ns: number;
    low: number;
    high: number;
}

export interface Balance {
    processor_ns: number | null;
    plain: Part | null;
    allocator: Part;
    faults: Part;
    zeroing: Part;
    mapping: Part;
    other_faults: Part;
    recorder: Part | null;
    rest: Part | null;
    waiting_ns: number | null;
    reading_ns: number | null;
    sees_faults: boolean;
}

/** Bytes, as far as they are known. */
export interface GiveOrTake {
    bytes: number;
    error: number;
}

/** What is in memory, and what is only mapped; null: not known, as of a part of the time. */
export interface Memory {
    resident: GiveOrTake | null;
    at_end: GiveOrTake | null;
    reserved: GiveOrTake | null;
}

export interface Finding {
    id: string;
    text: string;
    share: { part: number; whole: number; of: string } | null;
    function: string | null;
    file: string | null;
    line: number | null;
}

/** Functions that allocate on behalf of others. */
export interface Wrappers {
    functions: string[];
    /** The sentence that says that they are folded away; null: they are shown. */
    folded: string | null;
}

export interface Totals {
    values: Record<string, number>;
    intervals: Record<string, [low: number, high: number]>;
    processes: number;
}

export interface Frame {
    /** Its number in the recording. */
    id: number;
    function: string;
    /** With parameters and all template arguments. */
    full: string;
    file: string;
    line: number;
    module: string;
}

export interface Site {
    index: number;
    frame: Frame | null;
    inlined: Frame[];
    type: string;
    /** Bytes of an element, and how many a block has room for; 0: not known. */
    element: number;
    elements: number;
    /** Call sites that this row stands for; 0: it is one. */
    others: number;
}

/** Numbers by metric; each column has one for each row. */
export type Numbers = Map<string, Float64Array>;

export interface CallTree {
    parent: Column;
    /** Number of the frame plus one; 0: none. */
    frame: Column;
    /** Call paths that a node stands for. */
    others: Column;
    numbers: Numbers;
}

export interface Profile {
    totals: Totals;
    balance: Balance;
    memory: Memory;
    findings: Finding[];
    /** Null: there are none. */
    wrappers: Wrappers | null;
    damage: string[];
    frames: Frame[];
    sites: Site[];
    siteNumbers: Numbers;
    /** Of a page; a server is asked for parts of it. */
    tree: CallTree | null;
}

export function frameOf(profile: Profile, number: number): Frame | null {
    return number === 0 ? null : (profile.frames[number - 1] ?? null);
}

/** Columns of all metrics. Means stay sums: they are divided when they are shown. */
export function numbersOf(pack: Pack, prefix: string, metrics: Metric[]): Numbers {
    const numbers: Numbers = new Map();
    for (const metric of metrics) {
        const column = pack.column(`${prefix}.${metric.name}`);
        numbers.set(metric.name, Float64Array.from(column));
    }
    return numbers;
}

/** The frames of a pack; `prefix` begins the names of all of it. */
export function framesOf(pack: Pack, prefix = ""): Frame[] {
    const texts = pack.get<string[]>(`${prefix}texts`);
    const [fn, full, file, line, module] = ["function", "full", "file", "line", "module"].map((name) =>
        pack.column(`${prefix}frames.${name}`),
    ) as [Column, Column, Column, Column, Column];
    const text = (column: Column, index: number) => texts[column[index] ?? 0] ?? "";
    const id = pack.column(`${prefix}frames.id`);
    return Array.from({ length: fn.length }, (_, index) => ({
        id: id[index] ?? 0,
        function: text(fn, index),
        full: text(full, index),
        file: text(file, index),
        line: line[index] ?? 0,
        module: text(module, index),
    }));
}

/** The call sites of a pack. */
export function sitesOf(pack: Pack, frames: Frame[]): Site[] {
    const types = pack.get<string[]>("types");
    const columns = ["frame", "type", "inlined", "element", "elements"].map((name) => pack.column(`sites.${name}`));
    const [frame, type, inlined, element, elements] = columns as [Column, Column, Column, Column, Column];
    const inlinedFrames = pack.column("sites.inlined_frames");
    const others = pack.get<number>("site_others");
    let next = 0;
    return Array.from({ length: frame.length }, (_, index): Site => {
        const first = next;
        next += inlined[index] ?? 0;
        return {
            index,
            frame: frame[index] ? (frames[frame[index]! - 1] ?? null) : null,
            inlined: Array.from(inlinedFrames.subarray(first, next), (number) => frames[number]!),
            type: type[index] ? (types[type[index]! - 1] ?? "") : "",
            element: element[index] ?? 0,
            elements: elements[index] ?? 0,
            others: others > 0 && index === frame.length - 1 ? others : 0,
        };
    });
}

export function profileOf(pack: Pack, metrics: Metric[]): Profile {
    const frames = framesOf(pack);
    return {
        totals: pack.get<Totals>("totals"),
        balance: pack.get("balance"),
        memory: pack.get("memory"),
        findings: pack.get("findings"),
        wrappers: pack.get("wrappers"),
        damage: pack.get("damage"),
        frames,
        sites: sitesOf(pack, frames),
        siteNumbers: numbersOf(pack, "sites", metrics),
        tree: pack.has("tree.parent")
            ? {
                  parent: pack.column("tree.parent"),
                  frame: pack.column("tree.frame"),
                  others: pack.column("tree.others"),
                  numbers: numbersOf(pack, "tree", metrics),
              }
            : null,
    };
}

/** A number of a row; `null`: not known, or a mean of nothing. */
export function valueOf(numbers: Numbers, metric: Metric, row: number): number | null {
    if (!metric.known) return null;
    const value = numbers.get(metric.name)?.[row] ?? 0;
    if (!metric.over) return value;
    const over = numbers.get(metric.over)?.[row] ?? 0;
    return over > 0 ? value / over : null;
}

export function totalOf(totals: Totals, metric: Metric): number | null {
    if (!metric.known) return null;
    const value = totals.values[metric.name] ?? 0;
    if (!metric.over) return value;
    const over = totals.values[metric.over] ?? 0;
    return over > 0 ? value / over : null;
}
