// Who holds the resident set of a process: its parts, the lines that pin free memory, and a map of its pages.

import { framesOf, type Frame } from "./answer";
import type { MemoryArea } from "./memory_map";
import type { Column, Pack } from "./pack";
import type { ResidentPack, ResidentSet } from "./packs";
import { withCut } from "./cuts";
import { oneFunction } from "./names";
import type { State } from "./state";

/** What holds memory, in the order of the balance: names of columns and of colors. */
export const PARTS = ["live", "slack", "pinned", "free_pages", "mappings", "stacks", "globals", "files", "recorder", "other"] as const;
export type PartName = (typeof PARTS)[number];

/** What a cell of the map has most of, as its text says it. */
export const SHORT: Record<PartName, string> = {
    live: "live",
    slack: "headers and rounding",
    pinned: "pinned",
    free_pages: "free",
    mappings: "own mapping",
    stacks: "stack",
    globals: "global variables",
    files: "files",
    recorder: "recorder",
    other: "other",
};

export interface Pin {
    frame: Frame | null;
    share: number;
    alone: number;
    blocks: number;
    bytes: number;
    medianAge: number;
}

/** What would make it smaller: what that saves, and what to do. */
export interface Waste {
    frame: Frame | null;
    saves: string;
    remedy: string;
}

/** A line, or a file. */
export interface Owner {
    frame: Frame | null;
    file: string;
}

export interface PageMap {
    /** Bytes of a cell. */
    cell: number;
    /** `live` of an area is what of it is in memory. */
    areas: MemoryArea[];
    areasLeftOut: number;
    /** Cells that are in memory: number, bytes of each part, and owner from 1 (0: none). */
    number: Column;
    parts: Record<PartName, Column>;
    owner: Column;
    owners: Owner[];
}

export interface Held {
    set: ResidentSet;
    pins: Pin[];
    wastes: Waste[];
    map: PageMap;
}

/** Null: there was no look, and the text says why. */
export function heldOf(pack: Pack<ResidentPack>): Held | string {
    const { resident: set, why, cell, areas_left_out, files, texts } = pack.head;
    if (!set) return why;
    const frames = framesOf(pack, texts, "");
    const frameOf = (number: number) => (number ? (frames[number - 1] ?? null) : null);
    const [from, cells, inMemory] = pack.all("areas.from", "areas.cells", "areas.resident");
    let first = 0;
    const areas = Array.from(from, (from, index): MemoryArea => {
        const area = { from, cells: cells[index]!, first, live: inMemory[index]!, blocks: 0 };
        first += area.cells;
        return area;
    });
    const [frame, file] = pack.all("owners.frame", "owners.file");
    const owners = Array.from(frame, (number, index) => ({ frame: frameOf(number), file: file[index] ? (files[file[index]! - 1] ?? "") : "" }));
    const parts = Object.fromEntries(PARTS.map((name) => [name, pack.column(`cells.${name}`)])) as Record<PartName, Column>;
    const pins = set.pins.map(({ frame, share, alone, blocks, bytes, median_age_ns }): Pin => ({ frame: frameOf(frame), share, alone, blocks, bytes, medianAge: median_age_ns }));
    const wastes = set.wastes.map(({ frame, saves, remedy }): Waste => ({ frame: frameOf(frame), saves, remedy }));
    return { set, pins, wastes, map: { cell, areas, areasLeftOut: areas_left_out, number: pack.column("cells.number"), parts, owner: pack.column("cells.owner"), owners } };
}

/** What a cell has most of; the first of those that are equal. */
export function mostOf(map: PageMap, place: number): PartName {
    let most: PartName = "live";
    for (const name of PARTS) if (map.parts[name][place]! > map.parts[most][place]!) most = name;
    return most;
}

/** What a cell has, most first. */
export function partsOf(map: PageMap, place: number): { name: PartName; bytes: number }[] {
    const all = PARTS.map((name) => ({ name, bytes: map.parts[name][place]! })).filter(({ bytes }) => bytes > 0);
    return all.sort((a, b) => b.bytes - a.bytes);
}

/** What shows only calls of one function: of overloads, or of functions of one name in two libraries, that one. */
export const onlyOf = (state: Pick<State, "cuts">, frame: Frame): Partial<State> => ({ filter: "", ...withCut(state, { kind: "focus", of: "function", name: oneFunction(frame) }) });
