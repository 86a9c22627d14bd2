import { useCallback, useMemo } from "preact/hooks";
import { useShown } from "../context";
import { Door } from "../door";
import { useLoaded } from "../hooks";
import { idOf } from "../model/data_source";
import { counted, time } from "../model/format";
import { placed, stackChartOf, threadName, type Bar, type StackChart as Chart } from "../model/stack_chart";
import { selectionOf } from "../model/state";
import { shareInWords } from "../model/tree";
import { axisOf, timeAt } from "../model/time_axis";
import { toMember, toSpan } from "../model/ways";
import { Empty, LinesChoice, MetricChoice, OrderChoice, Pending } from "../widgets";
import { FrameCanvas } from "./frame_canvas";
import { ColorChoice, useModuleColors } from "./module_colors";

const TICKS = 8;
/** Behind this share of the width, a label of the axis has no room. */
const ROOM = 0.92;

/** The call stacks of a thread in the order of time. */
export function StackChart() {
    const { metric, recording, source, state } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const selection = selectionOf(state);
    const key = JSON.stringify([selection, main.name, state.byLine]);
    const loaded = useLoaded(source.asks ? key : null, async (signal) => {
        const pack = await source.stackChart(selection, main, state.byLine, signal);
        return { chart: stackChartOf(pack, main, recording.metrics), why: pack.head.why };
    });
    const tools = (
        <>
            <MetricChoice />
            <OrderChoice />
            <LinesChoice />
        </>
    );
    const found = loaded.value;
    if (found?.chart) return <Drawn chart={found.chart} tools={tools} />;
    return (
        <div class="fill">
            <div class="tools">{tools}</div>
            {!source.asks ? (
                <Empty>This page does not hold call stacks in the order of time. Open the recording with memtoll view to see them.</Empty>
            ) : !found ? (
                <Pending of={loaded}>Reading call stacks …</Pending>
            ) : found.why ? (
                <Empty>{found.why} Press m for the next metric, or choose <Door to={{ metric: "bytes", order: "" }}>bytes</Door>.</Empty>
            ) : (
                <Empty>No thread has any {main.title} in this selection. Press m for the next metric, Esc for the whole run.</Empty>
            )}
        </div>
    );
}

/** `each 1.2 ms`, or how long the shortest and the longest one are. */
function lengthOf({ lengths: [least, most] }: Chart): string {
    return time(least) === time(most) ? `of ${time(least)}` : `of ${time(least)} to ${time(most)}`;
}

function Drawn({ chart, tools }: { chart: Chart; tools: preact.ComponentChildren }) {
    const { metric, recording, state, go, errors } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const { root, thread, others } = chart;
    const { isByMetric, paint, colors, legend } = useModuleColors(root, metric);
    const place = useCallback((width: number) => placed(chart, width), [chart]);
    const together = (bars: Bar[]) => shareInWords(bars, root, main, errors);
    const near = (root.to - root.from) / 1000;
    const axis = useMemo(() => axisOf(root.from, root.to, TICKS), [chart]);
    const share = (ns: number) => (ns - root.from) / Math.max(1, root.to - root.from);
    return (
        <div class="fill">
            <FrameCanvas
                root={root}
                name="stack chart"
                together={together}
                title={main.title}
                search={state.search}
                colors={colors}
                paint={paint}
                tell={(bar) => `${together([bar])} ${main.title}, ${timeAt(bar.from, near)} to ${timeAt(bar.to, near)}`}
                columns={[{ title: "from", unit: "ns" }, { title: "to", unit: "ns" }, { title: main.title, unit: main.unit }]}
                cells={(bar) => [bar.from, bar.to, bar.value]}
                {...(isByMetric ? {} : { legend })}
                place={place}
                into={(bar) => go(toSpan(bar.from, bar.to))}
                outOf={() => go({ from: null, to: null })}
                all={{ to: { from: null, to: null }, isShown: state.from === null && state.to === null }}
                hint="Click a frame to select the time in which it is shown; Backspace shows the whole run again."
                axis={
                    <div class="axis" aria-hidden="true">
                        {axis.ticks.map((tick, index) => share(tick) < ROOM && <span key={tick} style={{ left: `${share(tick) * 100}%` }}>{axis.labels[index]}</span>)}
                    </div>
                }
                tools={(search) => (
                    <>
                        {tools}
                        <ColorChoice />
                        {search}
                        <span class="soft">
                            {counted(chart.count, "column")} {lengthOf(chart)}: the calls with most {main.title} in each, drawn through gaps that they surround.
                            {others > 0 && <> Of <Door to={{ ...toMember(idOf(recording, thread), thread.tid), view: "flame" }}>{threadName(thread)}</Door>, which has most; <Door to={{ view: "threads" }}>{counted(others, "other thread")}</Door> with some.</>}
                        </span>
                    </>
                )}
                empty={null}
            />
        </div>
    );
}
