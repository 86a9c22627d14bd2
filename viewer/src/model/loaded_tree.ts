// Call trees of a server: as much as is large enough to be seen, and more when it is asked for.

import { framesOf, numbersOf, unknownOf, type Frame, type Metric, type Numbers } from "./answer";
import type { Column, Pack } from "./pack";
import type { LevelPack } from "./packs";
import { below } from "./paths";
import { childrenOf, type Children, type TreeItem } from "./tree";

/** A part of a tree. A step is what tells a branch from its siblings. */
export interface Part<Step> {
    children: Children;
    values: ArrayLike<number>;
    /** Call paths that a node stands for. */
    others: Column;
    /** Whether a node has children that are not in the part. */
    hasMore: (node: number) => boolean;
    frameOf: (node: number) => Frame | null;
    /** What a node is called that is no frame; empty: it is one. */
    labelOf?: (node: number) => string;
    stepTo: (node: number) => Step | null;
}

/** Gives the part from the branch on to which these steps lead. */
export type Load<Step, Of extends Part<Step>> = (path: Step[], least: number) => Promise<Of>;

export abstract class Branch<Step, Of extends Part<Step>> implements TreeItem {
    readonly key: string;
    readonly value: number;
    readonly others: number;
    readonly frame: Frame | null;
    readonly label: string;
    hasMore: boolean;
    private list: this[] | null = null;

    constructor(
        protected part: Of,
        protected node: number,
        private readonly caller: Branch<Step, Of> | null,
        private readonly path: Step[],
        protected readonly ask: Load<Step, Of>,
    ) {
        this.value = part.values[node] ?? 0;
        this.frame = part.frameOf(node);
        this.label = part.labelOf?.(node) ?? "";
        this.others = part.others[node]!;
        this.hasMore = this.others > 0 || part.hasMore(node);
        // What stands for smaller branches has no step of its own.
        const step = this.others > 0 ? "+" : caller && path.length > caller.path.length ? path.at(-1) : null;
        this.key = step === null ? (caller?.key ?? "") : below(caller?.key ?? "", step);
    }

    /** Another branch of the same tree. */
    protected abstract branch(node: number, path: Step[]): this;
    abstract valueOf(metric: Metric): number | null;

    children(): this[] {
        const { start, list } = this.part.children;
        this.list ??= Array.from(list.subarray(start[this.node]!, start[this.node + 1]!), (child) => {
            const step = this.part.stepTo(child);
            return this.branch(child, step === null ? this.path : [...this.path, step]);
        }).sort((a, b) => b.value - a.value || (a.key < b.key ? -1 : 1));
        return this.list;
    }

    get own(): number {
        if (this.hasMore) return 0;
        const own = this.value - this.children().reduce((sum, child) => sum + child.value, 0);
        return Math.abs(own) < 1e-6 * this.value ? 0 : own;
    }

    async load(least: number): Promise<void> {
        if (this.others > 0) return this.caller?.load(0);
        const part = await this.ask(this.path, least);
        // What was loaded further in stays.
        const known = new Map((this.list ?? []).filter((child) => !child.hasMore).map((child) => [child.key, child]));
        [this.part, this.node, this.list, this.hasMore] = [part, 0, null, part.hasMore(0)];
        if (least === 0) this.list = this.children().map((child) => known.get(child.key) ?? child);
    }
}

/** What leads to a branch: a frame's number, or what a branch is called that is no frame. */
export type Step = number | string;

/** A part of one tree. */
interface OfOne extends Part<Step> {
    numbers: Numbers;
}

function partOf(pack: Pack<LevelPack>, main: string, metrics: Metric[]): OfOne {
    const [parent, frame, others, more, label] = pack.all("tree.parent", "tree.frame", "tree.others", "tree.more", "tree.label");
    const { labels, texts } = pack.head;
    const frames = framesOf(pack, texts, "");
    const numbers = numbersOf(pack, "tree", metrics);
    const frameOf = (node: number) => (frame[node] ? (frames[frame[node]! - 1] ?? null) : null);
    const labelOf = (node: number) => (label[node] ? (labels[label[node]! - 1] ?? "") : "");
    const stepTo = (node: number) => frameOf(node)?.id ?? (labelOf(node) || null);
    return { children: childrenOf(parent), values: numbers.get(main) ?? [], others, hasMore: (node) => more[node] === 1, frameOf, labelOf, stepTo, numbers };
}

class Called extends Branch<Step, OfOne> {
    protected branch(node: number, path: Step[]): this {
        return new Called(this.part, node, this, path, this.ask) as this;
    }

    valueOf(metric: Metric): number | null {
        if (!metric.known) return null;
        const of = (name: string) => this.part.numbers.get(name)?.[this.node];
        const value = of(metric.name);
        if (value === undefined || of(unknownOf(metric.name))) return null;
        const over = metric.over ? (of(metric.over) ?? 0) : 1;
        return over > 0 ? value / over : null;
    }
}

/** A tree from its root on. `metrics` are those of which there are numbers. */
export async function branchesOf(ask: (path: Step[], least: number) => Promise<Pack<LevelPack>>, metric: Metric, metrics: Metric[], least: number): Promise<TreeItem> {
    const load: Load<Step, OfOne> = async (path, least) => partOf(await ask(path, least), metric.over ?? metric.name, metrics);
    return new Called(await load([], least), 0, null, [], load);
}
