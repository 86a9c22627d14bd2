import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { ColumnChoice, Edge, notHidden, useColumns } from "../columns";
import { useShown, useTree } from "../context";
import { columnOf, shownIn, titleInRows, type Frame, type Metric } from "../model/answer";
import { namingColumn, plainColumn } from "../model/columns";
import { counted } from "../model/format";
import { FrameButtons, useInHand } from "../frame_in_hand";
import { fileName, labelOf, partsOfFunction } from "../model/names";
import { byFunction } from "../model/functions";
import { openIn, textOf } from "../model/paths";
import { matcher, type Matcher } from "../model/search";
import { heaviestPath, type TreeItem } from "../model/tree";
import { AtLeast, Cell, DirectionChoice, Empty, GroupChoice, Heading, LinesChoice, LiveChoice, MetricChoice, Name, Pending, Search, SharesOf, Tailed } from "../widgets";
import { Table } from "../table";

/** What the first branches are; of a page, types are not known of call paths. */
const PATHS = "call path";
const BY = [PATHS, "module", "type"] as const;

/** The least widths of columns, pixels: of names, of the main metric with its share, and of others. */
const [NAME, MAIN, OTHER] = [400, 148, 100];

interface Line {
    item: TreeItem;
    depth: number;
    /** Index of the line of its caller; -1: none. */
    parent: number;
}

const hasMore = (item: TreeItem) => item.hasMore || item.children().length > 0;

/** The lines of open branches. */
function linesOf(root: TreeItem, open: Set<string>): Line[] {
    const lines: Line[] = [];
    const add = (items: TreeItem[], depth: number, parent: number) => {
        for (const item of items) {
            const at = lines.push({ item, depth, parent }) - 1;
            if (open.has(item.key)) add(item.children(), depth + 1, at);
        }
    };
    add(root.children(), 0, -1);
    return lines;
}

/** Hits of a search at the most. */
const MOST_HITS = 200;

interface Hits {
    /** The way to each: its callers, outermost first, and itself. */
    paths: TreeItem[][];
    /** Branches that were looked at. */
    looked: number;
    isAll: boolean;
}

/** What a search finds among the branches that are loaded, from above. */
function found(root: TreeItem, matches: Matcher): Hits {
    const paths: TreeItem[][] = [];
    let looked = 0;
    let isAll = true;
    const walk = (item: TreeItem, callers: TreeItem[]): void => {
        if (paths.length >= MOST_HITS) return void (isAll = false);
        looked++;
        const path = [...callers, item];
        if (matches(item.frame, item.label)) paths.push(path);
        if (item.hasMore) isAll = false;
        if (path.length < 400) for (const child of item.children()) walk(child, path);
    };
    root.children().forEach((item) => walk(item, []));
    return { paths, looked, isAll };
}

/** The call tree, or the callers of a function above what it calls. */
export function TreeView() {
    const { source, recording, state, go, metric } = useShown();
    const choices = source.asks ? BY : BY.slice(0, 2);
    const by = choices.find((one) => one === state.by) ?? PATHS;
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const { through } = state;
    return (
        <div class="fill">
            {through === "" ? (
                <Branches key={by} slot={0} main={main} reversed={state.reversed} through="" by={by === PATHS ? "" : by} title={state.reversed ? "allocated by, called from" : "function"} tools={(search) => (<>
                    <MetricChoice />
                    <LiveChoice />
                    <GroupChoice groups={choices} group={by} choose={(by) => go({ by: by === PATHS ? "" : by })} />
                    <DirectionChoice />
                    <LinesChoice />
                    {search}
                    <SharesOf metric={main} />
                    {(state.reversed || by !== PATHS) && <AtLeast metric={main} />}
                    {metric.over && <span class="soft">A mean has no tree: this one is of {main.title}.</span>}
                </>)} />
            ) : (
                <>
                    <Branches key="callers" slot={0} main={main} reversed through={through} by="" title="called from" tools={(search, first) => (<>
                        <MetricChoice />
                        <button class="selection" onClick={() => go({ through: "" })} title={`Show the whole tree, not only calls through ${partsOfFunction(through).join(" of ")}`}>
                            through <Tailed kind="code" text={first?.function ?? through} /> <span aria-hidden="true">×</span>
                        </button>
                        <LinesChoice />
                        {search}
                        <AtLeast metric={main} />
                    </>)} />
                    <Branches key="callees" slot={1} main={main} reversed={false} through={through} by="" title="calls" />
                </>
            )}
        </div>
    );
}

interface BranchesProps {
    main: Metric;
    reversed: boolean;
    through: string;
    by: string;
    title: string;
    /** Which of two trees it is: the address has the open branches of both. */
    slot: 0 | 1;
    /** What stands before the buttons, of the first tree with the search and the first branch. */
    tools?: (search: ComponentChildren, first: Frame | null) => ComponentChildren;
}

/** The branches of one tree, with their buttons. */
export function Branches({ main, reversed, through, by, title, slot, tools }: BranchesProps) {
    const { recording, state, go, setCopy, say } = useShown();
    const wanted = useMemo(() => [main, ...shownIn(recording.metrics, "tree").filter((one) => one.name !== main.name)], [main, recording]);
    const loaded = useTree({ metric: main, columns: wanted, reversed, through, by, least: 0.0002, search: state.search });
    const root = useMemo(() => loaded.value && (state.byLine ? loaded.value : byFunction(loaded.value)), [loaded.value, state.byLine]);
    // What no call path has needs no room.
    const filled = useMemo(() => wanted.filter((one) => one === main || root?.valueOf(one) !== 0), [wanted, root]);
    const fitted = useColumns([namingColumn(title, NAME), ...filled.map((one) => ({ ...plainColumn(titleInRows(one), one === main ? MAIN : OTHER, one.name), stays: one === main }))]);
    const columns = useMemo(() => notHidden(filled, main, state.columns), [filled, main, state.columns]);
    const [grown, redraw] = useReducer((n: number) => n + 1, 0);
    const [heaviest, setHeaviest] = useState<Set<string>>(() => new Set());
    const matches = useMemo(() => matcher(state.search), [state.search]);
    const hits = useMemo(() => (matches && root ? found(root, matches) : null), [matches, root, grown]);
    const hit = hits?.paths[Math.min(state.hit, hits.paths.length) - 1];
    const texts = state.open.split("|");
    const open = useMemo(() => new Set([...(openIn(texts[slot] ?? "") ?? heaviest), ...(hit?.slice(0, -1) ?? []).map((item) => item.key)]), [texts[slot], heaviest, hit]);
    const chosen = hit?.at(-1)?.key ?? state.branch;
    const lines = useMemo(() => (root ? linesOf(root, open) : []), [root, open, grown]);
    const at = lines.findIndex((line) => line.item.key === chosen);
    const whole = (one: Metric) => root?.valueOf(one) ?? 0;
    const asked = useRef(new Set<TreeItem>());

    // What is open and not there yet is loaded.
    useEffect(() => {
        for (const { item } of lines) {
            if (!item.hasMore || !open.has(item.key) || asked.current.has(item)) continue;
            asked.current.add(item);
            item.load(0).then(() => redraw(0), (error: unknown) => say(error instanceof Error ? error.message : String(error)));
        }
    }, [lines, open]);

    // Without open branches in the address, the heaviest path is open.
    useEffect(() => {
        if (!root || texts[slot]) return;
        let isOver = false;
        void heaviestPath(root).then((path) => !isOver && setHeaviest(new Set(path.slice(0, (reversed ? 1 : 12) + (by ? 1 : 0)).map((item) => item.key))));
        return () => void (isOver = true);
    }, [root, main.name, !texts[slot]]);

    /** What a branch is chosen for, and what is open then. */
    const choose = (branch: string, joins = false) => go({ branch, hit: 0, open: withOpen(open) }, joins);
    const withOpen = (now: Set<string>) => {
        const same = now === open && !hit;
        const all = [texts[0] ?? "", texts[1] ?? ""];
        if (!same) all[slot] = textOf(now);
        return all[1] === "" ? all[0]! : all.join("|");
    };

    // Of two trees, the first one is copied; below another table, that is.
    useEffect(() => {
        if (!tools) return;
        return setCopy(() => ({
            heads: ["call tree", ...columns.map(columnOf)],
            rows: lines.map(({ item, depth }) => ["  ".repeat(depth) + labelOf(item), ...columns.map((one) => item.valueOf(one))]),
        }));
    }, [lines, columns]);

    const frame = lines[at]?.item.frame;
    const toggle = (item: TreeItem) => {
        const next = new Set(open);
        if (!next.delete(item.key)) next.add(item.key);
        go({ branch: item.key, hit: 0, open: withOpen(next) });
    };

    const openHeaviest = async () => {
        if (!root) return;
        const path = await heaviestPath(root);
        redraw(0);
        go({ branch: path.at(-1)?.key ?? "", hit: 0, open: withOpen(new Set([...open, ...path.slice(0, -1).map((item) => item.key)])) });
        if (path.length > 0) say(`The heaviest path has ${counted(path.length, "frame")}.`);
    };

    const hand = useInHand(frame);
    const pressed = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.metaKey || hand.pressed(event)) return;
        const line = lines[at];
        const to = (index: number) => choose(lines[Math.min(lines.length - 1, Math.max(0, index))]?.item.key ?? "", true);
        const keys: Record<string, () => void> = {
            ArrowDown: () => to(at + 1),
            ArrowUp: () => to(at - 1),
            PageDown: () => to(at + 20),
            PageUp: () => to(at - 20),
            Home: () => to(0),
            End: () => to(lines.length - 1),
            ArrowRight: () => line && (open.has(line.item.key) ? to(at + 1) : hasMore(line.item) && toggle(line.item)),
            ArrowLeft: () => line && (open.has(line.item.key) ? toggle(line.item) : line.parent >= 0 && to(line.parent)),
            Enter: () => line && toggle(line.item),
            h: () => void openHeaviest(),
        };
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
    };

    const search = <Search {...(hits ? { hits: { ...hits, count: hits.paths.length } } : {})} />;
    if (!root) return <><div class="tools">{tools?.(search, null)}</div><Pending of={loaded}>Adding up what calls what …</Pending></>;
    return (
        <>
            <div class="tools">
                {tools?.(search, root.children()[0]?.frame ?? null)}
                {tools && <ColumnChoice of={fitted} />}
                <button onClick={() => void openHeaviest()} title="Open the heaviest path (h)">heaviest path</button>
                <FrameButtons frame={frame} />
            </div>
            {lines.length === 0 ? (
                <Empty>No call path{through && " through this function"} has any {main.title} in this selection. Press m for the next metric, Esc for the whole run.</Empty>
            ) : (
                <Table
                    label={`call tree of ${main.title}${by && ` by ${by}`}${through && `: ${title}`}`}
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">{by && `${by}, `}{title}<Edge column="name" /></div>
                            {filled.map((one) => (
                                <Heading key={one.name} metric={one} order={null} isMain={one === main} />
                            ))}
                        </>
                    }
                    rows={lines}
                    keyOf={({ item }) => item.key}
                    chosen={at}
                    choose={({ item }) => (hasMore(item) ? toggle(item) : choose(item.key))}
                    pressed={pressed}
                    menu={(line, event) => hand.menu(event, line.item.frame)}
                    branch={({ item, depth }) => ({ level: depth + 1, isOpen: hasMore(item) ? open.has(item.key) : undefined })}
                    cells={({ item, depth }) => (
                        <>
                            <div role="gridcell" class="what" style={{ paddingLeft: `${12 + Math.min(depth, 60) * 12}px` }}>
                                <span class="twist" aria-hidden="true">{hasMore(item) ? (open.has(item.key) ? "▾" : "▸") : ""}</span>
                                {item.frame ? (
                                    <Name frame={item.frame} marked={!!matches?.(item.frame)} />
                                ) : item.label ? (
                                    <b class={matches?.(null, item.label) ? "name found" : "name"} title={item.label}><bdi class="function">{by === "module" ? fileName(item.label) : item.label}</bdi></b>
                                ) : (
                                    <span class="soft">{labelOf(item)}</span>
                                )}
                            </div>
                            {filled.map((one) => (
                                <Cell key={one.name} metric={one} has={(of) => item.valueOf(of)} most={whole(one)} total={whole(one)} isMain={one === main} />
                            ))}
                        </>
                    )}
                />
            )}
        </>
    );
}
