// A page has no events: a selection of it is made of slices of time, whose sums are joined here.

import { unknownOf, valueOf, withBases, type Metric, type Numbers, type Profile } from "./answer";
import { CHARGED, Errors, sumOf, together } from "./errors";
import { byChance } from "./format";
import type { Pack } from "./pack";
import type { Balance, Estimated, SlicePack, Totals } from "./packs";

export type Slice = Pack<SlicePack>;

/** A sum of what is exact, or errs by the same prices: where it does in one slice, it does as far in the others. */
function add(a: Estimated, b: Estimated): Estimated {
    return { value: a.value + b.value, low: a.low + b.low, high: a.high + b.high };
}

function both<T>(a: T | null, b: T | null, plus: (a: T, b: T) => T): T | null {
    return a === null || b === null ? null : plus(a, b);
}

const negative = ({ value, low, high }: Estimated): Estimated => ({ value: -value, low: -high, high: -low });

/** Prices of faults err as far in each slice, and chance in each by itself. */
function otherFaults(all: Balance[]): Estimated | null {
    const chanceOf = (value: number, variance: number): Estimated => {
        const [low, high] = byChance(value, variance);
        return { value: 0, low: low - value, high: high - value };
    };
    const priced = all.map(({ other_faults: of, other_faults_variance: variance }) => {
        const chance = of && chanceOf(of.value, variance);
        return of && chance && { value: of.value, low: of.value - Math.sqrt(Math.max(0, (of.value - of.low) ** 2 - chance.low ** 2)), high: of.value + Math.sqrt(Math.max(0, (of.high - of.value) ** 2 - chance.high ** 2)) };
    });
    const sum = priced.reduce((a, b) => both(a, b, add));
    return sum && together([sum, chanceOf(sum.value, all.reduce((sum, one) => sum + one.other_faults_variance, 0))]);
}

/** Of slices whose costs have these errors together. What is left errs as the server has it: each part by itself. */
function balanceOf(all: Balance[], errors: Errors): Balance {
    const nothing: Balance = { processor: null, plain: null, other_faults: null, other_faults_variance: 0, recorder: null, rest: null };
    if (all.length === 0) return nothing;
    const [processor, other_faults] = [all.map((of) => of.processor).reduce((a, b) => both(a, b, add)), otherFaults(all)];
    const explained = together([...CHARGED.map((name) => errors.ofAll(name)), other_faults]);
    return {
        ...nothing,
        processor,
        other_faults,
        other_faults_variance: all.reduce((sum, one) => sum + one.other_faults_variance, 0),
        rest: all.some(({ rest }) => rest === null) ? null : processor && together([processor, negative(explained)]),
    };
}

/** The numbers of `rows` rows, from those that slices have of some of them. */
function numbersOf(prefix: "sites" | "tree", rows: number, slices: Slice[], highest: Slice | undefined, metrics: Metric[]): Numbers {
    const numbers: Numbers = new Map();
    for (const metric of withBases(slices, prefix, metrics)) {
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

/** `siteNumbers`: those of the sites of the slices, whose variances add up. */
function totalsOfAll(totals: Totals[], highest: number, whole: Totals, siteNumbers: Numbers, metrics: Metric[]): Totals {
    const values: Record<string, number | null> = {};
    for (const { name, join } of metrics) {
        const chosen = join === "sum" ? totals : totals.slice(...(join === "last" ? [-1] : [highest, highest + 1]));
        values[name] = chosen.some((one) => one.values[name] === null) ? null : chosen.reduce((sum, one) => sum + (one.values[name] ?? 0), 0);
    }
    const errors = new Errors(whole, metrics);
    const sites = [...(siteNumbers.values().next().value ?? []).keys()];
    const ofSites = sumOf(sites, (site, metric) => valueOf(siteNumbers, metric, site));
    const intervals: Totals["intervals"] = {};
    for (const metric of metrics) {
        const of = errors.of(metric, (one) => values[one.name] ?? ofSites(one));
        if (of && of.low < of.high) intervals[metric.name] = [of.low, of.high];
    }
    return { values, intervals, peak_is: totals[highest]?.peak_is ?? "exact", processes: totals[0]?.processes ?? 0, titles: totals.at(-1)?.titles ?? {} };
}

/** What was selected of `whole`: the names are the whole's, of what is in the slices, the numbers those of the slices together. */
export function joined(whole: Profile, slices: Slice[], metrics: Metric[]): Profile {
    const totals = slices.map(({ head }) => head.totals);
    const peak = (index: number) => totals[index]?.values["peak"] ?? 0;
    const highest = totals.reduce((best, _, index) => (peak(index) > peak(best) ? index : best), 0);
    const shape = whole.tree;
    const siteNumbers = numbersOf("sites", whole.sites.length, slices, slices[highest], metrics);
    const there = new Set(slices.flatMap((slice) => [...slice.column("sites.index")]));
    const sums = totalsOfAll(totals, highest, whole.totals, siteNumbers, metrics);
    return {
        ...whole,
        totals: sums,
        balance: balanceOf(slices.map(({ head }) => head.balance), new Errors(sums, metrics)),
        // Resident sets are known of whole processes.
        memory: slices.length === 1 ? slices[0]!.head.memory : { resident: null, at_end: null, with_mappings: null, reserved: null },
        sites: whole.sites.filter(({ index }) => there.has(index)),
        siteNumbers,
        tree: shape && { ...shape, numbers: numbersOf("tree", shape.parent.length, slices, slices[highest], metrics) },
    };
}
