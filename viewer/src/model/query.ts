// What a server is asked: a query, as `memtoll_query::Query` has it, and which page of its answer is wanted
// (crates/view/src/ask.rs). tests/questions.json has one of each; a test on both sides holds them against it.

import { sizesOf } from "./sizes";
import { partsOfFunction } from "./names";
import { cutsOf, type CutKind } from "./cuts";
import { type Base, type Selection, type Wanted } from "./state";

export type When = "all" | { look: { at: Look } } | { span: { from_ns: number | null; to_ns: number | null } } | { at: { ns: number } };

export type View =
    | { table: { group: string; limit: number } }
    | { tree: { direction: "callees" | "callers"; function: string | null; by: string | null; min_percent: number } }
    | { lanes: { intervals: number } }
    | { activity: { intervals: number } }
    | { resident: { at: Look; cells: number } };

/** Which look at a process's pages: the last one, that with most, or the one nearest to a time, ns. */
export type Look = "last" | "peak" | { near: number };

export interface Query {
    when?: When;
    processes?: string[];
    threads?: string[];
    filter?: string;
    min_size?: number;
    max_size?: number;
    focus?: string;
    drop?: string;
    collapse?: string;
    fold?: string;
    unfold?: boolean;
    wrappers?: boolean;
    paid?: boolean;
    pages?: boolean;
    metric?: string;
    view?: View;
    patterns?: boolean;
}

export type Borders = "selection" | "marks";

/** What of the answer is wanted; none: what the query's view shows. */
export type Page =
    | "about"
    | "advice"
    | "findings"
    | "functions"
    | { level: { columns: string[]; label: string | null; path: number[]; searched?: boolean } }
    | { changes: { before: When | null; path?: [number, number][]; searched?: boolean } }
    | { source: { file: string } }
    | { memory: { range: [number, number] | null } }
    | { generations: { borders: Borders } }
    | { stacked: { intervals: number; through?: string } }
    | { "stack-chart": { columns: number; lines: boolean; metrics: string[] } }
    | { layout: { of: string | null } };

export interface Question {
    query?: Query;
    page?: Page;
}

/** The look that the address of the page names. */
export function lookOf(text: string): Look {
    if (text === "peak") return "peak";
    return /^\d{1,15}$/.test(text) ? { near: Number(text) } : "last";
}

/** A part of the time; ns are whole. */
export function whenOf({ from, to }: Base): When {
    const ns = (of: number | null) => (of === null ? null : Math.max(0, Math.floor(of)));
    return from === null && to === null ? "all" : { span: { from_ns: ns(from), to_ns: ns(to) } };
}

/** A regular expression that finds this text. */
export const literally = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The cuts of each kind. */
function cutPatterns(selection: Selection): Partial<Record<CutKind, string>> {
    const cuts = cutsOf(selection);
    const lines = (kind: CutKind) => cuts.filter((cut) => cut.kind === kind).map(({ of, name }) => `${of}:${partsOfFunction(name).map((part) => `^${literally(part)}$`).join(" module:")}`);
    return Object.fromEntries([...new Set(cuts.map(({ kind }) => kind))].map((kind) => [kind, lines(kind).join("\n")]));
}

/** What selects the same in a query. */
export function queryOf(selection: Selection & Partial<Wanted>): Query {
    const { filter, unfold, wrappers, paid, process, thread, pages, look, at } = selection;
    const sizes = sizesOf(selection.sizes);
    const when: When = at !== undefined ? { at: { ns: Math.max(0, Math.floor(at)) } } : look ? { look: { at: lookOf(look) } } : whenOf(selection);
    return { when, processes: process ? [process] : [], threads: thread ? [thread] : [], ...(filter && { filter }), ...(sizes && { min_size: sizes.least, max_size: sizes.most }), ...cutPatterns(selection), unfold, wrappers, paid, ...(pages && { pages }) };
}
