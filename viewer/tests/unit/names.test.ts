import { expect, test } from "vitest";
import type { Frame, Site } from "../../src/model/answer";
import { placeOf, siteName } from "../../src/model/names";

test("a line that several libraries have is shown with what tells them apart", () => {
    const plain: Frame = { id: 1, function: "made", full: "made", qualified: "made", file: "", line: 0, module: "/opt/a/plugin.so", moduleName: "a/plugin.so", sharedSource: true };
    const inFile = { ...plain, file: "/src/made.c", line: 7 };
    expect([plain, inFile].map(placeOf)).toEqual(["a/plugin.so", "made.c:7, a/plugin.so"]);
    expect([{ ...inFile, sharedSource: false }, { ...inFile, moduleName: "plugin.so" }].map(placeOf)).toEqual(["made.c:7", "made.c:7, plugin.so"]);
});

test("call sites of one line that is inlined into several functions have names of their own", () => {
    const frame = { function: "resize", full: "resize", file: "/src/list.c", line: 81, module: "python3" } as Frame;
    const site = { frame, type: "", inlined: [{ ...frame, function: "append", full: "append", line: 9 }], others: 0 } as unknown as Site;
    expect([site, { ...site, inlined: [] }, { ...site, inlined: [frame] }].map(siteName)).toEqual(["resize (list.c:81) inlined into append", "resize (list.c:81)", "resize (list.c:81)"]);
});
