// What is cut out of call stacks before anything is added up (docs/viewer.md): a list in the address, of which the header undoes each.

import type { Frame } from "./answer";
import { oneFunction, partsOfFunction } from "./names";
import type { State } from "./state";

export type CutKind = "focus" | "drop" | "collapse" | "fold";

export interface Cut {
    kind: CutKind;
    of: "function" | "module";
    /** A function, as trees through it are asked for, or a loaded file: without its folder, unless several have that name. */
    name: string;
}

export interface CutChoice extends Pick<Cut, "kind" | "of"> {
    key: string;
    text: string;
}

/** What can be done with the chosen frame. */
export const CUTS: CutChoice[] = [
    { kind: "focus", of: "function", key: "o", text: "show only calls through this function, from there on" },
    { kind: "drop", of: "function", key: "D", text: "leave out all calls through this function" },
    { kind: "collapse", of: "function", key: "k", text: "collapse its recursion: show it once in a call path" },
    { kind: "collapse", of: "module", key: "K", text: "collapse its module: show the function that is called first" },
    { kind: "fold", of: "function", key: "x", text: "fold the function away: its callers lead" },
    { kind: "fold", of: "module", key: "X", text: "fold its module away: its callers lead" },
];

/** What the header says of a cut. */
export const SAYS: Record<CutKind, { word: string; help: string }> = {
    focus: { word: "only", help: "Only calls through it are shown, from there on" },
    drop: { word: "without", help: "Calls through it are left out" },
    collapse: { word: "collapsed", help: "Of its calls within each other, one is shown" },
    fold: { word: "folded", help: "It is folded away: its callers lead" },
};

/** What a choice does to a frame; null: nothing, as its function is in several files. */
export function cutOf({ kind, of }: CutChoice, frame: Frame): Cut | null {
    const name = of === "function" ? oneFunction(frame) : frame.uniqueModule;
    return name ? { kind, of, name } : null;
}

/** What the header calls what is cut. */
export const nameOf = ({ name }: Cut): string => partsOfFunction(name).join(" of ");

/** In the order in which they were asked for. */
export function cutsOf({ cuts }: Pick<State, "cuts">): Cut[] {
    const words = cuts.split("\n").map((line) => /^(focus|drop|collapse|fold) (function|module):(.+)$/.exec(line));
    return words.flatMap((found) => (found ? [{ kind: found[1] as CutKind, of: found[2] as Cut["of"], name: found[3]! }] : []));
}

const lineOf = ({ kind, of, name }: Cut): string => `${kind} ${of}:${name}`;

const toText = (all: Cut[]): string => all.map(lineOf).join("\n");

export const without = (state: Pick<State, "cuts">, cut: Cut): Partial<State> => ({ cuts: toText(cutsOf(state).filter((one) => lineOf(one) !== lineOf(cut))) });

/** A state with one cut more. There is one focus. */
export function withCut(state: Pick<State, "cuts">, cut: Cut): Partial<State> {
    const others = cutsOf({ cuts: without(state, cut).cuts ?? "" }).filter((one) => one.kind !== "focus" || cut.kind !== "focus");
    return { cuts: toText([...others, cut]) };
}

/** A state without the last cut. */
export const withoutLast = (state: Pick<State, "cuts">): Partial<State> => ({ cuts: toText(cutsOf(state).slice(0, -1)) });

/** Whether some call stacks do not count. */
export const selects = ({ filter, cuts }: Pick<State, "filter" | "cuts">): boolean => filter !== "" || cutsOf({ cuts }).some(({ kind }) => kind === "focus" || kind === "drop");
