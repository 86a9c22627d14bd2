import { expect, test } from "vitest";
import { peakOf } from "../../src/model/activity";
import type { ProcessOfRun } from "../../src/model/packs";
import { processTree } from "../../src/model/process_tree";
import { placed, type Placed, type Sign } from "../../src/model/signs";

test("the peak is the first interval with the most live bytes", () => {
    expect(peakOf({ start: 0, interval: 10, live: Float64Array.of(1, 9, 9, 3) })).toEqual({ at: 15, bytes: 9 });
    expect(peakOf({ start: 0, interval: 10, live: new Float64Array(0) })).toBeNull();
});

const sign = (at: number, text: string): Sign => ({ at, text, title: text, to: {} });
const together = (near: Sign[]): Sign => ({ ...near[0]!, title: String(near.length) });

test("names above the time line never lie on each other, and none is left out", () => {
    const signs = Array.from({ length: 200 }, (_, index) => sign(index * 5, `mark ${index}`));
    for (const [from, to] of [[0, 1000], [400, 600], [499, 501], [985, 1000]] as const) {
        const all = placed(signs, { from, to }, 900, together);
        all.slice(1).forEach((one, index) => expect(one.left).toBeGreaterThanOrEqual(all[index]!.left + all[index]!.width - 1e-9));
        for (const { sign, left, width, isBefore } of all) {
            expect(left + width).toBeLessThanOrEqual(900 + 1e-9);
            expect(width).toBeGreaterThanOrEqual(16 - 1e-9);
            if (left < 884) expect(isBefore ? left + width : left).toBeCloseTo(((sign.at - from) / (to - from)) * 900);
        }
        const shown = signs.filter(({ at }) => at >= from && at <= to).length;
        expect(all.reduce((sum, { sign }) => sum + (Number(sign.title) || 1), 0)).toBe(shown);
    }
    // Marks that are not shown take no room.
    expect(placed([sign(2, "a"), sign(7, "b")], { from: 5, to: 10 }, 100, together).map(({ sign }) => sign.text)).toEqual(["b"]);
});

test("a sign stands where its instant is, with its name on the side that has room", () => {
    for (const at of [0, 100, 500, 995, 1000]) {
        const [{ left, width, isBefore }] = placed([sign(at, "peak 5 MiB")], { from: 0, to: 1000 }, 900, together) as [Placed];
        expect(isBefore ? left + width : left).toBeCloseTo(at * 0.9);
        expect(isBefore).toBe(at > 900);
    }
});

test("a process stands below the one that started it, and what it executes below itself", () => {
    const process = (pid: number, parent: number, began_ns: number, process: number): ProcessOfRun => ({ id: String(pid), pid, process, parent, began_ns, program: "", command: "", ended_ns: null, exit: "", threads: 1 });
    // 10 forks 20 and 30; 20 executes another program, which forks 40. 50 was started by a process that was not recorded. 20 ends, and 10
    // starts another process that gets this id.
    const all = [process(10, 1, 0, 0), process(20, 10, 5, 1), process(30, 10, 6, 2), process(20, 10, 7, 1), process(40, 20, 8, 4), process(50, 3, 9, 5), process(20, 10, 10, 6)];
    expect(processTree(all).map(({ at, depth }) => [at, depth])).toEqual([[0, 0], [1, 1], [3, 2], [4, 3], [2, 1], [6, 1], [5, 0]]);
});
