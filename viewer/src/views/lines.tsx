import { useEffect, useMemo, useState } from "preact/hooks";
import { useShown, useTree } from "../context";
import { useLoaded } from "../hooks";
import { chanceOf, columnOf, numbersOf, shownIn, totalOf, valueOf, varianceOf, type Frame, type Metric, type Numbers, type Profile, type Site } from "../model/answer";
import { count, counted, inRow, isolated } from "../model/format";
import { groupKey } from "../model/site_groups";
import { frameName, placeOf, siteKey, siteName } from "../model/names";
import type { Pack } from "../model/pack";
import type { GroupsPack } from "../model/packs";
import { selectionOf } from "../model/state";
import { matcher, type TreeItem } from "../model/tree";
import { Cell, Define, EditorLink, Empty, FoldWrappers, GroupChoice, Heading, MetricChoice, Name, Pending, PlaceLink, Search, SharesOf } from "../widgets";
import { Table } from "../table";

const GROUPS = ["line", "function", "module", "type", "thread", "process"] as const;

/** Groups that only the server adds up. */
const ASKED: string[] = ["thread", "process"];

interface Row {
    key: string;
    name: string;
    site: Site | null;
    frame: Frame | null;
    numbers: Numbers;
    at: number;
}

/** Rows of call sites, or of what call sites have in common. */
function rowsOf(profile: Profile, group: string): Row[] {
    if (group === "line")
        return profile.sites.map((site) => ({ key: `${site.index}`, name: siteName(site), site, frame: site.frame, numbers: profile.siteNumbers, at: site.index }));
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
        return { key, name: frame ? frameName(frame) : key, site: null, frame, numbers: sums, at };
    });
}

/** Rows that the server added up. */
function askedRows(pack: Pack<GroupsPack>, metrics: Metric[]): Row[] {
    const numbers = numbersOf(pack, "groups", metrics);
    const { site_others: others, labels } = pack.head;
    const names = others > 0 ? [...labels, counted(others, "other")] : labels;
    return names.map((name, at) => ({ key: `${at}`, name, site: null, frame: null, numbers, at }));
}

export function Lines() {
    const { source, profile, recording, state, go, metric, setCopy } = useShown();
    const groups = GROUPS.filter((one) => source.asks || !ASKED.includes(one));
    const group = groups.find((one) => one === state.group) ?? "line";
    const selection = selectionOf(state);
    const asked = useLoaded(ASKED.includes(group) ? JSON.stringify([selection, group]) : null, (signal) => source.groups(selection, group, signal));
    const [columns, nothing] = useMemo(() => {
        const shown = shownIn(recording.metrics, "lines");
        // A column of zeros tells nothing that a sentence does not.
        const isEmpty = (one: Metric) => one !== metric && totalOf(profile.totals, one) === 0;
        const filled = shown.filter((one) => !isEmpty(one));
        return [filled.includes(metric) ? filled : [metric, ...filled], shown.filter(isEmpty)] as const;
    }, [recording, metric, profile]);
    const all = useMemo(() => {
        if (!ASKED.includes(group)) return rowsOf(profile, group);
        return asked.value ? askedRows(asked.value, recording.metrics) : [];
    }, [profile, group, recording, asked.value]);
    const rows = useMemo(() => {
        const matches = matcher(state.search);
        const value = (row: Row) => valueOf(row.numbers, metric, row.at) ?? -1;
        const shown = matches ? all.filter((row) => matches(row.frame, `${row.name} ${row.site?.type ?? ""} ${row.site?.inlined.map((one) => one.full).join(" ") ?? ""}`)) : [...all];
        return shown.sort((a, b) => value(b) - value(a));
    }, [all, state.search, metric]);
    const most = useMemo(() => new Map(columns.map((one) => [one.name, rows.reduce((most, row) => Math.max(most, valueOf(row.numbers, one, row.at) ?? 0), 0)])), [rows, columns]);
    const focusOf = (row: Row) => (row.site ? siteKey(row.site) : row.name);
    const chosen = state.focus === "" ? -1 : rows.findIndex((row) => focusOf(row) === state.focus);

    useEffect(() => {
        setCopy(() => ({
            heads: [group, "type", ...columns.map(columnOf)],
            rows: rows.map((row) => [row.name, row.site?.type ?? "", ...columns.map((one) => valueOf(row.numbers, one, row.at))]),
        }));
        return () => setCopy(null);
    }, [rows, columns, group]);

    const pressed = (event: KeyboardEvent) => {
        const move: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9, h: -1e9 };
        const by = move[event.key];
        if (by === undefined || rows.length === 0 || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        event.stopPropagation();
        const next = Math.min(rows.length - 1, Math.max(0, chosen + by));
        go({ focus: focusOf(rows[next]!) }, true);
    };

    return (
        <div class="fill">
            <div class="tools">
                <MetricChoice />
                <GroupChoice groups={groups} group={group} />
                <Search />
                <SharesOf metric={metric} />
                <span class="soft">{rows.length === all.length ? counted(all.length, "row") : `${count(rows.length)} of ${counted(all.length, "row")}`}{nothing.length > 0 && `; 0 in all rows: ${nothing.map((one) => one.title).join(", ")}`}</span>
            </div>
            {!asked.value && ASKED.includes(group) ? (
                <Pending of={asked}>Reading all events …</Pending>
            ) : rows.length === 0 ? (
                <Empty>{all.length === 0 ? "No call in this selection. Press Esc for the whole run." : "No line matches. Empty the search field to see all."}</Empty>
            ) : (
                <Table
                    label={`${group}s, largest ${metric.title} first`}
                    dense
                    template={`minmax(190px, 900px) repeat(${columns.length}, clamp(79px, 5.5vw, 100px))`}
                    heads={
                        <>
                            <div role="columnheader">{group}</div>
                            {columns.map((one) => (
                                <Heading key={one.name} metric={one} isMain={one === metric} sorts />
                            ))}
                        </>
                    }
                    rows={rows}
                    keyOf={(row) => row.key}
                    chosen={chosen}
                    choose={(row) => go({ focus: row === rows[chosen] ? "" : focusOf(row) }, true)}
                    pressed={pressed}
                    cells={(row) => (
                        <>
                            <div role="cell" class="what">
                                {row.frame ? <Name frame={row.frame} type={row.site?.type ?? ""} inlined={row.site?.inlined ?? []} /> : <bdi>{row.name}</bdi>}
                                {row.frame && <FoldWrappers around={row.frame} />}
                            </div>
                            {columns.map((one) => (
                                <Cell key={one.name} metric={one} value={valueOf(row.numbers, one, row.at)} variance={chanceOf(row.numbers, one, row.at)} most={most.get(one.name) ?? 0} total={totalOf(profile.totals, one)} isMain={false} />
                            ))}
                        </>
                    )}
                />
            )}
            {rows[chosen] && <Details row={rows[chosen]!} close={() => go({ focus: "" }, true)} />}
        </div>
    );
}

/** The largest call paths that lead to a frame, outermost first. */
async function pathsTo(root: TreeItem, frame: Frame): Promise<TreeItem[][]> {
    const leaf = root.children().find((item) => item.frame?.full === frame.full && item.frame.line === frame.line && item.frame.file === frame.file);
    if (!leaf) return [];
    const paths: TreeItem[][] = [];
    const open: TreeItem[][] = [[leaf]];
    while (open.length > 0 && paths.length < 5) {
        open.sort((a, b) => b.at(-1)!.value - a.at(-1)!.value);
        const path = open.shift()!;
        const item = path.at(-1)!;
        if (item.hasMore) await item.load(0);
        const callers = item.children();
        if (item.own > 0 || callers.length === 0) paths.push(path);
        if (path.length < 200) for (const caller of callers) open.push([...path, caller]);
    }
    return paths;
}

function Details({ row, close }: { row: Row; close: () => void }) {
    const { recording, metric, go } = useShown();
    const [wide, setWide] = useState(false);
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const tree = useTree(row.frame ? { metric: main, columns: [main], reversed: true, through: "", by: "", least: 0.0002 } : null);
    const [paths, setPaths] = useState<TreeItem[][] | null>(null);
    useEffect(() => {
        let isOver = false;
        if (row.frame && tree.value) void pathsTo(tree.value, row.frame).then((found) => !isOver && setPaths(found));
        return () => void (isOver = true);
    }, [tree.value, row.frame]);
    const { frame, site } = row;
    return (
        <section class={wide ? "details wide" : "details"} aria-label="details">
            <div class="tools">
                <h2>
                    <bdi>{frame ? frame.full : row.name}</bdi>
                </h2>
                {frame && <button onClick={() => go({ view: "tree", through: frame.full })}>callers and callees</button>}
                {frame && <button onClick={() => go({ view: "flame", search: frame.function })}>flame graph</button>}
                <button onClick={() => setWide(!wide)}>{wide ? "smaller" : "larger"}</button>
                <button onClick={close} aria-label="close the details">×</button>
            </div>
            <div class="detail-columns">
                <div>
                    {frame?.file && (
                        <p>
                            <PlaceLink file={frame.file} line={frame.line} /> <EditorLink file={frame.file} line={frame.line} />{" "}
                            <bdi class="code">{frame.file}</bdi>:{frame.line}
                        </p>
                    )}
                    {frame && <p class="soft"><bdi class="code">{frame.module}</bdi></p>}
                    {site?.inlined.map((one, index) => (
                        <p key={index} class="soft">inlined into <bdi>{one.function}</bdi> <bdi>{placeOf(one)}</bdi></p>
                    ))}
                    {site?.type && <p>type <bdi class="code">{site.type}</bdi>{site.element > 0 && `, elements of ${site.element} B`}{site.elements > 0 && `, ${count(site.elements)} a block`}</p>}
                    <dl class="numbers-of">
                        {recording.metrics.map((one) => {
                            const value = valueOf(row.numbers, one, row.at);
                            return (
                                <div key={one.name} title={one.help}>
                                    <dt>{one.title} <Define name={one.name} /></dt>
                                    <dd>{value === null ? "–" : inRow(value, chanceOf(row.numbers, one, row.at), one.unit)}</dd>
                                </div>
                            );
                        })}
                    </dl>
                </div>
                <div>
                    <h3>Call paths by {main.title}, innermost first{site?.type ? ", all types of the line together" : ""}</h3>
                    {paths?.length === 0 && <p class="soft">The paths of this row are among those that are too small for rows of their own.</p>}
                    {paths?.map((path, index) => (
                        <p key={index} class="path">
                            <b>{inRow(path.at(-1)!.value, path.at(-1)!.valueOf(varianceOf(main)) ?? 0, main.unit)}</b>{" "}
                            {path.map((item) => (item.frame ? isolated(item.frame.function) : counted(item.others, "other call path"))).join(" ← ")}
                        </p>
                    ))}
                </div>
            </div>
        </section>
    );
}
