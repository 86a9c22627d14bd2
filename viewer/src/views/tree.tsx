import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { useShown, useTree } from "../context";
import { columnOf, shownIn, varianceOf, type Metric } from "../model/answer";
import { counted } from "../model/format";
import { fileName, labelOf } from "../model/names";
import { heaviestPath, matcher, type TreeItem } from "../model/tree";
import { Cell, DirectionChoice, Empty, GroupChoice, Heading, MetricChoice, Name, Pending, Search, SharesOf } from "../widgets";
import { Table } from "../table";

/** What the first branches are; of a page, types are not known of call paths. */
const PATHS = "call path";
const BY = [PATHS, "module", "type"] as const;

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

/** Branches to open so that the matches are seen, the largest first, up to a limit. */
function found(root: TreeItem, matches: NonNullable<ReturnType<typeof matcher>>): { open: Set<string>; first: string; count: number } {
    const open = new Set<string>();
    let first = "";
    let hits = 0;
    let looked = 0;
    const walk = (item: TreeItem, path: TreeItem[]): void => {
        if (looked++ > 50_000 || hits >= 200) return;
        if (matches(item.frame, item.label)) {
            hits++;
            first ||= item.key;
            path.forEach((caller) => open.add(caller.key));
        }
        if (path.length < 400) for (const child of item.children()) walk(child, [...path, item]);
    };
    root.children().forEach((item) => walk(item, []));
    return { open, first, count: hits };
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
                <Branches key={by} main={main} reversed={state.reversed} through="" by={by === PATHS ? "" : by} title={state.reversed ? "allocated by, called from" : "function"}>
                    <MetricChoice />
                    <GroupChoice groups={choices} group={by} choose={(by) => go({ by: by === PATHS ? "" : by })} />
                    <DirectionChoice />
                    <Search />
                    <SharesOf metric={main} />
                    {metric.over && <span class="soft">A mean has no tree: this one is of {main.title}.</span>}
                </Branches>
            ) : (
                <>
                    <Branches key="callers" main={main} reversed through={through} by="" title="called from">
                        <MetricChoice />
                        <button class="selection" onClick={() => go({ through: "" })} title="Show the whole tree">
                            through <bdi>{through}</bdi> <span aria-hidden="true">×</span>
                        </button>
                        <Search />
                    </Branches>
                    <Branches key="callees" main={main} reversed={false} through={through} by="" title="calls" />
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
    /** What stands before the buttons. */
    children?: ComponentChildren;
}

function Branches({ main, reversed, through, by, title, children }: BranchesProps) {
    const { recording, state, go, setCopy, say } = useShown();
    const columns = useMemo(() => [main, ...shownIn(recording.metrics, "tree").filter((one) => one.name !== main.name)], [main, recording]);
    const loaded = useTree({ metric: main, columns, reversed, through, by, least: 0.0002 });
    const root = loaded.value;
    const [grown, redraw] = useReducer((n: number) => n + 1, 0);
    const [open, setOpen] = useState<Set<string>>(() => new Set());
    const [chosen, choose] = useState("");
    const matches = useMemo(() => matcher(state.search), [state.search]);
    const lines = useMemo(() => (root ? linesOf(root, open) : []), [root, open, grown]);
    const at = lines.findIndex((line) => line.item.key === chosen);
    const whole = (one: Metric) => root?.valueOf(one) ?? 0;
    const asked = useRef(new Set<TreeItem>());
    const first = useRef("");

    // What is open and not there yet is loaded.
    useEffect(() => {
        for (const { item } of lines) {
            if (!item.hasMore || !open.has(item.key) || asked.current.has(item)) continue;
            asked.current.add(item);
            item.load(0).then(() => redraw(0), (error: unknown) => say(error instanceof Error ? error.message : String(error)));
        }
    }, [lines, open]);

    // A new tree shows its heaviest path.
    useEffect(() => {
        if (!root || first.current === main.name) return;
        first.current = main.name;
        void heaviestPath(root).then((path) => {
            setOpen(new Set(path.slice(0, (reversed ? 1 : 12) + (by ? 1 : 0)).map((item) => item.key)));
            choose("");
        });
    }, [root, main.name]);

    useEffect(() => {
        if (!matches || !root) return;
        const timer = setTimeout(() => {
            const hits = found(root, matches);
            if (hits.count > 0) setOpen((known) => new Set([...known, ...hits.open]));
            choose(hits.first);
        }, 150);
        return () => clearTimeout(timer);
    }, [matches, root]);

    useEffect(() => {
        setCopy(() => ({
            heads: ["call tree", ...columns.map(columnOf)],
            rows: lines.map(({ item, depth }) => ["  ".repeat(depth) + labelOf(item), ...columns.map((one) => item.valueOf(one))]),
        }));
        return () => setCopy(null);
    }, [lines, columns]);

    const toggle = (item: TreeItem, force?: boolean) =>
        setOpen((known) => {
            const next = new Set(known);
            if (force ?? !next.has(item.key)) next.add(item.key);
            else next.delete(item.key);
            return next;
        });

    const heaviest = async () => {
        if (!root) return;
        const path = await heaviestPath(root);
        setOpen((known) => new Set([...known, ...path.map((item) => item.key)]));
        choose(path.at(-1)?.key ?? "");
        if (path.length > 0) say(`The heaviest path has ${counted(path.length, "frame")}.`);
    };

    const pressed = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.metaKey) return;
        const line = lines[at];
        const to = (index: number) => choose(lines[Math.min(lines.length - 1, Math.max(0, index))]?.item.key ?? "");
        const keys: Record<string, () => void> = {
            ArrowDown: () => to(at + 1),
            ArrowUp: () => to(at - 1),
            PageDown: () => to(at + 20),
            PageUp: () => to(at - 20),
            Home: () => to(0),
            End: () => to(lines.length - 1),
            ArrowRight: () => line && (open.has(line.item.key) ? to(at + 1) : toggle(line.item, true)),
            ArrowLeft: () => line && (open.has(line.item.key) ? toggle(line.item, false) : line.parent >= 0 && to(line.parent)),
            Enter: () => line && toggle(line.item),
            h: () => void heaviest(),
            s: () => line?.item.frame && go({ through: line.item.frame.full }),
        };
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
    };

    if (!root) return <><div class="tools">{children}</div><Pending of={loaded}>Adding up what calls what …</Pending></>;
    return (
        <>
            <div class="tools">
                {children}
                <button onClick={() => void heaviest()} title="Open the heaviest path (h)">heaviest path</button>
                <button
                    disabled={!lines[at]?.item.frame}
                    title="Callers of the chosen function, and what it calls (s)"
                    onClick={() => go({ through: lines[at]?.item.frame?.full ?? "" })}
                >
                    callers and callees
                </button>
            </div>
            {lines.length === 0 ? (
                <Empty>No call path{through && " through this function"} has any {main.title} in this selection. Press m for the next metric, Esc for the whole run.</Empty>
            ) : (
                <Table
                    label={`call tree of ${main.title}${by && ` by ${by}`}${through && `: ${title}`}`}
                    template={`minmax(400px, 900px) 148px repeat(${columns.length - 1}, 100px)`}
                    heads={
                        <>
                            <div role="columnheader">{by && `${by}, `}{title}</div>
                            {columns.map((one) => (
                                <Heading key={one.name} metric={one} order={null} isMain={one === main} />
                            ))}
                        </>
                    }
                    rows={lines}
                    keyOf={({ item }) => item.key}
                    chosen={at}
                    choose={({ item }) => {
                        choose(item.key);
                        if (hasMore(item)) toggle(item);
                    }}
                    pressed={pressed}
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
                            {columns.map((one, column) => (
                                <Cell key={one.name} metric={one} value={item.valueOf(one)} variance={item.valueOf(varianceOf(one)) ?? 0} most={whole(one)} total={whole(one)} isMain={column === 0} />
                            ))}
                        </>
                    )}
                />
            )}
        </>
    );
}
