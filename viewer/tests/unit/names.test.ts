import { expect, test } from "vitest";
import type { Frame } from "../../src/model/answer";
import { placeOf } from "../../src/model/names";

test("libraries of one file name are shown with the folders that tell them apart", () => {
    const plain: Frame = { id: 1, function: "made", full: "made", qualified: "made", file: "", line: 0, module: "/opt/a/plugin.so", moduleName: "a/plugin.so", shared: true };
    const inFile = { ...plain, file: "/src/made.c", line: 7 };
    expect([plain, inFile].map(placeOf)).toEqual(["a/plugin.so", "made.c:7, a/plugin.so"]);
    // A line tells one file's function, and a name that no other file has needs no folder.
    expect([{ ...inFile, shared: false }, { ...inFile, moduleName: "plugin.so" }].map(placeOf)).toEqual(["made.c:7", "made.c:7"]);
});
