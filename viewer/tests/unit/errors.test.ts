import { expect, test } from "vitest";
import type { Metric } from "../../src/model/answer";
import { Errors, partOf, together } from "../../src/model/errors";
import { inRow } from "../../src/model/format";

const metric = (name: string, more: Partial<Metric> = {}): Metric => ({ name, title: name, unit: "ns", help: "", origin: "", known: true, join: "sum", color: "", lists: [], over: null, compared: false, resolves: null, ...more });
const [cost, mapping, waiting] = [metric("cost"), metric("mapping"), metric("waiting")];
const allocator = metric("allocator", { divided: { total: 100e6, error: 0.5 } });
const totals = { values: { cost: 130e6, allocator: 100e6, mapping: 20e6, waiting: 10e6 }, intervals: { cost: [100e6, 160e6], allocator: [80e6, 140e6], mapping: [17e6, 23e6], waiting: [5e6, 15e6] } as Record<string, [number, number]> };
const errors = new Errors(totals, [cost, allocator, mapping, waiting]);
const has = (values: Record<string, number>) => ({ name }: Metric) => values[name] ?? null;

test("a row errs as far as the whole, and one of the allocator by how its time was divided, too", () => {
    expect(errors.of(mapping, has({ mapping: 2e6 }))).toEqual({ value: 2e6, low: 1.7e6, high: 2.3e6 });
    expect(errors.of(allocator, has({ allocator: 100e6 }))).toEqual({ value: 100e6, low: 80e6, high: 140e6 });
    // crates/analysis/src/allocator_time.rs: a tenth of the total.
    const tenth = errors.of(allocator, has({ allocator: 10e6 }))!;
    expect([tenth.low, tenth.high].map(Math.round)).toEqual([10e6 - Math.hypot(2e6, 4.5e6), 10e6 + Math.hypot(4e6, 4.5e6)].map(Math.round));
    // A part of a part errs as if the total itself were divided.
    const [half, twentieth] = [partOf({ value: 100e6, low: 80e6, high: 140e6 }, 50e6, allocator.divided), partOf({ value: 100e6, low: 80e6, high: 140e6 }, 5e6, allocator.divided)];
    expect(Math.round(partOf(half, 5e6, allocator.divided).low)).toBe(Math.round(twentieth.low));
    // What was paid inside its calls.
    const inside = errors.of(allocator, has({ allocator: 10e6, "allocator.inside": 3e6 }))!;
    expect(Math.round(inside.low)).toBe(Math.round(10e6 - Math.hypot(2e6, 4.5e6, 2.7e6)));
    expect(errors.of(mapping, () => null)).toBe(null);
    expect(errors.of(mapping, () => 0)).toEqual({ value: 0, low: 0, high: 0 });
});

test("a cost errs as its parts do by themselves, and where a pack lacks these, as the whole is made of them", () => {
    const of = errors.of(cost, has({ cost: 15e6, allocator: 10e6, mapping: 2e6, waiting: 3e6 }))!;
    const parts = together([errors.of(allocator, has({ allocator: 10e6 })), errors.of(mapping, has({ mapping: 2e6 })), errors.of(waiting, has({ waiting: 3e6 }))]);
    expect(of.high - of.value).toBeCloseTo(parts.high - parts.value);
    expect(inRow(of, "ns")).toBe("15 ms");
    const whole = errors.of(cost, has({ cost: 130e6 }))!;
    expect([whole.low, whole.high]).toEqual([130e6 - Math.hypot(20e6, 3e6, 5e6), 130e6 + Math.hypot(40e6, 3e6, 5e6)]);
    expect(inRow(errors.of(cost, has({ cost: 13e6 }))!, "ns")).toBe("13 ms");
});

test("page faults err by their prices, those of huge pages by their own, beside by chance", () => {
    const faults = metric("fault-time", { prices: { each: [0.3, 0.2], huge: [0.05, 0.1], missing: 1e6 } });
    const all = new Errors({ values: { "fault-time": 100e6 }, intervals: { "fault-time": [90e6, 130e6] } }, [faults]);
    const of = (values: Record<string, number>) => all.of(faults, has(values))!;
    const plain = of({ "fault-time": 10e6 });
    expect([plain.low, plain.high]).toEqual([7e6, 10e6 + Math.hypot(2e6, 1e6)]);
    // crates/analysis/src/tariff.rs, faults_within.
    const huge = of({ "fault-time": 10e6, "fault-time.huge": 8e6, "fault-time.overdrawn": 3e6 });
    expect([huge.low, huge.high].map(Math.round)).toEqual([10e6 - Math.hypot(0.6e6, 0.4e6, 3e6), 10e6 + Math.hypot(0.4e6, 0.8e6, 1e6)].map(Math.round));
    // Where only the number is known, it is made of both as the whole is.
    expect(inRow(all.alone(faults, 100e6), "ns")).toBe(inRow({ value: 100e6, low: 90e6, high: 130e6 }, "ns"));
});

test("what is counted is exact, and what was sampled errs by chance", () => {
    const faults = metric("faults", { unit: "count" });
    expect(inRow(errors.of(faults, has({ faults: 417 }))!, "count")).toBe("417");
    expect(inRow(errors.of(faults, has({ faults: 357, "faults.variance": 357 * 16 }))!, "count")).toBe("360");
});
