// Names above the time line: where they have room.

import type { Span } from "./activity";
import type { State } from "./state";

export interface Sign {
    at: number;
    text: string;
    title: string;
    to: Partial<State>;
}

export interface Placed {
    sign: Sign;
    left: number;
    width: number;
    /** Whether its end, not its begin, is where its instant is. */
    isBefore: boolean;
    /** Whether the part of the name that fits can be read. */
    hasRoom: boolean;
}

/** Pixels that a letter takes, that a name has beside it, and that it needs at the least and at the most. */
const [LETTER, BESIDE, LEAST, MOST] = [7, 12, 16, 180];

/** Pixels of a longer name that say enough. */
const READABLE = 50;

/** Signs of what is shown, none on another, each where its instant is. Where they are too near for that, `together` makes one of them. */
export function placed(signs: Sign[], { from, to }: Span, pixels: number, together: (signs: Sign[]) => Sign): Placed[] {
    const pixelOf = ({ at }: Sign) => ((at - from) / (to - from)) * pixels;
    const leftOf = (sign: Sign) => Math.min(pixelOf(sign), pixels - LEAST);
    const groups: [Sign, ...Sign[]][] = [];
    for (const sign of signs.filter(({ at }) => at >= from && at <= to).sort((a, b) => a.at - b.at)) {
        const last = groups.at(-1);
        if (last && leftOf(sign) - leftOf(last[0]) < LEAST) last.push(sign);
        else groups.push([sign]);
    }
    let free = 0;
    return groups.map((group, index) => {
        const sign = group.length > 1 ? together(group) : group[0];
        const wish = Math.min(MOST, sign.text.length * LETTER + BESIDE);
        const next = groups[index + 1];
        const [at, left, end] = [pixelOf(sign), leftOf(sign), next ? leftOf(next[0]) : pixels];
        // At the right end of the time line, the name has room before its instant.
        const begin = Math.max(free, at - wish);
        const isBefore = !next && end - at < wish && at - begin > Math.max(end - left, LEAST);
        const [first, width] = isBefore ? [begin, at - begin] : [left, Math.min(wish, end - left)];
        free = first + width;
        return { sign, left: first, width, isBefore, hasRoom: width >= Math.min(wish, READABLE) };
    });
}
