// What the page shows: all of it is in the URL, so that a link shows the same, and Back is undo.

import { withoutLast } from "./cuts";
import { OF_PAGES } from "./packs";
import { sizesOf } from "./sizes";

export const VIEWS = ["overview", "lines", "tree", "flame", "snapshots", "resident", "lifetimes", "threads", "notes", "source", "layout", "compare", "regions", "processes", "functions"] as const;
export type ViewName = (typeof VIEWS)[number];

/** Views of what a page of `memtoll html` does not hold: only a server can say it. */
export const OF_A_SERVER: readonly ViewName[] = ["functions", "resident", "threads", "layout"];

/** What only a server can select: a page has sums of all call stacks. */
export const UNFILTERED = { filter: "", sizes: "", cuts: "", process: "", thread: "", paid: false, unfold: false, wrappers: false } satisfies Partial<State>;

export interface Selection {
    /** Span of time, ns since the recording began; null: from its beginning, to its end. */
    from: number | null;
    to: number | null;
    filter: string;
    /** Sizes of the blocks that count (sizes.ts); empty: all. */
    sizes: string;
    /** What is cut out of call stacks, a line each (cuts.ts). */
    cuts: string;
    unfold: boolean;
    /** Whether wrappers of malloc are shown; otherwise their callers lead. */
    wrappers: boolean;
    paid: boolean;
    process: string;
    thread: string;
}

/** A selection with what is to be known of it. */
export interface Wanted extends Selection {
    /** What lies in memory at the end, or at `look`. */
    pages: boolean;
    /** Which look at the pages, as the address has it, of the process that had most then; empty: the last one of each process. */
    look: string;
    /** What is live at this instant, ns, instead of a span; of a page, the end of a run of several processes only. */
    at?: number;
}

export interface State extends Selection {
    view: ViewName;
    metric: string;
    group: string;
    /** The column by which a table is sorted, behind it `-up` where the smallest comes first; empty: as the view has it. */
    order: string;
    /** Which columns tables show, and how wide (columns.ts); empty: all, as wide as a table makes them. */
    columns: string;
    /** Call tree and flame graph: from the allocations outwards. */
    reversed: boolean;
    search: string;
    /** Call tree and flame graph: which place a search has found is chosen, from 1 on; 0: none of them. */
    hit: number;
    /** Call tree and flame graph: whether the lines of a function are frames of their own. */
    byLine: boolean;
    /** Call tree: the open branches (paths.ts); empty: the heaviest path. */
    open: string;
    /** Call tree and flame graph: the chosen branch. */
    branch: string;
    /** Flame graph: the frame that is as wide as all; empty: the root. */
    zoom: string;
    /** Flame graph: what colors say, `metric` or, empty, the module. */
    color: string;
    /** Flame graph: whether it shows the calls of one thread in the order of time. */
    inOrder: boolean;
    /** Call tree: only stacks through this function, with its callers and what it calls. Functions: the chosen one. */
    through: string;
    /** Call tree: what its first branches are, `module` or `type`; empty: frames. */
    by: string;
    /** Lines: whether rows are shown that have nothing of the metric. */
    zeros: boolean;
    /** Lines: whether the details have most of the room. */
    wide: boolean;
    /** Whether the panel beside the view is shown, of the function that is chosen in it. */
    panel: boolean;
    /** Whether that panel has all metrics. */
    all: boolean;
    /** Overview: what to change is explained, by the ids of the advice, with a blank between them. */
    explained: string;
    /** Lines: the row whose details are open, by function and place. */
    focus: string;
    /** The part of the time that the time line shows, ns; null: from the beginning, to the end. */
    left: number | null;
    right: number | null;
    /** Time line: what divides the metric, `function` or `type`; empty: live bytes as a whole. */
    stack: string;
    /** Time line: regions that take longer are shown as too long, ns; 0: none are. */
    budget: number;
    /** Compare: whether a flame graph is shown. */
    graph: boolean;
    /** Compare: whether what may be chance is shown, too. */
    small: boolean;
    /** Generations: whether blocks are counted. */
    blocks: boolean;
    /** The span that is compared with the selection, as `FROM-TO`; empty: none. */
    base: string;
    /** Source: the file, and the line in it; 0: none. */
    file: string;
    line: number;
    /** Layout: the type; empty: the list of all. */
    type: string;
    /** Which look at the pages, `peak` or a time in ns; empty: the last one. */
    look: string;
    /** Snapshots: a map of memory, colored by `line` or `age`; empty: the table. */
    map: string;
    /** The addresses whose blocks are shown, as `0xFROM-0xTO`; empty: none. */
    range: string;
    /** Lifetimes: the cell of the heat map whose lines are shown, as `SIZExLIFETIME`, in bits; empty: none. */
    cell: string;
    /** The number whose meaning is shown; empty: none. */
    define: string;
}

export const START: State = {
    view: "overview",
    metric: "cost",
    from: null,
    to: null,
    filter: "",
    sizes: "",
    cuts: "",
    unfold: false,
    wrappers: false,
    paid: false,
    process: "",
    thread: "",
    group: "line",
    order: "",
    columns: "",
    reversed: false,
    search: "",
    hit: 1,
    byLine: false,
    open: "",
    branch: "",
    zoom: "",
    color: "",
    inOrder: false,
    through: "",
    by: "",
    zeros: false,
    wide: false,
    panel: false,
    all: false,
    explained: "",
    focus: "",
    left: null,
    right: null,
    stack: "",
    budget: 0,
    graph: false,
    small: false,
    blocks: false,
    base: "",
    file: "",
    line: 0,
    type: "",
    look: "",
    map: "",
    range: "",
    cell: "",
    define: "",
};

const SWITCHES = ["unfold", "wrappers", "paid", "reversed", "zeros", "wide", "panel", "all", "byLine", "inOrder", "graph", "small", "blocks"] as const;

const TEXTS = ["metric", "filter", "sizes", "cuts", "process", "thread", "group", "order", "columns", "search", "open", "branch", "zoom", "color", "through", "by", "explained", "focus", "base", "file", "type", "look", "map", "stack", "range", "cell", "define"] as const;

export function toHash(state: State): string {
    const words = new URLSearchParams();
    for (const key of Object.keys(START) as (keyof State)[]) {
        const value = state[key];
        if (value !== START[key]) words.set(key, typeof value === "number" ? String(Math.round(value)) : String(value));
    }
    return `#${words.toString()}`;
}

export function fromHash(hash: string): State {
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    const state: State = { ...START };
    for (const key of TEXTS) state[key] = words.get(key) ?? state[key];
    for (const key of SWITCHES) state[key] = words.get(key) === "true";
    for (const key of ["from", "to", "left", "right"] as const) {
        const value = Number(words.get(key) ?? NaN);
        state[key] = Number.isFinite(value) && value >= 0 ? value : null;
    }
    for (const [first, last] of [["from", "to"], ["left", "right"]] as const)
        if (state[first] !== null && state[last] !== null && state[first] > state[last]) [state[first], state[last]] = [state[last], state[first]];
    for (const key of ["line", "budget", "hit"] as const) state[key] = words.has(key) ? Math.max(0, Math.floor(Number(words.get(key)) || 0)) : START[key];
    if (baseOf(state.base) === null) state.base = "";
    if (sizesOf(state.sizes) === null) state.sizes = "";
    const view = words.get("view");
    state.view = VIEWS.find((name) => name === view) ?? START.view;
    return state;
}

/** What means nothing any more when something else changes. */
const BELONGS: [to: (keyof State)[], what: (keyof State)[]][] = [
    [["reversed", "by", "through", "byLine", "cuts"], ["open", "branch", "zoom"]],
    [["zoom", "inOrder"], ["branch"]],
    [["search"], ["hit"]],
    [["view"], ["order"]],
];

/** A state in which something is changed. */
export function changed(state: State, change: Partial<State>): State {
    const next = { ...state, ...change };
    const lost = BELONGS.filter(([to]) => to.some((key) => next[key] !== state[key])).flatMap(([, what]) => what);
    return { ...next, ...Object.fromEntries(lost.filter((key) => !(key in change)).map((key) => [key, START[key]])) };
}

/** Views of call stacks, whose numbers may be those until a look at the pages. */
const OF_A_LOOK: ViewName[] = ["lines", "tree", "flame", "functions"];

/** Whether the view says what lay in memory at a look: a span has none. */
export const isOfLook = ({ view, metric, from, to }: State) => OF_A_LOOK.includes(view) && OF_PAGES.includes(metric) && from === null && to === null;

/** What is inside what, as one leaves it: in which view (empty: in all), and how. */
const LAYERS: [view: ViewName | "", Partial<State>][] = [
    ["lifetimes", { cell: "" }],
    ["lifetimes", { focus: "" }],
    ["lines", { focus: "" }],
    ["snapshots", { range: "" }],
    ["flame", { zoom: "" }],
    ["tree", { through: "" }],
    ["functions", { through: "" }],
    ["layout", { type: "" }],
    ["", { panel: false }],
    ["", { search: "" }],
    ["", { from: null, to: null }],
    ["", { look: "" }],
    ["compare", { base: "" }],
    ["", { process: "", thread: "" }],
    ["", { cuts: "" }],
    ["", { sizes: "" }],
    ["", { filter: "" }],
];

/** What leaves the innermost of what is open or selected; null: nothing is. */
export function leaving(state: State): Partial<State> | null {
    const isShown = (change: Partial<State>) => !("look" in change) || state.view === "resident" || isOfLook(state);
    const isInside = ([view, change]: (typeof LAYERS)[number]) => (view === "" || view === state.view) && isShown(change) && (Object.keys(change) as (keyof State)[]).some((key) => state[key] !== START[key]);
    const way = LAYERS.find(isInside)?.[1] ?? null;
    return way && "cuts" in way ? withoutLast(state) : way;
}

export function selectionOf(state: State): Wanted {
    const { from, to, filter, sizes, cuts, unfold, wrappers, paid, process, thread, metric } = state;
    return { from, to, filter, sizes, cuts, unfold, wrappers, paid, process, thread, pages: OF_PAGES.includes(metric), look: isOfLook(state) ? state.look : "" };
}

export interface Base {
    from: number | null;
    to: number | null;
}

/** A span as the address has it. */
export function baseText({ from, to }: Base): string {
    return `${from === null ? "" : Math.round(from)}-${to === null ? "" : Math.round(to)}`;
}

/** The span that is compared with the selection; null: there is none. */
export function baseOf(text: string): Base | null {
    const found = /^(\d*)-(\d*)$/.exec(text);
    if (!found) return null;
    const [from, to] = [found[1], found[2]].map((digits) => (digits ? Number(digits) : null)) as [number | null, number | null];
    return from !== null && to !== null && from > to ? null : { from, to };
}
