import { useMemo, useReducer } from "preact/hooks";
import { useShown, useTree } from "../context";
import { columnOf, titleInRows } from "../model/answer";
import { byFunction } from "../model/functions";
import { shareInWords, type TreeItem } from "../model/tree";
import { AtLeast, DirectionChoice, Empty, LinesChoice, LiveChoice, MetricChoice, OrderChoice, Pending, SharesOf } from "../widgets";
import { FlameGraph, LEAST } from "./flame_graph";
import { ColorChoice, useModuleColors } from "./module_colors";
import { StackChart } from "./stack_chart";

/** A tree that is not there yet. */
const NOTHING: TreeItem = { key: "", frame: null, others: 0, value: 0, own: 0, hasMore: false, children: () => [], load: () => Promise.resolve(), valueOf: () => null };

export function Flame() {
    const { state } = useShown();
    return state.inOrder ? <StackChart /> : <Merged />;
}

/** Each function once below its callers. */
function Merged() {
    const { recording, state, metric, source, errors } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const loaded = useTree({ metric: main, columns: [main], reversed: state.reversed, through: "", by: "", least: LEAST, search: state.search });
    const root = useMemo(() => (loaded.value ? (state.byLine ? loaded.value : byFunction(loaded.value)) : NOTHING), [loaded.value, state.byLine]);
    const { isByMetric, paint, colors, legend } = useModuleColors(root, metric);
    const together = (items: TreeItem[]) => shareInWords(items, root, main, errors);
    const [grown, redraw] = useReducer((n: number) => n + 1, 0);
    return (
        <div class="fill">
            <FlameGraph
                root={root}
                together={together}
                title={main.title}
                search={state.search}
                grown={grown}
                colors={colors}
                paint={paint}
                tell={(item) => `${together([item])} ${titleInRows(main)}`}
                columns={[columnOf(main)]}
                cells={(item) => [item.value]}
                {...(source.asks ? { load: (item: TreeItem) => item.load(LEAST).then(() => redraw(0)) } : {})}
                {...(isByMetric ? {} : { legend })}
                tools={(search) => (
                    <>
                        <MetricChoice />
                        <OrderChoice />
                        <LiveChoice />
                        <DirectionChoice />
                        <LinesChoice />
                        <ColorChoice />
                        {search}
                        <SharesOf metric={main} />
                        {state.reversed && <AtLeast metric={main} />}
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
