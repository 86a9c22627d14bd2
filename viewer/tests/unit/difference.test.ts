import { expect, test } from "vitest";
import type { Metric } from "../../src/model/answer";
import { changeOf, differenceOf } from "../../src/model/difference";
import type { Pack } from "../../src/model/pack";

const metric = { name: "bytes" } as Metric;

const frames = (side: string, id: number) => ({ [`${side}.frames.id`]: [id], ...Object.fromEntries(["function", "full"].map((name) => [`${side}.frames.${name}`, [1]])), ...Object.fromEntries(["file", "line", "module"].map((name) => [`${side}.frames.${name}`, [0]])) });

function packOf(columns: Record<string, number[]>): Pack {
    const all: Record<string, number[]> = { ...columns, ...frames("before", 7), ...frames("after", 9) };
    const texts: Record<string, string[]> = { "before.texts": ["", "old"], "after.texts": ["", "new"] };
    return { column: (name: string) => Uint8Array.from(all[name]!), get: (name: string) => texts[name] } as unknown as Pack;
}

const TREE = packOf({
    "tree.parent": [0, 0, 0, 2], "tree.frame": [0, 1, 1, 0], "tree.side": [1, 0, 1, 1], "tree.others": [0, 0, 0, 3],
    "tree.width": [145, 80, 55, 41], "tree.before": [100, 80, 10, 10], "tree.after": [60, 0, 55, 40],
});

test("what is gone has room beside what is new", () => {
    const root = differenceOf(TREE, metric, () => Promise.reject(new Error("nothing is loaded")));
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
    const asked: unknown[] = [];
    const part = packOf({ "tree.parent": [0, 0], "tree.frame": [1, 1], "tree.side": [1, 0], "tree.others": [0, 0], "tree.width": [55, 9], "tree.before": [10, 9], "tree.after": [55, 0] });
    const root = differenceOf(TREE, metric, async (path, least) => (asked.push([path, least]), part));
    const grown = root.children()[1]!;
    await grown.load(0.5);
    expect(asked).toEqual([[[[1, 9]], 0.5]]);
    expect(grown.children().map((item) => [item.frame!.function, item.value, item.hasMore])).toEqual([["old", 9, false]]);
    // What stands for several is loaded with its siblings.
    await differenceOf(TREE, metric, async (path, least) => (asked.push([path, least]), part)).children()[1]!.children()[0]!.load(0.5);
    expect(asked[1]).toEqual([[[1, 9]], 0]);
});
