// Which process started which.

import type { ProcessOfRun } from "./packs";

export interface ProcessInTree {
    /** Its place among all. */
    at: number;
    of: ProcessOfRun;
    depth: number;
}

/** Each process below the one that started it, in the order of their begins; what a process executes stands below what it ran before. */
export function processTree(all: readonly ProcessOfRun[]): ProcessInTree[] {
    const children = new Map<number, number[]>();
    all.forEach((one, at) => {
        const before = (is: (other: ProcessOfRun) => boolean) => all.findLastIndex((other, index) => index !== at && is(other) && (other.began_ns < one.began_ns || (other.began_ns === one.began_ns && index < at)));
        const parent = one.process === at ? before(({ pid }) => pid === one.parent) : before(({ process }) => process === one.process);
        children.set(parent, [...(children.get(parent) ?? []), at]);
    });
    const list: ProcessInTree[] = [];
    const add = (parent: number, depth: number) => {
        for (const at of (children.get(parent) ?? []).toSorted((a, b) => all[a]!.began_ns - all[b]!.began_ns || a - b)) {
            list.push({ at, of: all[at]!, depth });
            add(at, depth + 1);
        }
    };
    add(-1, 0);
    return list;
}
