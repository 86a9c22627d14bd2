import { expect, test } from "vitest";
import type { Metric, Profile, Site } from "../../src/model/answer";
import { comparisonIn } from "../../src/model/comparison";

const metric = (name: string, compared: boolean, resolves: Metric["resolves"]) => ({ name, title: name, unit: "count", known: true, over: null, compared, resolves }) as Metric;
const METRICS = [metric("cost", true, [0.25, 10]), metric("bytes", true, [0.001, 0]), metric("peak", true, null), metric("live", false, null)];

/** Call sites with these numbers of each metric, and what the whole has. */
function profileOf(sites: number[][], whole: number[], others = 0): Profile {
    const names = METRICS.map((one) => one.name);
    const site = (index: number) => ({ index, frame: { function: `f${index}`, file: "", module: "/bin/app" }, inlined: [], type: "", others: index + 1 === sites.length ? others : 0 }) as unknown as Site;
    return {
        sites: sites.map((_, index) => site(index)),
        siteNumbers: new Map(names.map((name, at) => [name, Float64Array.from(sites, (row) => row[at]!)])),
        totals: { values: Object.fromEntries(names.map((name, at) => [name, whole[at]!])), intervals: {}, peak_is: "exact", processes: 1 },
    } as unknown as Profile;
}

test("two selections of a page are compared site by site", () => {
    const before = profileOf([[100, 50, 9, 1], [0, 0, 0, 5], [20, 5, 3, 0], [1, 0, 0, 0]], [121, 55, 20, 6]);
    const after = profileOf([[104, 50, 2, 7], [0, 0, 0, 5], [0, 0, 0, 0], [10, 30, 1, 0]], [114, 80, 3, 12]);
    const told = comparisonIn(before, after, METRICS);
    expect(told.files).toBeNull();
    expect(told.metrics.map((one) => one.name)).toEqual(["cost", "bytes", "peak"]);
    expect(told.changes.map(({ name, fate, exceeds }) => [name, fate, exceeds])).toEqual([
        // A cost of 4 more is within what two runs differ in.
        ["f0 (app)", "changed", false],
        ["f2 (app)", "gone", true],
        ["f3 (app)", "changed", true],
        ["in no row: peaks at other times", "changed", false],
    ]);
    const [cost, bytes, peak] = told.metrics;
    expect([told.value("before", cost!, 0), told.value("after", cost!, 0)]).toEqual([100, 104]);
    expect([told.value("before", bytes!, told.total), told.value("after", bytes!, told.total)]).toEqual([55, 80]);
    expect([told.value("before", peak!, told.total - 1), told.value("after", peak!, told.total - 1)]).toEqual([20 - 12, 0]);
});

test("rare call sites of a page are one row", () => {
    const [before, after] = [profileOf([[5, 5, 5, 5], [1, 1, 1, 1]], [6, 6, 6, 6], 40), profileOf([[5, 5, 5, 5], [2, 2, 2, 2]], [7, 7, 7, 7], 40)];
    expect(comparisonIn(before, after, METRICS).changes.map(({ name, frame }) => [name, frame === null])).toEqual([["f0 (app)", false], ["40 other call sites", true]]);
});
