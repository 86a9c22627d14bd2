import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, useColumns } from "../columns";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import type { Profile, Site } from "../model/answer";
import { namingColumn, plainColumn } from "../model/columns";
import { bytes, exact, number, signed, time } from "../model/format";
import { fateOf, generationsOf } from "../model/generations";
import { GROUPS, groupKey, groupName, groupOf } from "../model/site_groups";
import { matcher } from "../model/search";
import { NothingThere } from "../model/data_source";
import { selectionOf } from "../model/state";
import { Define, Empty, GroupChoice, Name, Pending, Search } from "../widgets";
import { Door } from "../door";
import { toSite } from "../model/ways";
import { Table } from "../table";
import { GenerationsView } from "./generations";
import { MemoryMap } from "./memory_map";

interface Row {
    key: string;
    site: Site;
    name: string;
    before: number;
    after: number;
    blocksBefore: number;
    blocksAfter: number;
}

/** What was live at two instants, by call site or by what call sites have in common. */
function compared(before: Profile | null, after: Profile | null, group: string): Row[] {
    const rows = new Map<string, Row>();
    const add = (profile: Profile, isAfter: boolean) => {
        const live = profile.siteNumbers.get("live")!;
        const blocks = profile.siteNumbers.get("live-blocks")!;
        for (const site of profile.sites) {
            const key = site.others > 0 ? "others" : groupKey(site, group);
            const row = rows.get(key) ?? { key, site, name: groupName(site, group), before: 0, after: 0, blocksBefore: 0, blocksAfter: 0 };
            if (isAfter) {
                row.after += live[site.index]!;
                row.blocksAfter += blocks[site.index]!;
            } else {
                row.before += live[site.index]!;
                row.blocksBefore += blocks[site.index]!;
            }
            rows.set(key, row);
        }
    };
    if (before) add(before, false);
    if (after) add(after, true);
    return [...rows.values()].filter((row) => row.before > 0 || row.after > 0 || row.blocksAfter > 0 || row.blocksBefore > 0);
}

const FATES = ["born", "died", "stayed"] as const;

const MEANS = { born: "acquired since the first instant, and live at the second one", died: "live at the first instant, and no more at the second one", stayed: "live at both instants" };

const ORDERS = ["growth", "live then", "shrinkage"] as const;

/** What was live: a table of two instants; of the second one, by when it was acquired, or a map. */
export function Snapshots() {
    const { source, state, go } = useShown();
    return (
        <div class="fill">
            {(source.asks || state.map) && (
                <div class="switch tabs" role="group" aria-label="what is shown">
                    <button aria-pressed={!state.map} onClick={() => go({ map: "" })}>lines at two instants</button>
                    <button aria-pressed={state.map === "generations"} onClick={() => go({ map: "generations" })}>generations</button>
                    <button aria-pressed={!!state.map && state.map !== "generations"} onClick={() => go({ map: "line" })}>map of memory</button>
                </div>
            )}
            {state.map === "generations" ? <GenerationsView /> : state.map ? <MemoryMap /> : <Instants />}
        </div>
    );
}

function Instants() {
    const { source, recording, state, go, setCopy } = useShown();
    const order = ORDERS.find((one) => one === state.order) ?? "growth";
    const end = recording.timeline.end_ns;
    const selection = selectionOf(state);
    // A whole run has what each process left; at its end, only the last process is still there.
    const isOfSeveral = recording.about.process_count > 1 && state.process === "";
    const loaded = useLoaded(JSON.stringify(selection), async (signal) => {
        const at = async (to: number | null) => {
            const whole = { ...selection, pages: false, from: null, to };
            return source.profile(to === null && isOfSeveral ? { ...whole, at: end } : whole, signal);
        };
        // What matches may not have been there yet, or be gone.
        const matching = (to: number | null) => at(to).catch((why: unknown) => (why instanceof NothingThere ? null : Promise.reject(why)));
        const from = selection.from ?? 0;
        return { from, to: selection.to, both: [from > 0 ? await matching(from) : null, await matching(selection.to)] as const };
    });
    // What is shown is of these instants, until the answer of others is there.
    const { from: first, to } = loaded.value ?? { from: selection.from ?? 0, to: selection.to };
    const second = to ?? end;
    const group = groupOf(state.group);
    const all = useMemo(() => (loaded.value ? compared(...loaded.value.both, group) : []), [loaded.value, group]);
    // Before the first instant of all, nothing was live: all is born. Else, all events tell what became of what.
    const tells = source.asks && first > 0;
    const told = useLoaded(source.asks && (selection.from ?? 0) > 0 ? JSON.stringify(selection) : null, (signal) => source.generations(selection, "selection", signal));
    const fates = useMemo(() => {
        const of = tells && !loaded.loading && told.value && !told.loading ? generationsOf(told.value, group) : null;
        return of && new Map(of.rows.map((row) => [row.key, row]));
    }, [told.value, told.loading, loaded.loading, group, tells]);
    const fate = (row: Row) => (fates && row.site.others === 0 ? fateOf(fates.get(row.key), row.before, row.after) : null);
    const rows = useMemo(() => {
        const matches = matcher(state.search);
        const shown = all.filter((row) => !matches || matches(row.site.frame, `${row.name} ${row.site.type}`, row.site.inlined));
        const value = (row: Row) => (order === "growth" ? row.after - row.before : order === "live then" ? row.after : row.before - row.after);
        return shown.sort((a, b) => value(b) - value(a));
    }, [all, state.search, order]);
    const most = rows.reduce((most, row) => Math.max(most, row.before, row.after), 0);
    const change = rows.reduce((most, row) => Math.max(most, Math.abs(row.after - row.before)), 0);
    const sum = (of: (row: Row) => number) => rows.reduce((sum, row) => sum + of(row), 0);
    useEffect(() => {
        return setCopy(() => ({
            heads: [
                group,
                "type",
                ...[`live at ${time(first)}`, `live at ${time(second)}`, "difference", ...(tells ? FATES : [])].map((title) => ({ title, unit: "bytes" as const })),
                ...["blocks before", "blocks after"].map((title) => ({ title, unit: "count" as const })),
            ],
            rows: rows.map((row) => [row.name, row.site.type, row.before, row.after, row.after - row.before, ...(tells ? FATES.map((name) => fate(row)?.[name] ?? null) : []), row.blocksBefore, row.blocksAfter]),
        }));
    }, [rows, fates]);
    const fitted = useColumns([
        namingColumn(group, 260),
        ...[`at ${time(first)}`, `at ${time(second)}`].map((title, index) => plainColumn(title, 100, ["before", "after"][index])),
        plainColumn("difference", 110),
        ...(tells ? FATES.map((name) => plainColumn(name, 90)) : []),
        plainColumn("blocks", 90),
        plainColumn("difference of blocks", 90),
    ]);
    const cell = (value: number, largest: number, text: string, title: string) => (
        <div role="cell" class={value === 0 ? "number zero" : "number"} title={title}>
            <span class={`bar ${value < 0 ? "less" : ""}`} style={{ width: `${largest > 0 ? (Math.abs(value) / largest) * 100 : 0}%` }} />
            <span class="text">{text}</span>
        </div>
    );
    return (
        <>
            <div class="tools">
                <span>
                    {first === 0 ? "From the beginning, when nothing was live," : `From ${bytes(sum((row) => row.before))} live at ${time(first)}`} to {bytes(sum((row) => row.after))} at {to === null ? "the end" : time(second)}
                    {first > 0 && `: ${signed(sum((row) => row.after - row.before), "bytes")}`}.
                </span>
                <label class="choice">
                    largest
                    <select value={order} onChange={(event) => go({ order: event.currentTarget.value })}>
                        {ORDERS.map((one) => (
                            <option key={one}>{one}</option>
                        ))}
                    </select>
                </label>
                <GroupChoice groups={GROUPS} group={group} />
                <Search />
                <ColumnChoice of={fitted} />
                {first === 0 && <span class="soft">Drag over the time line: its two ends are the two instants.</span>}
                {isOfSeveral && <span class="soft">Blocks of a process that has ended are gone.</span>}
            </div>
            {loaded.value === null ? (
                <Pending of={loaded}>Adding up what was live …</Pending>
            ) : rows.length === 0 ? (
                <Empty>Nothing was live at either instant. Choose another span, or empty the search field.</Empty>
            ) : (
                <Table
                    label="live blocks at two instants"
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">{group}</div>
                            <div role="columnheader">at {time(first)} <Define name="live" /></div>
                            <div role="columnheader">at {time(second)}</div>
                            <div role="columnheader">difference</div>
                            {tells && FATES.map((name) => <div key={name} role="columnheader" title={MEANS[name]}>{name} <Define name="fates" /></div>)}
                            <div role="columnheader">blocks <Define name="live-blocks" /></div>
                            <div role="columnheader">difference</div>
                        </>
                    }
                    rows={rows}
                    keyOf={(row) => row.key}
                    cells={(row) => {
                        const by = row.after - row.before;
                        const blocks = row.blocksAfter - row.blocksBefore;
                        const known = fate(row);
                        return (
                            <>
                                <div role="cell" class="what"><Door to={{ ...toSite(row.site, group), metric: "live" }}>{row.site.frame && group !== "type" && group !== "module" ? <Name frame={row.site.frame} type={group === "line" ? row.site.type : ""} inlined={group === "line" ? row.site.inlined : []} /> : <bdi>{row.name}</bdi>}</Door></div>
                                {cell(row.before, most, row.before === 0 ? "0" : bytes(row.before), exact(row.before, "bytes"))}
                                {cell(row.after, most, row.after === 0 ? "0" : bytes(row.after), exact(row.after, "bytes"))}
                                {cell(by, change, signed(by, "bytes"), exact(by, "bytes"))}
                                {tells && FATES.map((name) => {
                                    const value = known?.[name];
                                    return value === undefined ? (
                                        <div key={name} role="cell" class="number unknown" title={told.loading ? "reading all events" : told.failed ? told.error : "not known: blocks of pools of the program are among them, or this row is of many lines"}>{told.loading ? "…" : "–"}</div>
                                    ) : (
                                        <div key={name} role="cell" class={value === 0 ? "number zero" : "number"} title={exact(value, "bytes")}><span class="text">{value === 0 ? "0" : bytes(value)}</span></div>
                                    );
                                })}
                                <div role="cell" class={row.blocksAfter === 0 ? "number zero" : "number"} title={exact(row.blocksAfter, "count")}><span class="text">{number(row.blocksAfter, "count")}</span></div>
                                <div role="cell" class={blocks === 0 ? "number zero" : "number"} title={exact(blocks, "count")}><span class="text">{signed(blocks, "count")}</span></div>
                            </>
                        );
                    }}
                />
            )}
        </>
    );
}
