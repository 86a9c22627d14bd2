// Call trees, one level at a time: from the threads' entries inwards, or from the allocations outwards.

import { unknownOf, frameOf, type CallTree, type Frame, type Metric, type Numbers, type Profile } from "./answer";
import { inFrames, type Errors } from "./errors";
import { inRow, percent } from "./format";
import { areOf } from "./names";
import { below, isWithin } from "./paths";

export interface TreeItem {
    /** Unlike those of its siblings, and the same for the same selection. */
    key: string;
    /** null: the root, or what stands for smaller branches. */
    frame: Frame | null;
    /** What a branch is called that is no frame: a module, a type. */
    label?: string;
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

/** `12 ms, 30.0 % of 40 ms`: what branches have together of what the root has. */
export function shareInWords(items: TreeItem[], root: TreeItem, metric: Metric, errors: Errors): string {
    const valueOf = (items: TreeItem[]) => items.reduce((sum, { value }) => sum + value, 0);
    const shown = (items: TreeItem[]) => inRow(errors.around(metric, valueOf(items), inFrames(items)), metric.unit);
    return `${shown(items)}, ${percent(valueOf(items), root.value) || "0 %"} of ${shown([root])}`;
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

/**
 * Tree of a metric; `through`: only of what this function calls, or of who calls it; `by`: a tree for each `module`. A mean has
 * the tree of its divisor.
 */
export function treeOf(profile: Profile, metric: Metric, reversed: boolean, through = "", by = ""): TreeItem {
    const { tree } = profile;
    if (!tree) throw new Error("the server has the call tree");
    if (by === "module") return modules(profile, tree, metric.over ?? metric.name, reversed);
    if (by !== "") throw new Error(`This page does not hold call trees by ${by}. Open the recording with memtoll view.`);
    const values = tree.numbers.get(metric.over ?? metric.name) ?? new Float64Array(tree.parent.length);
    const outermost = through === "" ? null : outermostOf(profile, tree, through);
    return reversed ? callers(profile, tree, values, outermost) : callees(profile, tree, values, outermost);
}

/** How much of a metric lies in call paths that a page adds up: it does not hold their functions. A server names them all. */
export function unnamed({ tree }: Profile, metric: Metric): number {
    const values = tree?.numbers.get(metric.name);
    return tree && values ? ownOf(tree.parent, values).reduce((sum, value, node) => sum + (tree.others[node]! > 0 ? value : 0), 0) : 0;
}

/** A tree for each module: with the numbers that frames of the module have of their own, and those who lead to them. */
function modules(profile: Profile, tree: CallTree, main: string, reversed: boolean): TreeItem {
    const { parent, frame, numbers } = tree;
    const labelOf = (node: number) => frameOf(profile, frame[node]!)?.module ?? (node === 0 ? "(no stack)" : "(other call paths)");
    const labels = Array.from(parent, (_, node) => labelOf(node));
    const columnOf = (name: string) => numbers.get(name) ?? new Float64Array(parent.length);
    const known = new Map<string, Map<string, number>>();
    /** What each module has of its own. */
    const sumsOf = (name: string) => {
        let sums = known.get(name);
        if (!sums) {
            sums = new Map<string, number>();
            for (const [node, value] of ownOf(parent, columnOf(name)).entries()) sums.set(labels[node]!, (sums.get(labels[node]!) ?? 0) + value);
            known.set(name, sums);
        }
        return sums;
    };
    const partOf = (label: string): CallTree => {
        const part = (column: Float64Array) => {
            const own = ownOf(parent, column).map((value, node) => (labels[node] === label ? value : 0));
            for (let node = own.length - 1; node > 0; node--) own[parent[node]!]! += own[node]!;
            return own;
        };
        return { ...tree, numbers: new Map([...numbers].map(([name, column]) => [name, part(column)])) };
    };
    const item = (label: string): TreeItem => {
        const root = lazy(() => {
            const part = partOf(label);
            const values = part.numbers.get(main) ?? new Float64Array(parent.length);
            return (reversed ? callers : callees)(profile, part, values, null, below("", label));
        });
        const value = sumsOf(main).get(label) ?? 0;
        const children = () => root().children();
        return { ...WHOLE, key: below("", label), frame: null, label, others: 0, value, own: 0, children, valueOf: (metric) => valueIn(numbers, metric, (name) => sumsOf(name).get(label) ?? 0) };
    };
    const all = lazy(() => [...sumsOf(main)].filter(([, value]) => value > 0).map(([label]) => item(label)).sort(bySize));
    return { ...WHOLE, key: "", frame: null, others: 0, value: columnOf(main)[0] ?? 0, own: 0, children: all, valueOf: (metric) => valueIn(numbers, metric, (name) => columnOf(name)[0] ?? 0) };
}

/** The outermost nodes of a function: what it calls of its own counts once. */
function outermostOf(profile: Profile, { parent, frame }: CallTree, through: string): number[] {
    const isOfIt = profile.frames.map(areOf(through));
    const isInside = new Uint8Array(parent.length);
    const outermost: number[] = [];
    for (let node = 1; node < parent.length; node++) {
        isInside[node] = isInside[parent[node]!]!;
        if (isInside[node] || frame[node] === 0 || !isOfIt[frame[node]! - 1]) continue;
        isInside[node] = 1;
        outermost.push(node);
    }
    return outermost;
}

/** Of a page, all is there. */
const WHOLE = { hasMore: false, load: () => Promise.resolve() };

/** What has the same number, together. */
export function grouped<Item>(items: Item[], numberOf: (item: Item) => number): [number, Item[]][] {
    const groups = new Map<number, Item[]>();
    for (const item of items) {
        const known = groups.get(numberOf(item));
        if (known) known.push(item);
        else groups.set(numberOf(item), [item]);
    }
    return [...groups];
}

/** The value of a metric, of which `sum` gives the sums. */
/** null: not known, or the tree does not have it. */
function valueIn(numbers: Numbers, metric: Metric, sum: (name: string) => number): number | null {
    if (!metric.known || !numbers.has(metric.name)) return null;
    const over = metric.over ? sum(metric.over) : 1;
    return over > 0 ? sum(metric.name) / over : null;
}

/** `prefix` begins the keys. */
function callees(profile: Profile, tree: CallTree, values: Float64Array, outermost: number[] | null, prefix = ""): TreeItem {
    const { parent, frame, others, numbers } = tree;
    const { start, list } = childrenOf(parent);
    const own = ownOf(parent, values);
    const sum = (nodes: number[], of: ArrayLike<number>) => nodes.reduce((sum, node) => sum + of[node]!, 0);
    /** A frame that is called in these places. */
    const item = (key: string, number: number, nodes: number[], inside: () => number[]): TreeItem => ({
        ...WHOLE,
        key,
        frame: frameOf(profile, number),
        others: sum(nodes, others),
        value: sum(nodes, values),
        own: sum(nodes, own),
        children: lazy(() => grouped(inside(), (node) => frame[node]!).map(([number, nodes]) => item(below(key, number), number, nodes, () => nodes.flatMap(called))).filter((child) => child.value > 0).sort(bySize)),
        valueOf: (metric) => {
            const unknown = numbers.get(unknownOf(metric.name));
            return unknown && nodes.every((node) => unknown[node]) ? null : valueIn(numbers, metric, (name) => sum(nodes, numbers.get(name)!));
        },
    });
    const called = (node: number) => Array.from(list.subarray(start[node]!, start[node + 1]!));
    return outermost ? { ...item(prefix, 0, outermost, () => outermost), own: 0 } : item(prefix, 0, [0], () => called(0));
}

/** Nodes at which call paths end, and how far out their callers were followed. */
type Ends = { end: number; at: number }[];

function callers(profile: Profile, tree: CallTree, values: Float64Array, outermost: number[] | null, prefix = ""): TreeItem {
    const { parent, frame, others, numbers } = tree;
    // A caller answers for all that it calls; a function that allocates, for what it allocates itself.
    const weigh = (of: Float64Array) => (outermost ? of : ownOf(parent, of));
    const weights = weigh(values);
    const known = new Map<string, Float64Array>();
    const weightsOf = (name: string) => {
        const made = known.get(name) ?? weigh(numbers.get(name)!);
        known.set(name, made);
        return made;
    };
    const sum = (ends: Ends, of: ArrayLike<number>) => ends.reduce((sum, { end }) => sum + of[end]!, 0);
    const item = (key: string, number: number, ends: Ends, isOthers: boolean): TreeItem => {
        const children = lazy(() => {
            const outer = ends.map(({ end, at }) => ({ end, at: parent[at]! })).filter(({ at }) => at !== 0);
            return grouped(outer, ({ at }) => frame[at]!).map(([number, ends]) => item(below(key, number), number, ends, false)).sort(bySize);
        });
        const value = sum(ends, weights);
        return {
            ...WHOLE,
            key,
            frame: frameOf(profile, number),
            others: isOthers ? sum(ends, others) : 0,
            value,
            get own() {
                return value - children().reduce((sum, child) => sum + child.value, 0);
            },
            children,
            valueOf: (metric) => valueIn(numbers, metric, (name) => sum(ends, weightsOf(name))),
        };
    };
    const ends: Ends = (outermost ?? Array.from(parent.keys()).slice(1).filter((node) => weights[node]! > 0)).map((node) => ({ end: node, at: node }));
    const children = lazy(() => grouped(ends, ({ at }) => frame[at]!).map(([number, ends]) => item(below(prefix, number), number, ends, number === 0)).sort(bySize));
    const all: Ends = outermost ? ends : [{ end: 0, at: 0 }];
    const total = (name: string) => sum(all, numbers.get(name)!);
    return { ...WHOLE, key: prefix, frame: null, others: 0, value: sum(all, values), own: outermost ? 0 : weights[0]!, children, valueOf: (metric) => valueIn(numbers, metric, total) };
}

/** The items from the root to the one with this key, or as far as there are some. What is not loaded is loaded. */
export async function pathTo(root: TreeItem, key: string, least: number): Promise<TreeItem[]> {
    const path = [root];
    for (let at: TreeItem | undefined = root; at && at.key !== key; ) {
        if (at.hasMore) await at.load(least);
        at = at.children().find((child) => isWithin(key, child.key));
        if (at) path.push(at);
    }
    return path;
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
