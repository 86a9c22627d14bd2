// What functions cost: of themselves, and with all that they call.

import { framesOf, numbersOf, type Frame, type Metric, type Numbers } from "./answer";
import { counted } from "./format";
import type { Pack } from "./pack";
import type { FunctionsPack } from "./packs";

/** Which of its two numbers. */
export const PARTS = ["self", "total"] as const;
export type Part = (typeof PARTS)[number];

export interface FunctionRow {
    /** null: calls without a stack, or several functions. */
    frame: Frame | null;
    /** Functions that the row stands for; 0: it is one. */
    others: number;
    /** Its place in the numbers. */
    at: number;
}

export interface FunctionCosts {
    rows: FunctionRow[];
    numbers: Record<Part, Numbers>;
}

export function functionCostsOf(pack: Pack<FunctionsPack>, metrics: Metric[]): FunctionCosts {
    const { others, texts } = pack.head;
    const frames = framesOf(pack, texts, "");
    const [column, modules] = pack.all("functions.frame", "functions.modules");
    // Functions of one name in several files have no place in common.
    const of = (frame: Frame | undefined, modules: number) => frame && (modules > 1 ? { ...frame, file: "", module: counted(modules, "file"), moduleName: undefined, uniqueModule: undefined, shared: false, sharedSource: false } : frame);
    const rows = Array.from(column, (frame, at) => ({ frame: of(frames[frame - 1], modules[at]!) ?? null, others: at === column.length - 1 ? others : 0, at }));
    return { rows, numbers: { self: numbersOf(pack, "own", metrics), total: numbersOf(pack, "total", metrics) } };
}
