// Two call trees as one: what was before, what is after.

import { framesOf, type Frame, type Metric } from "./answer";
import type { Pack } from "./pack";
import { childrenOf, type TreeItem } from "./tree";

export interface Changed extends TreeItem {
    before: number;
    after: number;
    children(): Changed[];
}

/**
 * The tree of both. Of itself, a branch is as wide as the larger of before and after, so that what is gone has room beside
 * what is new.
 */
export function differenceOf(pack: Pack, metric: Metric): Changed {
    const [parent, frame, side, others, before, after] = ["parent", "frame", "side", "others", "before", "after"].map((name) => Array.from(pack.column(`tree.${name}`))) as [number[], number[], number[], number[], number[], number[]];
    const frames: [Frame[], Frame[]] = [framesOf(pack, "before."), framesOf(pack, "after.")];
    const own = [Float64Array.from(before), Float64Array.from(after)] as const;
    for (let node = 1; node < parent.length; node++) {
        own[0][parent[node]!]! -= before[node]!;
        own[1][parent[node]!]! -= after[node]!;
    }
    const widths = Float64Array.from(parent, (_, node) => Math.max(0, own[0][node]!, own[1][node]!));
    for (let node = parent.length - 1; node > 0; node--) widths[parent[node]!]! += widths[node]!;
    const children = childrenOf(parent);
    const items = new Map<number, Changed>();
    const item = (node: number): Changed => {
        const known = items.get(node);
        if (known) return known;
        let list: Changed[] | undefined;
        const made: Changed = {
            key: String(node),
            frame: frame[node] ? (frames[side[node] === 0 ? 0 : 1][frame[node]! - 1] ?? null) : null,
            others: others[node]!,
            value: widths[node]!,
            own: Math.max(0, own[0][node]!, own[1][node]!),
            before: before[node]!,
            after: after[node]!,
            hasMore: false,
            load: () => Promise.resolve(),
            children: () => (list ??= Array.from(children.list.subarray(children.start[node]!, children.start[node + 1]!), item).sort((a, b) => b.value - a.value || (a.key < b.key ? -1 : 1))),
            valueOf: (of) => (of === metric ? after[node]! : null),
        };
        items.set(node, made);
        return made;
    };
    return item(0);
}

/** How a branch changed: from −1, it is gone, to 1, it is new. */
export function changeOf({ before, after }: { before: number; after: number }): number {
    const most = Math.max(before, after);
    return most > 0 ? (after - before) / most : 0;
}
