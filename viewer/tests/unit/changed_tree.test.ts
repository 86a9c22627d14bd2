import { beforeEach, expect, test } from "vitest";
import type { Frame, Metric, Profile } from "../../src/model/answer";
import { changeInWords, changeOf, differenceOf, estimatesOf, marginsOfBoth, merged, together } from "../../src/model/changed_tree";
import type { Pack } from "../../src/model/pack";
import type { ChangedTreesPack } from "../../src/model/packs";
import type { TreeItem } from "../../src/model/tree";

const frames = (side: string, id: number) => ({ [`${side}.frames.id`]: [id], ...Object.fromEntries(["function", "full", "qualified"].map((name) => [`${side}.frames.${name}`, [1]])), ...Object.fromEntries(["file", "line", "module", "module_name", "parameters", "unique_module", "shared", "shared_source", "without_tables"].map((name) => [`${side}.frames.${name}`, [0]])) });

function packOf(columns: Record<string, number[]>): Pack<ChangedTreesPack> {
    const all: Record<string, number[]> = { ...columns, ...frames("before", 7), ...frames("after", 9) };
    const column = (name: string) => Uint8Array.from(all[name]!);
    return { column, all: (...names: string[]) => names.map(column), head: { before_texts: ["", "old"], after_texts: ["", "new"] } } as unknown as Pack<ChangedTreesPack>;
}

const TREE = packOf({
    "tree.parent": [0, 0, 0, 2], "tree.frame": [0, 1, 1, 0], "tree.side": [1, 0, 1, 1], "tree.others": [0, 0, 0, 3],
    "tree.width": [145, 80, 55, 41], "tree.before": [100, 80, 10, 10], "tree.after": [60, 0, 55, 40], "tree.before_margin": [4, 3, 0, 0], "tree.after_margin": [3, 0, 4, 0],
});

/** The answers of a server: the whole tree first. */
const answers = (...parts: Pack<ChangedTreesPack>[]) => async (path: unknown, least: number): Promise<Pack<ChangedTreesPack>> => (asked.push([path, least]), parts[asked.length - 1]!);
let asked: unknown[] = [];
beforeEach(() => void (asked = []));

test("what is gone has room beside what is new", async () => {
    const root = await differenceOf(answers(TREE), 0.5);
    expect(root.value).toBe(10 + 80 + 55);
    const [gone, grown] = root.children();
    expect([gone!.frame!.function, gone!.value, changeOf(gone!)]).toEqual(["old", 80, -1]);
    expect([grown!.frame!.function, grown!.value, grown!.before, grown!.after]).toEqual(["new", 55, 10, 55]);
    expect(changeOf(grown!)).toBeCloseTo(45 / 55);
    expect(grown!.own).toBe(55 - 41);
    expect(grown!.children().map((item) => [item.others, item.value, item.frame, item.hasMore])).toEqual([[3, 41, null, true]]);
    expect(changeOf({ before: 0, after: 0 })).toBe(0);
});

test("what is too narrow is loaded when its caller is zoomed into", async () => {
    const part = packOf({ "tree.parent": [0, 0], "tree.frame": [1, 1], "tree.side": [1, 0], "tree.others": [0, 0], "tree.width": [55, 9], "tree.before": [10, 9], "tree.after": [55, 0], "tree.before_margin": [0, 0], "tree.after_margin": [0, 0] });
    const root = await differenceOf(answers(TREE, part, part), 0.1);
    const grown = root.children()[1]!;
    // What stands for several is loaded with its siblings.
    const several = grown.children()[0]!;
    await grown.load(0.5);
    expect(grown.children().map((item) => [item.frame!.function, item.value, item.hasMore])).toEqual([["old", 9, false]]);
    await several.load(0.5);
    expect(asked).toEqual([[[], 0.1], [[[1, 9]], 0.5], [[[1, 9]], 0]]);
});

/** A tree of a page, as `[name, value, ...children]`. */
type Told = [name: string, value: number, ...children: Told[]];
function treeOf([name, value, ...children]: Told): TreeItem {
    const frame = name === "all" ? null : ({ function: name, full: name, module: `/lib/${name}.so`, line: value } as Frame);
    return { key: name, frame, others: 0, value, own: 0, hasMore: false, children: () => children.map(treeOf), load: async () => {}, valueOf: (metric) => (metric.name === "mapping" ? value : null) };
}

test("two trees of a page are one", async () => {
    const before = treeOf(["all", 100, ["a", 80, ["b", 60], ["c", 20]], ["d", 10]]);
    const after = treeOf(["all", 90, ["a", 30, ["c", 30]], ["e", 60]]);
    const root = merged(before, after, 0, () => [0, 0]);
    const told = root.children().map((item) => [item.frame!.function, item.value, item.before, item.after]);
    expect(told).toEqual([["a", 60 + 30, 80, 30], ["e", 60, 0, 60], ["d", 10, 10, 0]]);
    expect(root.value).toBe(90 + 60 + 10 + 10);
    expect([root.before, root.after, root.own]).toEqual([100, 90, 10]);
    // What is narrow has nothing in it until somebody zooms there.
    const [a] = merged(before, after, 0.7, () => [0, 0]).children();
    expect([a!.hasMore, a!.children(), a!.value]).toEqual([true, [], 80]);
    await a!.load(0.01);
    expect([a!.hasMore, a!.children().map((item) => item.value), a!.value]).toEqual([false, [60, 30], 90]);
    // A zoom hides nothing of what was loaded for a search.
    const [searched] = merged(before, after, 0, () => [0, 0]).children();
    await searched!.load(0.9);
    expect(searched!.children().map((item) => item.value)).toEqual([60, 30]);
});

test("what changed of a time has the digits that are known", () => {
    const time = { name: "mapping", title: "mapping", unit: "ns", over: null } as Metric;
    // Each side by its own error: before, a few µs of it are known.
    expect(changeInWords({ before: 2_123_456, after: 6_345_678, margins: [10_000, 1_338_000] }, time)).toBe("2.123 ms before, 6.3 ms after: +4.2 ± 1.3 ms mapping, 200 % of 2.123 ms");
    expect(changeInWords({ before: 2_123_456, after: 2_123_456, margins: [1_000_000, 1_000_000] }, time)).toBe("2.1 ms before, 2.1 ms after: 0 mapping");
    // Of several processes, branches have the peaks of each.
    const peak = { name: "peak", title: "peak", rowTitle: "own peaks", unit: "bytes", over: null } as unknown as Metric;
    expect(changeInWords({ before: 1024, after: 2048, margins: [0, 0] }, peak)).toBe("1.00 KiB before, 2.00 KiB after: +1.00 KiB own peaks, 100 % of 1.00 KiB");
    const bytes = { name: "bytes", title: "bytes", unit: "bytes", over: null } as Metric;
    expect(changeInWords({ before: 1024, after: 2048, margins: [0, 0] }, bytes)).toBe("1.00 KiB before, 2.00 KiB after: +1.00 KiB bytes, 100 % of 1.00 KiB");
});

test("the sides of a page are off by their own prices", () => {
    const side = (off: number) => {
        const metrics = [{ name: "mapping", title: "mapping", unit: "ns", over: null } as Metric];
        return estimatesOf(metrics[0]!, { values: { mapping: 100 }, intervals: { mapping: [100 - off, 100 + off] } } as unknown as Profile["totals"], metrics);
    };
    const before = treeOf(["all", 100, ["a", 50], ["gone", 50]]);
    const after = treeOf(["all", 90, ["a", 20], ["new", 50]]);
    // Before, numbers are 60 % off; after, 20 %.
    const root = merged(before, after, 0, marginsOfBoth([side(60), side(20)]));
    expect(root.margins).toEqual([expect.closeTo(60), expect.closeTo(18)]);
    const [a, gone, born] = ["a", "gone", "new"].map((name) => root.children().find((item) => item.frame!.function === name)!);
    expect([a!.margins, gone!.margins, born!.margins]).toEqual([[expect.closeTo(30), expect.closeTo(4)], [expect.closeTo(30), 0], [0, expect.closeTo(10)]]);
    expect(together([gone!, born!])).toEqual({ before: 50, after: 50, margins: [expect.closeTo(30), expect.closeTo(10)] });
});

test("a server says how far each side is off", async () => {
    const root = await differenceOf(answers(TREE), 0.5);
    expect([root, ...root.children()].map(({ margins }) => margins)).toEqual([[4, 3], [3, 0], [0, 4]]);
});
