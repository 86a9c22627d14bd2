// A metric over time, divided among functions or types.

import type { Cells, Span } from "./activity";
import type { Metric } from "./answer";
import type { Errors } from "./errors";
import { counted, inRow, isolated, number, time } from "./format";
import { functionKey } from "./names";
import type { Column, Pack } from "./pack";
import type { Estimated, StackedPack } from "./packs";
import type { State } from "./state";

/** Colors of functions or types; the others have one of their own. */
export const COLORS = 7;

/** How much wider intervals are than those of the time line, of what happens: amounts in narrow ones are needles, whose parts cannot be seen. */
export const COARSER = 8;

export interface Layer {
    name: string;
    /** With parameters and all template arguments; of types, the name. */
    full: string;
    /** What tells it apart, also in the table of functions or types; empty: it stands for others. */
    key: string;
    /** Number of its color; 0: of the others. */
    color: number;
    /** What it has in each interval. */
    values: Column;
    /** How far each may be off by chance, in the metric's unit squared; null: it is exact. */
    variances: Column | null;
    /** The values, with all below it. */
    top: Float64Array;
}

export interface Stack extends Cells {
    metric: Metric;
    by: string;
    /** Whether values are what is live when most is, not what happens in an interval. */
    isLive: boolean;
    /** The largest first: it is drawn at the bottom. */
    layers: Layer[];
    /** Why there are none; empty: there are. */
    why: string;
}

/** A color for each name: those that have one keep it. */
export function colored(names: string[], known: ReadonlyMap<string, number>): Map<string, number> {
    const colors = new Map(names.flatMap((name) => (known.has(name) ? [[name, known.get(name)!] as const] : [])));
    const taken = new Set(colors.values());
    const free = Array.from({ length: COLORS }, (_, index) => index + 1).filter((color) => !taken.has(color));
    for (const name of names) if (!colors.has(name)) colors.set(name, free.shift() ?? COLORS);
    return colors;
}

/** `known`: colors that names have already; those of this stack are added. */
export function stackOf(pack: Pack<StackedPack>, metric: Metric, by: string, known: Map<string, number>): Stack {
    const { start_ns, interval_ns, groups, is_live, why } = pack.head;
    const keyOf = (group: { full: string; module: string; name: string }) => (group.full ? functionKey(group) : group.name);
    const colors = colored(groups.filter(({ others }) => others === null).map(keyOf), known);
    known.clear();
    colors.forEach((color, name) => known.set(name, color));
    let below: Float64Array | null = null;
    const layers = groups.map((group, index): Layer => {
        const values = pack.member("groups", index);
        const before: Float64Array | null = below;
        const top: Float64Array = Float64Array.from(values, (value, at) => value + (before?.[at] ?? 0));
        below = top;
        const isOne = group.others === null;
        const others = group.others ? counted(group.others, `other ${by}`) : "others";
        return { name: isOne ? group.name : others, full: isOne ? group.full || group.name : "", key: isOne ? keyOf(group) : "", color: isOne ? colors.get(keyOf(group))! : 0, values, variances: pack.hasMember("variances", index) ? pack.member("variances", index) : null, top };
    });
    return { start: start_ns, interval: interval_ns, count: layers[0]?.values.length ?? 0, metric, by, isLive: is_live, layers, why };
}

/** What a value is drawn as: a rate per second, of what happens. */
export const scaleOf = ({ isLive, interval }: Stack) => (isLive ? 1 : 1e9 / interval);

/** A tick of the axis: `1.2 MiB`, or `1.2 MiB / s`. */
export const drawn = ({ isLive, metric }: Stack, value: number) => `${number(value, metric.unit)}${isLive ? "" : " / s"}`;

/** The highest top in a span, with the digits that are known. */
export function mostInWords(stack: Stack, span: Span, errors: Errors): string {
    const { value, low, high } = allAt(stack, highestIn(stack, span), errors);
    const scale = scaleOf(stack);
    return `${inRow({ value: value * scale, low: low * scale, high: high * scale }, stack.metric.unit)}${stack.isLive ? "" : " / s"}`;
}

/** What all layers have together in an interval. */
const allAt = ({ layers, metric }: Stack, at: number, errors: Errors): Estimated =>
    errors.alone(metric, layers.at(-1)?.top[at] ?? 0, layers.reduce((sum, { variances }) => sum + (variances?.[at] ?? 0), 0));

const placeAt = ({ start, interval }: Cells, ns: number) => Math.floor((ns - start) / interval);

/** The intervals that a span meets: the first one, and the first one behind it. */
export function meets(stack: Stack, { from, to }: Span): [begin: number, end: number] {
    const within = (place: number) => Math.min(stack.count, Math.max(0, place));
    return [within(placeAt(stack, from)), within(placeAt(stack, to) + 1)];
}

/** The interval with the highest top in a span. */
function highestIn(stack: Stack, span: Span): number {
    const top = stack.layers.at(-1)?.top;
    const [begin, end] = meets(stack, span);
    let highest = begin;
    for (let at = begin; at < end; at++) if ((top?.[at] ?? 0) > (top?.[highest] ?? 0)) highest = at;
    return highest;
}

/** The highest top in a span, as it is drawn. */
export const mostOf = (stack: Stack, span: Span): number => (stack.layers.at(-1)?.top[highestIn(stack, span)] ?? 0) * scaleOf(stack);

/** The layer that is drawn at an instant and a height. */
export function layerAt(stack: Stack, ns: number, height: number): Layer | undefined {
    const at = placeAt(stack, ns);
    const value = height / scaleOf(stack);
    return value < 0 ? undefined : stack.layers.find(({ top }) => value < top[at]!);
}

/** `3 MiB load, 12 MiB live in all`, or `bytes: 3 MiB load, 12 MiB in all in 1.6 ms`: what a layer and all together have at an instant; undefined: the stack says nothing of it. */
export function wordsAt(stack: Stack, ns: number, layer: Layer | undefined, errors: Errors): string | undefined {
    const at = placeAt(stack, ns);
    if (stack.layers.at(-1)?.top[at] === undefined) return undefined;
    const { metric, isLive } = stack;
    const own = layer ? `${errors.inWords(metric, layer.values[at]!, layer.variances?.[at])} ${isolated(layer.name)}, ` : "";
    return `${isLive ? "" : `${metric.title}: `}${own}${inRow(allAt(stack, at, errors), metric.unit)}${isLive ? " live in all" : ` in all in ${time(stack.interval)}`}`;
}

/** Where a layer leads: to what the function or type costs. */
export function wayOf({ by }: Stack, layer: Layer): Partial<State> | null {
    return layer.key === "" ? null : { view: "lines", group: by, search: "", focus: layer.key };
}
