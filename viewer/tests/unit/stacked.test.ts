import { expect, test } from "vitest";
import type { Metric } from "../../src/model/answer";
import { curveOf, pathOf } from "../../src/model/compared_curves";
import { colored, drawn, layerAt, mostInWords, mostOf, stackOf, wayOf, wordsAt } from "../../src/model/stacked";
import type { ActivityPack, StackedPack } from "../../src/model/packs";
import { Errors } from "../../src/model/errors";
import { packed } from "./packed";

const columns = (of: Record<string, number[]>) => Object.entries(of).map(([name, values]): [string, "u8", number[]] => [name, "u8", values]);

const metric = (name: string, unit: Metric["unit"]): Metric => ({ name, title: name, unit, help: "", origin: "", known: true, join: "sum", color: "", over: null, compared: false, resolves: null, lists: [] });
const group = (name: string, others: number | null = null) => ({ name, full: name && `${name}(int)`, module: name && "/lib/a.so", others });
const packOf = (isLive: boolean, more: Record<string, number[]> = {}) => packed<StackedPack>({ start_ns: 0, interval_ns: 1e6, is_live: isLive, groups: [group("load"), group("save"), group("", 3)], why: "", damage: [] }, columns({ "groups.0": [1, 20, 3], "groups.1": [4, 5, 6], "groups.2": [0, 5, 1], ...more }));

const exact = new Errors({ values: {}, intervals: {} }, []);

test("layers stand on each other", () => {
    const stack = stackOf(packOf(true), metric("live", "bytes"), "function", new Map());
    expect(stack.layers.map(({ name, color, top }) => [name, color, [...top]])).toEqual([["load", 1, [1, 20, 3]], ["save", 2, [5, 25, 9]], ["3 other functions", 0, [5, 30, 10]]]);
    expect(mostOf(stack, { from: 0, to: 3e6 })).toBe(30);
    expect(mostOf(stack, { from: 2.1e6, to: 2.9e6 })).toBe(10);
    expect([0.5, 4.5, 5.5, -1].map((height) => layerAt(stack, 0, height)?.name)).toEqual(["load", "save", undefined, undefined]);
    expect(layerAt(stack, 1.5e6, 26)?.name).toBe("3 other functions");
    expect(wordsAt(stack, 1.5e6, stack.layers[1], exact)).toBe("5 B \u2068save\u2069, 30 B live in all");
    expect(wordsAt(stack, 9e6, undefined, exact)).toBeUndefined();
    expect(wayOf(stack, stack.layers[0]!)).toEqual({ view: "lines", group: "function", search: "", focus: "load(int) · /lib/a.so" });
    expect(wayOf(stack, stack.layers[2]!)).toBeNull();
});

test("what happens is drawn as a rate", () => {
    const stack = stackOf(packOf(false), metric("bytes", "bytes"), "type", new Map());
    expect(mostOf(stack, { from: 0, to: 3e6 })).toBe(30_000);
    expect(drawn(stack, 30_000)).toBe("29.3 KiB / s");
    expect(layerAt(stack, 1.5e6, 24_000)?.name).toBe("save");
    expect(wordsAt(stack, 1.5e6, undefined, exact)).toBe("bytes: 30 B in all in 1.00 ms");
    expect(wayOf(stack, stack.layers[0]!)).toMatchObject({ view: "lines", group: "type", focus: "load(int) · /lib/a.so" });
});

test("times have the digits that are known", () => {
    const mapping = metric("mapping", "ns");
    const errors = new Errors({ values: { mapping: 40 }, intervals: { mapping: [30, 50] } }, [mapping]);
    const stack = stackOf(packOf(false), mapping, "function", new Map());
    // An eighth of the whole, and three quarters: 20 ± 5 and 30 ± 8 ns.
    expect(wordsAt(stack, 1.5e6, stack.layers[0], errors)).toBe("mapping: 20 ns \u2068load\u2069, 30 ns in all in 1.00 ms");
    expect(mostInWords(stack, { from: 0, to: 3e6 }, errors)).toBe("30 µs / s");
    const faults = metric("faults", "count");
    const sampled = stackOf(packOf(false, { "variances.1": [64, 80, 96] }), faults, "function", new Map());
    expect(wordsAt(sampled, 1.5e6, sampled.layers[1], new Errors({ values: {}, intervals: {} }, [faults]))).toBe("faults: < 80 \u2068save\u2069, 30 in all in 1.00 ms");
});

test("names keep their colors", () => {
    const first = colored(["a", "b", "c"], new Map());
    expect([...first]).toEqual([["a", 1], ["b", 2], ["c", 3]]);
    expect([...colored(["d", "c", "a"], first)].toSorted()).toEqual([["a", 1], ["c", 3], ["d", 2]]);
});

test("a curve is that of its span, from its begin", () => {
    const pack = packed<ActivityPack>({ start_ns: 0, interval_ns: 10, sees_live: true, marks: [], regions: [], region_count: 0, left_out: 0, spreads: [], damage: [] }, columns({ "activity.live": [1, 2, 8, 4], "activity.allocations": [0, 0, 0, 0], "marks.at": [], "regions.begin": [], "regions.end": [] }));
    const curve = curveOf(pack, { from: 15, to: 30 });
    expect(curve).toEqual({ length: 15, steps: [{ at: 0, bytes: 2 }, { at: 5, bytes: 8 }], most: 8 });
    expect(pathOf(curve, { length: 30, most: 16, width: 300, height: 80 })).toBe("M0.0 70.0H50.0V40.0H150.0");
});
