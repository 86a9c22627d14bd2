import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { useShown } from "./context";
import { Door } from "./door";
import { useLoaded } from "./hooks";
import { bestOf, isCoarse, within, type Span } from "./model/activity";
import { selectionOf } from "./model/state";
import { COARSER, stackOf, wayOf, type Stack } from "./model/stacked";
import { colorName } from "./timeline_stack_plot";
import { MetricChoice, Tailed } from "./widgets";

/** Narrower stacks that are remembered. */
const REMEMBERED = 8;

export interface Stacks {
    /** What shows a span best; null: the time line is not divided, or that is not known yet. */
    best: (seen: Span) => Stack | null;
    /** Asks for narrower intervals, if there are any. */
    refine: (seen: Span, pixels: number) => void;
    loading: boolean;
    error: string;
}

/** The metric, divided as the address says. `changed` is called when more of it is known; `isNew`: of something else than before. */
export function useStacks(changed: (isNew: boolean) => void): Stacks {
    const { source, state, recording, metric } = useShown();
    const end = recording.timeline.end_ns;
    const by = source.asks ? state.stack : "";
    const selection = { ...selectionOf(state), from: null, to: null };
    const colors = useRef(new Map<string, number>());
    const ask = async (span: Span | null, signal: AbortSignal) => stackOf(await source.stacked(selection, by, metric, span, signal), metric, by, colors.current);
    const whole = useLoaded(by ? JSON.stringify([by, metric.name, selection, end]) : null, (signal) => ask(null, signal));
    const known = useMemo(() => (whole.value ? [whole.value] : []), [whole.value]);
    const [, redraw] = useReducer((n: number) => n + 1, 0);
    const [refused, setRefused] = useState("");
    const later = useRef<{ timer: number; abort: AbortController | null }>({ timer: 0, abort: null });
    const best = (seen: Span) => (by !== "" && known.length > 0 ? bestOf(known, seen, end) : null);
    const refine = (seen: Span, pixels: number) => {
        clearTimeout(later.current.timer);
        later.current.abort?.abort();
        later.current.timer = window.setTimeout(() => {
            const now = best(seen);
            if (!now || now.why !== "" || !isCoarse(now, seen, now.isLive ? pixels : pixels / COARSER)) return;
            const abort = (later.current.abort = new AbortController());
            const beside = (seen.to - seen.from) / 2;
            ask(within({ from: seen.from - beside, to: seen.to + beside }, end), abort.signal).then((found) => {
                known.splice(1, Math.max(0, known.length - REMEMBERED));
                known.push(found);
                setRefused("");
                redraw(0);
                // The answer may be no narrower than what is known: only another span is asked for.
                changed(false);
            }, (error: unknown) => !abort.signal.aborted && setRefused(error instanceof Error ? error.message : String(error)));
        }, 60);
    };
    useEffect(() => changed(true), [known, by]);
    useEffect(() => () => (clearTimeout(later.current.timer), later.current.abort?.abort()), [known]);
    return { best, refine, loading: by !== "" && whole.loading, error: by === "" ? "" : whole.error || refused };
}

const WAYS = [["", "live bytes"], ["function", "by function"], ["type", "by type"]] as const;

/** What the time line shows: live bytes, or the metric by function or type. */
export function StackChoice() {
    const { state, go } = useShown();
    return (
        <>
            <div class="switch" role="group" aria-label="time line">
                {WAYS.map(([by, title]) => (
                    <button key={by} aria-pressed={state.stack === by} onClick={() => go({ stack: by })}>{title}</button>
                ))}
            </div>
            {state.stack !== "" && <MetricChoice />}
        </>
    );
}

/** The names of the layers: each leads to what it is made of. */
export function StackLegend({ stack, loading, error }: { stack: Stack | null; loading: boolean; error: string }) {
    const text = error || stack?.why || (stack ? "" : "Adding up what happens when …");
    return (
        <div class={loading ? "legends layers stale" : "legends layers"} role="list" aria-label="layers of the time line" aria-busy={loading}>
            {text !== "" && <span class={error ? "error" : "soft"} role={error ? "alert" : "status"}>{text}</span>}
            {text === "" && stack!.layers.map((layer) => {
                const way = wayOf(stack!, layer);
                const name = <><span class="key" style={{ background: `var(${colorName(layer.color)})` }} /> <Tailed kind="code" text={layer.name} /></>;
                return (
                    <span key={layer.key || layer.name} role="listitem" class="legend" title={layer.full || layer.name}>
                        {way ? <Door to={way}>{name}</Door> : name}
                    </span>
                );
            })}
        </div>
    );
}
