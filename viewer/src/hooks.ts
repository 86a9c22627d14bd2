import { elementScroll, observeElementOffset, observeElementRect, Virtualizer, type VirtualItem } from "@tanstack/virtual-core";
import type { RefObject } from "preact";
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { ServerGone } from "./model/data_source";
import { rememberedTheme, rememberTheme, type Theme } from "./model/theme";

/** Height of a row of text, pixels: the same in every table. */
export const ROW = 22;

export interface Rows {
    items: VirtualItem[];
    height: number;
    show: (index: number) => void;
}

/** The rows of a long list that are in sight, and a few beyond. `heights` has each row's, pixels; without it, all are rows of text. */
export function useRows(scroller: RefObject<HTMLElement | null>, count: number, heights?: readonly number[]): Rows {
    const [, redraw] = useReducer((n: number) => n + 1, 0);
    const options = {
        count,
        getScrollElement: () => scroller.current,
        estimateSize: (index: number) => heights?.[index] ?? ROW,
        overscan: 4,
        observeElementRect,
        observeElementOffset,
        scrollToFn: elementScroll,
        onChange: () => redraw(0),
    };
    const virtual = useMemo(() => new Virtualizer<HTMLElement, HTMLElement>(options), []);
    virtual.setOptions(options);
    // Rows in another order have other heights.
    useMemo(() => virtual.measure(), [heights]);
    useLayoutEffect(() => virtual._didMount(), []);
    useLayoutEffect(() => virtual._willUpdate());
    return {
        items: virtual.getVirtualItems(),
        height: virtual.getTotalSize(),
        show: (index) => virtual.scrollToIndex(index, { align: "auto" }),
    };
}

export interface Size {
    width: number;
    height: number;
}

/** Size of an element as it changes, pixels; 0 until the page is laid out. To ask for it before would lay it out within the task that renders. */
export function useSize(element: RefObject<HTMLElement | null>): Size {
    const [size, setSize] = useState<Size>({ width: 0, height: 0 });
    useLayoutEffect(() => {
        const of = element.current;
        if (!of) return;
        const observer = new ResizeObserver(() => setSize({ width: of.clientWidth, height: of.clientHeight }));
        observer.observe(of);
        return () => observer.disconnect();
    }, []);
    return size;
}

/** The color that a variable of the page has now. */
export function colorOf(variable: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

/** Draws on a canvas, as finely as the screen is, whenever one of `inputs` changes. */
export function useCanvas(canvas: RefObject<HTMLCanvasElement | null>, { width, height }: Size, draw: (ctx: CanvasRenderingContext2D) => void, inputs: unknown[]): void {
    useEffect(() => {
        const of = canvas.current;
        const ctx = of?.getContext("2d");
        if (!of || !ctx || width === 0) return;
        of.width = Math.round(width * devicePixelRatio);
        of.height = Math.round(height * devicePixelRatio);
        ctx.scale(devicePixelRatio, devicePixelRatio);
        draw(ctx);
    }, [width, height, ...inputs]);
}

/** How often a recording that is being made was opened: what is shown is loaded anew then. */
export const Generation = createContext(0);

export type Loaded<T> = { value: T | null; error: string; loading: boolean; failed: boolean };

/** The parts of the page whose numbers are of something else than what is selected by now: their answers are on the way. */
class Stale {
    private readonly parts = new Set<object>();
    private readonly told = new Set<() => void>();

    get isAny(): boolean {
        return this.parts.size > 0;
    }

    set(part: object, isStale: boolean): void {
        const before = this.isAny;
        if (isStale) this.parts.add(part);
        else this.parts.delete(part);
        if (before !== this.isAny) this.told.forEach((tell) => tell());
    }

    subscribe(tell: () => void): () => void {
        this.told.add(tell);
        return () => void this.told.delete(tell);
    }
}

export const newStale = () => new Stale();

/** Whom parts of the page tell. */
export const StaleParts = createContext(newStale());

/** Whether some part of the page is stale. */
export function useIsStale(): boolean {
    const stale = useContext(StaleParts);
    const [isStale, set] = useState(stale.isAny);
    useLayoutEffect(() => {
        const look = () => set(stale.isAny);
        look();
        return stale.subscribe(look);
    }, [stale]);
    return isStale;
}

/** What `load` gives for `key`. While something new is loaded, what was there before stays. Where it fails, that leaves, unless it is an answer to `key` and the server is gone. */
export function useLoaded<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>, generation = useContext(Generation)): Loaded<T> {
    const [loaded, setLoaded] = useState<Omit<Loaded<T>, "loading"> & { of: string | null }>({ of: null, value: null, error: "", failed: false });
    const latest = useRef(load);
    latest.current = load;
    useEffect(() => {
        if (key === null) return;
        const abort = new AbortController();
        latest.current(abort.signal).then(
            (value) => !abort.signal.aborted && setLoaded({ of: key, value, error: "", failed: false }),
            (error: unknown) => {
                if (abort.signal.aborted) return;
                const text = error instanceof Error ? error.message : String(error);
                const stays = (before: typeof loaded) => error instanceof ServerGone && before.of === key && before.value !== null;
                setLoaded((before) => (stays(before) ? before : { of: key, value: null, error: text, failed: true }));
            },
        );
        return () => abort.abort();
    }, [key, generation]);
    // At once: what stands beside a number may have changed already.
    const loading = key !== null && loaded.of !== key;
    const stale = useContext(StaleParts);
    const part = useRef({});
    const isStale = loading && (loaded.value !== null || loaded.failed);
    useLayoutEffect(() => stale.set(part.current, isStale), [isStale]);
    useLayoutEffect(() => () => stale.set(part.current, false), []);
    return { value: loaded.value, error: loaded.error, failed: loaded.failed, loading };
}

/** The theme that was chosen, or that of the system. */
export function useTheme(): [Theme, () => void] {
    const system = useMemo(() => matchMedia("(prefers-color-scheme: dark)"), []);
    const [chosen, choose] = useState<Theme | null>(rememberedTheme);
    const [isDark, setDark] = useState(system.matches);
    useEffect(() => {
        const changed = () => setDark(system.matches);
        system.addEventListener("change", changed);
        return () => system.removeEventListener("change", changed);
    }, []);
    const theme = chosen ?? (isDark ? "dark" : "light");
    useLayoutEffect(() => {
        document.documentElement.dataset["theme"] = theme;
    }, [theme]);
    const change = () => {
        const other = theme === "dark" ? "light" : "dark";
        rememberTheme(other);
        choose(other);
    };
    return [theme, change];
}

/** Whether a key is meant for what has the focus, and not for the page. */
export function isTyping(event: KeyboardEvent): boolean {
    const target = event.target as HTMLElement | null;
    return event.ctrlKey || event.metaKey || event.altKey || !!target?.closest('input:not([type="checkbox"]), select, textarea, dialog');
}
