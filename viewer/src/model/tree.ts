// Call trees, one level at a time: from the threads' entries inwards, or from the allocations outwards.

import { frameOf, type CallTree, type Frame, type Metric, type Profile } from "./answer";

export interface TreeItem {
    /** Unlike those of its siblings, and the same for the same selection. */
    key: string;
    /** null: the root, or what stands for smaller branches. */
    frame: Frame | null;
    /** Call paths that the item stands for; 0: it is one frame. */
    others: number;
    value: number;
    /** Of the value, what is not in its children. */
    own: number;
    /** Largest first; empty: it has none, or they are not loaded. */
    children(): TreeItem[];
    /** Whether it has children that are not loaded. */
    hasMore: boolean;
    /** Loads its children; branches below a share of it (0 to 1) are one. What stands for smaller branches becomes them. */
    load(least: number): Promise<void>;
    /** Another metric's value. */
    valueOf(metric: Metric): number | null;
}

function lazy<T>(make: () => T): () => T {
    let made: { value: T } | undefined;
    return () => (made ??= { value: make() }).value;
}

const bySize = (a: TreeItem, b: TreeItem) => b.value - a.value || (a.key < b.key ? -1 : 1);

/** Lists of children: those of node n are `list[start[n]] … list[start[n + 1] - 1]`. */
export interface Children {
    start: Uint32Array;
    list: Uint32Array;
}

export function childrenOf(parent: ArrayLike<number>): Children {
    const start = new Uint32Array(parent.length + 2);
    for (let node = 1; node < parent.length; node++) start[parent[node]! + 2]!++;
    for (let node = 2; node < start.length; node++) start[node]! += start[node - 1]!;
    const list = new Uint32Array(Math.max(0, parent.length - 1));
    for (let node = 1; node < parent.length; node++) list[start[parent[node]! + 1]!++] = node;
    return { start, list };
}

/** What each node has of its own: its number less its children's. */
export function ownOf(parent: ArrayLike<number>, values: Float64Array): Float64Array {
    const own = Float64Array.from(values);
    for (let node = 1; node < values.length; node++) own[parent[node]!]! -= values[node]!;
    // Sums of times are not exact to the last bit.
    for (let node = 0; node < own.length; node++) if (Math.abs(own[node]!) < 1e-6 * Math.abs(values[node]!)) own[node] = 0;
    return own;
}

/** Tree of a metric. A mean has no tree: then it is that of its divisor. */
export function treeOf(profile: Profile, metric: Metric, reversed: boolean): TreeItem {
    const { tree } = profile;
    if (!tree) throw new Error("the server has the call tree");
    const values = tree.numbers.get(metric.over ?? metric.name) ?? new Float64Array(tree.parent.length);
    return reversed ? callers(profile, tree, values) : callees(profile, tree, values);
}

/** Of a page, all is there. */
const WHOLE = { hasMore: false, load: () => Promise.resolve() };

function callees(profile: Profile, tree: CallTree, values: Float64Array): TreeItem {
    const { parent, frame, others, numbers } = tree;
    const children = childrenOf(parent);
    const own = ownOf(parent, values);
    const item = (node: number): TreeItem => ({
        ...WHOLE,
        key: String(node),
        frame: frameOf(profile, frame[node]!),
        others: others[node]!,
        value: values[node]!,
        own: own[node]!,
        children: lazy(() => {
            const list = children.list.subarray(children.start[node]!, children.start[node + 1]!);
            return Array.from(list, item).filter((child) => child.value > 0).sort(bySize);
        }),
        valueOf: (metric) => {
            if (!metric.known) return null;
            const value = numbers.get(metric.name)?.[node] ?? 0;
            const over = metric.over ? (numbers.get(metric.over)?.[node] ?? 0) : 1;
            return over > 0 ? value / over : null;
        },
    });
    return item(0);
}

/** Nodes at which call paths end, and how far out their callers were followed. */
type Ends = { end: number; at: number }[];

function callers(profile: Profile, tree: CallTree, values: Float64Array): TreeItem {
    const { parent, frame, others, numbers } = tree;
    const own = ownOf(parent, values);
    const owns = new Map<string, Float64Array>();
    const ownsOf = (name: string) => {
        const known = owns.get(name);
        if (known) return known;
        const made = ownOf(parent, numbers.get(name) ?? new Float64Array(parent.length));
        owns.set(name, made);
        return made;
    };
    const sum = (ends: Ends, of: Float64Array) => ends.reduce((sum, { end }) => sum + of[end]!, 0);
    const item = (key: string, number: number, isOthers: boolean, ends: Ends): TreeItem => {
        const children = lazy(() => {
            const groups = new Map<number, Ends>();
            for (const { end, at } of ends) {
                const caller = parent[at]!;
                if (at === 0 || caller === 0) continue;
                const group = frame[caller]!;
                const known = groups.get(group);
                if (known) known.push({ end, at: caller });
                else groups.set(group, [{ end, at: caller }]);
            }
            return [...groups].map(([number, ends]) => item(`${key}/${number}`, number, false, ends)).sort(bySize);
        });
        const value = sum(ends, own);
        return {
            ...WHOLE,
            key,
            frame: frameOf(profile, number),
            others: isOthers ? ends.reduce((sum, { end }) => sum + others[end]!, 0) : 0,
            value,
            get own() {
                return value - children().reduce((sum, child) => sum + child.value, 0);
            },
            children,
            valueOf: (metric) => {
                if (!metric.known) return null;
                const over = metric.over ? sum(ends, ownsOf(metric.over)) : 1;
                return over > 0 ? sum(ends, ownsOf(metric.name)) / over : null;
            },
        };
    };
    const leaves = lazy(() => {
        const groups = new Map<number, Ends>();
        for (let node = 1; node < parent.length; node++) {
            if (own[node]! <= 0) continue;
            const number = frame[node]!;
            const known = groups.get(number);
            if (known) known.push({ end: node, at: node });
            else groups.set(number, [{ end: node, at: node }]);
        }
        return [...groups].map(([number, ends]) => item(String(number), number, number === 0, ends)).sort(bySize);
    });
    return {
        ...WHOLE,
        key: "",
        frame: null,
        others: 0,
        value: values[0] ?? 0,
        own: own[0] ?? 0,
        children: leaves,
        valueOf: (metric) => {
            if (!metric.known) return null;
            const over = metric.over ? (numbers.get(metric.over)?.[0] ?? 0) : 1;
            return over > 0 ? (numbers.get(metric.name)?.[0] ?? 0) / over : null;
        },
    };
}

/** Whether a name, file or type has all words that are searched for. */
export function matcher(search: string): ((frame: Frame | null, more?: string) => boolean) | null {
    const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) return null;
    return (frame, more = "") => {
        const text = `${frame?.full ?? ""} ${frame?.function ?? ""} ${frame?.file ?? ""} ${frame?.module ?? ""} ${more}`.toLowerCase();
        return words.every((word) => text.includes(word));
    };
}

/** The items from the root to the last one that has a third of the one before. What is not loaded is loaded. */
export async function heaviestPath(root: TreeItem): Promise<TreeItem[]> {
    const path: TreeItem[] = [];
    let at = root;
    while (path.length < 1000) {
        if (at.hasMore) await at.load(0);
        const next = at.children()[0];
        if (!next || next.others > 0 || (at !== root && next.value < at.value / 3)) break;
        path.push(next);
        at = next;
    }
    return path;
}
