// What happens when, in intervals of equal length; and which of what is known is shown.

import { count } from "./format";
import type { Column, Pack } from "./pack";
import type { ActivityPack, RegionSpread } from "./packs";

export interface Span {
    from: number;
    to: number;
}

export interface Region extends Span {
    name: string;
    /** The row in which it is drawn: those of one row do not overlap. */
    row: number;
}

/** Intervals of equal length, one after the other; times are in ns. */
export interface Cells {
    start: number;
    interval: number;
    count: number;
}

export interface Activity extends Cells {
    /** The highest number of live bytes in each interval. */
    live: Column;
    /** Whether it is known. */
    seesLive: boolean;
    /** How many there were in each interval; null: not known. */
    allocations: Column | null;
    faults: Column | null;
    /** The highest resident set in each interval, without the recorder; NaN: not looked at yet; null: not known. */
    resident: Column | null;
    marks: { name: string; at: number }[];
    regions: Region[];
    /** The longest regions, one by one, also those that find no row. */
    runs: (Span & { name: string })[];
    /** How many there are, with those that are not known one by one. */
    regionCount: number;
    /** How long all of them take, by name. */
    spreads: RegionSpread[];
    /** Marks and regions for which there was no room. */
    leftOut: number;
}

/** Rows of regions that are drawn. */
const REGION_ROWS = 3;

/** Puts regions into rows, the first one that is free; those that find none are left out. They come in the order of their begin. */
export function inRows(regions: (Span & { name: string })[]): Region[] {
    const ends: number[] = [];
    return regions.flatMap((region) => {
        let row = ends.findIndex((end) => end <= region.from);
        if (row < 0) row = ends.length;
        if (row >= REGION_ROWS) return [];
        ends[row] = region.to;
        return [{ ...region, row }];
    });
}

/** How many regions take longer than a budget, ns. */
export function overBudget({ runs, regionCount }: Pick<Activity, "runs" | "regionCount">, budget: number): string {
    const over = runs.filter(({ from, to }) => to - from > budget).length;
    // Of very many, only the longest are known: the others may be too long only if all of these are.
    const atLeast = over === runs.length && regionCount > over ? "at least " : "";
    return `${atLeast}${count(over)} of ${count(regionCount)} over`;
}

export function activityOf(pack: Pack<ActivityPack>): Activity {
    const [live, allocations, at, begin, end] = pack.all("activity.live", "activity.allocations", "marks.at", "regions.begin", "regions.end");
    const { start_ns, interval_ns, sees_live, marks, regions: names, region_count, left_out, spreads } = pack.head;
    const runs = names.map((name, index) => ({ name, from: begin[index]!, to: end[index]! }));
    const regions = inRows(runs);
    return {
        start: start_ns,
        interval: interval_ns,
        count: live.length,
        live,
        seesLive: sees_live,
        allocations,
        faults: pack.has("activity.faults") ? pack.column("activity.faults") : null,
        resident: pack.has("activity.resident") ? pack.column("activity.resident") : null,
        marks: marks.map((name, index) => ({ name, at: at[index]! })),
        regions,
        runs,
        regionCount: region_count,
        spreads,
        leftOut: left_out + begin.length - regions.length,
    };
}

/** When most was live, in the middle of its interval; null: nothing is known. */
export function peakOf({ start, interval, live }: Pick<Activity, "start" | "interval" | "live">): { at: number; bytes: number } | null {
    let most = 0;
    for (let at = 1; at < live.length; at++) if (live[at]! > live[most]!) most = at;
    return live.length > 0 ? { at: start + (most + 0.5) * interval, bytes: live[most]! } : null;
}

function endOf({ start, interval, count }: Cells): number {
    return start + interval * count;
}

/** What shows a span best: the narrowest intervals that cover all of it; the first one covers everything. */
export function bestOf<Of extends Cells>(known: Of[], seen: Span, end: number): Of {
    let best = known[0]!;
    for (const one of known) if (one.interval < best.interval && one.start <= seen.from + 0.5 && endOf(one) >= Math.min(seen.to, end) - 0.5) best = one;
    return best;
}

/** Whether narrower intervals would show more of a span on the screen's pixels. */
export function isCoarse({ interval }: Cells, seen: Span, pixels: number): boolean {
    return interval > 1.5 && interval > ((seen.to - seen.from) / Math.max(1, pixels)) * 2.5;
}

/** The shortest span that is shown, ns. */
const SHORTEST = 1000;

/** A span that lies in the recording. */
export function within(span: Span, end: number): Span {
    const length = Math.min(end, Math.max(Math.min(SHORTEST, end), span.to - span.from));
    const from = Math.min(Math.max(0, span.from), end - length);
    return { from, to: from + length };
}

/** Around an instant that stays where it is: a factor above 1 shows more. */
export function zoomed(seen: Span, around: number, factor: number, end: number): Span {
    const length = Math.min(end, Math.max(Math.min(SHORTEST, end), (seen.to - seen.from) * factor));
    const share = (around - seen.from) / (seen.to - seen.from);
    return within({ from: around - length * share, to: around + length * (1 - share) }, end);
}
