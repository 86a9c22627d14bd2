import { expect, test } from "vitest";
import type { Frame, Metric, Profile, Site } from "../../src/model/answer";
import { definitionOf, OTHER_NAMES } from "../../src/model/definitions";
import { costOf, editorLink, filesOf, sourceFileIn } from "../../src/model/source_file";
import { baseOf, baseText } from "../../src/model/state";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const metric: Metric = { name: "bytes", title: "bytes", unit: "bytes", help: "Bytes.", origin: "Exact.", known: true, join: "sum", color: "", lists: [], over: null, compared: false, resolves: null };

test("a page tells what lines cost, of themselves and with what they call", () => {
    const frame = (id: number, file: string, line: number): Frame => ({ id, function: `f${id}`, full: `f${id}`, qualified: `f${id}`, file, line, module: "app" });
    const frames = [frame(0, "/a.c", 1), frame(1, "/a.c", 5), frame(2, "/b.c", 9)];
    const site = (index: number, frame: Frame): Site => ({ index, frame, inlined: [], type: "", element: 0, elements: 0, others: 0 });
    // main at line 1 calls line 5, which calls itself and b.
    const tree = { parent: Uint8Array.of(0, 0, 1, 2, 3), frame: Uint8Array.of(0, 1, 2, 2, 3), others: new Uint8Array(5), numbers: new Map([["bytes", Float64Array.of(100, 100, 90, 60, 30)]]) };
    const profile = { frames, sites: [site(0, frames[0]!), site(1, frames[1]!), site(2, frames[2]!)], siteNumbers: new Map([["bytes", Float64Array.of(10, 60, 30)]]), tree } as unknown as Profile;
    const file = sourceFileIn(profile, "/a.c", { "/a.c": { text: "one\r\ntwo\n", is_newer: true } });
    expect(file.lines).toEqual(["one", "two"]);
    expect(file.isNewer).toBe(true);
    expect([1, 5, 9].map((line) => costOf(file.own, metric, line))).toEqual([10, 60, null]);
    expect([1, 5, 9].map((line) => costOf(file.through, metric, line))).toEqual([100, 90, null]);
    expect(filesOf(profile, metric)).toEqual([{ file: "/a.c", value: 70, sites: [0, 1] }, { file: "/b.c", value: 30, sites: [2] }]);
    const other = sourceFileIn(profile, "__proto__", {});
    expect(other.lines).toBe(null);
    expect(other.why).toContain("--sources");
});

test("an editor gets a path of this machine, whatever is in it", () => {
    expect(editorLink("vscode://file{file}:{line}", "/a b/c#1?.c", 7)).toBe("vscode://file/a%20b/c%231%3F.c:7");
    expect(editorLink("idea://open?file={file}&line={line}", "/x&y.c", 0)).toBe("idea://open?file=/x%26y.c&line=1");
    expect(editorLink("vscode://file{file}:{line}", "~/a.c", 7)).toBe("");
    expect(editorLink("", "/a.c", 7)).toBe("");
});

test("every definition names a heading that is in the docs", () => {
    const page = (name: string) => readFileSync(join(import.meta.dirname, "../../../docs", name), "utf8");
    expect(definitionOf("bytes", [metric])).toEqual({ title: "bytes", text: ["Bytes.", "Exact."], page: "metrics.md", heading: "bytes" });
    expect(page("metrics.md")).toContain("\n## bytes\n");
    for (const name of OTHER_NAMES) {
        const { page: file, heading } = definitionOf(name, [])!;
        expect(page(file)).toMatch(new RegExp(`^#+ ${heading}$`, "m"));
    }
    expect(definitionOf("constructor", [])).toBe(null);
});

test("the span before stands in the address", () => {
    for (const base of [{ from: 5, to: 9 }, { from: null, to: 9 }, { from: 5, to: null }]) expect(baseOf(baseText(base))).toEqual(base);
    for (const bad of ["", "x", "9-5", "1-2-3", "-1--2"]) expect(baseOf(bad)).toBe(null);
});
