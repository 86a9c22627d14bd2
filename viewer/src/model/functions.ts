// A call tree in which the frames of one function are one frame, whatever their lines.

import type { Frame, Metric } from "./answer";
import { nameOf } from "./changed_tree";
import { functionKey } from "./names";
import { below, lastStep } from "./paths";
import type { TreeItem } from "./tree";

const sum = (items: TreeItem[], of: (item: TreeItem) => number) => items.reduce((sum, item) => sum + of(item), 0);

/** The frame of some lines of a function; only of one, it has a line. */
function frameOf(items: TreeItem[]): Frame | null {
    const first = items[0]?.frame ?? null;
    return first && items.some(({ frame }) => frame?.line !== first.line) ? { ...first, line: 0 } : first;
}

class Together implements TreeItem {
    readonly frame: Frame | null;
    readonly label: string;
    readonly others: number;
    readonly value: number;
    private list: Together[] | null = null;

    constructor(
        readonly key: string,
        private readonly items: TreeItem[],
        private readonly caller: Together | null,
    ) {
        this.frame = frameOf(items);
        this.label = items[0]?.label ?? "";
        this.others = sum(items, (item) => item.others);
        this.value = sum(items, (item) => item.value);
    }

    get own(): number {
        return sum(this.items, (item) => item.own);
    }

    get hasMore(): boolean {
        return this.items.some((item) => item.hasMore);
    }

    children(): Together[] {
        if (this.list) return this.list;
        const groups = new Map<string, TreeItem[]>();
        for (const child of this.items.flatMap((item) => item.children())) {
            const name = child.frame ? functionKey(child.frame) : nameOf(child);
            groups.set(name, [...(groups.get(name) ?? []), child]);
        }
        // The same key, whichever line has most.
        const stepOf = (items: TreeItem[]) => items.map(({ key }) => lastStep(key)).sort()[0]!;
        const joined = (step: string) => (this.key === "" ? step : `${this.key}.${step}`);
        this.list = [...groups.values()].map((items) => new Together(joined(stepOf(items)), items, this)).sort((a, b) => b.value - a.value || (a.key < b.key ? -1 : 1));
        return this.list;
    }

    async load(least: number): Promise<void> {
        if (this.frame === null && this.others > 0 && this.caller) return this.caller.load(0);
        await Promise.all(this.items.filter((item) => item.hasMore || least > 0).map((item) => item.load(least)));
        this.list = null;
    }

    valueOf(metric: Metric): number | null {
        // A mean is that of all lines together.
        const part = (name: string) => {
            const values = this.items.map((item) => item.valueOf({ ...metric, name, over: null }));
            return values.every((value) => value === null) ? null : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
        };
        const [value, over] = [part(metric.name), metric.over ? part(metric.over) : 1];
        return value === null || !over ? null : value / over;
    }
}

export function byFunction(root: TreeItem): TreeItem {
    return new Together(below("", root.key), [root], null);
}
