import { expect, test } from "vitest";
import { bestOf, inRows, isCoarse, overBudget, within, zoomed, type Activity } from "../../src/model/activity";
import { axisOf, timeAt } from "../../src/model/time_axis";

test("an axis is clear from hours down to nanoseconds", () => {
    expect(axisOf(0, 2.4e9, 6)).toEqual({ ticks: [0, 5e8, 1e9, 1.5e9, 2e9], labels: ["0 s", "500 ms", "1.0 s", "1.5 s", "2.0 s"], base: "" });
    expect(axisOf(0, 90e-6 * 1e9, 5).labels).toEqual(["0 s", "20 µs", "40 µs", "60 µs", "80 µs"]);
    expect(axisOf(1.2345e9, 1.23451e9, 6)).toEqual({
        ticks: [1234500000, 1234502000, 1234504000, 1234506000, 1234508000, 1234510000],
        labels: ["+500 µs", "+502 µs", "+504 µs", "+506 µs", "+508 µs", "+510 µs"],
        base: "1.234 s",
    });
    expect(axisOf(7200e9, 7200e9 + 2000, 4)).toEqual({ ticks: [0, 500, 1000, 1500, 2000].map((ns) => 7200e9 + ns), labels: ["+0 ns", "+500 ns", "+1,000 ns", "+1,500 ns", "+2,000 ns"], base: "7,200.000000 s" });
    expect(axisOf(0, 3600e9, 4).labels).toEqual(["0 s", "1,000 s", "2,000 s", "3,000 s"]);
});

test("neighboring ticks never have the same label, and labels are few", () => {
    for (const end of [1e3, 1e6, 3.3e9, 7.77e11])
        for (let length = end; length > 900; length /= 3.7)
            for (const from of [0, end / 3, end - length]) {
                const { ticks, labels } = axisOf(from, from + length, 8);
                expect(new Set(labels).size).toBe(ticks.length);
                expect(ticks.length).toBeLessThanOrEqual(9);
                expect(ticks.length).toBeGreaterThan(1);
                expect(Math.max(...labels.map((label) => label.length))).toBeLessThan(13);
            }
});

test("a time has the digits that tell it from its neighbor", () => {
    expect(timeAt(1234567891, 1000)).toBe("1.234568 s");
    expect(timeAt(1234567, 10)).toBe("1.23457 ms");
    expect(timeAt(950, 1)).toBe("950 ns");
    expect(timeAt(0, 1)).toBe("0 s");
    expect([timeAt(900e9, -9e9), timeAt(5e6, 0)]).toEqual(["900.0 s", "5.000 ms"]);
});

const activity = (start: number, interval: number, count: number): Activity => ({ start, interval, count, live: new Float64Array(count), seesLive: true, allocations: null, faults: null, resident: null, marks: [], regions: [], runs: [], spreads: [], regionCount: 0, leftOut: 0 });

test("the narrowest intervals that cover what is seen are shown", () => {
    const [whole, part, narrow] = [activity(0, 1000, 100), activity(20_000, 100, 200), activity(25_000, 10, 200)];
    const known = [whole!, part!, narrow!];
    expect(bestOf(known, { from: 0, to: 99_999 }, 100_000)).toBe(whole);
    expect(bestOf(known, { from: 22_000, to: 39_000 }, 100_000)).toBe(part);
    expect(bestOf(known, { from: 25_500, to: 26_500 }, 100_000)).toBe(narrow);
    expect(bestOf(known, { from: 24_000, to: 26_500 }, 100_000)).toBe(part);
    expect(isCoarse(whole!, { from: 0, to: 100_000 }, 200)).toBe(false);
    expect(isCoarse(whole!, { from: 0, to: 10_000 }, 200)).toBe(true);
});

test("zooming keeps the instant under the pointer, and stays in the recording", () => {
    const seen = zoomed({ from: 0, to: 1e9 }, 2.5e8, 0.1, 1e9);
    expect(seen.to - seen.from).toBeCloseTo(1e8);
    expect((2.5e8 - seen.from) / (seen.to - seen.from)).toBeCloseTo(0.25);
    expect(zoomed(seen, 2.5e8, 1e9, 1e9)).toEqual({ from: 0, to: 1e9 });
    expect(zoomed(seen, 2.5e8, 1e-9, 1e9).to - zoomed(seen, 2.5e8, 1e-9, 1e9).from).toBeCloseTo(1000);
    expect(within({ from: -5e8, to: 2e8 }, 1e9)).toEqual({ from: 0, to: 7e8 });
    expect(within({ from: 9e8, to: 1.3e9 }, 1e9)).toEqual({ from: 6e8, to: 1e9 });
    expect(within({ from: 0, to: 10 }, 500)).toEqual({ from: 0, to: 500 });
});

test("regions of a row do not overlap", () => {
    const region = (name: string, from: number, to: number) => ({ name, from, to });
    const rows = inRows([region("a", 0, 100), region("b", 10, 40), region("c", 20, 30), region("d", 25, 28), region("e", 40, 50), region("f", 100, 110)]);
    expect(rows.map(({ name, row }) => [name, row])).toEqual([["a", 0], ["b", 1], ["c", 2], ["e", 1], ["f", 0]]);
});

test("regions over their budget are counted, and of very many at least those that are known", () => {
    const of = (lengths: number[], regionCount: number) => ({ runs: lengths.map((to) => ({ name: "frame", from: 0, to })), regionCount });
    expect(overBudget(of([3, 17, 18], 3), 16)).toBe("2 of 3 over");
    expect(overBudget(of([3, 16], 2), 16)).toBe("0 of 2 over");
    expect(overBudget(of([17, 18], 2), 16)).toBe("2 of 2 over");
    expect(overBudget(of([17, 18], 5000), 16)).toBe("at least 2 of 5,000 over");
    expect(overBudget(of([16, 18], 5000), 16)).toBe("1 of 5,000 over");
});
