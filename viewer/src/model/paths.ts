// Branches of trees, as the address has them: a branch is its steps, and what is open is a tree of these.

/** The key of a branch below another one. */
export function below(key: string, step: unknown): string {
    const text = typeof step === "number" ? String(step) : String(step).replace(/[%.()~]/g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
    return key === "" ? text : `${key}.${text}`;
}

/** The last step of a key. */
export const lastStep = (key: string) => key.slice(key.lastIndexOf(".") + 1);

/** Whether a branch is another one or inside it. */
export const isWithin = (key: string, outer: string) => outer === "" || key === outer || key.startsWith(`${outer}.`);

/** Nothing is open. */
const NONE = "-";

interface Steps extends Map<string, Steps> {}

/** `1(2~3(4))` of 1, 1.2, 1.3 and 1.3.4. What is inside a branch that is not open is left out. */
export function textOf(open: ReadonlySet<string>): string {
    const root: Steps = new Map();
    for (const key of [...open].sort((a, b) => a.length - b.length)) {
        const steps = key.split(".");
        const last = steps.pop()!;
        let at: Steps | undefined = root;
        for (const step of steps) at = at?.get(step);
        at?.set(last, at.get(last) ?? new Map());
    }
    const write = (steps: Steps): string => [...steps].map(([step, inner]) => (inner.size > 0 ? `${step}(${write(inner)})` : step)).join("~");
    return root.size > 0 ? write(root) : NONE;
}

/** The open branches; null: the address has none. */
export function openIn(text: string): Set<string> | null {
    if (text === "") return null;
    const open = new Set<string>();
    if (text === NONE) return open;
    const outer: string[] = [];
    let last = "";
    for (const [token] of text.matchAll(/[()~]|[^()~]+/g)) {
        if (token === "(") outer.push(last);
        else if (token === ")") outer.pop();
        else if (token !== "~") open.add((last = outer.length > 0 ? `${outer.at(-1)}.${token}` : token));
    }
    return open;
}
