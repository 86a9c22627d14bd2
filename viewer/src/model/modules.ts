// Which modules have a color of their own.

import { fileName } from "./names";
import type { TreeItem } from "./tree";

/** Branches with a smaller share of the whole are not looked at. */
const LEAST = 1 / 500;

/** What loaded files are called, by path. */
export const namesOf = (items: TreeItem[]): Map<string, string> => new Map(items.flatMap(({ frame }) => (frame ? [[frame.module, frame.moduleName ?? fileName(frame.module)]] : [])));

/** The modules of the frames that are loaded, the one with the most of its own first: what a frame has that no frame of another module in it has. */
export function modulesOf(root: TreeItem): string[] {
    const sums = new Map<string, number>();
    const open: TreeItem[] = [...root.children()];
    for (let item = open.pop(); item; item = open.pop()) {
        if (item.value < root.value * LEAST) continue;
        const inside = item.children();
        const module = item.frame?.module;
        if (module) sums.set(module, (sums.get(module) ?? 0) + item.value - inside.reduce((sum, child) => sum + child.value, 0));
        open.push(...inside);
    }
    return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([module]) => module);
}
