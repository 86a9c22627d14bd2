import { expect, test } from "vitest";
import type { Metric } from "../../src/model/answer";
import { Errors } from "../../src/model/errors";
import type { StackChartPack } from "../../src/model/packs";
import { stackChartOf } from "../../src/model/stack_chart";
import { shareInWords } from "../../src/model/tree";
import { packed } from "./packed";

const frame = (name: string): [string, "f64", number[]] => [`frames.${name}`, "f64", [["function", "full", "qualified"].includes(name) ? 1 : 0]];
const FRAMES = ["id", "function", "full", "qualified", "parameters", "file", "line", "module", "module_name", "unique_module", "shared", "shared_source", "without_tables"].map(frame);
const metric = (name: string) => ({ name, title: name, unit: "ns", over: null, known: true }) as Metric;

test("a bar's cost is off as its own parts are, as in the flame graph", () => {
    const pack = packed<StackChartPack>({ thread: { name: "io", tid: 5 }, others: 0, why: "", texts: ["", "make"], damage: [] }, [
        ["columns.begin", "f64", [0, 50]], ["columns.end", "f64", [50, 100]], ["columns.value", "f64", [8e6, 2e6]],
        ["bars.caller", "f64", [0]], ["bars.frame", "f64", [0]], ["bars.first", "f64", [0]], ["bars.behind", "f64", [1]], ["bars.value", "f64", [8e6]],
        // First the thread, then the bar: it only waited, which is exact here.
        ["bars.cost", "f64", [10e6, 8e6]], ["bars.waiting", "f64", [8e6, 8e6]], ["bars.fault-time", "f64", [2e6, 0]],
        ["bars.mapping", "f64", [0, 0]], ["bars.allocator", "f64", [0, 0]], ["bars.reading", "f64", [0, 0]],
        ...FRAMES,
    ]);
    const all = ["cost", "fault-time", "mapping", "allocator", "waiting", "reading", "bytes"].map(metric);
    const errors = new Errors({ values: { cost: 10e6, "fault-time": 2e6, waiting: 8e6 }, intervals: { "fault-time": [1e6, 3e6] } }, all);
    const { root } = stackChartOf(pack, all[0]!, all)!;
    const [bar] = root.children();
    expect([shareInWords([bar!], root, all[0]!, errors), shareInWords([root], root, all[0]!, errors)]).toEqual(["8.00 ms, 80.0 % of 10.0 ms", "10.0 ms, 100 % of 10.0 ms"]);
    expect(shareInWords([], root, all[0]!, errors)).toBe("0 s, 0 % of 10.0 ms");
});
