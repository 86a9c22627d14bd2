import { expect, test } from "vitest";
import type { Frame, Metric, Profile } from "../../src/model/answer";
import { layout } from "../../src/model/flame_layout";
import { childrenOf, heaviestPath, ownOf, treeOf, unnamed, type TreeItem } from "../../src/model/tree";

const frame = (name: string): Frame => ({ id: name.charCodeAt(0), function: name, full: `${name}()`, qualified: name, file: `/src/${name}.c`, line: 1, module: "/bin/app" });
const metric = (name: string, over: string | null = null): Metric => ({ name, title: name, unit: "count", help: "", origin: "", known: true, join: "sum", color: "", lists: [], over, compared: false, resolves: null });

/** main 10 → a 6 → c 6; main → b 3 → a 2 → c 1; main → two other paths 1 */
function profile(): Profile {
    const parent = Uint32Array.from([0, 0, 1, 2, 1, 4, 5, 1]);
    const frames = Uint32Array.from([0, 1, 2, 4, 3, 2, 4, 0]);
    const numbers = new Map([
        ["n", Float64Array.from([10, 10, 6, 6, 3, 2, 1, 1])],
        ["freed", Float64Array.from([5, 5, 3, 3, 2, 1, 1, 0])],
        ["life", Float64Array.from([50, 50, 30, 30, 20, 10, 10, 0])],
    ]);
    return {
        frames: ["main", "a", "b", "c"].map(frame),
        tree: { parent, frame: frames, others: Uint32Array.from([0, 0, 0, 0, 0, 0, 0, 2]), numbers },
    } as unknown as Profile;
}

function shown(item: TreeItem): unknown {
    return [item.frame?.function ?? (item.others > 0 ? `${item.others} others` : "all"), item.value, ...item.children().map(shown)];
}

test("what a node has of its own is what its children do not have", () => {
    const { parent, numbers } = profile().tree!;
    expect([...ownOf(parent, numbers.get("n")!)]).toEqual([0, 0, 0, 6, 1, 1, 1, 1]);
    const { start, list } = childrenOf(parent);
    expect([...list.subarray(start[1]!, start[2]!)]).toEqual([2, 4, 7]);
    expect([...list.subarray(start[7]!, start[8]!)]).toEqual([]);
});

test("the tree from main", () => {
    expect(shown(treeOf(profile(), metric("n"), false))).toEqual(["all", 10, ["main", 10, ["a", 6, ["c", 6]], ["b", 3, ["a", 2, ["c", 1]]], ["2 others", 1]]]);
});

test("the tree from the allocations has the same sums", () => {
    const root = treeOf(profile(), metric("n"), true);
    expect(shown(root)).toEqual([
        "all", 10,
        ["c", 7, ["a", 7, ["main", 6], ["b", 1, ["main", 1]]]],
        ["2 others", 1, ["main", 1]],
        ["a", 1, ["b", 1, ["main", 1]]],
        ["b", 1, ["main", 1]],
    ]);
    expect(root.children().reduce((sum, item) => sum + item.value, 0)).toBe(10);
    expect(root.children()[0]!.valueOf(metric("freed"))).toBe(4);
});

test("what a function calls, and who calls it, counts its outermost calls", () => {
    expect(shown(treeOf(profile(), metric("n"), false, "a()"))).toEqual(["all", 8, ["a", 8, ["c", 7]]]);
    const callers = treeOf(profile(), metric("n"), true, "a()");
    expect(shown(callers)).toEqual(["all", 8, ["a", 8, ["main", 6], ["b", 2, ["main", 2]]]]);
    expect([callers.valueOf(metric("freed")), callers.children()[0]!.valueOf(metric("life", "freed"))]).toEqual([4, 10]);
    expect(shown(treeOf(profile(), metric("n"), false, "nobody()"))).toEqual(["all", 0]);
    expect(shown(treeOf(profile(), metric("n"), true, "nobody()"))).toEqual(["all", 0]);
    // Without parameters, all functions of one name are meant; with them, one.
    expect(shown(treeOf(profile(), metric("n"), true, "a"))).toEqual(shown(callers));
    const overloaded = profile();
    overloaded.frames[2]!.qualified = "a";
    expect(shown(treeOf(overloaded, metric("n"), false, "a"))).toEqual(["all", 9, ["a", 6, ["c", 6]], ["b", 3, ["a", 2, ["c", 1]]]]);
    expect(shown(treeOf(overloaded, metric("n"), false, "a()"))).toEqual(["all", 8, ["a", 8, ["c", 7]]]);
    const twins = profile();
    twins.frames.forEach((frame, at) => Object.assign(frame, { uniqueModule: at === 2 ? "/lib/b.so" : "app" }));
    expect(shown(treeOf(twins, metric("n"), false, "b() module:app"))).toEqual(["all", 0]);
    expect(shown(treeOf(twins, metric("n"), false, "b() module:/lib/b.so"))).toEqual(["all", 3, ["b", 3, ["a", 2, ["c", 1]]]]);
    // A function that calls itself counts once.
    const own = profile();
    own.tree!.frame = Uint32Array.from([0, 1, 2, 4, 2, 2, 4, 0]);
    expect(shown(treeOf(own, metric("n"), false, "a()"))).toEqual(["all", 9, ["a", 9, ["c", 6], ["a", 2, ["c", 1]]]]);
    expect(shown(treeOf(own, metric("n"), true, "a()"))).toEqual(["all", 9, ["a", 9, ["main", 9]]]);
});

test("a tree for each module has what the module's frames have of their own, and who leads to them", () => {
    const two = profile();
    // c is a library's.
    two.frames[3]!.module = "/lib/c.so";
    const name = (item: TreeItem): unknown => [item.label ?? item.frame?.function ?? "all", item.value, ...item.children().map(name)];
    expect(name(treeOf(two, metric("n"), false, "", "module"))).toEqual([
        "all", 10,
        ["/lib/c.so", 7, ["main", 7, ["a", 6, ["c", 6]], ["b", 1, ["a", 1, ["c", 1]]]]],
        ["/bin/app", 2, ["main", 2, ["b", 2, ["a", 1]]]],
        ["(other call paths)", 1, ["main", 1, ["all", 1]]],
    ]);
    const callers = treeOf(two, metric("n"), true, "", "module");
    expect(name(callers.children()[0]!)).toEqual(["/lib/c.so", 7, ["c", 7, ["a", 7, ["main", 6], ["b", 1, ["main", 1]]]]]);
    expect(callers.children()[0]!.valueOf(metric("life", "freed"))).toBe(10);
    expect(callers.children().map((item) => item.children()[0]!.key)).toEqual(["/lib/c%2eso.4", "/bin/app.2", "%28other call paths%29.0"]);
    expect(() => treeOf(two, metric("n"), false, "", "type")).toThrow("memtoll view");
});

test("means are those of what is below, and have the tree of their divisor", () => {
    const root = treeOf(profile(), metric("life", "freed"), false);
    expect(root.value).toBe(5);
    expect(root.children()[0]!.valueOf(metric("life", "freed"))).toBe(10);
});

test("the heaviest path ends where nothing leads", async () => {
    expect((await heaviestPath(treeOf(profile(), metric("n"), false))).map((item) => item.frame?.function)).toEqual(["main", "a", "c"]);
});

test("frames lie below their callers and never overlap", () => {
    const boxes = layout([treeOf(profile(), metric("n"), false)], 100);
    for (const box of boxes) {
        const below = boxes.filter((other) => other.parent === box);
        const widths = below.reduce((sum, other) => sum + other.width, 0);
        expect(widths).toBeLessThanOrEqual(box.width + 1e-9);
        below.forEach((other, index) => expect(other.x).toBeCloseTo(index === 0 ? box.x : below[index - 1]!.x + below[index - 1]!.width));
    }
    expect(boxes.length).toBe(8);
});

test("a page says how much lies in call paths whose functions it does not hold", () => {
    expect([unnamed(profile(), metric("n")), unnamed(profile(), metric("freed")), unnamed(profile(), metric("nothing"))]).toEqual([1, 0, 0]);
    expect(unnamed({ ...profile(), tree: null }, metric("n"))).toBe(0);
});

test("what a page does not have of a branch is not known", () => {
    for (const [reversed, by] of [[false, ""], [true, ""], [false, "module"]] as const) {
        const root = treeOf(profile(), metric("n"), reversed, "", by);
        for (const item of [root, root.children()[0]!]) expect([item.valueOf(metric("n.variance")), item.valueOf(metric("n"))]).toEqual([null, item.value]);
    }
});
