// What the server or the page says of a selection.

import { known, number, type Unit } from "./format";
import type { Column as TextColumn } from "./table_text";
import type { Column, Declared, Pack, With } from "./pack";
import type { Balance, Estimated, Intervals, Memory, ProfilePack, Totals, Wrappers } from "./packs";

/** Columns of the lines, columns beside the call tree, facts of the first page. */
export type List = "lines" | "tree" | "overview";

export interface Metric {
    name: string;
    title: string;
    /** What it is called in rows, where that is not its title. */
    rowTitle?: string;
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
    /** What was divided among call sites: the total, and how far a small part may be off by that, as a share of the part; null: it was not. */
    divided?: { total: number; error: number } | null;
    /** How far 1 ns of it is off below and above by the prices of page faults, that of huge pages, and what may be missing, ns; null: it has no
     * such prices. */
    prices?: { each: [below: number, above: number]; huge: [below: number, above: number]; missing: number } | null;
}

/** The column of a metric in a table that is copied. */
export const columnOf = ({ name, unit }: Metric): TextColumn => ({ title: name, unit });

export const titleInRows = ({ title, rowTitle }: Metric) => rowTitle ?? title;

/** Metrics as an answer calls them. */
export const titled = (metrics: Metric[], titles: Totals["titles"]): Metric[] =>
    metrics.map((metric) => {
        const own = titles[metric.name];
        return own ? { ...metric, title: own.of_all, rowTitle: own.in_rows } : metric;
    });

/** The metrics that are shown there. */
export const shownIn = (metrics: Metric[], list: List) => metrics.filter((metric) => metric.lists.includes(list));

export interface Timeline extends Intervals {
    live: Column;
    /** Equal parts of the time, between which a mouse selects; only of a server. */
    parts: number;
}

export interface Finding {
    id: string;
    text: string;
    share: { part: number; whole: number; of: string } | null;
    function: string | null;
    file: string | null;
    line: number | null;
    /** What else was found at the line. */
    also: { text: string }[];
}

export interface Frame {
    /** Its number in the recording. */
    id: number;
    function: string;
    /** With parameters and all template arguments. */
    full: string;
    /** Without parameters, with all template arguments. */
    qualified: string;
    file: string;
    line: number;
    module: string;
    /** What its loaded file is called: its name, with as many folders as tell it from the others. None: it stands for several files. */
    moduleName?: string;
    /** What tells its loaded file from the others: its name or, if several have that name, its path. None: it stands for several files. */
    uniqueModule?: string;
    /** Other loaded files have a function of its name. */
    shared?: boolean;
    /** Other loaded files have it from the same source file. */
    sharedSource?: boolean;
    /** What tells it apart from others of its name, such as parameters. */
    parameters?: string;
    /** Its caller was found by reading the code, or with the frame pointer. */
    withoutTables?: boolean;
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
    /** Null: there are none. */
    wrappers: Wrappers | null;
    /** What was not recorded of the selection and of the whole recording. */
    missing: string[];
    notes: string[];
    frames: Frame[];
    sites: Site[];
    siteNumbers: Numbers;
    /** Of a page; a server is asked for parts of it. */
    tree: CallTree | null;
}

export function frameOf(profile: Profile, number: number): Frame | null {
    return number === 0 ? null : (profile.frames[number - 1] ?? null);
}

/** What says how far a metric's numbers are off, and adds up as these do: crates/view/src/metrics.rs. */
const BASES = ["variance", "inside", "overdrawn", "huge"] as const;
export type Basis = (typeof BASES)[number];
export const basisOf = (metric: Metric, basis: Basis): Metric => ({ ...metric, name: `${metric.name}.${basis}` });

/** The metrics, and what says how far they are off, where the packs have that. */
export function withBases<D extends Declared>(packs: Pack<D>[], family: D["family"], metrics: Metric[]): Metric[] {
    return metrics.flatMap((metric) => [metric, ...BASES.map((basis) => basisOf(metric, basis)).filter(({ name }) => packs.some((pack) => pack.hasMember(family, name)))]);
}

/** Columns of all metrics. Means stay sums: they are divided when they are shown. */
export function numbersOf<D extends Declared>(pack: Pack<D>, family: D["family"], metrics: Metric[]): Numbers {
    const numbers: Numbers = new Map();
    for (const { name } of withBases([pack], family, metrics)) {
        const values = Float64Array.from(pack.member(family, name));
        // NaN: frees are hidden. In sums, that is nothing.
        if (values.some(Number.isNaN)) numbers.set(unknownOf(name), values.map((value) => (Number.isNaN(value) ? 1 : 0)));
        numbers.set(name, values.map((value) => value || 0));
    }
    return numbers;
}

/** The column that says which rows of another one are not known; there is none where all are. */
export const unknownOf = (name: string) => `${name}.unknown`;

/** The columns of frames. */
export type FrameColumn = "frames.id" | "frames.function" | "frames.full" | "frames.qualified" | "frames.parameters" | "frames.file" | "frames.line" | "frames.module" | "frames.module_name" | "frames.unique_module" | "frames.shared" | "frames.shared_source" | "frames.without_tables";

/** The frames of a pack; `prefix` begins the names of their columns. */
export function framesOf<const Prefix extends string>(pack: With<`${Prefix}${FrameColumn}`>, texts: string[], prefix: Prefix): Frame[] {
    const of = (name: FrameColumn) => pack.column(`${prefix}${name}`);
    const [id, fn, full, file, line, module] = [of("frames.id"), of("frames.function"), of("frames.full"), of("frames.file"), of("frames.line"), of("frames.module")];
    const [shared, sharedSource, withoutTables] = [of("frames.shared"), of("frames.shared_source"), of("frames.without_tables")];
    const text = (column: Column, index: number) => texts[column[index] ?? 0] ?? "";
    return Array.from({ length: fn.length }, (_, index) => ({
        id: id[index] ?? 0,
        function: text(fn, index),
        full: text(full, index),
        qualified: text(of("frames.qualified"), index),
        parameters: text(of("frames.parameters"), index),
        file: text(file, index),
        line: line[index] ?? 0,
        module: text(module, index),
        moduleName: text(of("frames.module_name"), index),
        uniqueModule: text(of("frames.unique_module"), index),
        shared: shared[index] === 1,
        sharedSource: sharedSource[index] === 1,
        withoutTables: withoutTables[index] === 1,
    }));
}

type SiteColumn = "sites.frame" | "sites.kind" | "sites.inlined" | "sites.element" | "sites.elements" | "sites.inlined_frames";

/** How many call sites there are, those that share the last row too. */
export const countOfSites = (sites: Site[]): number => sites.reduce((all, { others }) => all + Math.max(1, others), 0);

/** The call sites of a pack. */
export function sitesOf(pack: With<SiteColumn, Pick<ProfilePack["head"], "types" | "site_others">>, frames: Frame[]): Site[] {
    const { types, site_others: others } = pack.head;
    const [frame, kind, inlined, inlinedFrames] = [pack.column("sites.frame"), pack.column("sites.kind"), pack.column("sites.inlined"), pack.column("sites.inlined_frames")];
    const [element, elements] = [pack.column("sites.element"), pack.column("sites.elements")];
    let next = 0;
    return Array.from({ length: frame.length }, (_, index): Site => {
        const first = next;
        next += inlined[index] ?? 0;
        return {
            index,
            frame: frame[index] ? (frames[frame[index]! - 1] ?? null) : null,
            inlined: Array.from(inlinedFrames.subarray(first, next), (number) => frames[number]!),
            type: kind[index] ? (types[kind[index]! - 1] ?? "") : "",
            element: element[index] ?? 0,
            elements: elements[index] ?? 0,
            others: others > 0 && index === frame.length - 1 ? others : 0,
        };
    });
}

export function profileOf(pack: Pack<ProfilePack>, metrics: Metric[]): Profile {
    const { totals, balance, memory, wrappers, missing, notes, texts } = pack.head;
    const frames = framesOf(pack, texts, "");
    const treeOf = (): CallTree => {
        const [parent, frame, others] = pack.all("tree.parent", "tree.frame", "tree.others");
        return { parent, frame, others, numbers: numbersOf(pack, "tree", metrics) };
    };
    const sites = sitesOf(pack, frames);
    return { totals, balance, memory, wrappers, missing, notes, frames, sites, siteNumbers: numbersOf(pack, "sites", metrics), tree: pack.has("tree.parent") ? treeOf() : null };
}

/** A number of a row; `null`: not known, or a mean of nothing. */
export function valueOf(numbers: Numbers, metric: Metric, row: number): number | null {
    if (!metric.known) return null;
    const value = numbers.get(metric.name)?.[row] ?? 0;
    if (numbers.get(unknownOf(metric.name))?.[row]) return null;
    if (!metric.over) return value;
    const over = numbers.get(metric.over)?.[row] ?? 0;
    return over > 0 ? value / over : null;
}

export function totalOf(totals: Totals, metric: Metric): number | null {
    if (!metric.known) return null;
    const value = totals.values[metric.name] ?? 0;
    if (totals.values[metric.name] === null) return null;
    if (!metric.over) return value;
    const over = totals.values[metric.over] ?? 0;
    return over > 0 ? value / over : null;
}

/** The program's CPU time; null: it is not known, or there is none. */
export const processorOf = ({ balance: { processor } }: Profile): Estimated | null => (processor && processor.value > 0 ? processor : null);

/** What shares of rows are of. Processes have their peaks at different instants: those of rows add up to more than the peak of all. */
export function wholeOf({ totals, siteNumbers }: Profile, metric: Metric): { value: number; words: string; isTotal: boolean } | null {
    const total = totalOf(totals, metric);
    if (total === null) return null;
    let own = 0;
    if (metric.name === "peak") for (const one of siteNumbers.get(metric.name) ?? []) own += one;
    if (own > total) return { value: own, words: `${number(own, metric.unit)}, the peaks of all processes added up`, isTotal: false };
    return { value: total, words: totalInWords(totals, metric), isTotal: true };
}

/** The whole of a metric as text, with the digits that are known. */
export function totalInWords(totals: Totals, metric: Metric): string {
    const value = totalOf(totals, metric) ?? 0;
    const interval = totals.intervals[metric.name];
    const words = interval ? known(value, ...interval, metric.unit) : number(value, metric.unit);
    if (metric.name !== "peak" || totals.peak_is === "exact") return words;
    return totals.peak_is === "at most" ? `at most ${words}` : `${words}, peaks of processes added up`;
}
