import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useShown } from "./context";
import { Door, useWay } from "./door";
import { isTyping, useSize } from "./hooks";
import { activityOf, bestOf, isCoarse, overBudget, within, zoomed, type Activity, type Span } from "./model/activity";
import { count, counted, estimate } from "./model/format";
import { baseOf, type State } from "./model/state";
import { timeAt } from "./model/time_axis";
import { selects } from "./model/cuts";
import { wayOf } from "./model/stacked";
import { toSpan } from "./model/ways";
import { Events } from "./timeline_events";
import { StackChoice, StackLegend, useStacks } from "./timeline_stack";
import { beside, heightOf, plotOf, type Plot } from "./timeline_plot";
import { Define } from "./widgets";

/** Spans that are remembered, beside the whole run. */
const REMEMBERED = 12;

/** What was live when, of the whole run, as long as nothing else is known. */
function firstSight({ live, interval_ns }: { live: Activity["live"]; interval_ns: number }): Activity {
    return { start: 0, interval: interval_ns, count: live.length, live, seesLive: true, allocations: null, faults: null, resident: null, marks: [], regions: [], runs: [], spreads: [], regionCount: 0, leftOut: 0 };
}

const shownOf = (state: State, end: number): Span => within({ from: state.left ?? 0, to: state.right ?? end }, end);

/** `1 mark`, `2 marks and 30 regions`. */
function eventsOf(marks: number, regions: number): string {
    return [marks > 0 && counted(marks, "mark"), regions > 0 && counted(regions, "region")].filter(Boolean).join(" and ");
}

/** How long a region, such as a frame, may be: those that are longer stand out. */
function Budget({ activity, budget, set }: { activity: Activity; budget: number; set: (budget: number) => void }) {
    return (
        <label class="choice" title="Regions that take longer than this are marked on the time line">
            budget
            <input type="number" min="0" step="any" placeholder="none" value={budget > 0 ? budget / 1e6 : ""} onChange={(event) => set(Math.max(0, Math.round(Number(event.currentTarget.value) * 1e6)))} />
            ms
            {budget > 0 && <Door to={{ view: "regions", order: "" }} class="over" title="Show how long each region takes">{overBudget(activity, budget)}</Door>}
        </label>
    );
}

/** Live bytes, allocations and page faults over time. A drag selects a span, and every view answers for that; the wheel zooms. */
export function TimelineBand() {
    const { recording, state, go, source, theme, say, errors, profile } = useShown();
    const { timeline } = recording;
    const end = timeline.end_ns;
    const box = useRef<HTMLDivElement>(null);
    const reading = useRef<HTMLSpanElement>(null);
    const plot = useRef<Plot | null>(null);
    const { width } = useSize(box);
    const who = JSON.stringify([state.process, state.thread]);
    /** The whole run, and what was looked at last. */
    const known = useMemo<Activity[]>(() => [firstSight(timeline)], [timeline, who]);
    const isStacked = source.asks && state.stack !== "";
    const [whole, setWhole] = useState<Activity | null>(null);
    const [error, setError] = useState("");
    const [seen, setSeen] = useState<Span>(() => shownOf(state, end));
    const now = useRef(seen);
    // A recording that is being made grows, and whoever looks at all of it still does.
    const grown = useRef(end);
    if (grown.current !== end) {
        if (now.current.from === 0 && now.current.to >= grown.current - 1) now.current = { from: 0, to: end };
        grown.current = end;
    }
    useEffect(() => setSeen(now.current), [end]);
    const current = useRef({ state, go, errors });
    current.current = { state, go, errors };
    const later = useRef({ ask: 0, tell: 0 });
    /** What was last written to the address: it may come back when something else is shown already. */
    const told = useRef({ left: state.left, right: state.right });
    const seesLive = recording.metrics.find((one) => one.name === "live")?.known ?? false;
    const seesFaults = recording.metrics.find((one) => one.name === "faults")?.known ?? false;
    const free = useMemo(beside, [width]);
    const pixels = Math.max(1, width - free.left - free.right);
    // What comes later than the render that asked for it looks at the width that there is then.
    const across = useRef(pixels);
    across.current = pixels;
    const strip = useRef<((span: Span) => void) | null>(null);
    const latestWay = useWay();
    const way = useRef(latestWay);
    way.current = latestWay;

    const stacks = useStacks((isNew) => {
        if (plot.current) plot.current.stack = stacks.best(now.current);
        if (isNew) stacks.refine(now.current, across.current);
    });
    const stacking = useRef(stacks);
    stacking.current = stacks;

    const load = async (span: Span | null) => {
        const { process, thread } = current.current.state;
        const pack = await source.activity(span, { process, thread });
        return activityOf(pack);
    };

    /** Asks for narrower intervals, if there are any. */
    const refine = () => {
        stacking.current.refine(now.current, across.current);
        clearTimeout(later.current.ask);
        later.current.ask = window.setTimeout(() => {
            const best = bestOf(known, now.current, end);
            if (!source.asks || known.length === 0 || best.allocations === null || !isCoarse(best, now.current, across.current)) return;
            const { from, to } = now.current;
            const beside = (to - from) / 2;
            load(within({ from: from - beside, to: to + beside }, end)).then(
                (found) => {
                    known.splice(1, Math.max(0, known.length - REMEMBERED));
                    known.push(found);
                    if (plot.current) plot.current.shown = bestOf(known, now.current, end);
                },
                (error: unknown) => say(error instanceof Error ? error.message : String(error)),
            );
        }, 60);
    };

    useEffect(() => void (width > 0 && refine()), [width]);

    /** Shows a span at once; the buttons follow when it rests, and the address, unless it `isTold` there. */
    const see = (span: Span, isTold = false) => {
        now.current = span;
        if (plot.current) {
            plot.current.shown = bestOf(known, span, end);
            plot.current.stack = stacking.current.best(span);
            plot.current.see(span);
        }
        refine();
        clearTimeout(later.current.tell);
        later.current.tell = window.setTimeout(() => {
            setSeen(span);
            if (isTold) return;
            const isAll = span.to - span.from >= end - 1;
            told.current = isAll ? { left: null, right: null } : { left: Math.round(span.from), right: Math.round(span.to) };
            current.current.go(told.current, true);
        }, 250);
    };

    /** Draws the selection. */
    const mark = () => {
        const of = plot.current?.of;
        if (!of) return;
        const { from, to } = current.current.state;
        const none = from === null && to === null;
        const at = (ns: number) => Math.min(of.over.clientWidth + 2, Math.max(-2, of.valToPos(ns / 1e9, "x")));
        const [left, right] = [at(from ?? 0), at(to ?? end)];
        of.setSelect({ left: none ? 0 : left, width: none ? 0 : right - left, top: 0, height: none ? 0 : of.over.clientHeight }, false);
    };

    const select = (from: number, to: number, across: number) => {
        const length = now.current.to - now.current.from;
        // Parts that the server has added up are known at once; what is too narrow for them begins at any pixel.
        const pixel = 10 ** Math.floor(Math.log10(Math.max(1, length / across)));
        const step = !source.asks || source.step <= (4 * length) / across ? source.step : pixel;
        const begin = Math.floor(from / step + 0.001) * step;
        const until = Math.max(begin + step, Math.round(to / step) * step);
        const isAll = until > end - step / 2;
        current.current.go({ from: begin === 0 ? null : Math.round(begin), to: isAll ? null : Math.round(until) });
    };

    /** Zooms into the selection; from there, and without one, back to the whole run. */
    const both = () => {
        const { from, to } = current.current.state;
        const wish = within({ from: from ?? 0, to: to ?? end }, end);
        const isThere = Math.abs(wish.from - now.current.from) + Math.abs(wish.to - now.current.to) < 2;
        see(isThere ? { from: 0, to: end } : wish);
    };

    useEffect(() => {
        let isOver = false;
        setWhole(null);
        setError("");
        load(null).then(
            (found) => {
                if (isOver) return;
                known[0] = found;
                setWhole(found);
                if (plot.current) plot.current.shown = bestOf(known, now.current, end);
                refine();
            },
            (why: unknown) => !isOver && setError(why instanceof Error ? why.message : String(why)),
        );
        return () => void (isOver = true);
    }, [known]);

    const rows = (whole?.regions ?? []).reduce((most, one) => Math.max(most, one.row + 1), 0);
    useEffect(() => {
        if (!box.current || width === 0) return;
        const read = (text: string) => void (reading.current && (reading.current.textContent = text));
        const made = plotOf(box.current, bestOf(known, now.current, end), { width, height: heightOf(rows, isStacked), whole: () => known[0]!, rows, end, seesFaults, budget: state.budget, select, zoom: (span) => see(span), seen: () => now.current, mark, both, read, errors: () => current.current.errors, enter: ({ from, to }, event) => way.current(toSpan(from, to), event), moved: (span) => strip.current?.(span), pick: (layer, stack, event) => { const to = wayOf(stack, layer); if (to) way.current(to, event); } });
        made.stack = stacking.current.best(now.current);
        plot.current = made;
        mark();
        return () => {
            plot.current = null;
            made.of.destroy();
        };
    }, [known, width, theme, rows, seesFaults, state.budget, isStacked]);

    useEffect(mark, [state.from, state.to, width, theme, rows, state.budget, isStacked]);

    // The span that the selection is compared with.
    const base = recording.compares || state.view !== "compare" ? null : baseOf(state.base);
    useEffect(() => void (plot.current && (plot.current.base = base && { from: base.from ?? 0, to: base.to ?? end })), [state.base, state.view, width, theme, rows, state.budget, isStacked, known]);

    // Back and links show other spans.
    useEffect(() => {
        const { left, right } = state;
        if (left === told.current.left && right === told.current.right) return;
        told.current = { left, right };
        see(shownOf(state, end), true);
    }, [state.left, state.right]);

    const middle = () => {
        const { from, to } = current.current.state;
        const [begin, until] = [from ?? 0, to ?? end];
        const isSeen = (from !== null || to !== null) && until > now.current.from && begin < now.current.to;
        return isSeen ? (Math.max(begin, now.current.from) + Math.min(until, now.current.to)) / 2 : (now.current.from + now.current.to) / 2;
    };
    const zoom = (factor: number) => see(zoomed(now.current, middle(), factor, end));
    const move = (share: number) => {
        const by = (now.current.to - now.current.from) * share;
        see(within({ from: now.current.from + by, to: now.current.to + by }, end));
    };

    useEffect(() => {
        const keys: Record<string, () => void> = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "<": () => move(-0.25), ">": () => move(0.25), z: both };
        const pressed = (event: KeyboardEvent) => {
            const act = isTyping(event) ? undefined : keys[event.key];
            if (!act) return;
            event.preventDefault();
            act();
        };
        addEventListener("keydown", pressed);
        return () => removeEventListener("keydown", pressed);
    }, [known]);

    /** Arrow keys move the selection, with Shift its end. */
    const pressed = (event: KeyboardEvent) => {
        const step = source.asks ? (now.current.to - now.current.from) / 64 : source.step;
        const [from, to] = [state.from ?? now.current.from, state.to ?? now.current.to];
        const moves: Record<string, [number, number]> = {
            ArrowLeft: event.shiftKey ? [from, to - step] : [from - step, to - step],
            ArrowRight: event.shiftKey ? [from, to + step] : [from + step, to + step],
        };
        const to_ = moves[event.key];
        if (!to_) return;
        event.preventDefault();
        event.stopPropagation();
        const begin = Math.min(Math.max(0, to_[0]), end - step);
        go({ from: Math.round(begin), to: Math.round(Math.min(end, Math.max(begin + step, to_[1]))) });
    };

    const isPart = seen.to - seen.from < end - 1;
    const stack = stacks.best(now.current);
    /** A metric without parts is not divided: the curve stays. */
    const isDivided = isStacked && !stack?.why;
    // Until the curve of what is selected comes, that of the whole run is shown.
    const isSum = timeline.sum_of_peaks && (!whole || profile.totals.peak_is !== "exact");
    const names = whole ? [...new Set([...whole.marks, ...whole.regions].map((one) => one.name))] : [];
    const missed = timeline.resident_between_looks;
    const there = whole ? whole.marks.length + whole.regions.length : 0;
    return (
        <section class="time" aria-label="time line">
            <div class="caption">
                {source.asks && <StackChoice />}
                {!isDivided && <span class="legend">{!source.asks && <><span class="key curve" /> live bytes</>}{!seesLive && "live bytes are not known"} <Define name="live" /></span>}
                {!isDivided && whole?.resident && <span class="legend"><span class="key resident" /> resident set{missed && `, whose peak of ${estimate(missed.value, missed.low, missed.high, "bytes")} lies between two looks`} <Define name="resident-curve" /></span>}
                <span class="legend"><span class="key allocator" /> allocations per second <Define name="allocations" /></span>
                <span class="legend"><span class="key faults" /> page faults per second <Define name="faults" /></span>
                {isSum && <span title="Each interval shows the sum of the highest of each process, which need not be at one instant.">processes added up</span>}
                {state.thread !== "" && !isDivided && <span title="Live bytes belong to no thread: another one may free them. The curve is that of the thread's process.">live bytes: all threads</span>}
                {!timeline.known && <span>not known of all processes</span>}
                {state.sizes !== "" && <span title="The curves of allocations and page faults are of blocks of all sizes.">curves: all sizes</span>}
                {selects(state) && <span title={isDivided ? "The curves of allocations and page faults are of all call stacks." : "The curves are of all call stacks."}>{isDivided ? "curves: all call stacks" : "all call stacks"}</span>}
                {error && <span class="error" role="alert">{error}</span>}
                {there > 0 && <Door to={recording.regions ? { view: "regions" } : { view: "snapshots", map: "generations" }} class="link" title={names.slice(0, 50).join("\n")}>{eventsOf(whole!.marks.length, whole!.regions.length)}{whole!.leftOut > 0 && `, ${count(whole!.leftOut)} more not drawn`}</Door>}
                {whole && whole.runs.length > 0 && <Budget activity={whole} budget={state.budget} set={(budget) => go({ budget }, true)} />}
                <span class="reading" ref={reading} />
                <span class="hint">
                    drag selects{!source.asks && `, in steps of ${timeAt(source.step, source.step / 10)}`}, the wheel zooms
                </span>
                {isPart && <span class="soft shown">{timeAt(seen.to - seen.from, (seen.to - seen.from) / 100)} shown</span>}
                <span class="zooms">
                    <button onClick={() => zoom(0.5)} aria-label="zoom in" title="Zoom in (+)">+</button>
                    <button onClick={() => zoom(2)} aria-label="zoom out" title="Zoom out (−)" disabled={!isPart}>−</button>
                </span>
                {(isPart || state.from !== null || state.to !== null) && (
                    <button onClick={() => (isPart ? see({ from: 0, to: end }) : both())} title={isPart ? "Show the whole run" : "Zoom into the selection (z)"}>{isPart ? "whole run" : "selection"}</button>
                )}
            </div>
            {isStacked && <StackLegend stack={stack} loading={stacks.loading} error={stacks.error} />}
            {isPart && (
                <div class="where" aria-hidden="true">
                    <span style={{ left: `${(seen.from / end) * 100}%`, width: `max(2px, ${((seen.to - seen.from) / end) * 100}%)` }} />
                </div>
            )}
            <Events activity={whole ?? known[0]!} seen={now.current} pixels={pixels} isSum={isSum} isOfLive={!isDivided || (stack?.isLive === true && !selects(state))} moves={strip} />
            <div
                class={error ? "plot stale" : "plot"}
                ref={box}
                style={{ height: `${heightOf(rows, isStacked)}px` }}
                tabIndex={0}
                role="slider"
                aria-label="selected span of time: arrow keys move it, with Shift its end; plus and minus zoom, less-than and greater-than move what is shown"
                aria-valuemin={0}
                aria-valuemax={Math.round(end)}
                aria-valuenow={Math.round(state.from ?? 0)}
                aria-valuetext={`${timeAt(state.from ?? 0, end / 1000)} to ${timeAt(state.to ?? end, end / 1000)}`}
                onKeyDown={pressed}
            />
        </section>
    );
}
