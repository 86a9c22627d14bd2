import { expect, test } from "vitest";
import type { Site } from "../../src/model/answer";
import { fateOf, type Survivors } from "../../src/model/generations";
import { groupKey, groupName } from "../../src/model/site_groups";

const site = (fn: string, line: number, type: string): Site => ({ index: 0, frame: { id: 0, function: fn, full: `${fn}()`, qualified: fn, file: "/a.c", line, module: "/bin/a" }, inlined: [], type, element: 0, elements: 0, others: 0 });

const row = (...bytes: number[]): Survivors => ({ key: "", name: "", site: site("f", 1, ""), bytes, blocks: [] });

test("what is born less what died is the difference", () => {
    const fate = fateOf(row(30, 70), 50, 100)!;
    expect(fate).toEqual({ born: 70, died: 20, stayed: 30 });
    expect(fate.born - fate.died).toBe(100 - 50);
    expect(fateOf(undefined, 50, 0)).toEqual({ born: 0, died: 50, stayed: 0 });
});

test("blocks without a generation make that unknown", () => {
    expect(fateOf(row(30, 60), 50, 100)).toBeNull();
    expect(fateOf(undefined, 50, 100)).toBeNull();
    expect(fateOf(row(60, 40), 50, 100)).toBeNull();
});

test("sites are grouped by what they share", () => {
    const [a, b] = [site("f", 1, "int"), site("f", 2, "int")];
    expect(groupKey(a, "line")).not.toBe(groupKey(b, "line"));
    for (const group of ["function", "type", "module"]) expect(groupKey(a, group)).toBe(groupKey(b, group));
    expect(groupKey(site("f", 1, ""), "type")).toBe("(type not known)");
    expect(groupName(a, "type")).toBe("int");
    expect(groupName(a, "line")).toBe("f (a.c:1)");
});
