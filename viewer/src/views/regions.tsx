import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, useColumns } from "../columns";
import { useShown } from "../context";
import { Door } from "../door";
import { useLoaded } from "../hooks";
import { namingColumn, plainColumn } from "../model/columns";
import { activityOf, overBudget, type Span } from "../model/activity";
import { count, counted, exact, time } from "../model/format";
import { orderOf, sorted } from "../model/order";
import type { RegionSpread } from "../model/packs";
import { matcher } from "../model/search";
import { toSpan } from "../model/ways";
import { timeAt } from "../model/time_axis";
import { Empty, Pending, Search, SortHead } from "../widgets";
import { Table } from "../table";

type Run = Span & { name: string };

const SPREADS: [column: keyof RegionSpread, title: string, help: string][] = [
    ["count", "runs", "How often it ran."],
    ["median_ns", "median", "Half of the runs take no longer."],
    ["p99_ns", "p99", "One run in a hundred takes longer."],
    ["worst_ns", "worst", "The longest run."],
    ["total_ns", "all", "All runs together."],
];

/** How long regions take: all of each name, and their runs. A row selects the span of a run. */
export function Regions() {
    const { source, state, setCopy } = useShown();
    const { process, thread, budget } = state;
    const loaded = useLoaded(JSON.stringify([process, thread]), async () => activityOf(await source.activity(null, { process, thread })));
    const found = loaded.value;
    const spreadOrder = orderOf(state.order, SPREADS.map(([column]) => column), "worst_ns");
    const runOrder = orderOf(state.order, ["name", "begins", "takes"], "takes");
    const [spreads, runs] = useMemo(() => {
        const matches = matcher(state.search);
        const isShown = ({ name }: { name: string }) => !matches || matches(null, name);
        const value = (run: Run) => ({ name: run.name, begins: run.from, takes: run.to - run.from })[runOrder.column]!;
        return [sorted((found?.spreads ?? []).filter(isShown), spreadOrder, (one) => one[spreadOrder.column as keyof RegionSpread]), sorted((found?.runs ?? []).filter(isShown), runOrder, value)] as const;
    }, [found, state.search, state.order]);
    useEffect(() => {
        return setCopy(() => ({ heads: ["region", { title: "begins", unit: "ns" }, { title: "takes", unit: "ns" }], rows: runs.map((run) => [run.name, run.from, run.to - run.from]) }));
    }, [runs]);
    const fitted = useColumns([namingColumn("region", 200), ...SPREADS.map(([column, title]) => plainColumn(title, 110, column))]);
    if (!found) return <Pending of={loaded}>Reading regions …</Pending>;
    if (found.regionCount === 0) return <Empty>No thread set a region here. memtoll_region_begin and memtoll_region_end of memtoll.h do.</Empty>;
    const longest = (name: string) => found.runs.filter((run) => run.name === name).reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
    const known = new Set(found.runs.map((run) => run.name));
    const left = found.regionCount - found.runs.length;
    return (
        <div class="fill">
            <div class="tools">
                <span>
                    {counted(found.regionCount, "run")} of {counted(found.spreads.length, "region")}
                    {budget > 0 && `, ${overBudget(found, budget)} the budget of ${time(budget)}`}
                </span>
                <Search />
                <ColumnChoice of={fitted} />
                <span class="soft">A row selects its span of time{left > 0 && `; the ${count(found.runs.length)} longest runs are listed`}.{(state.from !== null || state.to !== null) && " All are listed, whatever span is selected."}</span>
            </div>
            <div class="few" style={{ "--rows": Math.min(6, spreads.length) }}>
                <Table
                    label="regions"
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">region</div>
                            {SPREADS.map(([column, title, help]) => (
                                <SortHead key={column} column={column} order={spreadOrder} help={help}>{title}</SortHead>
                            ))}
                        </>
                    }
                    rows={spreads}
                    keyOf={(one) => one.name}
                    cells={(one) => (
                        <>
                            <div role="cell" class="what">
                                {known.has(one.name) ? <Door to={toSpan(longest(one.name).from, longest(one.name).to)} title="Select the longest run"><bdi>{one.name}</bdi></Door> : <bdi>{one.name}</bdi>}
                            </div>
                            {SPREADS.map(([column]) => (
                                <div key={column} role="cell" class="number" title={exact(Number(one[column]), column === "count" ? "count" : "ns")}>
                                    <span class="text">{column === "count" ? count(one.count) : time(Number(one[column]))}</span>
                                </div>
                            ))}
                        </>
                    )}
                />
            </div>
            <Table
                label="runs of regions"
                columns="minmax(200px, 5fr) minmax(130px, 1fr) minmax(110px, 1fr) minmax(140px, 1fr)"
                heads={
                    <>
                        <SortHead column="name" order={runOrder} isLeft>run</SortHead>
                        <SortHead column="begins" order={runOrder}>begins at</SortHead>
                        <SortHead column="takes" order={runOrder}>takes</SortHead>
                        <div role="columnheader">over the budget</div>
                    </>
                }
                rows={runs}
                keyOf={(run) => `${run.from} ${run.to} ${run.name}`}
                chosen={runs.findIndex((run) => Math.round(run.from) === state.from && Math.round(run.to) === state.to)}
                cells={(run) => {
                    const takes = run.to - run.from;
                    const over = budget > 0 && takes > budget ? takes - budget : 0;
                    return (
                        <>
                            <div role="cell" class="what"><Door to={toSpan(run.from, run.to)}><bdi>{run.name}</bdi></Door></div>
                            <div role="cell" class="number" title={exact(run.from, "ns")}><span class="text">{timeAt(run.from, takes / 10)}</span></div>
                            <div role="cell" class="number" title={exact(takes, "ns")}><span class="text">{time(takes)}</span></div>
                            <div role="cell" class={over > 0 ? "number" : "number zero"}><span class="text">{budget === 0 ? "" : over > 0 ? time(over) : "0"}</span></div>
                        </>
                    );
                }}
            />
        </div>
    );
}
