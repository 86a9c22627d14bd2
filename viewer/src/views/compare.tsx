import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, Edge, useColumns } from "../columns";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import { titleInRows, type Metric } from "../model/answer";
import { namingColumn, plainColumn } from "../model/columns";
import { timeAt } from "../model/time_axis";
import { exact, share, signedEstimate } from "../model/format";
import { sideInWords, type Comparison, type Side } from "../model/comparison";
import { baseOf, selectionOf, type Base } from "../model/state";
import { orderOf, sorted } from "../model/order";
import { matcher } from "../model/search";
import { Define, Empty, Heading, Name, Pending, Search } from "../widgets";
import { Door } from "../door";
import { toFunction } from "../model/ways";
import { Table } from "../table";
import { Difference } from "./changed_tree";
import { ComparedCurves } from "./compared_curves";

/** `0 s to 1.20 s`. */
function spanOf(span: Base, end: number): string {
    const step = ((span.to ?? end) - (span.from ?? 0)) / 100;
    return `${timeAt(span.from ?? 0, step)} to ${timeAt(span.to ?? end, step)}`;
}

/** A difference as a table shows it: `+1.2 ± 0.3 ms`. */
function differenceOf(found: Comparison, metric: Metric, at: number): string {
    const by = found.value("after", metric, at) - found.value("before", metric, at);
    const margin = found.margin(metric, at);
    return signedEstimate(by, margin, metric.unit);
}

/** The same with all digits. */
function spelledOut(found: Comparison, metric: Metric, at: number): string {
    const [before, after] = (["before", "after"] as const).map((side) => found.value(side, metric, at)) as [number, number];
    const margin = found.margin(metric, at);
    const [low, high] = [after - before - margin, after - before + margin];
    const interval = margin > 0 ? `; difference ${exact(low, metric.unit)} to ${exact(high, metric.unit)} (95 %)` : "";
    return `${exact(before, metric.unit)} before, ${exact(after, metric.unit)} after${interval}`;
}

/** What changed from the recording before to the one that the other views show, or from one span to the selection. */
export function Compare() {
    const { source, state, recording, metric, go, setCopy } = useShown();
    const base = baseOf(state.base);
    const all = { from: null, to: null, process: "", thread: "" };
    const selection = recording.compares ? { ...selectionOf(state), ...all } : selectionOf(state);
    const asked = useLoaded(recording.compares || base ? JSON.stringify([selection, base]) : null, (signal) => source.compare(selection, base, signal));
    const { graph: isGraph, small: isAll } = state;
    // Of several processes, rows have the peaks of each.
    const titledAs = (one: Metric) => recording.metrics.find(({ name }) => name === one.name) ?? one;
    const found = useMemo(() => asked.value && { ...asked.value, metrics: asked.value.metrics.map(titledAs) }, [asked.value, recording]);
    const main = found?.metrics.find((one) => one.name === metric.name) ?? found?.metrics[0];
    const by = (at: number, one: Metric) => (found ? found.value("after", one, at) - found.value("before", one, at) : 0);
    const order = main ? orderOf(state.order, [main.name], main.name) : null;
    const rows = useMemo(() => {
        if (!found || !main) return [];
        const matches = matcher(state.search);
        const shown = found.changes.filter((row) => (isAll || row.exceeds || row.frame === null) && (!matches || matches(row.frame, `${row.name} ${row.type}`)));
        return sorted(shown, order!, (row) => Math.abs(by(row.at, main)));
    }, [found, main, state.search, isAll, state.order]);

    const hasMargin = (one: Metric) => !!found && [found.total, ...found.changes.map((row) => row.at)].some((at) => found.margin(one, at) > 0);
    const hasMargins = !!found && found.metrics.some(hasMargin);
    const differences = main ? [main, ...found!.metrics.filter((one) => one !== main)] : [];
    const fitted = useColumns([
        namingColumn("call site", hasMargins ? 240 : 340),
        ...["before", "after"].map((side) => plainColumn(side, 84)),
        ...differences.map((one) => ({ ...plainColumn(`Δ ${titleInRows(one)}`, hasMargin(one) ? 176 : 124, one.name), stays: one === main })),
    ]);
    useEffect(() => {
        if (!found || isGraph) return;
        return setCopy(() => ({
            heads: ["call site", "type", ...found.metrics.flatMap(({ name, unit }) => ["before", "after", "difference", "margin"].map((side) => ({ title: `${name} ${side}`, unit })))],
            rows: rows.map((row) => [
                row.name,
                row.type,
                ...found.metrics.flatMap((one) => [found.value("before", one, row.at), found.value("after", one, row.at), by(row.at, one), found.margin(one, row.at)]),
            ]),
        }));
    }, [found, rows, isGraph]);

    if (!recording.compares && !base)
        return <Empty>Select a span of time, and press b: it becomes the one before. Then select another one. Of two recordings: memtoll view BEFORE AFTER.</Empty>;
    if (!found || !main) return <Pending of={asked}>Adding up what changed …</Pending>;
    const end = recording.timeline.end_ns;
    const [before_, after_] = found.files ?? [base ? spanOf(base, end) : "", spanOf(state, end)];
    const choices = (
        <>
            <div class="switch" role="group" aria-label="as">
                <button aria-pressed={!isGraph} onClick={() => go({ graph: false })}>lines</button>
                <button aria-pressed={isGraph} onClick={() => go({ graph: true })}>flame graph</button>
            </div>
            <label class="choice">
                metric
                <select value={main.name} onChange={(event) => go({ metric: event.currentTarget.value })}>
                    {found.metrics.map((one) => (
                        <option key={one.name} value={one.name}>{one.title}</option>
                    ))}
                </select>
                <Define name={main.name} />
            </label>
        </>
    );
    const sided = (side: Side, at: number) => sideInWords(found.value(side, main, at), found.sideMargin(side, main, at), main.unit);
    const [size, margin, whole] = [Math.abs(by(found.total, main)), found.margin(main, found.total), found.value("before", main, found.total)];
    const said = (
        <span class="soft">
            <bdi>{before_}</bdi> before, <bdi>{after_}</bdi> after: {found.files ? main.title : titleInRows(main)} {differenceOf(found, main, found.total)}
            {size <= margin ? ", no more than chance" : whole > 0 && size > 0 && `, ${share(size, size - margin, size + margin, whole)} of ${sided("before", found.total)}`}
            {found.files ? ". Whole runs." : "."}
            {hasMargins && " ± is half of the 95 % interval."}
        </span>
    );
    const curves = source.asks && <ComparedCurves base={recording.compares ? null : base} selection={selection} />;
    if (isGraph) return <div class="fill">{curves}<Difference metric={main}>{choices}{said}</Difference></div>;
    const cells = (at: number) => (
        <>
            {(["before", "after"] as const).map((side) => (
                <div key={side} role="cell" class="number" title={exact(found.value(side, main, at), main.unit)}>
                    <span class="text">{sided(side, at)}</span>
                </div>
            ))}
            {differences.map((one) => (
                <div key={one.name} role="cell" class={by(at, one) === 0 ? "number zero" : "number"} title={spelledOut(found, one, at)}>
                    <span class="text">{differenceOf(found, one, at)}</span>
                </div>
            ))}
        </>
    );
    return (
        <div class="fill">
            {curves}
            <div class="tools">
                {choices}
                <Search />
                <label class="choice" title="Show what is no more than chance, too">
                    <input type="checkbox" checked={isAll} onChange={(event) => go({ small: event.currentTarget.checked })} />
                    small changes
                </label>
                <ColumnChoice of={fitted} />
                {said}
            </div>
            <Table
                label={`call sites, ${order?.isUp ? "smallest" : "largest"} change of ${main.title} first`}
                columns={fitted}
                heads={
                    <>
                        <div role="columnheader">call site<Edge column="name" /></div>
                        <div role="columnheader" title={main.help}>before <Define name={main.name} inHead /></div>
                        <div role="columnheader" title={main.help}>after</div>
                        {differences.map((one) => (
                            <Heading key={one.name} metric={one} order={one === main ? order : null} before="Δ " />
                        ))}
                    </>
                }
                first={
                    <>
                        <div role="cell" class="what"><b>all</b></div>
                        {cells(found.total)}
                    </>
                }
                rows={rows}
                keyOf={(row) => row.at}
                cells={(row) => (
                    <>
                        <div role="cell" class="what">
                            {row.fate !== "changed" && <span class="type">{row.fate} </span>}
                            {row.frame && row.fate !== "gone" ? <Door to={toFunction(row.frame)}><Name frame={row.frame} type={row.type} /></Door> : row.frame ? <Name frame={row.frame} type={row.type} /> : <bdi>{row.name}</bdi>}
                        </div>
                        {cells(row.at)}
                    </>
                )}
            />
        </div>
    );
}
