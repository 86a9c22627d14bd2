import { expect, test } from "vitest";
import { packed } from "./packed";
import { addressOf, layoutOf } from "../../src/model/memory_map";
import type { ResidentPack } from "../../src/model/packs";
import { lookOf } from "../../src/model/query";
import { heldOf, mostOf, onlyOf, PARTS, partsOf } from "../../src/model/resident_set";

const packOf = (head: object, columns: Record<string, number[]>) => packed<ResidentPack>(head, Object.entries(columns).map(([name, values]) => [name, "f64", values]));

const SET = { pid: 1, program: "a", allocator: "glibc", at_ns: 5, looks: [], rss: 12288, kernel: 12288, swapped: 0, never_touched: 0, live_blocks: 1, parts: [], held_below: null, wastes: [{ frame: 1, saves: "4.0 KiB", remedy: "free them" }], on_wastes: [], huge_pages: "", missed_peak: "", others: 0 };

const frames = { "frames.id": [7], "frames.function": [1], "frames.full": [1], "frames.qualified": [1], "frames.parameters": [0], "frames.file": [2], "frames.line": [3], "frames.module": [0], "frames.module_name": [0], "frames.unique_module": [0], "frames.shared": [0], "frames.shared_source": [0], "frames.without_tables": [0] };

test("cells have their parts and owners", () => {
    const nothing = Object.fromEntries(PARTS.map((name) => [`cells.${name}`, [0, 0, 0]]));
    const pins = [{ frame: 1, share: 3000, alone: 4096, blocks: 1, bytes: 96, median_age_ns: 9 }];
    const pack = packOf(
        { resident: { ...SET, pins }, why: "", cell: 4096, areas_left_out: 2, files: ["/lib/a.so"], texts: ["", "keep", "a.c"] },
        {
            ...frames,
            ...nothing,
            "areas.from": [0x10000, 0x900000],
            "areas.cells": [4, 1],
            "areas.resident": [8192, 4096],
            "owners.frame": [1, 0],
            "owners.file": [0, 1],
            "cells.number": [0, 2, 4],
            "cells.live": [96, 0, 0],
            "cells.pinned": [4000, 0, 0],
            "cells.free_pages": [0, 4096, 0],
            "cells.files": [0, 0, 4096],
            "cells.owner": [1, 0, 2],
        },
    );
    const held = heldOf(pack);
    if (typeof held === "string") throw new Error(held);
    const { map } = held;
    expect(map.areas.map(({ from, first, live }) => [from, first, live])).toEqual([[0x10000, 0, 8192], [0x900000, 4, 4096]]);
    expect([0, 1, 2].map((place) => mostOf(map, place))).toEqual(["pinned", "free_pages", "files"]);
    expect(partsOf(map, 0)).toEqual([{ name: "pinned", bytes: 4000 }, { name: "live", bytes: 96 }]);
    expect(map.owners.map((owner) => owner.frame?.function ?? owner.file)).toEqual(["keep", "/lib/a.so"]);
    expect(held.pins[0]!.frame?.line).toBe(3);
    expect(held.wastes.map(({ frame, saves, remedy }) => [frame?.function, saves, remedy])).toEqual([["keep", "4.0 KiB", "free them"]]);
    expect(addressOf(map, 4)).toBe(0x900000);
    expect(layoutOf(map.areas, 1000, 150).placed).toHaveLength(2);
    // All cells together are what is in memory.
    const sum = [0, 1, 2].flatMap((place) => partsOf(map, place)).reduce((sum, { bytes }) => sum + bytes, 0);
    expect(sum).toBe(SET.rss);
});

test("without a look, the reason is said", () => {
    expect(heldOf(packOf({ resident: null, why: "too short", cell: 0, areas_left_out: 0, files: [], texts: [] }, {}))).toBe("too short");
});

test("the address names a look", () => {
    expect(["", "peak", "1500", "x"].map(lookOf)).toEqual(["last", "peak", { near: 1500 }, "last"]);
});

test("what a line holds is shown of its one function", () => {
    const frame = { id: 1, function: "made", full: "made(int)", qualified: "made", file: "", line: 0, module: "/opt/a/p.so", moduleName: "a/p.so", uniqueModule: "/opt/a/p.so" };
    const state = { cuts: "fold module:libz.so\nfocus function:main" };
    expect(onlyOf(state, { ...frame, shared: true })).toEqual({ filter: "", cuts: "fold module:libz.so\nfocus function:made(int) module:/opt/a/p.so" });
    expect(onlyOf({ cuts: "" }, { ...frame, shared: false })).toEqual({ filter: "", cuts: "focus function:made(int)" });
});
