import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, columnFor, Edge, nameColumn, notHidden, useColumns } from "../columns";
import { useShown } from "../context";
import { Door } from "../door";
import { FrameButtons, useInHand } from "../frame_in_hand";
import { useLoaded } from "../hooks";
import { columnOf, countOfSites, numbersOf, shownIn, totalOf, valueOf, wholeOf, type Frame, type Metric, type Numbers, type Profile, type Site } from "../model/answer";
import { count, counted } from "../model/format";
import { groupKey } from "../model/site_groups";
import { frameName, siteKey, siteName } from "../model/names";
import { orderOf, sorted } from "../model/order";
import type { Pack } from "../model/pack";
import type { GroupsPack, Member } from "../model/packs";
import { selectionOf } from "../model/state";
import { matcher } from "../model/search";
import { Cell, Empty, FoldWrappers, GroupChoice, Heading, LiveChoice, MetricChoice, Name, Pending, Search, SharesOf } from "../widgets";
import { Details } from "./details";
import { Table, useOnceByRow } from "../table";

const GROUPS = ["line", "function", "module", "type", "thread", "process"] as const;

/** Groups that only the server adds up. */
const ASKED: string[] = ["thread", "process"];

/** A row of the table. */
export interface Row {
    /** What tells it apart in the address. */
    focus: string;
    name: string;
    site: Site | null;
    frame: Frame | null;
    /** The thread or process that it is. */
    member: Member | null;
    numbers: Numbers;
    at: number;
}

/** Rows of call sites, or of what call sites have in common. */
function rowsOf(profile: Profile, group: string): Row[] {
    if (group === "line")
        return profile.sites.map((site) => ({ focus: siteKey(site), name: siteName(site), site, frame: site.frame, member: null, numbers: profile.siteNumbers, at: site.index }));
    const groups = new Map<string, Site[]>();
    for (const site of profile.sites) {
        const key = groupKey(site, group);
        const known = groups.get(key);
        if (known) known.push(site);
        else groups.set(key, [site]);
    }
    const names = [...groups.keys()];
    const sums: Numbers = new Map(
        [...profile.siteNumbers].map(([name, column]) => {
            return [name, Float64Array.from(names, (key) => groups.get(key)!.reduce((sum, site) => sum + column[site.index]!, 0))];
        }),
    );
    return names.map((key, at) => {
        const first = groups.get(key)![0]!;
        const frame = group === "function" && first.others === 0 ? first.frame : null;
        return { focus: key, name: frame ? frameName(frame) : key, site: null, frame, member: null, numbers: sums, at };
    });
}

/** Rows that the server added up. */
function askedRows(pack: Pack<GroupsPack>, metrics: Metric[]): Row[] {
    const numbers = numbersOf(pack, "groups", metrics);
    const { site_others: others, labels, members } = pack.head;
    const names = others > 0 ? [...labels, counted(others, "other")] : labels;
    return names.map((name, at) => ({ focus: name, name, site: null, frame: null, member: members[at] ?? null, numbers, at }));
}

export function Lines() {
    const { source, profile, recording, state, go, metric, setCopy } = useShown();
    const groups = GROUPS.filter((one) => source.asks || !ASKED.includes(one));
    const group = groups.find((one) => one === state.group) ?? "line";
    const selection = selectionOf(state);
    const asked = useLoaded(ASKED.includes(group) ? JSON.stringify([selection, group]) : null, async (signal) => ({ group, pack: await source.groups(selection, group, signal) }));
    // Threads are no processes, also while these are on their way.
    const pack = asked.value?.group === group ? asked.value.pack : null;
    const [metrics, nothing] = useMemo(() => {
        const shown = shownIn(recording.metrics, "lines");
        // A column of zeros tells nothing that a sentence does not.
        const isEmpty = (one: Metric) => one !== metric && totalOf(profile.totals, one) === 0;
        const filled = shown.filter((one) => !isEmpty(one));
        return [filled.includes(metric) ? filled : [metric, ...filled], shown.filter(isEmpty)] as const;
    }, [recording, metric, profile]);
    const columns = useMemo(() => notHidden(metrics, metric, state.columns), [metrics, metric, state.columns]);
    const fitted = useColumns([nameColumn(group), ...metrics.map((one) => columnFor(one, one === metric))]);
    const all = useMemo(() => {
        if (!ASKED.includes(group)) return rowsOf(profile, group);
        return pack ? askedRows(pack, recording.metrics) : [];
    }, [profile, group, recording, pack]);
    const order = orderOf(state.order, [metric.name], metric.name);
    const [rows, zeros] = useMemo(() => {
        const matches = matcher(state.search);
        const value = (row: Row) => valueOf(row.numbers, metric, row.at);
        const found = matches ? all.filter((row) => matches(row.frame, `${row.name} ${row.site?.type ?? ""}`, row.site?.inlined)) : all;
        const shown = state.zeros ? found : found.filter((row) => value(row) !== 0 || row.focus === state.focus);
        return [sorted(shown, order, value), found.filter((row) => value(row) === 0).length] as const;
    }, [all, state.search, state.zeros, state.focus, state.order, metric]);
    const most = useMemo(() => new Map(metrics.map((one) => [one.name, rows.reduce((most, row) => Math.max(most, valueOf(row.numbers, one, row.at) ?? 0), 0)])), [rows, metrics]);
    const wholes = useMemo(() => new Map(metrics.map((one) => [one.name, wholeOf(profile, one)?.value ?? null])), [metrics, profile]);
    const cells = useOnceByRow(
        (row: Row) =>
            metrics.map((one) => (
                <Cell key={one.name} metric={one} has={(of) => valueOf(row.numbers, of, row.at)} most={most.get(one.name) ?? 0} total={wholes.get(one.name) ?? null} isMain={false} />
            )),
        [metrics, most, wholes],
    );
    const chosen = state.focus === "" ? -1 : rows.findIndex((row) => row.focus === state.focus);

    useEffect(() => {
        return setCopy(() => ({
            heads: [group, "type", ...columns.map(columnOf)],
            rows: rows.map((row) => [row.name, row.site?.type ?? "", ...columns.map((one) => valueOf(row.numbers, one, row.at))]),
        }));
    }, [rows, columns, group]);

    const hand = useInHand(rows[chosen]?.frame);
    const pressed = (event: KeyboardEvent) => {
        if (hand.pressed(event)) return;
        const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9, h: -1e9 };
        const by = move[event.key];
        if (by === undefined || rows.length === 0 || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        event.stopPropagation();
        const next = Math.min(rows.length - 1, Math.max(0, chosen + by));
        go({ focus: rows[next]!.focus }, true);
    };

    return (
        <div class="fill">
            <div class="tools">
                <MetricChoice />
                <LiveChoice />
                <GroupChoice groups={groups} group={group} />
                <ColumnChoice of={fitted} />
                <Search />
                <FrameButtons frame={rows[chosen]?.frame} />
                <SharesOf metric={metric} />
                <span class="soft">{rows.length === all.length ? counted(all.length, "row") : `${count(rows.length)} of ${counted(all.length, "row")}`}{group === "line" && all.length < countOfSites(profile.sites) && ` for ${counted(countOfSites(profile.sites), "line")}`}{zeros > 0 && <>, <Door to={{ zeros: !state.zeros }} class="link">{state.zeros ? "hide" : "show"} {count(zeros)} without any {metric.title}</Door></>}{nothing.length > 0 && `; no row has any ${nothing.map((one) => one.title).join(" or ")}`}</span>
            </div>
            {!pack && ASKED.includes(group) ? (
                <Pending of={asked}>Reading all events …</Pending>
            ) : rows.length === 0 ? (
                <Empty>{all.length === 0 ? "No call in this selection. Press Esc for the whole run." : zeros > 0 ? `No ${group} has any ${metric.title}. Press m for the next metric.` : <>No {group} matches. Empty the search field to see all{source.asks && <>, or look for it among <Door to={{ view: "functions", through: "" }} class="link">functions</Door> that only call others</>}.</>}</Empty>
            ) : (
                <Table
                    label={`${group}s, ${order.isUp ? "smallest" : "largest"} ${metric.title} first`}
                    dense
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">{group}<Edge column="name" /></div>
                            {metrics.map((one) => (
                                <Heading key={one.name} metric={one} order={one === metric ? order : null} />
                            ))}
                        </>
                    }
                    rows={rows}
                    keyOf={(row) => row.at}
                    chosen={chosen}
                    pressed={pressed}
                    menu={(row, event) => hand.menu(event, row.frame)}
                    cells={(row) => (
                        <>
                            <div role="cell" class="what">
                                <Door to={{ focus: row === rows[chosen] ? "" : row.focus }}>{row.frame ? <Name frame={row.frame} type={row.site?.type ?? ""} inlined={row.site?.inlined ?? []} /> : <bdi>{row.name}</bdi>}</Door>
                                {row.frame && <FoldWrappers around={row.frame} />}
                            </div>
                            {cells(row)}
                        </>
                    )}
                />
            )}
            {rows[chosen] && <Details key={group} row={rows[chosen]!} group={group} />}
        </div>
    );
}
