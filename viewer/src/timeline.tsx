import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useShown } from "./context";
import { isTyping, useSize } from "./hooks";
import { activityOf, bestOf, isCoarse, overBudget, within, zoomed, type Activity, type Span } from "./model/activity";
import { axisOf, timeAt, type Axis } from "./model/time_axis";
import { bytes, count, counted, isolated, shortCount, time } from "./model/format";
import type { State } from "./model/state";
import { Define } from "./widgets";

/** Heights, pixels. */
const PLOT = 150;
const REGION = 12;
const AXIS = 22;
/** Width of the axis of bytes. */
const GUTTER = 76;

/** Steps of the axis of bytes. */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** Which part of the height shows what: its lowest and its highest place, from below. */
const PLACES = { faults: [0, 0.18], allocations: [0.23, 0.41], live: [0.47, 1] } as const;
type Curve = keyof typeof PLACES;


/** Spans that are remembered, beside the whole run. */
const REMEMBERED = 12;

/** The range of a scale whose values from 0 to `most` lie in their place. */
function rangeOf(curve: Curve, most: number): [number, number] {
    const [low, high] = PLACES[curve];
    const height = Math.max(most, curve === "live" ? 1 : 1e-9) / (high - low);
    return [-low * height, (1 - low) * height];
}

/** What was live when, of the whole run, as long as nothing else is known. */
function firstSight({ live, interval_ns }: { live: Activity["live"]; interval_ns: number }): Activity {
    return { start: 0, interval: interval_ns, live, allocations: null, faults: null, resident: null, marks: [], regions: [], lengths: [], regionCount: 0, leftOut: 0 };
}

/** As curves: rates per second. The last value holds until the end of its interval. */
function curvesOf({ start, interval, live, allocations, faults, resident }: Activity): uPlot.AlignedData {
    const times = Float64Array.from({ length: live.length + 1 }, (_, index) => (start + index * interval) / 1e9);
    const held = (of: ArrayLike<number> | null, scale: number) => (of ? Float64Array.from({ length: of.length + 1 }, (_, index) => of[Math.min(index, of.length - 1)]! * scale) : new Float64Array(live.length + 1));
    // What is not known is no part of a curve.
    const gaps = resident ? Array.from({ length: live.length + 1 }, (_, index) => resident[Math.min(index, live.length - 1)]!).map((value) => (Number.isNaN(value) ? null : value)) : new Array<null>(live.length + 1).fill(null);
    return [times, held(live, 1), held(allocations, 1e9 / interval), held(faults, 1e9 / interval), gaps] as unknown as uPlot.AlignedData;
}

const shownOf = (state: State, end: number): Span => within({ from: state.left ?? 0, to: state.right ?? end }, end);

/** Draws marks and regions, as far as there are rows for them, and what the curves are. */
function decorate(of: uPlot, activity: Activity, axis: Axis, { rows, seesFaults, budget }: { rows: number; seesFaults: boolean; budget: number }): void {
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const { ctx, bbox } = of;
    const scale = devicePixelRatio;
    const { min = 0, max = 1 } = of.scales["x"]!;
    const x = (ns: number) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, of.valToPos(ns / 1e9, "x", true)));
    const isSeen = (from: number, to: number) => to / 1e9 >= min! && from / 1e9 <= max!;
    ctx.save();
    ctx.font = `${11 * scale}px system-ui, sans-serif`;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const fitted = (text: string, left: number, width: number, y: number) => {
        // A name that is cut off is worse than none, unless much of it is seen.
        if (width < 60 * scale && ctx.measureText(text).width > width - 4 * scale) return;
        ctx.save();
        ctx.beginPath();
        ctx.rect(left, y - 10 * scale, width, 20 * scale);
        ctx.clip();
        ctx.fillText(text, left + 3 * scale, y);
        ctx.restore();
    };
    for (const region of activity.regions.filter((one) => one.row < rows && isSeen(one.from, one.to))) {
        const [left, right] = [x(region.from), x(region.to)];
        const top = bbox.top - ((rows - region.row) * REGION + 2) * scale;
        const isOver = budget > 0 && region.to - region.from > budget;
        const width = Math.max(scale, right - left - scale);
        ctx.fillStyle = color("--region");
        ctx.fillRect(left, top, width, (REGION - 1) * scale);
        if (isOver) {
            // What is beyond the budget has a color of its own, and a line below all of it: that is seen however narrow it is.
            ctx.fillStyle = color("--faults");
            const within = Math.min(left + width, x(region.from + budget));
            ctx.fillRect(within, top, Math.max(scale, left + width - within), (REGION - 1) * scale);
            ctx.fillRect(left, top + (REGION - 3) * scale, width, 2 * scale);
        }
        ctx.fillStyle = color("--text");
        fitted(region.name, left, right - left, top + (REGION / 2) * scale);
    }
    ctx.strokeStyle = ctx.fillStyle = color("--soft");
    ctx.lineWidth = scale;
    ctx.setLineDash([2 * scale, 3 * scale]);
    const marks = activity.marks.filter((one) => isSeen(one.at, one.at));
    marks.forEach(({ at, name }, index) => {
        const left = Math.round(x(at)) + 0.5;
        ctx.beginPath();
        ctx.moveTo(left, bbox.top);
        ctx.lineTo(left, bbox.top + bbox.height);
        ctx.stroke();
        const next = marks[index + 1];
        fitted(name, left, Math.min((next ? x(next.at) : bbox.left + bbox.width) - left, 200 * scale), bbox.top + 7 * scale);
    });
    ctx.setLineDash([]);
    // In the gutter: what a place shows, and the highest rate in it.
    ctx.textAlign = "right";
    for (const [curve, title] of [["allocations", "allocations"], ["faults", "page faults"]] as const) {
        const [low, high] = PLACES[curve];
        const middle = bbox.top + bbox.height * (1 - (low + high) / 2);
        const most = of.scales[curve]!.max! * ((high - low) / (1 - low));
        const known = curve === "faults" ? activity.faults : activity.allocations;
        const said = known ? (most < 1e-6 ? "0 / s" : `${shortCount(Number(most.toPrecision(3)))} / s`) : curve === "faults" && !seesFaults ? "not known" : "…";
        ctx.fillStyle = color("--soft");
        ctx.fillText(title, bbox.left - 5 * scale, middle - 6 * scale);
        ctx.fillText(said, bbox.left - 5 * scale, middle + 6 * scale);
    }
    if (axis.base) {
        ctx.fillStyle = color("--text");
        ctx.fillText(axis.base, bbox.left - 3 * scale, bbox.top + bbox.height + (AXIS / 2 + 2) * scale);
    }
    ctx.restore();
}

interface Plot {
    of: uPlot;
    /** What the curves are of. */
    shown: Activity;
    /** Shows a span. */
    see: (span: Span) => void;
}

interface Wishes {
    width: number;
    rows: number;
    end: number;
    seesFaults: boolean;
    budget: number;
    select: (from: number, to: number, pixels: number) => void;
    zoom: (span: Span) => void;
    /** The part that is shown. */
    seen: () => Span;
    /** Draws the selection. */
    mark: () => void;
    both: () => void;
    read: (text: string) => void;
}

/** The curves. They know nothing of the page, so that a turn of the wheel draws them and nothing else. */
function plotOf(holder: HTMLElement, first: Activity, wishes: Wishes): Plot {
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const font = "11px system-ui, sans-serif";
    const axis = { stroke: color("--soft"), font, grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1, size: 4 } };
    const positive = (_: uPlot, splits: number[]) => splits.map((value) => (value >= 0 ? value : null));
    let ticks: Axis = { ticks: [], labels: [], base: "" };
    let shown = first;
    let isZoom = false;
    let isDown = false;
    const stepped = uPlot.paths.stepped!({ align: 1 });
    const series = (scale: Curve, stroke: string, fill: string): uPlot.Series => ({ scale, stroke: color(stroke), fill: color(fill), fillTo: 0, width: 1, points: { show: false }, paths: stepped });
    const scale = (curve: Curve): uPlot.Scale => ({ range: (_, __, most) => rangeOf(curve, Math.max(most ?? 0, 0)) });
    /** Moves what is shown while the button is down. */
    const moves = (event: MouseEvent) => {
        const [begin, { from, to }] = [event.clientX, wishes.seen()];
        const move = (now: MouseEvent) => {
            const by = ((begin - now.clientX) / of.over.clientWidth) * (to - from);
            wishes.zoom(within({ from: from + by, to: to + by }, wishes.end));
        };
        addEventListener("mousemove", move);
        addEventListener("mouseup", () => removeEventListener("mousemove", move), { once: true });
    };
    const of = new uPlot(
        {
            width: wishes.width,
            height: PLOT + wishes.rows * REGION,
            legend: { show: false },
            padding: [6 + wishes.rows * REGION, 28, 0, 0],
            scales: {
                x: { time: false, auto: false, min: wishes.seen().from / 1e9, max: wishes.seen().to / 1e9 },
                live: scale("live"),
                allocations: scale("allocations"),
                faults: scale("faults"),
            },
            cursor: {
                y: false,
                drag: { x: true, y: false, setScale: false },
                points: { show: false },
                bind: {
                    mousedown: (_, __, handle) => (event: MouseEvent) => {
                        if (event.shiftKey || event.button === 1) {
                            event.preventDefault();
                            moves(event);
                            return null;
                        }
                        isZoom = event.ctrlKey || event.metaKey || event.altKey;
                        isDown = true;
                        addEventListener("mouseup", () => void (isDown = false), { once: true });
                        return handle(event);
                    },
                    dblclick: () => () => {
                        wishes.both();
                        return null;
                    },
                },
            },
            axes: [
                {
                    ...axis,
                    size: AXIS,
                    splits: (_, __, min, max) => {
                        ticks = axisOf(min * 1e9, max * 1e9, wishes.width / 110);
                        // Where labels count from a time, that stands at the left end.
                        const isFree = (tick: number) => !ticks.base || ((tick / 1e9 - min) / (max - min)) * of.over.clientWidth > 30;
                        ticks.labels = ticks.labels.map((label, index) => (isFree(ticks.ticks[index]!) ? label : ""));
                        return ticks.ticks.map((tick) => tick / 1e9);
                    },
                    values: () => ticks.labels,
                },
                { ...axis, grid: { ...axis.grid, filter: positive }, ticks: { ...axis.ticks, filter: positive }, filter: positive, scale: "live", size: GUTTER, space: 22, incrs: POWERS, values: (_, values) => values.map((value) => (value === null ? "" : bytes(value))) },
            ],
            series: [
                {},
                series("live", "--curve", "--curve-fill"),
                series("allocations", "--allocator", "--allocator"),
                series("faults", "--faults", "--faults"),
                { scale: "live", stroke: color("--resident"), width: 1.5, dash: [5, 3], points: { show: false }, paths: stepped },
            ],
            hooks: {
                setScale: [(_, scale) => void (scale === "x" && !isDown && wishes.mark())],
                setSelect: [
                    () => {
                        const { left, width } = of.select;
                        if (width < 3) return;
                        const at = (pixel: number) => Math.min(Math.max(0, of.posToVal(pixel, "x") * 1e9), wishes.end);
                        if (isZoom) wishes.zoom(within({ from: at(left), to: at(left + width) }, wishes.end));
                        else wishes.select(at(left), at(left + width), of.over.clientWidth);
                    },
                ],
                draw: [() => decorate(of, shown, ticks, wishes)],
                setCursor: [
                    () => {
                        const left = of.cursor.left ?? -1;
                        const ns = of.posToVal(left, "x") * 1e9;
                        const index = Math.floor((ns - shown.start) / shown.interval);
                        if (left < 0 || index < 0 || index >= shown.live.length) return wishes.read("");
                        const seen = wishes.seen();
                        const rate = (column: Activity["live"] | null, what: string) => (column ? ` · ${counted(column[index]!, what)}` : "");
                        const resident = (index: number) => (shown.resident && !Number.isNaN(shown.resident[index]!) ? ` · ${bytes(shown.resident[index]!)} in memory` : "");
                        const inside = shown.allocations ? ` in ${timeAt(shown.interval, shown.interval / 10)}` : "";
                        const regions = [...new Set(shown.regions.filter((one) => one.from <= ns && ns < one.to).map((one) => `${isolated(one.name)}, ${time(one.to - one.from)}`))];
                        const place = timeAt(Math.max(0, shown.start + index * shown.interval), (seen.to - seen.from) / 1000);
                        wishes.read(`at ${place}: ${bytes(shown.live[index]!)} live${resident(index)}${rate(shown.allocations, "allocation")}${rate(shown.faults, "page fault")}${inside}${regions.length > 0 ? ` · ${regions.join(", ")}` : ""}`);
                    },
                ],
            },
        },
        curvesOf(first),
        holder,
    );
    const plot: Plot = {
        of,
        get shown() {
            return shown;
        },
        set shown(activity: Activity) {
            if (activity === shown) return;
            shown = activity;
            of.setData(curvesOf(activity), false);
            plot.see(wishes.seen());
        },
        see: ({ from, to }) => of.setScale("x", { min: from / 1e9, max: to / 1e9 }),
    };
    of.over.addEventListener(
        "wheel",
        (event) => {
            event.preventDefault();
            const seen = wishes.seen();
            const pixels = event.deltaMode === 0 ? 1 : 30;
            const side = (event.shiftKey ? event.deltaY : event.deltaX) * pixels;
            if (Math.abs(side) > Math.abs(event.shiftKey ? 0 : event.deltaY * pixels)) {
                const by = (side / of.over.clientWidth) * (seen.to - seen.from);
                return wishes.zoom(within({ from: seen.from + by, to: seen.to + by }, wishes.end));
            }
            wishes.zoom(zoomed(seen, of.posToVal(event.offsetX, "x") * 1e9, 1.0025 ** (event.deltaY * pixels), wishes.end));
        },
        { passive: false },
    );
    return plot;
}

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
            {budget > 0 && <span class="over">{overBudget(activity, budget)}</span>}
        </label>
    );
}

/** Live bytes, allocations and page faults over time. A drag selects a span, and every view answers for that; the wheel zooms. */
export function TimelineBand() {
    const { recording, state, go, source, theme, say } = useShown();
    const { timeline } = recording;
    const end = timeline.end_ns;
    const box = useRef<HTMLDivElement>(null);
    const reading = useRef<HTMLSpanElement>(null);
    const plot = useRef<Plot | null>(null);
    const { width } = useSize(box);
    const who = JSON.stringify([state.process, state.thread]);
    /** The whole run, and what was looked at last. */
    const known = useMemo<Activity[]>(() => [firstSight(timeline)], [timeline, who]);
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
    const current = useRef({ state, go });
    current.current = { state, go };
    const later = useRef({ ask: 0, tell: 0 });
    /** What was last written to the address: it may come back when something else is shown already. */
    const told = useRef({ left: state.left, right: state.right });
    const seesLive = recording.metrics.find((one) => one.name === "live")?.known ?? false;
    const seesFaults = recording.metrics.find((one) => one.name === "faults")?.known ?? false;
    const pixels = Math.max(1, width - GUTTER - 28);

    const load = async (span: Span | null) => {
        const { process, thread } = current.current.state;
        const pack = await source.activity(span, { process, thread });
        return activityOf(pack);
    };

    /** Asks for narrower intervals, if there are any. */
    const refine = () => {
        clearTimeout(later.current.ask);
        later.current.ask = window.setTimeout(() => {
            const best = bestOf(known, now.current, end);
            if (!source.asks || known.length === 0 || best.allocations === null || !isCoarse(best, now.current, pixels)) return;
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

    /** Shows a span at once; the address and the buttons follow when it rests. */
    const see = (span: Span) => {
        now.current = span;
        if (plot.current) {
            plot.current.shown = bestOf(known, span, end);
            plot.current.see(span);
        }
        refine();
        clearTimeout(later.current.tell);
        later.current.tell = window.setTimeout(() => {
            setSeen(span);
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
        const made = plotOf(box.current, bestOf(known, now.current, end), { width, rows, end, seesFaults, budget: state.budget, select, zoom: see, seen: () => now.current, mark, both, read });
        plot.current = made;
        mark();
        return () => {
            plot.current = null;
            made.of.destroy();
        };
    }, [known, width, theme, rows, seesFaults, state.budget]);

    useEffect(mark, [state.from, state.to, width, theme, rows, state.budget]);

    // Back and links show other spans.
    useEffect(() => {
        const { left, right } = state;
        if (left === told.current.left && right === told.current.right) return;
        told.current = { left, right };
        see(shownOf(state, end));
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
    const names = whole ? [...new Set([...whole.marks, ...whole.regions].map((one) => one.name))] : [];
    const there = whole ? whole.marks.length + whole.regions.length : 0;
    return (
        <section class="time" aria-label="time line">
            <div class="caption">
                <span class="legend"><span class="key curve" /> live bytes{!seesLive && ", not known"} <Define name="live" /></span>
                {whole?.resident && <span class="legend"><span class="key resident" /> resident set <Define name="resident-curve" /></span>}
                <span class="legend"><span class="key allocator" /> allocations per second <Define name="allocations" /></span>
                <span class="legend"><span class="key faults" /> page faults per second <Define name="faults" /></span>
                {timeline.sum_of_peaks && <span title="Each interval shows the sum of the highest of each process, which need not be at one instant.">processes added up</span>}
                {!timeline.known && <span>not known of all processes</span>}
                {state.filter !== "" && <span title="The curves are of all call stacks, whatever the filter is.">all call stacks</span>}
                {error && <span class="error" role="alert">{error}</span>}
                {there > 0 && <span title={names.slice(0, 50).join("\n")}>{eventsOf(whole!.marks.length, whole!.regions.length)}{whole!.leftOut > 0 && `, ${count(whole!.leftOut)} more not drawn`}</span>}
                {whole && whole.lengths.length > 0 && <Budget activity={whole} budget={state.budget} set={(budget) => go({ budget }, true)} />}
                <span class="reading" ref={reading} />
                <span class="hint">
                    drag selects{!source.asks && `, in steps of ${timeAt(source.step, source.step / 10)}`}, the wheel zooms
                </span>
                {isPart && <span class="soft shown">{timeAt(seen.to - seen.from, (seen.to - seen.from) / 100)} shown</span>}
                <button onClick={() => zoom(0.5)} aria-label="zoom in" title="Zoom in (+)">+</button>
                <button onClick={() => zoom(2)} aria-label="zoom out" title="Zoom out (−)" disabled={!isPart}>−</button>
                {(isPart || state.from !== null || state.to !== null) && (
                    <button onClick={() => (isPart ? see({ from: 0, to: end }) : both())} title={isPart ? "Show the whole run" : "Zoom into the selection (z)"}>{isPart ? "whole run" : "selection"}</button>
                )}
            </div>
            {isPart && (
                <div class="where" aria-hidden="true">
                    <span style={{ left: `${(seen.from / end) * 100}%`, width: `max(2px, ${((seen.to - seen.from) / end) * 100}%)` }} />
                </div>
            )}
            <div
                class={error ? "plot stale" : "plot"}
                ref={box}
                style={{ height: `${PLOT + rows * REGION}px` }}
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
