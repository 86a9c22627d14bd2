import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, columnFor, Edge, nameColumn, notHidden, useColumns } from "../columns";
import { useShown } from "../context";
import { Door } from "../door";
import { FrameButtons, useInHand } from "../frame_in_hand";
import { useLoaded } from "../hooks";
import { columnOf, shownIn, titleInRows, totalOf, valueOf, wholeOf, type Metric } from "../model/answer";
import { counted } from "../model/format";
import { PARTS, type FunctionRow, type Part } from "../model/function_costs";
import { frameName, oneFunction } from "../model/names";
import { orderOf, sorted } from "../model/order";
import { selectionOf } from "../model/state";
import { matcher } from "../model/search";
import { Cell, Define, Empty, LinesChoice, LiveChoice, MetricChoice, Name, Pending, Search, SharesOf, SortHead } from "../widgets";
import { Table } from "../table";
import { Branches } from "./tree";

const nameOf = (row: FunctionRow) => (row.frame ? frameName(row.frame) : row.others > 0 ? counted(row.others, "other function") : "(no stack)");

const HELP: Record<Part, string> = {
    self: "Of calls that the function makes itself.",
    total: "With all that it calls. A function that calls itself counts once.",
};

/** What each function costs, of itself and with all that it calls; below, who calls the chosen one, and what it calls. */
export function Functions() {
    const { source, profile, recording, state, metric, setCopy } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(JSON.stringify(selection), (signal) => source.functions(selection, signal));
    const found = loaded.value;
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const metrics = useMemo(() => [metric, ...shownIn(recording.metrics, "tree").filter((one) => one !== metric && totalOf(profile.totals, one))], [metric, recording, profile]);
    const columns = useMemo(() => notHidden(metrics, metric, state.columns), [metrics, metric, state.columns]);
    const fitted = useColumns([nameColumn("function"), ...metrics.map((one) => columnFor(one, one === metric, PARTS.length))]);
    const order = orderOf(state.order, PARTS, "total");
    const valueIn = (row: FunctionRow, of: Metric, part: Part) => (found ? valueOf(found.numbers[part], of, row.at) : null);
    const rows = useMemo(() => {
        const matches = matcher(state.search);
        const shown = (found?.rows ?? []).filter((row) => !matches || matches(row.frame, nameOf(row)));
        return sorted(shown, order, (row) => valueIn(row, metric, order.column as Part));
    }, [found, state.search, state.order, metric]);
    const chosen = state.through === "" ? -1 : rows.findIndex((row) => row.frame && oneFunction(row.frame) === state.through);
    useEffect(() => {
        return setCopy(() => ({
            heads: ["function", ...columns.flatMap((one) => PARTS.map((part) => ({ ...columnOf(one), title: `${one.name} ${part}` })))],
            rows: rows.map((row) => [nameOf(row), ...columns.flatMap((one) => PARTS.map((part) => valueIn(row, one, part)))]),
        }));
    }, [rows, columns, state.through]);
    const most = useMemo(() => {
        const largest = (one: Metric) => rows.reduce((most, row) => Math.max(most, valueIn(row, one, "total") ?? 0), 0);
        return new Map(metrics.map((one) => [one, largest(one)]));
    }, [rows, metrics]);
    const row = rows[chosen];
    // Of a function that allocates itself, the line that has most of the metric leads.
    const inHand = row?.frame && { ...row.frame, line: valueIn(row, metric, "self") ? 0 : row.frame.line };
    const hand = useInHand(inHand);
    return (
        <div class="fill">
            <div class="tools">
                <MetricChoice />
                <LiveChoice />
                {rows[chosen] && <LinesChoice />}
                <ColumnChoice of={fitted} />
                <Search />
                <FrameButtons frame={inHand} />
                <SharesOf metric={metric} />
                {found && <span class="soft">{counted(found.rows.length, "row")}. A row shows who calls the function, and what it calls.</span>}
            </div>
            {!found ? (
                <Pending of={loaded}>Adding up functions …</Pending>
            ) : rows.length === 0 ? (
                <Empty>{found.rows.length === 0 ? "No call in this selection. Press Esc for the whole run." : "No function matches. Empty the search field to see all."}</Empty>
            ) : (
                <Table
                    label={`functions, ${order.isUp ? "smallest" : "largest"} ${metric.title} ${order.column} first`}
                    dense
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">function<Edge column="name" /></div>
                            {metrics.map((one) => (
                                <div key={one.name} role="columnheader" aria-colspan={2} class="pair" title={one.help}>
                                    <Door to={{ metric: one.name }} tabIndex={-1}>{titleInRows(one)}</Door>
                                    <Define name={one.name} inHead />
                                    <Edge column={one.name} />
                                </div>
                            ))}
                        </>
                    }
                    first={
                        <>
                            <div role="cell" />
                            {metrics.flatMap((one) => PARTS.map((part) => (
                                <SortHead key={`${one.name} ${part}`} column={part} order={one === metric ? order : null} metric={one} help={HELP[part]}>{part}</SortHead>
                            )))}
                        </>
                    }
                    rows={rows}
                    keyOf={(row) => row.at}
                    chosen={chosen}
                    pressed={(event) => void hand.pressed(event)}
                    menu={(row, event) => hand.menu(event, row.frame)}
                    cells={(row) => (
                        <>
                            <div role="cell" class="what">
                                {row.frame ? <Door to={{ through: row === rows[chosen] ? "" : oneFunction(row.frame) }}><Name frame={{ ...row.frame, line: 0 }} /></Door> : <span class="soft">{nameOf(row)}</span>}
                            </div>
                            {metrics.flatMap((one) => PARTS.map((part) => (
                                <Cell key={`${one.name} ${part}`} metric={one} has={(of) => valueIn(row, of, part)} most={most.get(one)!} total={wholeOf(profile, one)?.value ?? null} isMain={false} />
                            )))}
                        </>
                    )}
                />
            )}
            {rows[chosen] && (
                <>
                    <Branches key="callers" slot={0} main={main} reversed through={state.through} by="" title="called from" />
                    <Branches key="callees" slot={1} main={main} reversed={false} through={state.through} by="" title="calls" />
                </>
            )}
        </div>
    );
}
