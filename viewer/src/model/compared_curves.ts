// Live bytes before and after, each from the begin of its time.

import { activityOf, type Span } from "./activity";
import type { Pack } from "./pack";
import type { ActivityPack } from "./packs";

export interface Curve {
    /** ns. */
    length: number;
    /** When each value begins, ns, and how many bytes are live at the most until the next one; null: not known. */
    steps: { at: number; bytes: number }[] | null;
    most: number;
}

/** The curve of a span; null: of all that the pack tells. */
export function curveOf(pack: Pack<ActivityPack>, span: Span | null): Curve {
    const { start, interval, count, live, seesLive } = activityOf(pack);
    const [from, to] = span ? [span.from, span.to] : [Math.max(0, start), start + count * interval];
    const begins = Array.from({ length: count }, (_, index) => start + index * interval);
    const steps = begins.map((begin, index) => ({ at: Math.max(0, begin - from), bytes: live[index]!, isIn: begin + interval > from && begin < to })).filter(({ isIn }) => isIn);
    const most = steps.reduce((most, { bytes }) => Math.max(most, bytes), 0);
    return { length: to - from, steps: seesLive ? steps.map(({ at, bytes }) => ({ at, bytes })) : null, most };
}

/** As a path of SVG, `width` wide for `length` ns and `height` high for `most` bytes. */
export function pathOf({ steps, length: own }: Curve, { length, most, width, height }: { length: number; most: number; width: number; height: number }): string {
    if (!steps || steps.length === 0) return "";
    const x = (ns: number) => ((ns / length) * width).toFixed(1);
    const y = (bytes: number) => (height - (bytes / Math.max(1, most)) * height).toFixed(1);
    const lines = steps.map(({ at, bytes }, index) => `${index === 0 ? "M" : "H"}${x(at)}${index === 0 ? ` ${y(bytes)}` : `V${y(bytes)}`}`);
    return `${lines.join("")}H${x(own)}`;
}
