// What a search field finds.

import type { Frame } from "./answer";
import { areOf, oneFunction } from "./names";

/** Finds frames, or the text of what is no frame. `inlined`: functions whose calls stand at the frame's line. */
export type Matcher = (frame: Frame | null, text?: string, inlined?: Frame[]) => boolean;

/** A search for one function, or for all that have a name. */
export const wholeName = (of: Frame | string): string => `"${typeof of === "string" ? of : oneFunction(of)}"`;

/** Finds what has all words in its name, file or type; between quotes, the functions of this name. */
export function matcher(search: string): Matcher | null {
    const name = /^\s*"(.+)"\s*$/.exec(search)?.[1];
    if (name !== undefined) {
        const isOfIt = areOf(name);
        return (frame, text = "", inlined = []) => (frame ? [frame, ...inlined].some((one) => isOfIt(one) || one.function === name) : text.includes(name));
    }
    const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
    if (words.length === 0) return null;
    return (frame, more = "", inlined = []) => {
        const text = [frame?.full, frame?.function, frame?.file, frame?.module, more, ...inlined.map(({ full }) => full)].join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
    };
}
