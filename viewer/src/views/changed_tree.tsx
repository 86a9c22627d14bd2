import { useReducer } from "preact/hooks";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import type { Metric } from "../model/answer";
import { isSearched } from "../model/data_source";
import { changeInWords, changeOf, together, type Changed } from "../model/changed_tree";
import { baseOf, selectionOf } from "../model/state";
import { DirectionChoice, Empty, Pending } from "../widgets";
import { FlameGraph, LEAST } from "./flame_graph";
import type { Colors } from "./frame_canvas";

/** More is orange, less is blue, and the stronger the larger the share that changed is. */
function paint(item: Changed, colors: Colors): string {
    const change = changeOf(item);
    const share = Math.round(Math.min(1, Math.abs(change)) * 10) / 10;
    return share < 0.05 ? colors["same"]! : mixed(colors[change > 0 ? "more" : "less"]!, colors["same"]!, 0.2 + 0.8 * share);
}

/** `#rrggbb` colors, mixed. */
function mixed(one: string, other: string, share: number): string {
    const channels = (color: string) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
    const [a, b] = [channels(one), channels(other)];
    return `rgb(${a.map((value, index) => Math.round(value * share + b[index]! * (1 - share))).join(" ")})`;
}

interface Props {
    metric: Metric;
    children: preact.ComponentChildren;
}

/** One flame graph of what was before and what is after. */
export function Difference({ metric, children }: Props) {
    const { source, state } = useShown();
    const selection = selectionOf(state);
    const part = { metric, columns: [], reversed: state.reversed, through: "", by: "", least: LEAST, search: state.search };
    const key = JSON.stringify([selection, state.base, metric.name, state.reversed, isSearched(part)]);
    const loaded = useLoaded(key, (signal) => source.difference(selection, baseOf(state.base), part, signal));
    const root = loaded.value;
    const [grown, redraw] = useReducer((n: number) => n + 1, 0);
    if (!root) return <><div class="tools">{children}</div><Pending of={loaded}>Adding up what changed …</Pending></>;
    return (
        <FlameGraph
            root={root}
            together={(items) => changeInWords(together(items), metric)}
            title={`the difference of ${metric.title}`}
            search={state.search}
            grown={grown}
            colors={{ same: "--flame", more: "--flame-more", less: "--flame-less" }}
            paint={paint}
            tell={(item) => changeInWords(item, metric)}
            columns={["before", "after", "difference"].map((title) => ({ title, unit: metric.unit }))}
            cells={({ before, after }) => [before, after, after - before]}
            load={(item) => item.load(LEAST).then(() => redraw(0))}
            empty={<Empty>No call path has any {metric.title}, before or after.</Empty>}
            tools={(search) => (
                <>
                    {children}
                    <DirectionChoice />
                    {search}
                    <span class="legend"><span class="key less-now" /> less, gone</span>
                    <span class="legend"><span class="key same-now" /> the same</span>
                    <span class="legend"><span class="key more-now" /> more, new</span>
                </>
            )}
        />
    );
}
