import { useReducer } from "preact/hooks";
import { useShown, useTree } from "../context";
import { columnOf, varianceOf } from "../model/answer";
import { inRow, percent } from "../model/format";
import type { TreeItem } from "../model/tree";
import { DirectionChoice, Empty, MetricChoice, Pending, Search, SharesOf } from "../widgets";
import { FlameGraph, type Colors } from "./flame_graph";

/** A tree that is not there yet. */
const NOTHING: TreeItem = { key: "", frame: null, others: 0, value: 0, own: 0, hasMore: false, children: () => [], load: () => Promise.resolve(), valueOf: () => null };

/** The share of the whole width that the narrowest frame of a wide screen has. */
const LEAST = 1 / 4000;

const paint = (_: TreeItem, colors: Colors) => colors["box"]!;

export function Flame() {
    const { recording, state, metric, source } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const loaded = useTree({ metric: main, columns: [main], reversed: state.reversed, through: "", by: "", least: LEAST });
    const root = loaded.value ?? NOTHING;
    const shown = (item: TreeItem) => inRow(item.value, item.valueOf(varianceOf(main)) ?? 0, main.unit);
    const [grown, redraw] = useReducer((n: number) => n + 1, 0);
    return (
        <div class="fill">
            <FlameGraph
                root={root}
                unit={main.unit}
                title={main.title}
                search={state.search}
                grown={grown}
                colors={{ box: metric.color ? `--flame-${metric.color}` : "--flame" }}
                paint={paint}
                tell={(item) => `${shown(item)}, ${percent(item.value, root.value)} of ${shown(root)} ${main.title}`}
                columns={[columnOf(main)]}
                cells={(item) => [item.value]}
                // What was too narrow to be seen may be wide now.
                into={(item) => source.asks && void item.load(LEAST).then(() => redraw(0))}
                empty={
                    root === NOTHING ? (
                        <Pending of={loaded}>Adding up what calls what …</Pending>
                    ) : (
                        <Empty>No call path has any {main.title} in this selection. Press m for the next metric, Esc for the whole run.</Empty>
                    )
                }
            >
                <MetricChoice />
                <DirectionChoice />
                <Search />
                <SharesOf metric={main} />
            </FlameGraph>
        </div>
    );
}
