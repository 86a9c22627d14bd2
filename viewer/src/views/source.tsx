import { useEffect, useMemo, useRef } from "preact/hooks";
import { Code, useWords } from "../code";
import { useShown } from "../context";
import { Door } from "../door";
import { ROW, useLoaded, useRows } from "../hooks";
import { columnOf, totalInWords, valueOf, type Metric } from "../model/answer";
import { counted, inRow, percent, spelledOut } from "../model/format";
import { sumOf } from "../model/errors";
import { fileName } from "../model/names";
import { costOf, filesOf, type FileRow, type SourceFile } from "../model/source_file";
import { selectionOf } from "../model/state";
import { matcher } from "../model/search";
import { Cell, Define, EditorLink, Empty, MetricChoice, Newer, Pending, Search } from "../widgets";

/** Source files, and what their lines cost. */
export function SourceView() {
    const { profile, recording, state, metric } = useShown();
    const main = metric.over ? recording.metrics.find((one) => one.name === metric.over)! : metric;
    const files = useMemo(() => filesOf(profile, main), [profile, main]);
    const file = state.file || files[0]?.file || "";
    return (
        <div class="fill">
            <div class="tools">
                <MetricChoice />
                <Search />
                {metric.over && <span class="soft">A mean has no lines: these are of {main.title}.</span>}
            </div>
            {file === "" ? (
                <Empty>No call site has a source file. memtoll doctor PROGRAM says how to build with lines.</Empty>
            ) : (
                <div class="source">
                    <Files files={files} file={file} metric={main} />
                    <File key={file} file={file} metric={main} />
                </div>
            )}
        </div>
    );
}

interface FilesProps {
    files: FileRow[];
    file: string;
    metric: Metric;
}

function Files({ files, file, metric }: FilesProps) {
    const { profile, errors } = useShown();
    const scroller = useRef<HTMLElement>(null);
    const { items, height } = useRows(scroller, files.length);
    const most = files[0]?.value ?? 0;
    return (
        <nav class="files" aria-label="source files" ref={scroller}>
            <ul style={{ height: `${height}px` }}>
                {items.map(({ index, start }) => {
                    const one = files[index];
                    if (!one) return null;
                    const of = errors.around(metric, one.value, sumOf(one.sites, (site, metric) => valueOf(profile.siteNumbers, metric, site)));
                    return (
                        <li key={one.file} style={{ transform: `translateY(${start}px)`, height: `${ROW}px` }}>
                            <Door to={{ file: one.file, line: 0 }} aria-current={one.file === file ? "true" : undefined} title={`${one.file}: ${spelledOut(of, metric.unit)}`}>
                                <span class={`bar ${metric.color}`} style={{ width: `${most > 0 ? (one.value / most) * 100 : 0}%` }} />
                                <bdi>{fileName(one.file)}</bdi>
                                <span class="soft">{inRow(of, metric.unit)}</span>
                            </Door>
                        </li>
                    );
                })}
            </ul>
        </nav>
    );
}

/** Lines that are shown: all of a text, or those of which something is known. */
function numbersOf(source: SourceFile): number[] {
    if (source.lines) return source.lines.map((_, index) => index + 1);
    return [...new Set([...source.own.at.keys(), ...source.through.at.keys()])].sort((a, b) => a - b);
}

function File({ file, metric }: { file: string; metric: Metric }) {
    const { source, profile, errors, recording, state, go, setCopy } = useShown();
    const scroller = useRef<HTMLDivElement>(null);
    const selection = selectionOf(state);
    const loaded = useLoaded(JSON.stringify([selection, file]), (signal) => source.file(selection, file, signal));
    const found = loaded.value;
    const lines = useMemo(() => (found ? numbersOf(found) : []), [found]);
    const allocations = recording.metrics.find((one) => one.name === "allocations")!;
    const columns = metric === allocations ? [] : [allocations];
    const { items, height, show } = useRows(scroller, lines.length);
    const total = profile.totals.values[metric.name] ?? 0;
    const own = (line: number) => (found ? costOf(found.own, metric, line) : null);
    const through = (line: number) => (found ? costOf(found.through, metric, line) : null);
    const most = useMemo(() => lines.reduce((most, line) => Math.max(most, own(line) ?? 0, through(line) ?? 0), 0), [lines, found, metric]);
    const costliest = () => lines.reduce((best, line) => ((own(line) ?? 0) > (own(best) ?? 0) ? line : best), lines[0] ?? 0);
    const matches = useMemo(() => matcher(state.search), [state.search]);
    const textOf = (line: number) => (found?.lines ? found.lines[line - 1] : found?.functions.get(line)) ?? "";
    const words = useWords(file, found?.lines ?? null);
    const sum = useMemo(() => errors.of(metric, sumOf(lines, (line, one) => found && costOf(found.own, one, line)))!, [lines, found, metric, errors]);

    // A new file shows the line that was asked for, or the one that costs most.
    useEffect(() => {
        if (!found || lines.length === 0) return;
        const line = state.line || costliest();
        const at = lines.indexOf(line);
        if (at >= 0) show(Math.min(lines.length - 1, at + 8));
        if (at >= 0) show(at);
    }, [found === null, state.line]);

    useEffect(() => {
        if (!found) return;
        return setCopy(() => ({
            heads: ["line", "text", columnOf(metric), { title: `${metric.name} with what it calls`, unit: metric.unit }],
            rows: lines.filter((line) => own(line) !== null || through(line) !== null).map((line) => [`${file}:${line}`, textOf(line).trim(), own(line) ?? 0, through(line) ?? 0]),
        }));
    }, [found, metric]);

    const to = (line: number | undefined) => line !== undefined && go({ file, line }, true);
    const pressed = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.metaKey) return;
        const at = lines.indexOf(state.line || costliest());
        const at_ = (index: number) => lines[Math.min(lines.length - 1, Math.max(0, index))];
        const costly = lines.filter((line) => (own(line) ?? through(line) ?? 0) > 0);
        const keys: Record<string, () => unknown> = {
            ArrowDown: () => to(at_(at + 1)),
            ArrowUp: () => to(at_(at - 1)),
            PageDown: () => to(at_(at + 20)),
            PageUp: () => to(at_(at - 20)),
            Home: () => to(at_(0)),
            End: () => to(at_(lines.length - 1)),
            h: () => to(costliest()),
            n: () => to(costly.find((line) => line > (lines[at] ?? 0))),
            p: () => to(costly.findLast((line) => line < (lines[at] ?? 0))),
        };
        const act = keys[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
    };

    if (!found) return <Pending of={loaded}>Adding up what lines cost …</Pending>;
    const template = `56px 132px 132px ${columns.map(() => "108px").join(" ")} minmax(max-content, 1fr)`;
    return (
        <section class="file" aria-label="source">
            <div class="tools">
                <h2 title={file}>
                    <bdi class="code">{file}</bdi>{state.line > 0 && `:${state.line}`}
                </h2>
                <span class="soft">{inRow(sum, metric.unit)}{total > 0 && `, ${percent(sum.value, total)} of ${totalInWords(profile.totals, metric)}`} {metric.title}</span>
                <EditorLink file={file} line={state.line || costliest()} />
            </div>
            <Newer of={found} />
            {!found.lines && <p class="empty">{found.why}</p>}
            {lines.length === 0 ? (
                <Empty>No line of this file costs anything in this selection.</Empty>
            ) : (
                <div class="table" role="table" aria-label={`lines of ${fileName(file)}`} aria-rowcount={lines.length + 1} ref={scroller} tabIndex={0} onKeyDown={pressed}>
                    <div class="sticky" role="rowgroup">
                        <div class="row head" role="row" style={{ gridTemplateColumns: template }}>
                            <div role="columnheader">line</div>
                            <div role="columnheader" title={metric.help}>{metric.title} <Define name={metric.name} inHead /></div>
                            <div role="columnheader" title={`${metric.help} Of the line, and of all that it calls.`}>with what it calls</div>
                            {columns.map((one) => (
                                <div role="columnheader" key={one.name} title={one.help}>{one.title} <Define name={one.name} inHead /></div>
                            ))}
                            <div role="columnheader" class="left">{found.lines ? `${counted(found.lines.length, "line")}` : "function"}</div>
                        </div>
                    </div>
                    <div role="rowgroup" class="body" style={{ height: `${height}px` }}>
                        {items.map(({ index, start }) => {
                            const line = lines[index];
                            if (line === undefined) return null;
                            const cell = (one: Metric, of: "own" | "through", isMain: boolean) => {
                                const value = costOf(found[of], one, line);
                                return value === null ? <div role="cell" class="number" /> : <Cell metric={one} has={(one) => costOf(found[of], one, line)} most={one === metric ? most : 0} total={one === metric ? total : null} isMain={isMain} />;
                            };
                            const isFound = matches?.(null, textOf(line));
                            return (
                                <div
                                    key={line}
                                    role="row"
                                    aria-rowindex={index + 2}
                                    class={line === state.line ? "row chosen" : "row"}
                                    style={{ gridTemplateColumns: template, transform: `translateY(${start}px)`, height: `${ROW}px` }}
                                    onClick={() => to(line)}
                                >
                                    <div role="rowheader" class="number soft">{line || "?"}</div>
                                    {cell(metric, "own", true)}
                                    {cell(metric, "through", true)}
                                    {columns.map((one) => cell(one, "own", false))}
                                    <div role="cell" class={isFound ? "text-of found" : "text-of"}>{found.lines ? <Code words={words(line)} /> : <bdi>{textOf(line)}</bdi>}</div>
                                </div>
                            );
                        })}
                    </div>
                </div>
            )}
        </section>
    );
}
