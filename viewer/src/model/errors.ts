// How far the numbers of a part of the whole are off: of a row, a branch, a span of time.

import { basisOf, type Basis, type Metric } from "./answer";
import { byChance, inRow } from "./format";
import type { Estimated, Totals } from "./packs";
import type { TreeItem } from "./tree";

/** What the part has of a metric; null: not known, or its pack does not say. */
export type Has = (metric: Metric) => number | null;

/** The CPU time that is charged to call sites. */
export const CHARGED = ["fault-time", "mapping", "allocator"];

/** What threads waited for. It is no CPU time. */
export const WAITS = ["waiting", "reading"];

/** What all costs are made of. */
export const PARTS_OF_COST = [...CHARGED, ...WAITS];

/** The metrics that say how far these are off: a cost is off as its parts are. */
export const withParts = (names: string[]): string[] => [...new Set(names.includes("cost") ? [...names, ...PARTS_OF_COST] : names)];

/** What several frames have together. */
export const inFrames = (items: readonly Pick<TreeItem, "valueOf">[]): Has => (metric) => {
    const known = items.map((item) => item.valueOf(metric)).filter((value) => value !== null);
    return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) : null;
};

/** What several rows have together. */
export const sumOf = (rows: readonly number[], of: (row: number, metric: Metric) => number | null): Has => (metric) => rows.reduce((sum, row) => sum + (of(row, metric) ?? 0), 0);

/** A sum of what errs by itself; crates/metrics/src/estimate.rs has the same. */
export function together(parts: (Estimated | null)[]): Estimated {
    const known = parts.filter((part) => part !== null);
    const value = known.reduce((sum, part) => sum + part.value, 0);
    return { value, low: value - Math.hypot(...known.map((part) => part.value - part.low)), high: value + Math.hypot(...known.map((part) => part.high - part.value)) };
}

/** How far a number is off, at most. */
export const marginOf = ({ value, low, high }: Estimated): number => Math.max(value - low, high - value);

/** Of a side before and a side after, half of the 95 % interval each; 0 of what is counted. */
export type Margins = readonly [before: number, after: number];

/** How far the difference of two sides is off; crates/analysis/src/diff/samples.rs has the same. */
export const marginOfDifference = (by: number, margins: Margins): number => (Math.abs(by) < 0.5 ? 0 : Math.hypot(...margins));

/** A part of the whole errs as far, and a part of what was divided by how that was done, too: the more, the smaller it is. `inside`: as the
 * server has it of the part. */
export function partOf(whole: Estimated, value: number, divided: Metric["divided"], inside = 0): Estimated {
    const share = whole.value > 0 ? Math.abs(value) / whole.value : 0;
    const rest = (ns: number) => (divided ? Math.max(0, 1 - Math.abs(ns) / divided.total) : 1);
    const dividing = divided ? divided.error * Math.abs(value) * Math.sqrt(Math.max(0, rest(value) ** 2 - rest(whole.value) ** 2)) : 0;
    return together([{ value, low: value - share * (whole.value - whole.low), high: value + share * (whole.high - whole.value) }, around0(dividing), around0(rest(value) * inside)]);
}

/** `huge`: what of it huge pages took. Their price is known by itself. As `Tariff::faults_of` has it. */
function pricedBy({ each, huge: ofHuge, missing }: NonNullable<Metric["prices"]>, value: number, huge: number): Estimated {
    const others = Math.abs(value - huge);
    return together([{ value, low: value - others * each[0], high: value + others * each[1] }, { value: 0, low: -huge * ofHuge[0], high: huge * ofHuge[1] }, { value: 0, low: 0, high: missing }]);
}

const around0 = (error: number): Estimated => ({ value: 0, low: -error, high: error });

export class Errors {
    private readonly metrics: Map<string, Metric>;

    constructor(
        private readonly totals: Pick<Totals, "values" | "intervals">,
        metrics: Metric[],
    ) {
        this.metrics = new Map(metrics.map((metric) => [metric.name, metric]));
    }

    /** The whole of a metric. */
    private whole({ name }: Metric): Estimated {
        const value = this.totals.values[name] ?? 0;
        const [low, high] = this.totals.intervals[name] ?? [value, value];
        return { value, low, high };
    }

    /** The whole of the metric that is called so; null: it is not known. */
    ofAll(name: string): Estimated | null {
        const metric = this.metrics.get(name);
        return metric?.known && this.totals.values[name] !== null ? this.whole(metric) : null;
    }

    /** A number alone, with the digits that are known. `variance`: how far it may be off by chance. */
    inWords(metric: Metric, value: number, variance = 0): string {
        return inRow(this.alone(metric, value, variance), metric.unit);
    }

    /** A number alone. */
    alone(metric: Metric, value: number, variance = 0): Estimated {
        return this.around(metric, value, ({ name }) => (name === basisOf(metric, "variance").name ? variance : null));
    }

    /** A part's number; null: it is not known. */
    of(metric: Metric, has: Has): Estimated | null {
        const value = has(metric);
        return value === null ? null : this.around(metric, value, has);
    }

    /** A part's number. `has` may say what it is made of, and its variance. */
    around(metric: Metric, value: number, has: Has): Estimated {
        if (metric.unit !== "ns" || metric.over) {
            const [low, high] = byChance(value, has(basisOf(metric, "variance")) ?? 0);
            return { value, low, high };
        }
        const basis = (name: Basis) => has(basisOf(metric, name)) ?? 0;
        const [least, most] = byChance(value, basis("variance"));
        const chance = { value: 0, low: least - value, high: most - value };
        if (metric.name !== "cost") {
            const isKnown = metric.prices && has(metric) !== null;
            const part = isKnown ? pricedBy(metric.prices!, value, basis("huge")) : partOf(this.whole(metric), value, metric.divided, basis("inside"));
            return { ...together([part, chance, { value: 0, low: -basis("overdrawn"), high: 0 }]), value };
        }
        const share = value / (this.whole(metric).value || 1);
        const parts = PARTS_OF_COST.flatMap((name) => this.metrics.get(name) ?? []).map((one) => this.around(one, has(one) ?? share * this.whole(one).value, has));
        // A cost alone is off by chance as its faults are.
        const { value: sum, low, high } = together([...parts, chance]);
        return { value, low: value - (sum - low), high: value + (high - sum) };
    }
}
