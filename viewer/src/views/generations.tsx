import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, useColumns } from "../columns";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import { generationsOf, type Generation, type Survivors } from "../model/generations";
import { blocks, bytes, exact, number, time, type Unit } from "../model/format";
import { selectionOf } from "../model/state";
import { matcher } from "../model/search";
import { Define, Empty, GroupChoice, Name, Pending, Search } from "../widgets";
import { Door } from "../door";
import { toSite } from "../model/ways";
import { Table } from "../table";
import { namingColumn, plainColumn } from "../model/columns";
import { groupOf } from "../model/site_groups";

const sum = (values: number[]) => values.reduce((sum, value) => sum + value, 0);

/** What a generation is called in the head of its column: the mark or the time with which it begins. Nothing is older than the recording. */
function titleOf({ begin, mark }: Generation, from: number | null): string {
    return begin === null ? (from ? "older" : "0 s") : (mark ?? time(begin));
}

/** What is live at the end of the selection, by when it was acquired. A leak leaves something in every generation. */
export function GenerationsView() {
    const { source, state, go, setCopy } = useShown();
    const isBlocks = state.blocks;
    const selection = selectionOf(state);
    const group = groupOf(state.group);
    const loaded = useLoaded(source.asks ? JSON.stringify(selection) : null, (signal) => source.generations(selection, "marks", signal));
    const found = useMemo(() => (loaded.value ? generationsOf(loaded.value, group) : null), [loaded.value, group]);
    const valuesOf = (row: Survivors) => (isBlocks ? row.blocks : row.bytes);
    const unit: Unit = isBlocks ? "count" : "bytes";
    const told = (value: number) => (value === 0 ? "0" : number(value, unit));
    const exactly = (value: number) => exact(value, unit);
    const rows = useMemo(() => {
        const matches = matcher(state.search);
        const shown = (found?.rows ?? []).filter((row) => !matches || matches(row.site.frame, `${row.name} ${row.site.type}`, row.site.inlined));
        return shown.sort((a, b) => sum(valuesOf(b)) - sum(valuesOf(a)));
    }, [found, state.search, isBlocks]);
    useEffect(() => {
        if (!found) return;
        return setCopy(() => ({
            heads: [group, "type", ...["live", ...found.all.map((one) => titleOf(one, selection.from))].map((title) => ({ title, unit }))],
            rows: rows.map((row) => [row.name, group === "line" ? row.site.type : "", sum(valuesOf(row)), ...valuesOf(row)]),
        }));
    }, [found, rows]);
    const fitted = useColumns([namingColumn(group, 260), plainColumn("live", 96), ...(found?.all ?? []).map((one, index) => plainColumn(titleOf(one, selection.from), 76, `generation-${index}`))]);
    if (!source.asks) return <Empty>This page does not hold when live blocks were acquired. Open the recording with memtoll view to see it.</Empty>;
    if (!found) return <Pending of={loaded}>Reading all events …</Pending>;
    const most = rows.reduce((most, row) => Math.max(most, ...valuesOf(row)), 0);
    const totals = found.all.map((_, index) => sum(rows.map((row) => valuesOf(row)[index]!)));
    const isMarked = found.all.some(({ mark }) => mark !== null);
    return (
        <>
            <div class="tools">
                <span>
                    {isBlocks ? blocks(sum(totals)) : bytes(sum(totals))} live at {time(found.at)}, by when they were acquired <Define name="generations" />
                </span>
                <GroupChoice groups={["line", "function", "module", "type"]} group={group} />
                <label class="choice"><input type="checkbox" checked={isBlocks} onChange={(event) => go({ blocks: event.currentTarget.checked })} /> blocks</label>
                <Search />
                <ColumnChoice of={fitted} />
                <span class="soft">{isMarked ? "Each column begins with a mark." : "Each column is a tenth of the time; with marks, each would begin with one."}</span>
            </div>
            {rows.length === 0 ? (
                <Empty>Nothing is live at the end of this selection. Choose another span, or empty the search field.</Empty>
            ) : (
                <Table
                    label="live blocks by generation"
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">{group}</div>
                            <div role="columnheader">live</div>
                            {found.all.map((one, index) => (
                                <div key={index} role="columnheader" title={one.begin === null ? (selection.from ? "acquired before the selection" : "acquired from the begin of the recording on") : `acquired from ${time(one.begin)} on${one.mark ? `, the mark ${one.mark}` : ""}`}><bdi class="cut">{titleOf(one, selection.from)}</bdi></div>
                            ))}
                        </>
                    }
                    first={
                        <>
                            <div role="cell" class="what"><b>all</b></div>
                            <div role="cell" class="number" title={exactly(sum(totals))}><b class="text">{told(sum(totals))}</b></div>
                            {totals.map((total, index) => <div key={index} role="cell" class={total === 0 ? "number zero" : "number"} title={exactly(total)}><b class="text">{told(total)}</b></div>)}
                        </>
                    }
                    rows={rows}
                    keyOf={(row) => row.key}
                    cells={(row) => (
                        <>
                            <div role="cell" class="what"><Door to={{ ...toSite(row.site, group), metric: "live" }}>{row.site.frame && group !== "type" && group !== "module" ? <Name frame={row.site.frame} type={group === "line" ? row.site.type : ""} inlined={group === "line" ? row.site.inlined : []} /> : <bdi>{row.name}</bdi>}</Door></div>
                            <div role="cell" class="number" title={exactly(sum(valuesOf(row)))}><span class="text">{told(sum(valuesOf(row)))}</span></div>
                            {valuesOf(row).map((value, index) => (
                                <div key={index} role="cell" class={value === 0 ? "number zero" : "number"} title={exactly(value)}>
                                    <span class="bar" style={{ width: `${most > 0 ? (value / most) * 100 : 0}%` }} />
                                    <span class="text">{told(value)}</span>
                                </div>
                            ))}
                        </>
                    )}
                />
            )}
        </>
    );
}
