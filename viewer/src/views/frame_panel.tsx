// Beside a view: what the chosen function costs, when, by whom, in which sizes, and its source.

import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { Code, useWords } from "../code";
import { useShown, useTree } from "../context";
import { Door } from "../door";
import { colorOf, useLoaded, useSize } from "../hooks";
import { shownIn, titleInRows, totalOf, wholeOf, valueOf, type Frame, type Metric, type Numbers, type Profile } from "../model/answer";
import { bytes, inRow, percent, spelledOut } from "../model/format";
import { areOf, oneFunction } from "../model/names";
import { byFunction } from "../model/functions";
import type { Estimated } from "../model/packs";
import { rowsOf } from "../model/patterns";
import { costOf } from "../model/source_file";
import { mostInWords, scaleOf, stackOf, type Stack } from "../model/stacked";
import { selectionOf } from "../model/state";
import type { TreeItem } from "../model/tree";
import { through, toMetric } from "../model/ways";
import { Chart } from "./chart";
import { toSizes } from "../model/sizes";
import { AtLeast, Define, EditorLink, Newer, Pending, PlaceLink, Tailed } from "../widgets";

/** Callers that are listed. */
const CALLERS = 6;

/** Lines of source above and below the function's line. */
const AROUND = 5;

export function FramePanel({ frame }: { frame: Frame | null }) {
    const { go, metric, recording } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    return (
        <aside class="panel" aria-label="the chosen function">
            <div class="tools">
                <h2>{frame ? <bdi>{frame.function}</bdi> : "No function is chosen"}</h2>
                <button onClick={() => go({ panel: false })} aria-label="close the panel" title="i">×</button>
            </div>
            {frame ? <About key={oneFunction(frame)} frame={frame} main={main} /> : <p class="soft">Choose one in the call tree, the flame graph, Lines or Functions, with a click or the arrow keys.</p>}
        </aside>
    );
}

/** The call sites that a function leads. */
function sitesOf(profile: Profile, name: string) {
    const isOfIt = areOf(name);
    return profile.sites.filter(({ frame }) => frame && isOfIt(frame));
}

/** The sums of some call sites. */
const sumsOf = (profile: Profile, sites: number[]): Numbers =>
    new Map([...profile.siteNumbers].map(([name, column]) => [name, Float64Array.of(sites.reduce((sum, site) => sum + column[site]!, 0))]));

function About({ frame, main }: { frame: Frame; main: Metric }) {
    const { profile } = useShown();
    const name = oneFunction(frame);
    const sites = useMemo(() => sitesOf(profile, name), [profile, name]);
    const costliest = useMemo(() => sites.toSorted((a, b) => (valueOf(profile.siteNumbers, main, b.index) ?? 0) - (valueOf(profile.siteNumbers, main, a.index) ?? 0))[0]?.frame, [sites, main]);
    const line = frame.line || costliest?.line || 0;
    return (
        <>
            {frame.file && <p><PlaceLink file={frame.file} line={line} /> <EditorLink file={frame.file} line={line} /></p>}
            <p class="soft"><bdi class="code">{frame.module}</bdi></p>
            <OverTime frame={frame} main={main} />
            <Costs frame={frame} main={main} sites={sites.map(({ index }) => index)} />
            {frame.file && <SourceAround file={frame.file} line={line} metric={main} />}
            <Sizes sites={sites.map(({ index }) => index)} />
        </>
    );
}

/** All metrics, of the function itself and with all that it calls; and who calls it. */
function Costs({ frame, main, sites }: { frame: Frame; main: Metric; sites: number[] }) {
    const { recording, profile, errors, state, go } = useShown();
    const { all: isAll } = state;
    const metrics = useMemo(() => {
        const known = recording.metrics.filter((one) => one.known && totalOf(profile.totals, one));
        const usual = shownIn(recording.metrics, "tree");
        return isAll ? known : known.filter((one) => one === main || usual.includes(one));
    }, [recording, profile, main, isAll]);
    const tree = useTree({ metric: main, columns: metrics, reversed: true, through: oneFunction(frame), by: "", least: 0.002 });
    const root = useMemo(() => tree.value && byFunction(tree.value), [tree.value]);
    const own = useMemo(() => sumsOf(profile, sites), [profile, sites.join()]);
    const shown = (item: TreeItem) => inRow(errors.around(main, item.value, (one) => item.valueOf(one)), main.unit);
    const callers = root?.children()[0]?.children().slice(0, CALLERS) ?? [];
    return (
        <>
            <table class="costs-of">
                <thead>
                    <tr><th scope="col">metric</th><th scope="col">itself</th><th scope="col">with what it calls</th></tr>
                </thead>
                <tbody>
                    {metrics.map((one) => {
                        const [self, total] = [errors.of(one, sites.length > 0 ? (one) => valueOf(own, one, 0) : () => 0), root && errors.of(one, (one) => root.valueOf(one))];
                        const whole = wholeOf(profile, one)?.value;
                        const cell = (of: Estimated | null) => (
                            <td title={of === null ? "not known" : `${spelledOut(of, one.unit)}${whole && !one.over ? `, ${percent(of.value, whole) || "0 %"} of all` : ""}`}>{of === null ? "–" : inRow(of, one.unit)}</td>
                        );
                        return (
                            <tr key={one.name} class={one === main ? "main" : ""}>
                                <th scope="row"><Door to={toMetric(one.name)}>{titleInRows(one)}</Door> <Define name={one.name} /></th>
                                {cell(self)}
                                {cell(total)}
                            </tr>
                        );
                    })}
                </tbody>
            </table>
            <AtLeast metric={main} />
            <p><button class="link" onClick={() => go({ all: !isAll })}>{isAll ? "fewer metrics" : "all metrics"}</button></p>
            <h3>Called from, by {main.title}</h3>
            {!root ? (
                <Pending of={tree}>Adding up who calls it …</Pending>
            ) : callers.length === 0 ? (
                <p class="soft">No function calls it.</p>
            ) : (
                <ul class="callers">
                    {callers.map((caller) => (
                        <li key={caller.key}>
                            <span class="number">{shown(caller)}</span>
                            <span class="soft" title={`of ${shown(root)} with what it calls`}>{percent(caller.value, root.value)}</span>
                            {caller.frame ? <Door to={through(caller.frame)} title={caller.frame.full}><Tailed kind="code" text={caller.frame.function} /></Door> : <span class="soft">others</span>}
                        </li>
                    ))}
                </ul>
            )}
        </>
    );
}

/** The metric over time, of the function and all that it calls. */
function OverTime({ frame, main }: { frame: Frame; main: Metric }) {
    const { source, state, recording, errors } = useShown();
    const name = oneFunction(frame);
    const selection = selectionOf(state);
    const { from, to } = state;
    const span = from === null && to === null ? null : { from: from ?? 0, to: to ?? recording.timeline.end_ns };
    const loaded = useLoaded(source.asks ? JSON.stringify([selection, main.name, name]) : null, async (signal) => stackOf(await source.stacked(selection, "function", main, span, signal, name), main, "function", new Map()));
    const stack = loaded.value;
    if (!source.asks) return null;
    return (
        <figure class="chart">
            <figcaption>{main.title} over time, with what it calls{stack?.why === "" && stack.layers.length > 0 && `: ${mostInWords(stack, { from: 0, to: Infinity }, errors)} at most`}</figcaption>
            {!stack ? <Pending of={loaded}>Adding up …</Pending> : stack.why ? <p class="soft">{stack.why}</p> : stack.layers.length > 0 && <Sparkline stack={stack} />}
        </figure>
    );
}

function Sparkline({ stack }: { stack: Stack }) {
    const { theme } = useShown();
    const box = useRef<HTMLDivElement>(null);
    const { width } = useSize(box);
    useEffect(() => {
        if (!box.current || width === 0) return;
        const values = Array.from(stack.layers.at(-1)!.top, (value) => value * scaleOf(stack));
        const times = values.map((_, at) => (stack.start + at * stack.interval) / 1e9);
        const plot = new uPlot(
            {
                width,
                height: 56,
                legend: { show: false },
                cursor: { show: false },
                scales: { x: { time: false }, y: { range: (_, __, most) => [0, most || 1] } },
                axes: [{ show: false }, { show: false }],
                series: [{}, { stroke: colorOf("--curve"), fill: colorOf("--curve-fill"), width: 1, points: { show: false }, paths: uPlot.paths.stepped!({ align: 1 }) }],
            },
            [times, values],
            box.current,
        );
        return () => plot.destroy();
    }, [stack, width, theme]);
    return <div ref={box} class="sparkline" />;
}

/** Sizes of the blocks that the function allocates itself. */
function Sizes({ sites }: { sites: number[] }) {
    const { source, state, profile } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(sites.length > 0 ? JSON.stringify(selection) : null, (signal) => source.patterns(selection, signal));
    const bins = useMemo(() => {
        const all = loaded.value && rowsOf(loaded.value, profile.sites.length);
        return all ? sites.flatMap((site) => all.sizes[site] ?? []) : null;
    }, [loaded.value, sites.join()]);
    if (sites.length === 0) return <p class="soft">The function allocates nothing itself.</p>;
    return bins ? <Chart title="size of its own blocks, at most 3.1 % off" bins={bins} show={(value) => bytes(value)} to={(bin) => toSizes(bin, state.sizes)} /> : <Pending of={loaded}>Adding up sizes …</Pending>;
}

/** The lines around one, and what each costs of itself. */
function SourceAround({ file, line, metric }: { file: string; line: number; metric: Metric }) {
    const { source, state, errors } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(JSON.stringify([selection, file]), (signal) => source.file(selection, file, signal));
    const found = loaded.value;
    const words = useWords(file, found?.lines ?? null);
    if (!found) return <Pending of={loaded}>Reading the source …</Pending>;
    if (!found.lines) return <p class="soft">{found.why}</p>;
    const shown = found.lines.map((_, at) => at + 1).slice(Math.max(0, line - 1 - AROUND), line + AROUND);
    return (
        <>
            <Newer of={found} />
            <ol class="around" tabIndex={0} aria-label={`source, by ${metric.title}`}>
                {shown.map((number) => {
                    const cost = errors.of(metric, (one) => costOf(found.own, one, number));
                    return (
                        <li key={number} class={number === line ? "chosen" : ""}>
                            <span class="soft">{number}</span>
                            <span class="number">{cost?.value ? inRow(cost, metric.unit) : ""}</span>
                            <Code words={words(number)} />
                        </li>
                    );
                })}
            </ol>
        </>
    );
}
