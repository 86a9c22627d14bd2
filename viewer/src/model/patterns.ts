// How call sites use memory: histograms that add up.

import { cellsOf, type Cells } from "./size_lifetime";
import type { Column, Pack } from "./pack";
import type { PatternsPack } from "./packs";

export interface Bin {
    low: number;
    high: number;
    count: number;
}

export interface Patterns {
    /** By site. */
    sizes: Bin[][];
    lifetimes: Bin[][];
    /** The same blocks by size and lifetime. */
    cells: Cells;
    grownSteps: Column;
    grownBlocks: Column;
    elsewhere: Column;
    acquiring: Column;
}

function binsOf(pack: Pack<PatternsPack>, name: "sizes" | "lifetimes", sites: number): Bin[][] {
    const all: Bin[][] = Array.from({ length: sites }, () => []);
    const [site, low, high, counts] = pack.all(`${name}.site`, `${name}.low`, `${name}.high`, `${name}.count`);
    for (let at = 0; at < site.length; at++) all[site[at]!]?.push({ low: low[at]!, high: high[at]!, count: counts[at]! });
    return all;
}

export function rowsOf(pack: Pack<PatternsPack>, sites: number): Patterns {
    return {
        sizes: binsOf(pack, "sizes", sites),
        lifetimes: binsOf(pack, "lifetimes", sites),
        cells: cellsOf(pack, sites),
        grownSteps: pack.column("rows.grown_steps"),
        grownBlocks: pack.column("rows.grown_blocks"),
        elsewhere: pack.column("rows.elsewhere"),
        acquiring: pack.column("rows.acquiring"),
    };
}

/** Number of the bin that a value is in: two for each doubling. */
function binOf(value: number): number {
    if (value < 1) return 0;
    const power = Math.floor(Math.log2(value));
    return 1 + 2 * power + (value >= 1.5 * 2 ** power ? 1 : 0);
}

function beginOf(bin: number): number {
    if (bin === 0) return 0;
    const power = Math.floor((bin - 1) / 2);
    return (bin - 1) % 2 === 0 ? 2 ** power : 1.5 * 2 ** power;
}

/** All in one histogram, from the first bin to the last, those between included. */
export function histogram(bins: Bin[]): Bin[] {
    if (bins.length === 0) return [];
    const counts = new Map<number, number>();
    for (const { low, high, count } of bins) {
        const bin = binOf((low + high) / 2);
        counts.set(bin, (counts.get(bin) ?? 0) + count);
    }
    const [first, last] = [Math.min(...counts.keys()), Math.max(...counts.keys())];
    return Array.from({ length: last - first + 1 }, (_, at) => ({
        low: beginOf(first + at),
        high: beginOf(first + at + 1),
        count: counts.get(first + at) ?? 0,
    }));
}

/** The middle of the bin that holds the value that this share does not exceed, rounded down as in JSON; 0: there is none. */
export function quantile(unsorted: Bin[], share: number): number {
    const bins = [...unsorted].sort((a, b) => a.low - b.low);
    const all = bins.reduce((sum, bin) => sum + bin.count, 0);
    let seen = 0;
    for (const { low, high, count } of bins) {
        seen += count;
        if (seen >= all * share && count > 0) return Math.floor((low + high) / 2);
    }
    return 0;
}
