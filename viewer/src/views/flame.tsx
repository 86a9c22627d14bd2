import { useMemo, useReducer } from "preact/hooks";
import { useShown, useTree } from "../context";
import { columnOf, varianceOf } from "../model/answer";
import type { Box } from "../model/flame_layout";
import { inRow, percent } from "../model/format";
import { byFunction } from "../model/functions";
import { modulesOf } from "../model/modules";
import { fileName } from "../model/names";
import type { TreeItem } from "../model/tree";
import { DirectionChoice, Empty, LinesChoice, LiveChoice, MetricChoice, Pending, SharesOf } from "../widgets";
import { FlameGraph, LEAST, type Colors } from "./flame_graph";

/** A tree that is not there yet. */
const NOTHING: TreeItem = { key: "", frame: null, others: 0, value: 0, own: 0, hasMore: false, children: () => [], load: () => Promise.resolve(), valueOf: () => null };

/** Modules with a color of their own. */
const COLORED = 6;

const MODULES = Object.fromEntries(Array.from({ length: COLORED }, (_, index) => [`module-${index}`, `--module-${index}`]));

export function Flame() {
    const { recording, state, go, metric, source } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const loaded = useTree({ metric: main, columns: [main], reversed: state.reversed, through: "", by: "", least: LEAST });
    const root = useMemo(() => (loaded.value ? (state.byLine ? loaded.value : byFunction(loaded.value)) : NOTHING), [loaded.value, state.byLine]);
    const modules = useMemo(() => modulesOf(root).slice(0, COLORED), [root]);
    const isByMetric = state.color === "metric";
    const paint = useMemo(() => {
        const numbers = new Map(modules.map((module, index) => [module, index]));
        return ({ frame }: TreeItem, colors: Colors) => {
            const number = frame && numbers.get(frame.module);
            return colors[isByMetric || number == null ? "box" : `module-${number}`]!;
        };
    }, [modules, isByMetric]);
    const shown = (item: TreeItem) => inRow(item.value, item.valueOf(varianceOf(main)) ?? 0, main.unit);
    const [grown, redraw] = useReducer((n: number) => n + 1, 0);
    const legend = (boxes: Box[]) => {
        const seen = new Set(boxes.map(({ item }) => item.frame?.module));
        const isOther = boxes.some(({ item }) => item.frame && !modules.includes(item.frame.module));
        return (
            <p class="legends" aria-label="colors">
                {modules.map((module, index) => seen.has(module) && <span key={module} class="legend" title={module}><span class={`key module-${index}`} /><bdi>{fileName(module)}</bdi></span>)}
                {isOther && <span class="legend"><span class="key module-rest" />other modules</span>}
            </p>
        );
    };
    return (
        <div class="fill">
            <FlameGraph
                root={root}
                unit={main.unit}
                title={main.title}
                search={state.search}
                grown={grown}
                colors={{ box: isByMetric && metric.color ? `--flame-${metric.color}` : "--flame", ...MODULES }}
                paint={paint}
                tell={(item) => `${shown(item)}, ${percent(item.value, root.value)} of ${shown(root)} ${main.title}`}
                columns={[columnOf(main)]}
                cells={(item) => [item.value]}
                {...(source.asks ? { load: (item: TreeItem) => item.load(LEAST).then(() => redraw(0)) } : {})}
                {...(isByMetric ? {} : { legend })}
                tools={(search) => (
                    <>
                        <MetricChoice />
                        <LiveChoice />
                        <DirectionChoice />
                        <LinesChoice />
                        <label class="choice">
                            color
                            <select value={state.color} onChange={(event) => go({ color: event.currentTarget.value })}>
                                <option value="">module</option>
                                <option value="metric">metric</option>
                            </select>
                        </label>
                        {search}
                        <SharesOf metric={main} />
                    </>
                )}
                empty={
                    root === NOTHING ? (
                        <Pending of={loaded}>Adding up what calls what …</Pending>
                    ) : (
                        <Empty>No call path has any {main.title} in this selection. Press m for the next metric, Esc for the whole run.</Empty>
                    )
                }
            />
        </div>
    );
}
