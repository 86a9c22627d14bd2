// Names above the time line: where they have room.

import type { Span } from "./activity";
import type { State } from "./state";

export interface Sign {
    at: number;
    text: string;
    title: string;
    to: Partial<State>;
    /** Whether it has room before all others. */
    isFirst: boolean;
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

/** Signs of what is shown that find room beside each other, from the left; each begins where its instant is, if there is room behind it. */
export function placed(signs: Sign[], { from, to }: Span, pixels: number): Placed[] {
    const shown = signs.filter(({ at }) => at >= from && at <= to).map((sign) => ({ sign, x: ((sign.at - from) / (to - from)) * pixels }));
    const wish = (sign: Sign) => Math.min(MOST, sign.text.length * LETTER + BESIDE);
    const first = shown.filter(({ sign }) => sign.isFirst).map(({ sign, x }) => {
        const isBefore = x > pixels - wish(sign) && x >= wish(sign);
        return { sign, left: isBefore ? x - wish(sign) : x, width: wish(sign), isBefore, hasRoom: true };
    });
    const others = shown.filter(({ sign }) => !sign.isFirst).sort((a, b) => a.x - b.x);
    const list: Placed[] = [...first];
    let free = 0;
    others.forEach(({ sign, x }, index) => {
        if (x < free || first.some(({ left, width }) => x >= left - 1 && x < left + width)) return;
        let next = index + 1;
        while (next < others.length && others[next]!.x < x + LEAST) next++;
        const room = Math.min(pixels - x, (others[next]?.x ?? pixels) - x, ...first.filter(({ left }) => left >= x).map(({ left }) => left - x));
        if (room < LEAST) return;
        const width = Math.min(wish(sign), room);
        list.push({ sign, left: x, width, isBefore: false, hasRoom: width >= Math.min(wish(sign), READABLE) });
        free = x + width;
    });
    return list.sort((a, b) => a.left - b.left);
}
