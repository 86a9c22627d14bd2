// What is live at an instant, by when it was acquired.

import { framesOf, sitesOf, type Site } from "./answer";
import { groupKey, groupName } from "./site_groups";
import type { Pack } from "./pack";
import type { GenerationsPack } from "./packs";

export interface Generation {
    /** When it begins, ns; null: with the recording. */
    begin: number | null;
    /** The mark with which it begins. */
    mark: string | null;
}

export interface Survivors {
    key: string;
    name: string;
    /** A call site of the group. */
    site: Site;
    /** Live bytes and blocks of each generation. */
    bytes: number[];
    blocks: number[];
}

export interface Generations {
    at: number;
    all: Generation[];
    rows: Survivors[];
}

export function generationsOf(pack: Pack<GenerationsPack>, group: string): Generations {
    const { at_ns, begins_ns, marks, texts } = pack.head;
    const all = [{ begin: null, mark: null }, ...begins_ns.map((begin, index) => ({ begin, mark: marks[index] ?? null }))];
    const column = (what: "bytes" | "blocks") => all.map((_, index) => pack.member(what, index));
    const [bytes, blocks] = [column("bytes"), column("blocks")];
    const rows = new Map<string, Survivors>();
    for (const site of sitesOf(pack, framesOf(pack, texts, ""))) {
        const key = groupKey(site, group);
        let row = rows.get(key);
        if (!row) rows.set(key, (row = { key, name: groupName(site, group), site, bytes: all.map(() => 0), blocks: all.map(() => 0) }));
        for (let index = 0; index < all.length; index++) {
            row.bytes[index]! += bytes[index]![site.index]!;
            row.blocks[index]! += blocks[index]![site.index]!;
        }
    }
    return { at: at_ns, all, rows: [...rows.values()] };
}

/** What became of the blocks of one row between two instants. */
export interface Fate {
    /** Acquired since, and live at the second one. */
    born: number;
    /** Live at the first one, and no more. */
    died: number;
    /** Live at both. */
    stayed: number;
}

/** `null`: it is not known. Blocks that a pool of the program hands out are counted as live, but have no generation. */
export function fateOf(row: Survivors | undefined, before: number, after: number): Fate | null {
    const [stayed = 0, born = 0] = row?.bytes ?? [];
    if (stayed + born !== after || stayed > before) return null;
    return { born, died: before - stayed, stayed };
}
