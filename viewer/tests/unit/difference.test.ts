import { expect, test } from "vitest";
import type { Metric } from "../../src/model/answer";
import { changeOf, differenceOf } from "../../src/model/difference";
import type { Pack } from "../../src/model/pack";

const metric = { name: "bytes" } as Metric;

test("what is gone has room beside what is new", () => {
    const columns: Record<string, number[]> = {
        "tree.parent": [0, 0, 0, 2], "tree.frame": [0, 1, 1, 0], "tree.side": [1, 0, 1, 1], "tree.others": [0, 0, 0, 3],
        "tree.before": [100, 80, 10, 10], "tree.after": [60, 0, 55, 40],
        "before.frames.id": [7], "before.frames.function": [1], "before.frames.full": [1], "before.frames.file": [0], "before.frames.line": [0], "before.frames.module": [0],
        "after.frames.id": [9], "after.frames.function": [1], "after.frames.full": [1], "after.frames.file": [0], "after.frames.line": [0], "after.frames.module": [0],
    };
    const texts: Record<string, string[]> = { "before.texts": ["", "old"], "after.texts": ["", "new"] };
    const pack = { column: (name: string) => Uint8Array.from(columns[name]!), get: (name: string) => texts[name] } as unknown as Pack;
    const root = differenceOf(pack, metric);
    expect(root.value).toBe(10 + 80 + 55);
    const [gone, grown] = root.children();
    expect([gone!.frame!.function, gone!.value, changeOf(gone!)]).toEqual(["old", 80, -1]);
    expect([grown!.frame!.function, grown!.value, grown!.before, grown!.after]).toEqual(["new", 55, 10, 55]);
    expect(changeOf(grown!)).toBeCloseTo(45 / 55);
    expect(grown!.children().map((item) => [item.others, item.value, item.frame])).toEqual([[3, 40, null]]);
    expect(changeOf({ before: 0, after: 0 })).toBe(0);
});
