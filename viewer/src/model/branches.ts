// Call trees of a server: as much as is large enough to be seen, and more when it is asked for.

import { framesOf, numbersOf, type Frame, type Metric, type Numbers } from "./answer";
import type { Column, Pack } from "./pack";
import type { TreeItem } from "./tree";

/** Asks for the tree from the branch on to which these frames lead. */
export type AskBranch = (path: number[], least: number) => Promise<Pack>;

/** Columns of a part of a tree. */
interface Part {
    parent: Column;
    frame: Column;
    others: Column;
    more: Column;
    frames: Frame[];
    numbers: Numbers;
    children: number[][];
}

function partOf(pack: Pack, metrics: Metric[]): Part {
    const parent = pack.column("tree.parent");
    const children: number[][] = Array.from({ length: parent.length }, () => []);
    for (let node = 1; node < parent.length; node++) children[parent[node]!]!.push(node);
    const [frame, others, more] = ["frame", "others", "more"].map((name) => pack.column(`tree.${name}`)) as [Column, Column, Column];
    return { parent, frame, others, more, frames: framesOf(pack), numbers: numbersOf(pack, "tree", metrics), children };
}

class Branch implements TreeItem {
    readonly key: string;
    readonly value: number;
    readonly others: number;
    readonly frame: Frame | null;
    hasMore: boolean;
    private list: Branch[] | null = null;

    constructor(
        private part: Part,
        private node: number,
        private readonly caller: Branch | null,
        private readonly path: number[],
        private readonly tree: { main: string; metrics: Metric[]; ask: AskBranch },
    ) {
        this.frame = part.frame[node] ? (part.frames[part.frame[node]! - 1] ?? null) : null;
        this.others = part.others[node]!;
        this.key = this.others > 0 ? `${path.join("/")}/+` : path.join("/");
        this.value = part.numbers.get(tree.main)![node]!;
        this.hasMore = part.more[node]! > 0;
    }

    children(): Branch[] {
        this.list ??= this.part.children[this.node]!.map((child) => {
            const frame = this.part.frame[child]!;
            const path = frame ? [...this.path, this.part.frames[frame - 1]!.id] : this.path;
            return new Branch(this.part, child, this, path, this.tree);
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
        const part = partOf(await this.tree.ask(this.path, least), this.tree.metrics);
        // What was loaded further in stays.
        const known = new Map((this.list ?? []).filter((child) => !child.hasMore).map((child) => [child.key, child]));
        [this.part, this.node, this.list, this.hasMore] = [part, 0, null, part.more[0]! > 0];
        if (least === 0) this.list = this.children().map((child) => known.get(child.key) ?? child);
    }

    valueOf(metric: Metric): number | null {
        if (!metric.known) return null;
        const of = (name: string) => this.part.numbers.get(name)?.[this.node];
        const value = of(metric.name);
        if (value === undefined) return null;
        const over = metric.over ? (of(metric.over) ?? 0) : 1;
        return over > 0 ? value / over : null;
    }
}

/** A tree from its root on. `metrics` are those of which there are numbers. */
export async function branchesOf(ask: AskBranch, metric: Metric, metrics: Metric[], least: number): Promise<TreeItem> {
    const tree = { main: metric.over ?? metric.name, metrics, ask };
    return new Branch(partOf(await ask([], least), metrics), 0, null, [], tree);
}
