// What the page shows: all of it is in the URL, so that a link shows the same, and Back is undo.

export const VIEWS = ["overview", "lines", "tree", "flame", "snapshots", "lifetimes", "threads", "notes", "compare"] as const;
export type ViewName = (typeof VIEWS)[number];

export interface Selection {
    /** Span of time, ns since the recording began; null: from its beginning, to its end. */
    from: number | null;
    to: number | null;
    filter: string;
    fold: string;
    unfold: boolean;
    paid: boolean;
    process: string;
    thread: string;
}

export interface State extends Selection {
    view: ViewName;
    metric: string;
    group: string;
    /** Call tree and flame graph: from the allocations outwards. */
    reversed: boolean;
    search: string;
    /** Call tree: only stacks through this function, with its callers and what it calls. */
    through: string;
    /** Lines: the row whose details are open, by function and place. */
    focus: string;
}

export const START: State = {
    view: "overview",
    metric: "cost",
    from: null,
    to: null,
    filter: "",
    fold: "",
    unfold: false,
    paid: false,
    process: "",
    thread: "",
    group: "line",
    reversed: false,
    search: "",
    through: "",
    focus: "",
};

export function toHash(state: State): string {
    const words = new URLSearchParams();
    for (const key of Object.keys(START) as (keyof State)[]) {
        const value = state[key];
        if (value !== START[key]) words.set(key, typeof value === "number" ? String(Math.round(value)) : String(value));
    }
    return `#${words.toString()}`;
}

export function fromHash(hash: string): State {
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    const state: State = { ...START };
    const text = (key: "metric" | "filter" | "fold" | "process" | "thread" | "group" | "search" | "through" | "focus") => {
        const value = words.get(key);
        if (value !== null) state[key] = value;
    };
    (["metric", "filter", "fold", "process", "thread", "group", "search", "through", "focus"] as const).forEach(text);
    for (const key of ["unfold", "paid", "reversed"] as const) state[key] = words.get(key) === "true";
    for (const key of ["from", "to"] as const) {
        const value = Number(words.get(key) ?? NaN);
        state[key] = Number.isFinite(value) && value >= 0 ? value : null;
    }
    if (state.from !== null && state.to !== null && state.from > state.to) [state.from, state.to] = [state.to, state.from];
    const view = words.get("view");
    state.view = VIEWS.find((name) => name === view) ?? START.view;
    return state;
}

export function selectionOf(state: State): Selection {
    const { from, to, filter, fold, unfold, paid, process, thread } = state;
    return { from, to, filter, fold, unfold, paid, process, thread };
}
