import { expect, test } from "vitest";
import type { Frame, Metric } from "../../src/model/answer";
import { byFunction } from "../../src/model/functions";
import { modulesOf } from "../../src/model/modules";
import type { TreeItem } from "../../src/model/tree";
import { pathTo } from "../../src/model/tree";

const metric = (name: string, over: string | null = null): Metric => ({ name, title: name, unit: "count", help: "", origin: "", known: true, join: "sum", color: "", over, compared: false, resolves: null, lists: [] });
const frame = (name: string, line: number, module = "/bin/app"): Frame => ({ id: line, function: name, full: name, qualified: name, file: "a.c", line, module });

/** A branch with a value and its children; each block lives for two. */
function branch(key: string, of: Frame | null, value: number, children: TreeItem[] = [], others = 0): TreeItem {
    const own = value - children.reduce((sum, child) => sum + child.value, 0);
    return { key, frame: of, others, value, own, children: () => children, hasMore: false, load: async () => {}, valueOf: ({ name, over }) => (over ? 2 : name === "freed" ? value : 2 * value) };
}

// main calls work on two lines, and work allocates on two lines; others stand for what is small.
const tree = branch("", null, 100, [
    branch("1", frame("main", 10), 60, [branch("1.5", frame("work", 20), 60)]),
    branch("2", frame("main", 11), 38, [branch("2.5", frame("work", 20), 30), branch("2.6", frame("work", 21), 5), branch("2.7", frame("free", 3, "/lib/c.so"), 3)]),
    branch("+", null, 2, [], 4),
]);

test("frames of one function are one frame, with what its lines have together", () => {
    const root = byFunction(tree);
    const shown = (item: TreeItem): unknown => [item.frame?.function ?? `${item.others} others`, item.frame?.line ?? 0, item.value, ...(item.children().length > 0 ? [item.children().map(shown)] : [])];
    expect(root.children().map(shown)).toEqual([
        ["main", 0, 98, [["work", 0, 95], ["free", 3, 3]]],
        ["4 others", 0, 2],
    ]);
    // A mean is that of all lines: of 98 blocks that live for 196 together.
    expect(root.children()[0]!.valueOf(metric("lifetime", "freed"))).toBe(2);
    expect(root.children()[0]!.valueOf(metric("bytes"))).toBe(196);
    expect(root.children()[0]!.own).toBe(0);
});

test("functions of two libraries of one file name are two", () => {
    const root = byFunction(branch("", null, 5, ["/a/c.so", "/b/c.so"].map((module, at) => branch(`${at}`, frame("made", 3, module), at + 2))));
    expect(root.children().map(({ value }) => value)).toEqual([3, 2]);
});

test("a branch is found again by its key", async () => {
    const root = byFunction(tree);
    const work = root.children()[0]!.children()[0]!;
    expect(work.key).toBe("1.5");
    expect((await pathTo(byFunction(tree), work.key, 0)).map((item) => item.frame?.function ?? "")).toEqual(["", "main", "work"]);
    // As far as there is something.
    expect((await pathTo(byFunction(tree), "1.9", 0)).map((item) => item.frame?.function ?? "")).toEqual(["", "main"]);
});

test("modules come by what they have of their own", () => {
    expect(modulesOf(byFunction(tree))).toEqual(["/bin/app", "/lib/c.so"]);
});
