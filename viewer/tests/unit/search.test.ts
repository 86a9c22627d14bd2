import { expect, test } from "vitest";
import type { Frame } from "../../src/model/answer";
import { toFunction } from "../../src/model/ways";
import { matcher } from "../../src/model/search";

const frame = (name: string, parameters = "()"): Frame => ({ id: 1, function: name, full: name + parameters, qualified: name, file: `/src/${name}.c`, line: 1, module: "/bin/app" });

test("all words must be found, in names, files or modules", () => {
    const matches = matcher("APP /src/a")!;
    expect([matches(frame("a")), matches(frame("b")), matches(null)]).toEqual([true, false, false]);
    expect(matcher("  ")).toBeNull();
});

test("between quotes, a function is found by its whole name", () => {
    const found = (search: string, of: Frame, inlined: Frame[] = []) => matcher(search)!(of, "", inlined);
    expect([frame("main"), frame("domain"), frame("main_loop")].map((one) => found('"main"', one))).toEqual([true, false, false]);
    expect(found('"f(int)"', frame("f", "(int)"))).toBe(true);
    expect(found('"f(int)"', frame("f", "(long)"))).toBe(false);
    expect(found('"operator"" _kb(long)"', frame('operator"" _kb', "(long)"))).toBe(true);
    expect(found('"main"', frame("f"), [frame("main")])).toBe(true);
    expect(matcher('"has quotes"')!(null, 'a line that "has quotes" in it')).toBe(true);
});

test("the lines of a function are not those of its overloads, of longer names or of other files", () => {
    const shared: Frame = { ...frame("f", "(int)"), shared: true, uniqueModule: "/opt/a/plugin.so" };
    const matches = matcher(toFunction(shared).search!)!;
    expect([shared, { ...shared, uniqueModule: "/opt/b/plugin.so" }, frame("f", "(long)"), frame("ff", "(int)")].map((one) => matches(one))).toEqual([true, false, false, false]);
    expect(matcher(toFunction("f").search!)!(frame("f", "(long)"))).toBe(true);
});
