// The call stacks of a thread in the order of time: which frames each part of the time shows.

import { framesOf, numbersOf, type Metric } from "./answer";
import { withParts } from "./errors";
import type { Box } from "./flame_layout";
import { isolated } from "./format";
import type { Pack } from "./pack";
import type { LaneOfThread, StackChartPack } from "./packs";
import type { TreeItem } from "./tree";

export interface Bar extends TreeItem {
    /** When it begins and ends, ns. */
    from: number;
    to: number;
    children: () => Bar[];
}

export interface StackChart {
    /** The thread, with all its bars. */
    root: Bar;
    thread: LaneOfThread;
    /** How many other threads have some of the metric. */
    others: number;
    /** Columns, and the length of the narrowest and of the widest one inside, ns. */
    count: number;
    lengths: [least: number, most: number];
}

export const threadName = ({ name, tid }: LaneOfThread) => `${isolated(name ?? "thread")} ${tid ?? ""}`.trim();

const sum = (values: Iterable<number>) => {
    let all = 0;
    for (const value of values) all += value;
    return all;
};

/** Of a metric, one of `all`; null: no thread has any of it. */
export function stackChartOf(pack: Pack<StackChartPack>, main: Metric, all: Metric[]): StackChart | null {
    const { thread, others, texts } = pack.head;
    const [begin, end, has] = pack.all("columns.begin", "columns.end", "columns.value");
    if (!thread || has.length === 0) return null;
    const frames = framesOf(pack, texts, "");
    const [caller, frame, first, behind, value] = pack.all("bars.caller", "bars.frame", "bars.first", "bars.behind", "bars.value");
    const names = withParts([main.name]);
    const numbers = numbersOf(pack, "bars", all.filter(({ name }) => names.includes(name)));
    const calls: Bar[][] = Array.from({ length: caller.length + 1 }, () => []);
    const bar = (key: string, number: number, more: Pick<Bar, "frame" | "label" | "value" | "from" | "to">): Bar => ({
        ...more,
        key,
        others: 0,
        get own() {
            return more.value - sum(calls[number]!.map(({ value }) => value));
        },
        children: () => calls[number]!,
        hasMore: false,
        load: () => Promise.resolve(),
        valueOf: ({ name }) => numbers.get(name)?.[number] ?? null,
    });
    const of = (number: number): Bar => bar(`${number + 1}@${begin[first[number]!]}`, number + 1, { frame: frames[frame[number]!]!, value: value[number]!, from: begin[first[number]!]!, to: end[behind[number]! - 1]! });
    for (const [number, outer] of caller.entries()) calls[outer]!.push(of(number));
    const root = bar("", 0, { frame: null, label: threadName(thread), value: sum(has), from: begin[0]!, to: end[end.length - 1]! });
    const lengths = Array.from(begin, (ns, at) => end[at]! - ns).slice(1, -1);
    const [least, most] = lengths.length > 0 ? [Math.min(...lengths), Math.max(...lengths)] : [root.to - root.from, root.to - root.from];
    return { root, thread, others, count: begin.length, lengths: [least, most] };
}

/** The boxes of the bars on a canvas that is `width` pixels wide: below the thread, callers before what they call. */
export function placed({ root }: StackChart, width: number): Box[] {
    const scale = width / Math.max(1, root.to - root.from);
    const box = (item: Bar, depth: number, parent: Box | null): Box => ({ item, x: (item.from - root.from) * scale, width: (item.to - item.from) * scale, depth, parent });
    const boxes = [box(root, 0, null)];
    for (let at = 0; at < boxes.length; at++) {
        const parent = boxes[at]!;
        for (const child of (parent.item as Bar).children()) boxes.push(box(child, parent.depth + 1, parent));
    }
    return boxes;
}
