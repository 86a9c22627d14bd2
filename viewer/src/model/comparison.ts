// What changed, by call site: as a server says it, or of two selections of a page.

import { totalOf, valueOf, type Frame, type Metric, type Profile } from "./answer";
import { Errors, marginOf, marginOfDifference } from "./errors";
import { counted, inRow } from "./format";
import { frameName, siteName } from "./names";
import type { Pack } from "./pack";
import type { ChangesPack } from "./packs";

export type Side = "before" | "after";

export interface Change {
    /** null: a row without a place, or several together. */
    frame: Frame | null;
    name: string;
    type: string;
    fate: "changed" | "new" | "gone";
    /** Whether it is more than chance. */
    exceeds: boolean;
    at: number;
}

export interface Comparison {
    /** null: they are spans of one recording. */
    files: [string, string] | null;
    metrics: Metric[];
    changes: Change[];
    /** Index of the values of all. */
    total: number;
    value: (side: Side, metric: Metric, at: number) => number;
    /** Half of the 95 % interval of a side; 0 of what is counted. */
    sideMargin: (side: Side, metric: Metric, at: number) => number;
    /** Half of the 95 % interval of a difference; 0 of what is counted, and where it is not known. */
    margin: (metric: Metric, at: number) => number;
}

const together = (name: string, at: number): Change => ({ frame: null, name, type: "", fate: "changed", exceeds: false, at });

/** With what is in no row, if it is anything. */
function withRest(told: Comparison, rest: Change[]): Comparison {
    const isSomething = ({ at }: Change) => told.metrics.some((one) => told.value("before", one, at) !== 0 || told.value("after", one, at) !== 0);
    return { ...told, changes: [...told.changes, ...rest.filter(isSomething)] };
}

const comparedOf = (all: Metric[]) => all.filter((one) => one.compared && one.known);

/** What is in the whole and in no row; `isPart`: only some call stacks have rows. */
const inNoRow = (at: number, isPart: boolean): Change => together(`in no row: ${isPart ? "call stacks that do not match, " : ""}peaks at other times`, at);

/** What a server says; `isPart`: of some call stacks. */
export function comparisonOf(pack: Pack<ChangesPack>, all: Metric[], isPart = false): Comparison {
    const { rows, others, files } = pack.head;
    const exceeds = pack.column("compare.exceeds");
    const changes = rows.map((row, at): Change => {
        const frame = row.full ? { id: 0, function: row.function, full: row.full, qualified: row.function, file: row.file ?? "", line: row.line ?? 0, module: row.module ?? "", moduleName: row.module_name ?? "", uniqueModule: row.unique_module ?? "", shared: row.shared, sharedSource: row.shared_source } : null;
        return { frame, name: frame ? frameName(frame) : row.function, type: row.kind ?? "", fate: row.fate, exceeds: exceeds[at] === 1, at };
    });
    const value = (side: Side, metric: Metric, at: number) => pack.member(side, metric.name)[at] || 0;
    const sideMargin = (side: Side, metric: Metric, at: number) => pack.member(`${side}.margin`, metric.name)[at] || 0;
    // NaN: not known, or counted.
    const margin = (metric: Metric, at: number) => pack.member("margin", metric.name)[at] || 0;
    // Behind the rows: those without a row, what is in no row, and all.
    const rest = [together(counted(others, "other call site"), rows.length), inNoRow(rows.length + 1, isPart)];
    return withRest({ files, metrics: comparedOf(all), changes, total: rows.length + 2, value, sideMargin, margin }, rest);
}

/** A value before or after, with the digits that its margin allows. */
export function sideInWords(value: number, margin: number, unit: Metric["unit"]): string {
    const by = value === 0 ? 0 : margin;
    return inRow({ value, low: value - by, high: value + by }, unit);
}

/** Two selections of one recording. */
export function comparisonIn(before: Profile, after: Profile, all: Metric[]): Comparison {
    const metrics = comparedOf(all);
    const sites = [...new Map([...before.sites, ...after.sites].map((site) => [site.index, site])).values()];
    const total = sites.reduce((most, { index }) => Math.max(most, index), 0) + 2;
    const profiles = { before, after };
    const inRows = new Map(metrics.map((one) => [one, { before: sumOf(before, one), after: sumOf(after, one) }]));
    const whole = (side: Side, metric: Metric) => totalOf(profiles[side].totals, metric) ?? 0;
    const value = (side: Side, metric: Metric, at: number) => {
        if (at === total) return whole(side, metric);
        return at === total - 1 ? whole(side, metric) - inRows.get(metric)![side] : (valueOf(profiles[side].siteNumbers, metric, at) ?? 0);
    };
    const errors = { before: new Errors(before.totals, all), after: new Errors(after.totals, all) };
    const estimated = (side: Side, metric: Metric, at: number) => {
        if (at === total - 1) return null;
        return at === total ? errors[side].ofAll(metric.name) : errors[side].of(metric, (one) => value(side, one, at));
    };
    const sideMargin = (side: Side, metric: Metric, at: number) => {
        const estimate = estimated(side, metric, at);
        return estimate ? marginOf(estimate) : 0;
    };
    const margin = (metric: Metric, at: number) => {
        const [before, after] = [estimated("before", metric, at), estimated("after", metric, at)];
        return before && after ? marginOfDifference(after.value - before.value, [marginOf(before), marginOf(after)]) : 0;
    };
    const exceeds = (at: number) =>
        metrics.some((one) => {
            const by = Math.abs(value("after", one, at) - value("before", one, at));
            if (by === 0 || !one.resolves) return false;
            const [share, least] = one.resolves;
            return by >= Math.max(share * Math.max(whole("before", one), whole("after", one)), least);
        });
    const isThere = (side: Side, at: number) => metrics.some((one) => value(side, one, at) !== 0);
    const changes = sites
        .filter(({ index }) => isThere("before", index) || isThere("after", index))
        .map((site): Change => {
            const at = site.index;
            if (site.others > 0) return together(siteName(site), at);
            const fate = !isThere("before", at) ? "new" : isThere("after", at) ? "changed" : "gone";
            return { frame: site.frame, name: siteName(site), type: site.type, fate, exceeds: exceeds(at), at };
        });
    return withRest({ files: null, metrics, changes, total, value, sideMargin, margin }, [inNoRow(total - 1, false)]);
}

function sumOf(profile: Profile, metric: Metric): number {
    return (profile.siteNumbers.get(metric.name) ?? new Float64Array()).reduce((sum, value) => sum + value, 0);
}
