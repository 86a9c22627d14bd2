// Two call trees as one: what was before, what is after.

import { framesOf, type Frame, type Metric } from "./answer";
import type { Column, Pack } from "./pack";
import { childrenOf, type Children, type TreeItem } from "./tree";

export interface Changed extends TreeItem {
    before: number;
    after: number;
    children(): Changed[];
}

/** Asks for the tree from the branch on to which these frames lead: 0 before or 1 after, and their ids. */
export type AskChanged = (path: [number, number][], least: number) => Promise<Pack>;

/** Columns of a part of a tree. */
interface Part {
    columns: Record<"parent" | "frame" | "side" | "others" | "width" | "before" | "after", Column>;
    frames: [Frame[], Frame[]];
    children: Children;
}

function partOf(pack: Pack): Part {
    const names = ["parent", "frame", "side", "others", "width", "before", "after"] as const;
    const columns = Object.fromEntries(names.map((name) => [name, pack.column(`tree.${name}`)])) as Part["columns"];
    return { columns, frames: [framesOf(pack, "before."), framesOf(pack, "after.")], children: childrenOf(columns.parent) };
}

/**
 * A branch of the tree of both. Of itself, it is as wide as the larger of before and after, so that what is gone has room
 * beside what is new.
 */
class Branch implements Changed {
    readonly key: string;
    readonly frame: Frame | null;
    readonly others: number;
    readonly value: number;
    readonly before: number;
    readonly after: number;
    hasMore: boolean;
    private list: Branch[] | null = null;

    constructor(
        private part: Part,
        private node: number,
        private readonly caller: Branch | null,
        private readonly path: [number, number][],
        private readonly tree: { metric: Metric; ask: AskChanged },
    ) {
        const { columns, frames } = part;
        const [frame, side] = [columns.frame[node]!, columns.side[node] === 0 ? 0 : 1] as const;
        this.frame = frame ? (frames[side][frame - 1] ?? null) : null;
        this.others = columns.others[node]!;
        this.value = columns.width[node]!;
        this.before = columns.before[node]!;
        this.after = columns.after[node]!;
        this.hasMore = this.others > 0;
        this.key = this.others > 0 ? `${path.join("/")}/+` : path.join("/");
    }

    children(): Branch[] {
        this.list ??= Array.from(this.part.children.list.subarray(this.part.children.start[this.node]!, this.part.children.start[this.node + 1]!), (child) => {
            const { columns, frames } = this.part;
            const [frame, side] = [columns.frame[child]!, columns.side[child] === 0 ? 0 : 1] as const;
            const path: [number, number][] = frame ? [...this.path, [side, frames[side][frame - 1]!.id]] : this.path;
            return new Branch(this.part, child, this, path, this.tree);
        }).sort((a, b) => b.value - a.value || (a.key < b.key ? -1 : 1));
        return this.list;
    }

    get own(): number {
        return this.value - this.children().reduce((sum, child) => sum + child.value, 0);
    }

    async load(least: number): Promise<void> {
        if (this.others > 0) return this.caller?.load(0);
        const part = partOf(await this.tree.ask(this.path, least));
        [this.part, this.node, this.list] = [part, 0, null];
    }

    valueOf(of: Metric): number | null {
        return of === this.tree.metric ? this.after : null;
    }
}

/** The tree of both, from its root on. */
export function differenceOf(pack: Pack, metric: Metric, ask: AskChanged): Changed {
    return new Branch(partOf(pack), 0, null, [], { metric, ask });
}

/** How a branch changed: from −1, it is gone, to 1, it is new. */
export function changeOf({ before, after }: { before: number; after: number }): number {
    const most = Math.max(before, after);
    return most > 0 ? (after - before) / most : 0;
}
