import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, useColumns } from "../columns";
import { useShown } from "../context";
import { Door } from "../door";
import { useLoaded } from "../hooks";
import { numbersOf, titled, titleInRows, valueOf } from "../model/answer";
import { namingColumn, plainColumn } from "../model/columns";
import { count, counted, exact, number, time, type Unit } from "../model/format";
import { withoutFolders } from "../model/names";
import { processTree } from "../model/process_tree";
import { selectionOf } from "../model/state";
import { timeAt } from "../model/time_axis";
import { matcher } from "../model/search";
import { toMember } from "../model/ways";
import { Empty, PlainHead, Search } from "../widgets";
import { Table } from "../table";

/** What a process has of the selection; a page does not hold it. */
const MEMORY = ["peak", "live", "allocations"] as const;

const unitOf = (name: (typeof MEMORY)[number]): Unit => (name === "allocations" ? "count" : "bytes");

/** Which process started which, when, how each ended, and what it had in memory. */
export function Processes() {
    const { source, recording, state, setCopy } = useShown();
    const { processes, process_count } = recording.about;
    const shown = source.asks ? MEMORY : [];
    const selection = { ...selectionOf(state), process: "", thread: "" };
    const asked = useLoaded(source.asks ? JSON.stringify(selection) : null, (signal) => source.groups(selection, "process", signal));
    const memory = useMemo(() => {
        const pack = asked.value;
        if (!pack) return null;
        const numbers = numbersOf(pack, "groups", recording.metrics);
        const row = new Map(pack.head.members.map(({ image }, at) => [image, at]));
        return (name: string, image: number) => {
            const [metric, at] = [recording.metrics.find((one) => one.name === name), row.get(image)];
            return metric && metric.known ? (at === undefined ? 0 : valueOf(numbers, metric, at)) : null;
        };
    }, [asked.value]);
    const rows = useMemo(() => {
        const matches = matcher(state.search);
        return processTree(processes).filter(({ of }) => !matches || matches(null, `${of.id} ${of.command}`));
    }, [processes, state.search]);
    const end = recording.timeline.end_ns;
    // As all processes have them, whichever is selected.
    const metrics = titled(recording.metrics, asked.value?.head.titles ?? {});
    const memoryOf = (name: string) => metrics.find((one) => one.name === name)!;
    const fitted = useColumns([
        namingColumn("process", 300),
        ...shown.map((name) => plainColumn(titleInRows(memoryOf(name)), 100, name)),
        plainColumn("ran for", 90),
        plainColumn("exit", 110),
        ...["began at", "ended at"].map((title) => plainColumn(title, 90)),
        plainColumn("threads", 70),
    ]);
    useEffect(() => {
        return setCopy(() => ({
            heads: ["pid", "parent", "command", { title: "began", unit: "ns" }, { title: "ended", unit: "ns" }, "exit", ...shown.map((title) => ({ title, unit: unitOf(title) }))],
            rows: rows.map(({ of, at }) => [of.id, String(of.parent), of.command, of.began_ns, of.ended_ns, of.exit, ...shown.map((name) => memory?.(name, at) ?? null)]),
        }));
    }, [rows, memory]);
    return (
        <div class="fill">
            <div class="tools">
                <Search />
                <ColumnChoice of={fitted} />
                <span class="soft">
                    {counted(process_count, "process")}, each below the one that started it{processes.length < process_count && `; the first ${count(processes.length)}`}.{source.asks && " A row selects its process."}
                </span>
                {asked.failed && <span class="error" role="alert">{asked.error}</span>}
            </div>
            {rows.length === 0 ? (
                <Empty>No process matches. Empty the search field to see all.</Empty>
            ) : (
                <Table
                    label="processes"
                    columns={fitted}
                    heads={
                        <>
                            <div role="columnheader">process</div>
                            {shown.map((name) => <PlainHead key={name} metric={memoryOf(name)} />)}
                            <div role="columnheader">ran for</div>
                            <div role="columnheader">exit</div>
                            <div role="columnheader">began at</div>
                            <div role="columnheader">ended at</div>
                            <div role="columnheader">threads</div>
                        </>
                    }
                    rows={rows}
                    keyOf={({ at }) => at}
                    branch={({ depth }) => ({ level: depth + 1, isOpen: undefined })}
                    chosen={rows.findIndex(({ of }) => of.id === state.process)}
                    cells={({ of, at, depth }) => (
                        <>
                            <div role="gridcell" class="what" style={{ paddingLeft: `${12 + Math.min(depth, 40) * 14}px` }}>
                                <Door to={toMember(of.id, null)} title={of.command}><span class="soft">{of.id}</span> <bdi class="code">{withoutFolders(of.command)}</bdi></Door>
                            </div>
                            {shown.map((name) => {
                                const value = memory?.(name, at) ?? null;
                                const unit = unitOf(name);
                                const why = asked.loading ? "adding up" : asked.failed ? asked.error : "not known";
                                return (
                                    <div key={name} role="gridcell" class={value === null ? "number unknown" : value === 0 ? "number zero" : "number"} title={value === null ? why : exact(value, unit)}>
                                        <span class="text">{value === null ? (asked.loading ? "…" : "–") : number(value, unit)}</span>
                                    </div>
                                );
                            })}
                            <div role="gridcell" class={of.ended_ns === null ? "number unknown" : "number"}><span class="text">{of.ended_ns === null ? "–" : time(of.ended_ns - of.began_ns)}</span></div>
                            <div role="gridcell" class={of.exit === "" ? "number unknown" : of.exit === "exit code 0" ? "number zero" : "number"}><span class="text">{of.exit || "–"}</span></div>
                            {[of.began_ns, of.ended_ns].map((ns, index) => (
                                <div key={index} role="gridcell" class={ns === null ? "number unknown" : "number"} title={ns === null ? "not known" : exact(ns, "ns")}><span class="text">{ns === null ? "–" : timeAt(ns, end / 1000)}</span></div>
                            ))}
                            <div role="gridcell" class="number"><span class="text">{count(of.threads)}</span></div>
                        </>
                    )}
                />
            )}
        </div>
    );
}
