import { useEffect, useMemo, useState } from "preact/hooks";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import type { Profile, Site } from "../model/answer";
import { bytes, count, exact, signed, time } from "../model/format";
import { siteName } from "../model/names";
import { matcher } from "../model/tree";
import { selectionOf } from "../model/state";
import { Define, Empty, Name, Search } from "../parts";
import { Table } from "../table";
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

function keyOf(site: Site): string {
    const frame = site.frame;
    return [frame?.full, frame?.file, frame?.line, frame?.module, site.type, ...site.inlined.map((one) => `${one.full}:${one.line}`)].join("\0");
}

/** What was live at two instants, by call site. */
function compared(before: Profile, after: Profile): Row[] {
    const rows = new Map<string, Row>();
    const add = (profile: Profile, isAfter: boolean) => {
        const live = profile.siteNumbers.get("live")!;
        const blocks = profile.siteNumbers.get("live-blocks")!;
        for (const site of profile.sites) {
            const key = site.others > 0 ? "others" : keyOf(site);
            const row = rows.get(key) ?? { key, site, name: siteName(site), before: 0, after: 0, blocksBefore: 0, blocksAfter: 0 };
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
    add(before, false);
    add(after, true);
    return [...rows.values()].filter((row) => row.before > 0 || row.after > 0 || row.blocksAfter > 0 || row.blocksBefore > 0);
}

const ORDERS = ["growth", "live then", "shrinkage"] as const;

/** What was live: a table of two instants, or a map of the second one. */
export function Snapshots() {
    const { state, go } = useShown();
    return (
        <div class="fill">
            <div class="switch tabs" role="group" aria-label="what is shown">
                <button aria-pressed={!state.map} onClick={() => go({ map: "" })}>lines at two instants</button>
                <button aria-pressed={!!state.map} onClick={() => go({ map: "line" })}>map of memory</button>
            </div>
            {state.map ? <MemoryMap /> : <Instants />}
        </div>
    );
}

function Instants() {
    const { source, recording, state, setCopy } = useShown();
    const [order, setOrder] = useState<(typeof ORDERS)[number]>("growth");
    const end = recording.timeline.end_ns;
    const [first, second] = [state.from ?? 0, state.to ?? end];
    const selection = selectionOf(state);
    const loaded = useLoaded(JSON.stringify(selection), async (signal) => {
        const at = async (to: number | null) => source.profile({ ...selection, from: null, to }, signal);
        return compared(await at(first), await at(state.to));
    });
    const rows = useMemo(() => {
        const matches = matcher(state.search);
        const shown = (loaded.value ?? []).filter((row) => !matches || matches(row.site.frame, `${row.name} ${row.site.type}`));
        const value = (row: Row) => (order === "growth" ? row.after - row.before : order === "live then" ? row.after : row.before - row.after);
        return shown.sort((a, b) => value(b) - value(a));
    }, [loaded.value, state.search, order]);
    const most = rows.reduce((most, row) => Math.max(most, row.before, row.after), 0);
    const change = rows.reduce((most, row) => Math.max(most, Math.abs(row.after - row.before)), 0);
    const sum = (of: (row: Row) => number) => rows.reduce((sum, row) => sum + of(row), 0);
    useEffect(() => {
        setCopy(() => ({
            heads: ["line", "type", `live at ${time(first)}`, `live at ${time(second)}`, "difference", "blocks before", "blocks after"],
            rows: rows.map((row) => [row.name, row.site.type, exact(row.before, "bytes"), exact(row.after, "bytes"), `${row.after - row.before}`, count(row.blocksBefore), count(row.blocksAfter)]),
        }));
        return () => setCopy(null);
    }, [rows]);
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
                    {first === 0 ? "From the beginning, when nothing was live," : `From ${bytes(sum((row) => row.before))} live at ${time(first)}`} to {bytes(sum((row) => row.after))} at {state.to === null ? "the end" : time(second)}
                    {first > 0 && `: ${signed(sum((row) => row.after - row.before), "bytes")}`}.
                </span>
                <label class="choice">
                    largest
                    <select value={order} onChange={(event) => setOrder(ORDERS[event.currentTarget.selectedIndex] ?? "growth")}>
                        {ORDERS.map((one) => (
                            <option key={one}>{one}</option>
                        ))}
                    </select>
                </label>
                <Search />
                {first === 0 && <span class="soft">Drag over the time line: its two ends are the two instants.</span>}
                {loaded.loading && <span class="soft">adding up …</span>}
                {loaded.failed && <span class="error" role="alert">{loaded.error}</span>}
            </div>
            {loaded.value === null ? (
                <Empty>Adding up what was live …</Empty>
            ) : rows.length === 0 ? (
                <Empty>Nothing was live at either instant. Choose another span, or empty the search field.</Empty>
            ) : (
                <Table
                    label="live blocks at two instants"
                    template="minmax(260px, 900px) 110px 110px 130px 100px 100px"
                    heads={
                        <>
                            <div role="columnheader">line</div>
                            <div role="columnheader">at {time(first)} <Define name="live" /></div>
                            <div role="columnheader">at {time(second)}</div>
                            <div role="columnheader">difference</div>
                            <div role="columnheader">blocks <Define name="live-blocks" /></div>
                            <div role="columnheader">difference</div>
                        </>
                    }
                    rows={rows}
                    keyOf={(row) => row.key}
                    cells={(row) => {
                        const by = row.after - row.before;
                        const blocks = row.blocksAfter - row.blocksBefore;
                        return (
                            <>
                                <div role="cell" class="what">{row.site.frame ? <Name frame={row.site.frame} type={row.site.type} inlined={row.site.inlined} /> : row.name}</div>
                                {cell(row.before, most, row.before === 0 ? "0" : bytes(row.before), exact(row.before, "bytes"))}
                                {cell(row.after, most, row.after === 0 ? "0" : bytes(row.after), exact(row.after, "bytes"))}
                                {cell(by, change, signed(by, "bytes"), exact(by, "bytes"))}
                                <div role="cell" class={row.blocksAfter === 0 ? "number zero" : "number"}><span class="text">{count(row.blocksAfter)}</span></div>
                                <div role="cell" class={blocks === 0 ? "number zero" : "number"}><span class="text">{blocks > 0 ? "+" : blocks < 0 ? "−" : ""}{count(Math.abs(blocks))}</span></div>
                            </>
                        );
                    }}
                />
            )}
        </>
    );
}
