// The curves of the time line.

import uPlot from "uplot";
import { drawStack } from "./timeline_stack_plot";
import { peakOf, within, zoomed, type Activity, type Region, type Span } from "./model/activity";
import { axisOf, timeAt, type Axis } from "./model/time_axis";
import { drawn, layerAt, mostInWords, mostOf, wordsAt, type Layer, type Stack } from "./model/stacked";
import type { Errors } from "./model/errors";
import { bytes, counted, isolated, shortCount, time } from "./model/format";

/** Heights, pixels. */
const PLOT = 150;
const STACKED_PLOT = 220;
const REGION = 12;
const AXIS = 22;

/** With this many rows of regions. */
export const heightOf = (rows: number, isStacked: boolean) => (isStacked ? STACKED_PLOT : PLOT) + rows * REGION;

/** What the page leaves free beside the curves, pixels; at the left stands the axis of bytes. */
export function beside(): { left: number; right: number } {
    const style = getComputedStyle(document.documentElement);
    const pixels = (name: string) => Number.parseFloat(style.getPropertyValue(name));
    return { left: pixels("--plot-left"), right: pixels("--plot-right") };
}

/** Steps of the axis of bytes. */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

const DECIMALS = Array.from({ length: 64 }, (_, index) => [1, 2, 5][index % 3]! * 10 ** (Math.floor(index / 3) - 3));

/** How long a click waits for a second one, ms. */
const DOUBLE_CLICK = 250;

/** Which part of the height shows what: its lowest and its highest place, from below. */
const PLACES = { faults: [0, 0.18], allocations: [0.23, 0.41], live: [0.47, 1] } as const;
type Curve = keyof typeof PLACES;

/** The range of a scale whose values from 0 to `most` lie in their place. */
function rangeOf(curve: Curve, most: number): [number, number] {
    const [low, high] = PLACES[curve];
    const height = Math.max(most, curve === "live" ? 1 : 1e-9) / (high - low);
    return [-low * height, (1 - low) * height];
}

/** As curves: rates per second. The last value holds until the end of its interval. */
function curvesOf({ start, interval, live, allocations, faults, resident }: Activity): uPlot.AlignedData {
    const times = Float64Array.from({ length: live.length + 1 }, (_, index) => (start + index * interval) / 1e9);
    const held = (of: ArrayLike<number> | null, scale: number) => (of ? Float64Array.from({ length: of.length + 1 }, (_, index) => of[Math.min(index, of.length - 1)]! * scale) : new Float64Array(live.length + 1));
    // What is not known is no part of a curve.
    const gaps = resident ? Array.from({ length: live.length + 1 }, (_, index) => resident[Math.min(index, live.length - 1)]!).map((value) => (Number.isNaN(value) ? null : value)) : new Array<null>(live.length + 1).fill(null);
    return [times, held(live, 1), held(allocations, 1e9 / interval), held(faults, 1e9 / interval), gaps] as unknown as uPlot.AlignedData;
}

/** Draws marks and regions, as far as there are rows for them, and what the curves are. */
function decorate(of: uPlot, activity: Activity, stack: Stack | null, axis: Axis, { rows, seesFaults, budget, whole }: Pick<Wishes, "rows" | "seesFaults" | "budget" | "whole">): void {
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
        // A cut-off name is drawn only if what is left of it can be read.
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
            // Regions beyond the budget have a color of their own and a line below, so that narrow ones stand out.
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
    const line = (at: number) => {
        const left = Math.round(x(at)) + 0.5;
        ctx.beginPath();
        ctx.moveTo(left, bbox.top);
        ctx.lineTo(left, bbox.top + bbox.height);
        ctx.stroke();
    };
    activity.marks.filter((one) => isSeen(one.at, one.at)).forEach(({ at }) => line(at));
    const peak = stack ? null : peakOf(whole());
    if (peak && isSeen(peak.at, peak.at)) {
        ctx.fillStyle = color("--text");
        ctx.beginPath();
        ctx.arc(x(peak.at), Math.max(bbox.top, of.valToPos(peak.bytes, "live", true)), 3 * scale, 0, 2 * Math.PI);
        ctx.fill();
    }
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

/** A span in a dashed frame, with its name. */
function drawBase(of: uPlot, { from, to }: Span, color: string): void {
    const { ctx, bbox } = of;
    const x = (ns: number) => Math.round(Math.min(bbox.left + bbox.width, Math.max(bbox.left, of.valToPos(ns / 1e9, "x", true))));
    const [left, right] = [x(from), x(to)];
    if (right - left < 1) return;
    ctx.save();
    ctx.strokeStyle = ctx.fillStyle = color;
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    ctx.strokeRect(left + 0.5, bbox.top + 0.5, right - left - 1, bbox.height - 1);
    ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    const margin = 4 * devicePixelRatio;
    if (ctx.measureText("before").width + 2 * margin < right - left) ctx.fillText("before", left + margin, bbox.top + margin);
    ctx.restore();
}

export interface Plot {
    of: uPlot;
    /** What the curves are of. */
    shown: Activity;
    /** The metric by function or type; null: live bytes are shown as a whole. */
    stack: Stack | null;
    /** The span before, which the selection is compared with. */
    base: Span | null;
    /** Shows a span. */
    see: (span: Span) => void;
}

/** Steps of the axis of bytes up to the highest value, which has a label of its own. */
function withMost(most: number, step: number): number[] {
    const steps = Array.from({ length: Math.max(0, Math.ceil(most / step - 0.4)) }, (_, index) => index * step);
    return [...steps, most];
}

interface Wishes {
    width: number;
    height: number;
    /** What is known of the whole run so far. */
    whole: () => Activity;
    /** Goes to a region. */
    enter: (region: Region, event: MouseEvent) => void;
    /** Called when another part is shown. */
    moved: (span: Span) => void;
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
    /** Goes to a layer of the stack. */
    pick: (layer: Layer, stack: Stack, event: MouseEvent) => void;
    read: (text: string) => void;
    /** How far numbers are off. */
    errors: () => Errors;
}

/** The curves. They know nothing of the page, so that a turn of the wheel draws them and nothing else. */
export function plotOf(holder: HTMLElement, first: Activity, wishes: Wishes): Plot {
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const font = "11px system-ui, sans-serif";
    const free = beside();
    const axis = { stroke: color("--soft"), font, grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1, size: 4 } };
    const positive = (_: uPlot, splits: number[]) => splits.map((value) => (value >= 0 ? value : null));
    let ticks: Axis = { ticks: [], labels: [], base: "" };
    let shown = first;
    let stack: Stack | null = null;
    let base: Span | null = null;
    let isZoom = false;
    let isDown = false;
    /** Where the button went down, and what goes to a layer. */
    let [pressed, picks] = [0, 0];
    const stepped = uPlot.paths.stepped!({ align: 1 });
    const series = (scale: Curve, stroke: string, fill: string): uPlot.Series => ({ scale, stroke: () => (scale === "live" && stack ? "transparent" : color(stroke)), fill: () => (scale === "live" && stack ? "transparent" : color(fill)), fillTo: 0, width: 1, points: { show: false }, paths: stepped });
    const scale = (curve: Curve): uPlot.Scale => ({ range: (_, __, most) => rangeOf(curve, curve === "live" && stack ? mostOf(stack, wishes.seen()) : Math.max(most ?? 0, 0)) });
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
            height: wishes.height,
            legend: { show: false },
            padding: [6 + wishes.rows * REGION, free.right, 0, 0],
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
                { ...axis, grid: { ...axis.grid, filter: positive }, ticks: { ...axis.ticks, filter: positive }, filter: positive, scale: "live", size: free.left, space: 22, incrs: () => (stack && stack.metric.unit !== "bytes" ? DECIMALS : POWERS), splits: (_, __, ___, most, step) => withMost(most, step), values: (_, values) => values.map((value) => (value === null ? "" : !stack ? bytes(value) : value === mostOf(stack, wishes.seen()) ? mostInWords(stack, wishes.seen(), wishes.errors()) : drawn(stack, value))) },
            ],
            series: [
                {},
                series("live", "--curve", "--curve-fill"),
                series("allocations", "--allocator", "--allocator"),
                series("faults", "--faults", "--faults"),
                { scale: "live", stroke: () => (stack ? "transparent" : color("--resident")), width: 1.5, dash: [5, 3], points: { show: false }, paths: stepped },
            ],
            hooks: {
                // Before the first drawing, there is no place yet for what a link selects.
                ready: [() => void wishes.mark()],
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
                drawSeries: [(of, index) => void (index === 1 && stack && drawStack(of, stack, wishes.seen(), color))],
                draw: [() => decorate(of, shown, stack, ticks, wishes), (of: uPlot): void => void (base && drawBase(of, base, color("--accent")))],
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
                        const layer = stack && wordsAt(stack, ns, layerAt(stack, ns, of.posToVal(of.cursor.top ?? -1, "live")), wishes.errors());
                        wishes.read(`at ${place}: ${layer ?? `${bytes(shown.live[index]!)} live${resident(index)}`}${rate(shown.allocations, "allocation")}${rate(shown.faults, "page fault")}${inside}${regions.length > 0 ? ` · ${regions.join(", ")}` : ""}`);
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
        get base() {
            return base;
        },
        set base(span: Span | null) {
            base = span;
            of.redraw(false);
        },
        get stack() {
            return stack;
        },
        set stack(found: Stack | null) {
            const divided = found && found.layers.length > 0 ? found : null;
            if (divided === stack) return;
            stack = divided;
            of.setData(curvesOf(shown), false);
            plot.see(wishes.seen());
        },
        see: (span) => {
            of.setScale("x", { min: span.from / 1e9, max: span.to / 1e9 });
            wishes.moved(span);
        },
    };
    /** The region that is drawn below the mouse. */
    const regionAt = (event: MouseEvent) => {
        const { left, top } = of.over.getBoundingClientRect();
        const row = wishes.rows - Math.ceil((top - event.clientY - 2) / REGION);
        const at = (pixel: number) => of.posToVal(event.clientX - left + pixel, "x") * 1e9;
        return event.clientY < top ? shown.regions.find((one) => one.row === row && one.from <= at(1) && at(-1) <= one.to) : undefined;
    };
    of.root.addEventListener("click", (event) => {
        const region = regionAt(event);
        if (region) wishes.enter(region, event);
    });
    of.over.addEventListener("mousedown", ({ clientX }) => void (pressed = clientX));
    of.over.addEventListener("dblclick", () => clearTimeout(picks));
    of.over.addEventListener("click", (event) => {
        const layer = stack && layerAt(stack, of.posToVal(event.offsetX, "x") * 1e9, of.posToVal(event.offsetY, "live"));
        // A drag ends with a click, too, and a double click begins with one.
        if (!stack || !layer || Math.abs(event.clientX - pressed) > 2) return;
        const picked = stack;
        picks = window.setTimeout(() => wishes.pick(layer, picked, event), DOUBLE_CLICK);
    });
    of.root.addEventListener("mousemove", (event) => void (of.root.style.cursor = regionAt(event) ? "pointer" : ""));
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
