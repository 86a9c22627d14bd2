import { useEffect, useState } from "preact/hooks";
import { useShown, useTree } from "../context";
import { Door } from "../door";
import { titleInRows, valueOf } from "../model/answer";
import { idOf } from "../model/data_source";
import { count, counted, inRow, isolated } from "../model/format";
import { placeOf } from "../model/names";
import { wholeName } from "../model/search";
import type { TreeItem } from "../model/tree";
import { through, toMember, toMetric } from "../model/ways";
import { Define, EditorLink, PlaceLink, Tailed } from "../widgets";
import type { Row } from "./lines";

/** Groups that have a tree each. */
const TREES = ["module", "type"];

/** Where the call paths of a row begin, in the tree of all allocations. */
async function beginsOf(root: TreeItem, { frame, name, member }: Row, group: string): Promise<TreeItem[]> {
    if (member) return root.children();
    if (TREES.includes(group)) {
        const all = root.children().find((item) => item.label === name);
        if (all?.hasMore) await all.load(0);
        return all?.children() ?? [];
    }
    const isLine = group === "line";
    return root.children().filter((item) => item.frame && item.frame.full === frame?.full && item.frame.module === frame.module && (!isLine || (item.frame.line === frame.line && item.frame.file === frame.file)));
}

/** The largest call paths from there on, outermost first. */
async function pathsFrom(begins: TreeItem[]): Promise<TreeItem[][]> {
    const paths: TreeItem[][] = [];
    const open = begins.map((item) => [item]);
    while (open.length > 0 && paths.length < 5) {
        open.sort((a, b) => b.at(-1)!.value - a.at(-1)!.value);
        const path = open.shift()!;
        const item = path.at(-1)!;
        if (item.hasMore && item.others === 0) await item.load(0);
        const callers = item.children();
        if (item.own > 0 || callers.length === 0) paths.push(path);
        if (path.length < 200) for (const caller of callers) open.push([...path, caller]);
    }
    return paths;
}

/** All numbers of a row, and what calls it. */
export function Details({ row, group }: { row: Row; group: string }) {
    const { recording, metric, state, go, errors } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const { frame, site, member } = row;
    const who = member?.image != null && member.pid !== null ? toMember(idOf(recording, { process: member.image, pid: member.pid }), member.tid) : null;
    const isKnown = frame !== null || who !== null || TREES.includes(group);
    const tree = useTree(isKnown ? { metric: main, columns: [main], reversed: true, through: "", by: TREES.includes(group) ? group : "", least: 0.0002 } : null, who ?? {});
    const [paths, setPaths] = useState<TreeItem[][] | null>(null);
    useEffect(() => {
        let isOver = false;
        if (tree.value) void beginsOf(tree.value, row, group).then(pathsFrom).then((found) => !isOver && setPaths(found));
        return () => void (isOver = true);
    }, [tree.value, row.focus, group]);
    return (
        <section class={state.wide ? "details wide" : "details"} aria-label="details">
            <div class="tools">
                <h2 title={frame?.full}>
                    <Tailed kind="function" text={frame?.function ?? row.name} />
                </h2>
                {who && <Door to={who} class="link">only this {group}</Door>}
                {frame && <Door to={through(frame)} class="link">callers and callees</Door>}
                {frame && <Door to={{ view: "flame", search: wholeName(frame) }} class="link">flame graph</Door>}
                <button onClick={() => go({ wide: !state.wide })}>{state.wide ? "smaller" : "larger"}</button>
                <button onClick={() => go({ focus: "" })} aria-label="close the details" title="Esc">×</button>
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
                            const of = errors.of(one, (one) => valueOf(row.numbers, one, row.at));
                            return (
                                <div key={one.name} title={one.help}>
                                    <dt><Door to={toMetric(one.name)}>{titleInRows(one)}</Door> <Define name={one.name} /></dt>
                                    <dd>{of === null ? "–" : inRow(of, one.unit)}</dd>
                                </div>
                            );
                        })}
                    </dl>
                </div>
                <div>
                    <h3>Call paths by {main.title}, innermost first{site?.type ? ", all types of the line together" : ""}</h3>
                    {tree.failed && <p class="soft">{tree.error}</p>}
                    {paths?.length === 0 && <p class="soft">The paths of this row are among those that are too small for rows of their own.</p>}
                    {paths?.map((path, index) => (
                        <p key={index} class="path">
                            <b>{inRow(errors.around(main, path.at(-1)!.value, (one) => path.at(-1)!.valueOf(one)), main.unit)}</b>{" "}
                            {path.map((item) => (item.frame ? isolated(item.frame.function) : counted(item.others, "other call path"))).join(" ← ")}
                        </p>
                    ))}
                </div>
            </div>
        </section>
    );
}
