// A page has no events: a selection of it is made of slices of time, whose sums are joined here.

import { dearestOf, unknownOf, withVariances, type Metric, type Numbers, type Profile } from "./answer";
import type { Pack } from "./pack";
import type { Balance, Estimated, SlicePack, Totals } from "./packs";

export type Slice = Pack<SlicePack>;

const NOTHING: Estimated = { value: 0, low: 0, high: 0 };

/** Slices share prices: where one of them errs, the others err as far. */
function add(a: Estimated, b: Estimated): Estimated {
    return { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high };
}

/** What sites cost in those slices in which they are among the dearest. */
function dearestOfAll(slices: Slice[]): Profile["dearest"] {
    const all: Profile["dearest"] = new Map();
    for (const slice of slices) for (const [site, one] of dearestOf(slice)) all.set(site, add(all.get(site) ?? NOTHING, one));
    return all;
}

function both<T>(a: T | null, b: T | null, plus: (a: T, b: T) => T): T | null {
    return a === null || b === null ? null : plus(a, b);
}

function balanceOf(all: Balance[], none: Balance): Balance {
    const first = all[0];
    if (!first) return { ...none, processor: null, rest: null, recorder: null };
    return all.slice(1).reduce((a, b) => ({
        processor: both(a.processor, b.processor, add),
        plain: null,
        allocator: add(a.allocator, b.allocator),
        faults: both(a.faults, b.faults, add),
        zeroing: both(a.zeroing, b.zeroing, add),
        mapping: add(a.mapping, b.mapping),
        other_faults: both(a.other_faults, b.other_faults, add),
        recorder: both(a.recorder, b.recorder, add),
        rest: both(a.rest, b.rest, add),
        waiting: both(a.waiting, b.waiting, add),
        reading: both(a.reading, b.reading, add),
        sees_faults: a.sees_faults && b.sees_faults,
    }), first);
}

/** The numbers of `rows` rows, from those that slices have of some of them. */
function numbersOf(prefix: "sites" | "tree", rows: number, slices: Slice[], highest: Slice | undefined, metrics: Metric[]): Numbers {
    const numbers: Numbers = new Map();
    for (const metric of withVariances(slices, prefix, metrics)) {
        const [sums, unknown] = [new Float64Array(rows), new Float64Array(rows)];
        const last = slices.at(-1);
        const chosen = metric.join === "sum" ? slices : metric.join === "last" ? (last ? [last] : []) : highest ? [highest] : [];
        for (const pack of chosen) {
            const index = pack.column(`${prefix}.index`);
            // A slice without faults has no variances.
            if (!pack.hasMember(prefix, metric.name)) continue;
            const values = pack.member(prefix, metric.name);
            for (let at = 0; at < index.length; at++) {
                if (Number.isNaN(values[at]!)) unknown[index[at]!] = 1;
                sums[index[at]!]! += values[at]! || 0;
            }
        }
        numbers.set(metric.name, sums);
        if (unknown.includes(1)) numbers.set(unknownOf(metric.name), unknown);
    }
    return numbers;
}

function totalsOfAll(totals: Totals[], highest: number, metrics: Metric[]): Totals {
    const values: Record<string, number | null> = {};
    const intervals: Totals["intervals"] = {};
    for (const { name, join } of metrics) {
        const chosen = join === "sum" ? totals : totals.slice(...(join === "last" ? [-1] : [highest, highest + 1]));
        const all = chosen.map((one): Estimated => {
            const value = one.values[name] ?? 0;
            const [low, high] = one.intervals[name] ?? [value, value];
            return { value, low, high };
        });
        const { value, low, high } = all.reduce(add, NOTHING);
        values[name] = chosen.some((one) => one.values[name] === null) ? null : value;
        if (chosen.some((one) => one.intervals[name])) intervals[name] = [low, high];
    }
    return { values, intervals, peak_is: totals[highest]?.peak_is ?? "exact", processes: totals[0]?.processes ?? 0, titles: totals.at(-1)?.titles ?? {} };
}

/** What was selected of `whole`: the names are the whole's, of what is in the slices, the numbers those of the slices together. */
export function joined(whole: Profile, slices: Slice[], metrics: Metric[]): Profile {
    const totals = slices.map(({ head }) => head.totals);
    const peak = (index: number) => totals[index]?.values["peak"] ?? 0;
    const highest = totals.reduce((best, _, index) => (peak(index) > peak(best) ? index : best), 0);
    const shape = whole.tree;
    const there = new Set(slices.flatMap((slice) => [...slice.column("sites.index")]));
    return {
        ...whole,
        totals: totalsOfAll(totals, highest, metrics),
        balance: balanceOf(slices.map(({ head }) => head.balance), whole.balance),
        // Resident sets are known of whole processes.
        memory: slices.length === 1 ? slices[0]!.head.memory : { resident: null, at_end: null, with_mappings: null, reserved: null },
        dearest: dearestOfAll(slices),
        sites: whole.sites.filter(({ index }) => there.has(index)),
        siteNumbers: numbersOf("sites", whole.sites.length, slices, slices[highest], metrics),
        tree: shape && { ...shape, numbers: numbersOf("tree", shape.parent.length, slices, slices[highest], metrics) },
    };
}
