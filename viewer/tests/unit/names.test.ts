import { expect, test } from "vitest";
import type { Frame } from "../../src/model/answer";
import { placeOf } from "../../src/model/names";

test("a line that several libraries have is shown with what tells them apart", () => {
    const plain: Frame = { id: 1, function: "made", full: "made", qualified: "made", file: "", line: 0, module: "/opt/a/plugin.so", moduleName: "a/plugin.so", sharedSource: true };
    const inFile = { ...plain, file: "/src/made.c", line: 7 };
    expect([plain, inFile].map(placeOf)).toEqual(["a/plugin.so", "made.c:7, a/plugin.so"]);
    expect([{ ...inFile, sharedSource: false }, { ...inFile, moduleName: "plugin.so" }].map(placeOf)).toEqual(["made.c:7", "made.c:7, plugin.so"]);
});
