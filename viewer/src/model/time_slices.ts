// A page has no events: a selection of it is made of slices of time, whose sums are joined here.

import { unknownOf, withVariances, type Metric, type Numbers, type Profile } from "./answer";
import type { Pack } from "./pack";
import type { Balance, Estimated, SlicePack, Totals } from "./packs";

export type Slice = Pack<SlicePack>;

function add(a: Estimated, b: Estimated): Estimated {
    const value = a.value + b.value;
    const low = value - Math.hypot(a.value - a.low, b.value - b.low);
    return { value, low, high: value + Math.hypot(a.high - a.value, b.high - b.value) };
}

function both<T>(a: T | null, b: T | null, plus: (a: T, b: T) => T): T | null {
    return a === null || b === null ? null : plus(a, b);
}

function balanceOf(all: Balance[], none: Balance): Balance {
    const sum = (a: number, b: number) => a + b;
    const first = all[0];
    if (!first) return { ...none, processor_ns: null, rest: null, recorder: null };
    return all.slice(1).reduce((a, b) => ({
        processor_ns: both(a.processor_ns, b.processor_ns, sum),
        plain: null,
        allocator: add(a.allocator, b.allocator),
        faults: both(a.faults, b.faults, add),
        zeroing: both(a.zeroing, b.zeroing, add),
        mapping: add(a.mapping, b.mapping),
        other_faults: both(a.other_faults, b.other_faults, add),
        recorder: both(a.recorder, b.recorder, add),
        rest: both(a.rest, b.rest, add),
        waiting_ns: both(a.waiting_ns, b.waiting_ns, sum),
        reading_ns: both(a.reading_ns, b.reading_ns, sum),
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
    for (const { name, join } of metrics) {
        const of = (totals: Totals | undefined) => totals?.values[name] ?? 0;
        const chosen = join === "sum" ? totals : [join === "last" ? totals.at(-1) : totals[highest]];
        values[name] = chosen.some((one) => one?.values[name] === null) ? null : chosen.reduce((sum, one) => sum + of(one), 0);
    }
    const intervals: Totals["intervals"] = {};
    for (const name of Object.keys(totals[0]?.intervals ?? {})) {
        const errors = totals.map((one) => {
            const value = one.values[name] ?? 0;
            const [low, high] = one.intervals[name] ?? [value, value];
            return [value - low, high - value] as const;
        });
        const value = values[name] ?? 0;
        intervals[name] = [value - Math.hypot(...errors.map((e) => e[0])), value + Math.hypot(...errors.map((e) => e[1]))];
    }
    return { values, intervals, processes: totals[0]?.processes ?? 0 };
}

/** What was selected of `whole`: the names are the whole's, the numbers those of the slices together. */
export function joined(whole: Profile, slices: Slice[], metrics: Metric[]): Profile {
    const totals = slices.map(({ head }) => head.totals);
    const peak = (index: number) => totals[index]?.values["peak"] ?? 0;
    const highest = totals.reduce((best, _, index) => (peak(index) > peak(best) ? index : best), 0);
    const shape = whole.tree;
    return {
        ...whole,
        totals: totalsOfAll(totals, highest, metrics),
        balance: balanceOf(slices.map(({ head }) => head.balance), whole.balance),
        // Resident sets are known of whole processes.
        memory: slices.length === 1 ? slices[0]!.head.memory : { resident: null, at_end: null, with_mappings: null, reserved: null },
        findings: slices.length === 1 ? slices[0]!.head.findings : [],
        dearest: new Map(),
        siteNumbers: numbersOf("sites", whole.sites.length, slices, slices[highest], metrics),
        tree: shape && { ...shape, numbers: numbersOf("tree", shape.parent.length, slices, slices[highest], metrics) },
    };
}
