// Two call trees as one: what was before, what is after.

import { framesOf, titleInRows, type Metric, type Profile } from "./answer";
import { sideInWords } from "./comparison";
import { Errors, inFrames, marginOf, marginOfDifference, type Margins } from "./errors";
import { share, signedEstimate } from "./format";
import { Branch, type Load, type Part } from "./loaded_tree";
import { fileName } from "./names";
import { below } from "./paths";
import type { Column, Pack } from "./pack";
import type { ChangedTreesPack, Estimated } from "./packs";
import { childrenOf, type TreeItem } from "./tree";

/**
 * A branch of both. Of itself, it is as wide as the larger of before and after, so that what is gone has room beside what is
 * new.
 */
export interface Changed extends TreeItem {
    before: number;
    after: number;
    margins: Margins;
    children(): Changed[];
}

/** Which tree has a frame, 0 before or 1 after, and its number there. */
type Step = [side: number, frame: number];

/** Asks for the tree from the branch on to which these frames lead. */
export type AskChanged = (path: Step[], least: number) => Promise<Pack<ChangedTreesPack>>;

interface OfBoth extends Part<Step> {
    before: Column;
    after: Column;
    margins: readonly [before: Column, after: Column];
}

function partOf(pack: Pack<ChangedTreesPack>): OfBoth {
    const [parent, frame, side, others, values, before, after] = pack.all("tree.parent", "tree.frame", "tree.side", "tree.others", "tree.width", "tree.before", "tree.after");
    const margins = pack.all("tree.before_margin", "tree.after_margin");
    const { before_texts, after_texts } = pack.head;
    const frames = [framesOf(pack, before_texts, "before."), framesOf(pack, after_texts, "after.")];
    const frameOf = (node: number) => (frame[node] ? (frames[side[node]!]?.[frame[node]! - 1] ?? null) : null);
    const stepTo = (node: number): Step | null => {
        const found = frameOf(node);
        return found && [side[node]!, found.id];
    };
    return { children: childrenOf(parent), values, others, hasMore: () => false, frameOf, stepTo, before, after, margins };
}

class Asked extends Branch<Step, OfBoth> implements Changed {
    protected branch(node: number, path: Step[]): this {
        return new Asked(this.part, node, this, path, this.ask) as this;
    }

    get before(): number {
        return this.part.before[this.node]!;
    }

    get after(): number {
        return this.part.after[this.node]!;
    }

    get margins(): Margins {
        const [before, after] = this.part.margins;
        return [before[this.node]!, after[this.node]!];
    }

    valueOf(): number {
        return this.after;
    }
}

/** The tree of both that a server has, from its root on. */
export async function differenceOf(ask: AskChanged, least: number): Promise<Changed> {
    const load: Load<Step, OfBoth> = async (path, least) => partOf(await ask(path, least));
    return new Asked(await load([], least), 0, null, [], load);
}

/** Functions are the same if they are called the same, whatever their lines. */
export function nameOf({ frame, label, others }: TreeItem): string {
    if (label) return label;
    return frame ? `${frame.full}\0${frame.uniqueModule ?? fileName(frame.module)}` : others > 0 ? "+" : "";
}

const sum = (items: TreeItem[]) => items.reduce((sum, item) => sum + item.value, 0);

/** How far some branches before and some after may be off. */
type MarginsOf = (sides: [before: TreeItem[], after: TreeItem[]]) => Margins;

/** Two trees of a page. */
class Merged implements Changed {
    readonly frame;
    readonly others: number;
    readonly before: number;
    readonly after: number;
    private list: Merged[] | null = null;
    private width: number | null = null;

    constructor(
        readonly key: string,
        private readonly sides: [TreeItem[], TreeItem[]],
        /** Narrower branches have no children until they are loaded. */
        private least: number,
        private readonly marginsOf: MarginsOf,
    ) {
        const [before, after] = sides;
        this.frame = (after[0] ?? before[0])?.frame ?? null;
        this.others = Math.max(...sides.map((items) => items.reduce((sum, item) => sum + item.others, 0)));
        [this.before, this.after] = [sum(before), sum(after)];
    }

    private get isNarrow(): boolean {
        return this.before + this.after < this.least;
    }

    get hasMore(): boolean {
        return this.isNarrow && this.sides.some((items) => items.some((item) => item.children().length > 0));
    }

    children(): Merged[] {
        if (this.isNarrow) return [];
        if (this.list) return this.list;
        const groups = new Map<string, [TreeItem[], TreeItem[]]>();
        this.sides.forEach((items, side) => {
            for (const child of items.flatMap((item) => item.children())) {
                const name = nameOf(child);
                const known = groups.get(name) ?? [[], []];
                known[side]!.push(child);
                groups.set(name, known);
            }
        });
        this.list = [...groups].map(([name, sides]) => new Merged(below(this.key, name), sides, this.least, this.marginsOf)).sort((a, b) => b.value - a.value || (a.key < b.key ? -1 : 1));
        return this.list;
    }

    get value(): number {
        if (this.width !== null) return this.width;
        let [before, after, inside] = [this.before, this.after, 0];
        for (const child of this.children()) {
            before -= child.before;
            after -= child.after;
            inside += child.value;
        }
        return (this.width = inside + Math.max(before, after, 0));
    }

    get own(): number {
        return this.value - this.children().reduce((sum, child) => sum + child.value, 0);
    }

    get margins(): Margins {
        return this.marginsOf(this.sides);
    }

    async load(least: number): Promise<void> {
        this.least = Math.min(this.least, least * (this.before + this.after));
        this.list = this.width = null;
    }

    valueOf(): number {
        return this.after;
    }
}

/** Two trees that are there as a whole, as one. */
export function merged(before: TreeItem, after: TreeItem, least: number, marginsOf: MarginsOf): Changed {
    return new Merged("", [[before], [after]], least * (before.value + after.value), marginsOf);
}

/** What branches of one side have. */
type EstimateOf = (items: TreeItem[]) => Estimated;

/** Of a metric, as the recording of that side, whose metrics these are, has it. */
export function estimatesOf({ name }: Metric, totals: Profile["totals"], metrics: Metric[]): EstimateOf {
    const errors = new Errors(totals, metrics);
    const metric = metrics.find((one) => one.name === name);
    return (items) => {
        const value = sum(items);
        // What a side does not have is not off.
        return metric && items.length > 0 ? errors.around(metric, value, inFrames(items)) : { value, low: value, high: value };
    };
}

/** Each side is off by its own prices. */
export const marginsOfBoth = ([before, after]: readonly [before: EstimateOf, after: EstimateOf]): MarginsOf => (sides) => [marginOf(before(sides[0])), marginOf(after(sides[1]))];

type Sides = Pick<Changed, "before" | "after" | "margins">;

/** What changed in several branches. */
export const together = (items: Changed[]): Sides => ({
    before: items.reduce((sum, { before }) => sum + before, 0),
    after: items.reduce((sum, { after }) => sum + after, 0),
    margins: [Math.hypot(...items.map(({ margins }) => margins[0])), Math.hypot(...items.map(({ margins }) => margins[1]))],
});

/** `2 ms before, 3 ms after: +1.0 ± 0.4 ms cost, 50 ± 20 % of 2 ms`. */
export function changeInWords({ before, after, margins }: Sides, metric: Metric): string {
    const by = after - before;
    const [size, margin] = [Math.abs(by), marginOfDifference(by, margins)];
    const [was, is] = [sideInWords(before, margins[0], metric.unit), sideInWords(after, margins[1], metric.unit)];
    return `${was} before, ${is} after: ${signedEstimate(by, margin, metric.unit)} ${titleInRows(metric)}${before > 0 && size > 0 ? `, ${share(size, size - margin, size + margin, before)} of ${was}` : ""}`;
}

/** How a branch changed: from −1, it is gone, to 1, it is new. */
export function changeOf({ before, after }: { before: number; after: number }): number {
    const most = Math.max(before, after);
    return most > 0 ? (after - before) / most : 0;
}
