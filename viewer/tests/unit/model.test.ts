import { expect, test } from "vitest";
import { basisOf, countOfSites, valueOf, type Metric, type Profile, type Site } from "../../src/model/answer";
import { Damage } from "../../src/model/damage";
import { asCsv, asMarkdown, asText, type TextTable } from "../../src/model/table_text";
import { packed } from "./packed";
import type { PatternsPack, SlicePack } from "../../src/model/packs";
import { byChance } from "../../src/model/format";
import { joined, type Slice } from "../../src/model/time_slices";
import { fromHash, START, toHash, type State } from "../../src/model/state";
import { cellFrom, cellsOf, cellText, countIn, fewestOf, gridOf, lifetimeText, sizeText, stepOf } from "../../src/model/size_lifetime";
import { fitted, withoutFolders } from "../../src/model/names";
import { histogram, quantile } from "../../src/model/patterns";

test("columns are read wherever they begin", () => {
    const pack = packed({ name: "</script>" }, [["a", "u8", [1, 2, 3]], ["b", "f64", [-1.5, 2 ** 40]]]);
    expect(pack.head["name"]).toBe("</script>");
    expect([...pack.column("a")]).toEqual([1, 2, 3]);
    expect([...pack.column("b")]).toEqual([-1.5, 2 ** 40]);
    expect(() => pack.column("c")).toThrow("expected a column c");
});

test("a name that is cut fits, however wide the letters are that stay", () => {
    const widthOf = (text: string) => [...text].reduce((sum, letter) => sum + (/[mM…]/.test(letter) ? 10 : 4), 0);
    const name = "inner_list::of_MMMMMMMM";
    for (let width = 0; width <= widthOf(name); width++) expect(widthOf(fitted(name, width, widthOf))).toBeLessThanOrEqual(width);
    expect(fitted(name, 64, widthOf)).toBe("inne…MMM");
    expect(fitted(name, widthOf(name), widthOf)).toBe(name);
    expect(fitted(name, 20, widthOf)).toBe("");
});

test("the address of the page holds the state", () => {
    const state: State = { ...START, view: "tree", from: 5, to: 9e9, filter: "a b&c=#", reversed: true, metric: "bytes", search: "<img>" };
    expect(fromHash(toHash(state))).toEqual(state);
    expect(fromHash("")).toEqual(START);
    expect(fromHash("#view=nothing&from=-3&to=x")).toEqual(START);
    expect(fromHash("#from=9&to=3")).toEqual({ ...START, from: 3, to: 9 });
});

test("slices add up, the last one says what is live, the highest one what was at the peak", () => {
    const metric = (name: string, join: Metric["join"], unit: Metric["unit"] = "bytes"): Metric => ({ name, title: name, unit, help: "", origin: "", known: true, join, color: "", lists: [], over: null, compared: false, resolves: null });
    const metrics = [metric("bytes", "sum"), metric("live", "last"), metric("peak", "highest"), ...["mapping", "allocator"].map((name) => metric(name, "sum", "ns"))];
    const part = (value: number) => ({ value, low: value - 3, high: value + 4 });
    const balance = { processor: part(10), plain: null, other_faults: part(1), other_faults_variance: 0, recorder: null, rest: part(5) };
    const slice = (at: number, values: Record<string, number>, index: number[], columns: Record<string, number[]>): Slice =>
        packed<SlicePack>(
            { totals: { values, intervals: { cost: [0, 2] }, peak_is: "exact", processes: 1 }, balance, slice: { from_ns: at, to_ns: at + 1 } },
            [
                ...["tree", "sites"].flatMap((prefix) => [[`${prefix}.index`, "u8", index], ...Object.entries(columns).map(([name, values]) => [`${prefix}.${name}`, "f64", values])] as [string, "u8" | "f64", number[]][]),
            ],
        );
    const [sampled, exactly] = [{ "bytes.variance": [30, 20] }, {}];
    const slices = [
        slice(0, { bytes: 5, live: 4, peak: 5, mapping: 1, allocator: 2 }, [0, 2], { bytes: [3, 2], live: [4, 0], peak: [3, 2], ...sampled }),
        slice(1, { bytes: 7, live: 1, peak: 4, mapping: 1, allocator: 0 }, [0, 1], { bytes: [6, 1], live: [0, 1], peak: [4, 0], ...exactly }),
    ];
    const totals = { values: { mapping: 1, allocator: 2 }, intervals: { mapping: [-2, 5] } };
    const whole = { sites: [0, 1, 2, 3].map((index) => ({ index })), totals, balance, tree: { parent: new Uint8Array(3) } } as unknown as Profile;
    const both = joined(whole, slices, metrics);
    expect(both.totals.values).toEqual({ bytes: 12, live: 1, peak: 5, mapping: 2, allocator: 2 });
    expect([...both.siteNumbers.get("bytes")!]).toEqual([9, 1, 2, 0]);
    expect([...both.siteNumbers.get("live")!]).toEqual([0, 1, 0, 0]);
    // A call site without events in the slices is not there.
    expect([both, joined(whole, slices.slice(1), metrics)].map(({ sites }) => sites.map(({ index }) => index))).toEqual([[0, 1, 2], [0, 1]]);
    // Variances add up as numbers do; where all is exact, there are none.
    expect([0, 1, 2].map((row) => valueOf(both.siteNumbers, basisOf(metrics[0]!, "variance"), row))).toEqual([30, 0, 20]);
    expect(joined(whole, slices.slice(1), metrics).siteNumbers.has("bytes.variance")).toBe(false);
    expect([...both.tree!.numbers.get("peak")!]).toEqual([3, 0, 2]);
    // What was sampled errs by the variance of all its rows together.
    expect(both.totals.intervals).toEqual({ bytes: byChance(12, 50), mapping: [-4, 10] });
    expect(both.balance.processor).toEqual({ value: 20, low: 14, high: 28 });
    // Two of the 1 ± 3 or 4 of the whole err twice as far; the rest, as all of its parts by themselves.
    const [below, above] = [Math.hypot(6, 8, 8), Math.hypot(8, 6, 6)];
    const { value, low, high } = both.balance.rest!;
    expect([value, low, high].map(Math.fround)).toEqual([14, 14 - below, 14 + above].map(Math.fround));
    expect(joined(whole, [], metrics).totals.values["bytes"]).toBe(0);
});

test("histograms add up, whatever bins they have", () => {
    const bins = [0, 1, 2, 3, 5, 700, 2 ** 40].map((low) => ({ low, high: low, count: 2 }));
    const all = histogram(bins);
    expect(all.reduce((sum, bin) => sum + bin.count, 0)).toBe(14);
    for (const { low } of bins) expect(all.find((bin) => bin.low <= low && low < bin.high)!.count).toBeGreaterThan(0);
    all.slice(1).forEach((bin, at) => expect(bin.low).toBe(all[at]!.high));
    expect([quantile(bins, 0.5), quantile(bins, 0.99), quantile([], 0.5)]).toEqual([3, 2 ** 40, 0]);
    // As JSON has it of blocks of 104 bytes.
    expect(quantile([{ low: 104, high: 107, count: 68_300 }], 0.5)).toBe(105);
    expect(histogram([])).toEqual([]);
});

test("cells of several lines add up in one grid, the largest size on top", () => {
    const pack = packed<PatternsPack>({ cell_unit: 2 }, [["cells.site", "u8", [0, 0, 2, 9]], ["cells.size", "u8", [3, 5, 5, 1]], ["cells.lifetime", "u8", [1, 4, 4, 1]], ["cells.count", "f64", [7, 1, 2, 100]]]);
    const cells = cellsOf(pack, 3);
    expect(cells.bySite.map((all) => all.length)).toEqual([2, 0, 1]);
    const grid = gridOf(cells.bySite.flat());
    expect(grid).toEqual({ sizes: [5, 4, 3], lifetimes: [1, 2, 3, 4], counts: [[0, 0, 0, 3], [0, 0, 0, 0], [7, 0, 0, 0]], all: 10, most: 7 });
    expect([0, 1, 2].map((site) => countIn(cells.bySite[site], { size: 5, lifetime: 4 }))).toEqual([1, 0, 2]);
    expect(gridOf([])).toEqual({ sizes: [], lifetimes: [], counts: [], all: 0, most: 0 });
});

test("a cell says which sizes and lifetimes it has, and how many blocks its color means", () => {
    expect([0, 1, 2, 7, 11].map(sizeText)).toEqual(["0 B", "1 B", "2 B to below 4 B", "64 B to below 128 B", "1.00 KiB to below 2.00 KiB"]);
    expect([0, 1, 21].map((bits) => lifetimeText(bits, 1))).toEqual(["below 1 ns", "1 ns to below 2 ns", "1.05 ms to below 2.10 ms"]);
    expect([0, 1, 2, 3, 9, 10, 29, 30, 999, 1000, 1e6].map(stepOf)).toEqual([-1, 0, 0, 1, 1, 2, 2, 3, 5, 6, 12]);
    for (let step = 0; step < 20; step++) expect([stepOf(fewestOf(step)), stepOf(fewestOf(step + 1) - 1)]).toEqual([step, step]);
    expect(cellFrom(cellText({ size: 7, lifetime: 21 }))).toEqual({ size: 7, lifetime: 21 });
    expect(["", "7", "7x", "99x1", "7x21x3", "<x>"].map(cellFrom)).toEqual([null, null, null, null, null, null]);
});

test("tables as text", () => {
    const table: TextTable = { heads: ["line", { title: "bytes", unit: "bytes" }], rows: [["a|b", 1000]] };
    expect(asMarkdown(table)).toBe("| line | bytes |\n|---|--:|\n| a\\|b | 1,000 bytes |\n");
    expect(asText({ heads: ["line", { title: "calls", unit: "count" }], rows: [["a\nb", 7], ["long name", 1000], ["none", null]] })).toBe("line           calls\na b                7\nlong name      1,000\nnone       not known\n");
});

test("tables of CSV have plain numbers in base units, which stand in the heads", () => {
    const heads: TextTable["heads"] = ["line", { title: "cost", unit: "ns" }, { title: "bytes", unit: "bytes" }, { title: "calls", unit: "count" }, { title: "share", unit: "%" }];
    expect(asCsv({ heads, rows: [["a,b", 1234567, 1, 1000, 12.34567], ["=1+1", null, 0, -5, 0]] })).toBe('line,cost [ns],bytes [bytes],calls,share [%]\r\n"a,b",1234567,1,1000,12.346\r\n\'=1+1,,0,-5,0\r\n');
});

test("what is missing is told once, as sentences, and forgotten when the file is read anew", () => {
    const told: string[][] = [];
    const damage = new Damage();
    damage.tell((all) => told.push(all));
    damage.add({ damage: ["the file is damaged at byte 7: a checksum does not match"], about: { damage: ["the file is cut off: the last 3 bytes are missing from this report"] } });
    damage.add({ damage: ["the file is damaged at byte 7: a checksum does not match"] });
    damage.add({});
    damage.clear();
    expect(told).toEqual([[], ["The file is cut off: the last 3 bytes are missing.", "The file is damaged at byte 7: a checksum does not match."], []]);
});

test("call sites that share the last row count one by one", () => {
    expect(countOfSites([{ others: 0 }, { others: 0 }, { others: 2214 }] as Site[])).toBe(2216);
});

test("a command line begins with the program, and its arguments stay as they are", () => {
    expect(["/usr/lib/gcc/collect2 -o /tmp/x", "./app /etc", "cc -m64 /a/b", "/", "/bin/sh"].map(withoutFolders)).toEqual(["collect2 -o /tmp/x", "./app /etc", "cc -m64 /a/b", "/", "sh"]);
});
