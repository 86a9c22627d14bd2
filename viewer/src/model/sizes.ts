// Which sizes of blocks count, as the address has it: `768-1023`, in bytes, both ends included.

import { bytes } from "./format";
import type { Bin } from "./patterns";

export interface Sizes {
    least: number;
    most: number;
}

/** null: all sizes, also where the address has none that a block may have. */
export function sizesOf(text: string): Sizes | null {
    const found = /^(\d{1,15})-(\d{1,15})$/.exec(text);
    const [least, most] = [Number(found?.[1]), Number(found?.[2])];
    return found && least <= most ? { least, most } : null;
}

const textOf = ({ least, most }: Sizes) => `${least}-${most}`;

/** The whole numbers of a bin, which its upper end is not one of. */
export const sizesIn = ({ low, high }: Pick<Bin, "low" | "high">): Sizes => ({ least: Math.ceil(low), most: Math.max(Math.ceil(low), Math.ceil(high) - 1) });

/** What a bin leads to: only its sizes, or all again if these are selected. */
export function toSizes(bin: Pick<Bin, "low" | "high">, selected: string): { sizes: string } {
    const text = textOf(sizesIn(bin));
    return { sizes: text === selected ? "" : text };
}

export const sizesInWords = ({ least, most }: Sizes): string => (least === most ? `blocks of ${bytes(least)}` : `blocks of ${bytes(least)} to below ${bytes(most + 1)}`);
