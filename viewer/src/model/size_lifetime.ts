// How many freed blocks of which size lived how long: cells of a power of two each, that add up.

import { bytes, time } from "./format";
import type { Pack } from "./pack";
import type { PatternsPack } from "./packs";

export interface Cell {
    /** How many bits the size and the lifetime have. */
    size: number;
    lifetime: number;
    count: number;
}

/** Cells by site. Lifetimes are in units of `unit` ns. */
export interface Cells {
    bySite: Cell[][];
    unit: number;
}

export function cellsOf(pack: Pack<PatternsPack>, sites: number): Cells {
    const bySite: Cell[][] = Array.from({ length: sites }, () => []);
    const [site, size, lifetime, counts] = pack.all("cells.site", "cells.size", "cells.lifetime", "cells.count");
    for (let at = 0; at < site.length; at++) bySite[site[at]!]?.push({ size: size[at]!, lifetime: lifetime[at]!, count: counts[at]! });
    return { bySite, unit: pack.head.cell_unit };
}

/** The cells between the smallest and the largest size, the shortest and the longest lifetime. */
export interface Grid {
    /** The largest first, as they stand in the picture. */
    sizes: number[];
    lifetimes: number[];
    /** By size, then by lifetime. */
    counts: number[][];
    all: number;
    most: number;
}

export function gridOf(cells: Cell[]): Grid {
    const range = (of: (cell: Cell) => number) => {
        let [first, last] = [Infinity, -Infinity];
        for (const cell of cells) [first, last] = [Math.min(first, of(cell)), Math.max(last, of(cell))];
        return cells.length > 0 ? Array.from({ length: last - first + 1 }, (_, at) => first + at) : [];
    };
    const [sizes, lifetimes] = [range((cell) => cell.size).reverse(), range((cell) => cell.lifetime)];
    const counts = sizes.map(() => lifetimes.map(() => 0));
    for (const { size, lifetime, count } of cells) counts[sizes[0]! - size]![lifetime - lifetimes[0]!]! += count;
    const rows = counts.map((row) => row.reduce((sum, count) => sum + count, 0));
    return { sizes, lifetimes, counts, all: rows.reduce((sum, row) => sum + row, 0), most: Math.max(0, ...counts.flat()) };
}

/** The lowest value with `bits` bits. */
export function lowest(bits: number): number {
    return bits === 0 ? 0 : 2 ** (bits - 1);
}

export function sizeText(bits: number): string {
    return bits < 2 ? bytes(bits) : `${bytes(lowest(bits))} to below ${bytes(lowest(bits + 1))}`;
}

export function lifetimeText(bits: number, unit: number): string {
    return bits === 0 ? `below ${time(unit)}` : `${time(lowest(bits) * unit)} to below ${time(lowest(bits + 1) * unit)}`;
}

/** A step of the color: 1 or 2 blocks are in step 0, 3 to 9 in step 1, 10 to 29 in step 2, and so on. */
export function stepOf(count: number): number {
    if (count < 1) return -1;
    const power = String(Math.floor(count)).length - 1;
    return 2 * power + (count >= 3 * 10 ** power ? 1 : 0);
}

/** The fewest blocks of a step. */
export function fewestOf(step: number): number {
    return (step % 2 === 0 ? 1 : 3) * 10 ** Math.floor(step / 2);
}

/** A cell as the address has it. */
export function cellText({ size, lifetime }: { size: number; lifetime: number }): string {
    return `${size}x${lifetime}`;
}

export function cellFrom(text: string): { size: number; lifetime: number } | null {
    const found = /^(\d{1,2})x(\d{1,2})$/.exec(text);
    const [size, lifetime] = [Number(found?.[1]), Number(found?.[2])];
    return found && size <= 64 && lifetime <= 64 ? { size, lifetime } : null;
}

/** How many of these blocks are in a cell. */
export function countIn(cells: Cell[] | undefined, at: { size: number; lifetime: number }): number {
    return cells?.find(({ size, lifetime }) => size === at.size && lifetime === at.lifetime)?.count ?? 0;
}
