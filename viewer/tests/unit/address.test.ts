import { expect, test } from "vitest";
import { clicked, orderOf, sorted } from "../../src/model/order";
import { below, isWithin, openIn, textOf } from "../../src/model/paths";
import { changed, fromHash, leaving, START, toHash } from "../../src/model/state";

test("open branches are in the address, and come back from it", () => {
    const open = new Set(["1", "1.2", "1.3", "1.3.4", "9", below("", "lib/a.so (x~y)"), below(below("", "lib/a.so (x~y)"), 7)]);
    expect(textOf(open)).toBe("1(2~3(4))~9~lib/a%2eso %28x%7ey%29(7)");
    expect(openIn(textOf(open))).toEqual(open);
    // Nothing open is something else than what a new page opens.
    expect(openIn(textOf(new Set()))).toEqual(new Set());
    expect(openIn("")).toBeNull();
    // A closed branch hides the open ones inside it.
    expect(textOf(new Set(["1", "2.3"]))).toBe("1");
    expect(isWithin("12.3", "1")).toBe(false);
    expect(isWithin("1.3", "1")).toBe(true);
    const state = { ...START, open: textOf(open), hit: 0, zoom: "1.2", byLine: true, order: "takes-up" };
    expect(fromHash(toHash(state))).toEqual(state);
});

test("what belongs to another tree or table leaves with it", () => {
    const state = { ...START, view: "tree" as const, open: "1(2)", branch: "1.2", zoom: "1", order: "waiting", search: "x", hit: 3 };
    expect(changed(state, { reversed: true })).toEqual({ ...state, reversed: true, open: "", branch: "", zoom: "" });
    expect(changed(state, { metric: "bytes" })).toEqual({ ...state, metric: "bytes" });
    expect(changed(state, { search: "y" })).toEqual({ ...state, search: "y", hit: 1 });
    expect(changed(state, { view: "threads" }).order).toBe("");
    expect(changed(state, { view: "threads", order: "off" }).order).toBe("off");
});

test("leaving goes from the innermost to the outermost", () => {
    let state = { ...START, view: "flame" as const, zoom: "1.2", search: "x", from: 5, to: 9, process: "1", filter: "f", focus: "a line" };
    const left: string[] = [];
    for (let change = leaving(state); change; change = leaving(state)) {
        left.push(Object.keys(change).join());
        state = { ...state, ...change } as typeof state;
    }
    expect(left).toEqual(["zoom", "search", "from,to", "process,thread", "filter"]);
    expect(leaving(START)).toBeNull();
    // The selection is compared with the span before, which stands when it is left.
    expect(leaving({ ...START, view: "compare", base: "1-2", from: 5, to: 9 })).toEqual({ from: null, to: null });
    expect(leaving({ ...START, view: "compare", base: "1-2" })).toEqual({ base: "" });
});

test("a table is sorted by a column, the largest first, and by another click the smallest", () => {
    const first = orderOf("", ["a", "b"], "a");
    expect(first).toEqual({ column: "a", isUp: false });
    expect(clicked(first, "a")).toBe("a-up");
    expect(clicked(orderOf("a-up", ["a", "b"], "a"), "a")).toBe("a");
    expect(clicked(first, "b")).toBe("b");
    expect(orderOf("other-up", ["a", "b"], "a")).toEqual(first);
    const rows = [3, null, 7, 1];
    expect(sorted(rows, first, (row) => row)).toEqual([7, 3, 1, null]);
    expect(sorted(rows, { column: "a", isUp: true }, (row) => row)).toEqual([1, 3, 7, null]);
});
