// Where the frames of a flame graph lie.

import type { TreeItem } from "./tree";

export interface Box {
    item: TreeItem;
    /** Pixels from the left. */
    x: number;
    width: number;
    depth: number;
    parent: Box | null;
}

/** Narrower frames are not drawn: the gap that they leave is as wide as they are. */
const NARROWEST = 0.4;

/** Boxes of a path, each as wide as all, and of all that is below its last item. Callers come before what they call. */
export function layout(path: TreeItem[], width: number): Box[] {
    const boxes: Box[] = [];
    let last: Box | null = null;
    for (const item of path) {
        const box: Box = { item, x: 0, width, depth: boxes.length, parent: last };
        boxes.push(box);
        last = box;
    }
    for (let at = Math.max(0, boxes.length - 1); at < boxes.length; at++) {
        const box = boxes[at]!;
        if (box.item.value <= 0) continue;
        const scale = box.width / box.item.value;
        let x = box.x;
        for (const child of box.item.children()) {
            const size = child.value * scale;
            if (size < NARROWEST) break;
            boxes.push({ item: child, x, width: size, depth: box.depth + 1, parent: box });
            x += size;
        }
    }
    return boxes;
}
