import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useShown } from "../context";
import { Door, useWay } from "../door";
import { colorOf, ROW, useCanvas, useLoaded, useSize } from "../hooks";
import { selects } from "../model/cuts";
import { idOf } from "../model/data_source";
import { timeAt } from "../model/time_axis";
import { orderOf, sorted, type Order } from "../model/order";
import { grouped } from "../model/tree";
import { toMember, toSpan } from "../model/ways";
import type { Pack } from "../model/pack";
import type { Estimated, GroupsPack, LaneOfThread, LanesPack, Member } from "../model/packs";
import { numbersOf, valueOf, type Metric } from "../model/answer";
import { count, counted, estimate, inRow, isolated, share, spelledOut, time } from "../model/format";
import { selectionOf } from "../model/state";
import { Define, Empty, Pending, SortHead } from "../widgets";
import { Table } from "../table";

/** Parts of a lane, and the names of their colors. */
const KINDS = [
    ["allocator", "in calls"],
    ["faulting", "faulting"],
    ["waiting", "waiting"],
    ["off", "off the CPU"],
] as const;

/** The metrics of times that are estimates; those of a thread err as these do. */
const ESTIMATED: Partial<Record<Kind, string>> = { allocator: "allocator", faulting: "fault-time", waiting: "waiting" };

/** Height of a lane, pixels. */
const LANE = 22;

type Kind = (typeof KINDS)[number][0] | "alive";

/** What each thread did: lanes over what the time line shows, and sums of what is selected. */
export function Threads() {
    const { source, state, recording } = useShown();
    const selection = { ...selectionOf(state), pages: false };
    const shown = { ...selection, from: state.left, to: state.right };
    const [lanes, selected] = [shown, selection].map((of) => JSON.stringify(of));
    const drawn = useLoaded(source.asks ? lanes! : null, (signal) => source.lanes(shown, signal));
    const added = useLoaded(source.asks && lanes !== selected ? selected! : null, (signal) => source.lanes(selection, signal));
    const priced = useLoaded(source.asks ? `${selected} priced` : null, (signal) => source.groups(selection, "thread", signal));
    const whole = lanes === selected ? drawn.value : added.value;
    const sums = useMemo(() => whole && priced.value && sumsOf(whole, allocatorTimes(priced.value, recording.metrics)), [whole, priced.value]);
    if (!source.asks) return <Empty>This page does not hold what threads did over time. Open the recording with memtoll view to see it.</Empty>;
    if (!drawn.value || !sums) return <Pending of={[drawn, added, priced].find(({ failed }) => failed) ?? drawn}>Reading all events …</Pending>;
    if (drawn.value.head.lanes.length === 0) return <Empty>No thread in this selection. Press Esc for the whole run.</Empty>;
    return <Lanes pack={drawn.value} sums={sums} />;
}

/** How long a thread was there, and did each of these, ns. */
type Sum = Record<Kind, number>;

const NOTHING: Sum = { alive: 0, allocator: 0, faulting: 0, waiting: 0, off: 0 };

const memberKey = ({ image, tid }: Pick<Member, "image" | "tid">) => `${image}/${tid}`;

/** The allocator's time by thread, ns, as all views have it: lanes leave out what has no room in an interval. */
function allocatorTimes(pack: Pack<GroupsPack>, metrics: Metric[]): Map<string, number> {
    const metric = metrics.find(({ name }) => name === "allocator")!;
    const numbers = numbersOf(pack, "groups", metrics);
    return new Map(pack.head.members.map((member, at) => [memberKey(member), valueOf(numbers, metric, at) ?? 0]));
}

/** By thread. */
function sumsOf(pack: Pack<LanesPack>, allocator: Map<string, number>): Map<string, Sum> {
    const { lanes, interval_ns: interval } = pack.head;
    const intervals = pack.column("lanes.alive").length / Math.max(1, lanes.length);
    const sum = (name: Kind, index: number) => {
        const column = pack.column(`lanes.${name}`);
        let thousandths = 0;
        for (let at = index * intervals; at < (index + 1) * intervals; at++) thousandths += column[at]!;
        return (thousandths / 1000) * interval;
    };
    const of = (index: number): Sum => ({ alive: sum("alive", index), allocator: allocator.get(memberKey(lanes[index]!)) ?? 0, faulting: sum("faulting", index), waiting: sum("waiting", index), off: sum("off", index) });
    return new Map(lanes.map((lane, index) => [memberKey(lane), of(index)]));
}

/** A process above its threads, or one of them. */
interface Row {
    pid: number;
    process: number;
    /** Its lane; null: it is a process of several threads. */
    lane: number | null;
    /** Whether it is called like its process, of which it is the only thread. */
    isProcess: boolean;
    sum: Sum;
}

/** Threads below their processes; of one process, threads only. `isAlone`: the only thread of a process, which are one row. */
function rowsOf(lanes: LaneOfThread[], sums: Map<string, Sum>, order: Order, isAlone: (process: number) => boolean): Row[] {
    const value = ({ sum }: Row) => (order.column === "thread" ? 0 : sum[order.column as Kind]);
    const threads = lanes.map((of, lane): Row => ({ pid: of.pid, process: of.process, lane, isProcess: false, sum: sums.get(memberKey(of)) ?? NOTHING }));
    const groups = new Map(grouped(threads, ({ process }) => process));
    const plus = (a: Sum, b: Sum): Sum => ({ alive: a.alive + b.alive, allocator: a.allocator + b.allocator, faulting: a.faulting + b.faulting, waiting: a.waiting + b.waiting, off: a.off + b.off });
    if (groups.size < 2) return sorted(threads, order, value);
    const processes = [...groups].map(([process, all]): Row => ({ pid: all[0]!.pid, process, lane: isAlone(process) ? all[0]!.lane : null, isProcess: true, sum: all.map(({ sum }) => sum).reduce(plus, NOTHING) }));
    return sorted(processes, order, value).flatMap((row) => [row, ...(row.lane === null ? sorted(groups.get(row.process)!, order, value) : [])]);
}

function Lanes({ pack, sums }: { pack: Pack<LanesPack>; sums: Map<string, Sum> }) {
    const { theme, state, recording, errors, setCopy } = useShown();
    const { lanes: threads, sees_switches: sees, times_faults, interval_ns: interval, start_ns: start, count: total, waits: waitCount } = pack.head;
    const isKnown = { allocator: true, faulting: times_faults, waiting: sees, off: sees };
    const intervals = pack.column("lanes.alive").length / threads.length;
    const order = orderOf(state.order, ["thread", "alive", ...KINDS.map(([name]) => name)], "thread");
    const rows = useMemo(() => {
        const counts = new Map(grouped(recording.about.threads, ({ process }) => process).map(([process, all]) => [process, all.length]));
        return rowsOf(threads, sums, order, (process) => counts.get(process) === 1);
    }, [pack, sums, state.order]);
    const waits = useMemo(() => waitsOf(pack), [pack]);
    const sumOf = (lane: number) => sums.get(memberKey(threads[lane]!)) ?? NOTHING;
    const nameOf = (lane: number | null) => (lane === null ? "unknown" : `${isolated(threads[lane]?.name ?? "thread")} ${threads[lane]?.tid ?? ""}`.trim());
    /** For whom a thread waited, longest first. */
    const holders = useMemo(() => {
        const sums = threads.map(() => new Map<number | null, number>());
        for (const wait of waits) sums[wait.lane]!.set(wait.holder, (sums[wait.lane]!.get(wait.holder) ?? 0) + wait.ended - wait.began);
        return sums.map((sum) => [...sum].sort((a, b) => b[1] - a[1]));
    }, [waits]);
    const isMore = waitCount > waits.length;
    const estimated = (name: Kind, value: number): Estimated => {
        const metric = recording.metrics.find((one) => one.name === ESTIMATED[name]);
        return metric ? errors.around(metric, value, () => null) : { value, low: value, high: value };
    };
    /** How long a thread waited, with its error and, in a row, with the digits that are known. */
    const waited = (ns: number) => {
        const { value, low, high } = estimated("waiting", ns);
        return estimate(value, low, high);
    };
    const waitedInRow = (ns: number) => inRow(estimated("waiting", ns), "ns");
    const forWhom = (index: number, told = waited) => holders[index]!.map(([lane, ns]) => `${isMore ? "at least " : ""}${told(ns)} ${nameOf(lane)}`);
    const [pointed, point] = useState<Wait | null>(null);
    useEffect(() => {
        return setCopy(() => ({
            heads: ["thread", "process", ...["there", "allocator", ...KINDS.slice(1).map(([, title]) => title)].map((title) => ({ title, unit: "ns" as const })), "waited for"],
            rows: threads.map((thread, index) => [`${thread.tid ?? ""} ${thread.name ?? ""}`, idOf(recording, thread), sumOf(index).alive, ...KINDS.map(([name]) => (isKnown[name] ? sumOf(index)[name] : null)), forWhom(index).join(", ")]),
        }));
    }, [pack, sums]);
    /** By process: what it executed, one after the other. */
    const programs = useMemo(() => {
        const all = new Map<number, Set<string>>();
        for (const { process, program } of recording.about.processes.toSorted((a, b) => a.began_ns - b.began_ns)) all.set(process, (all.get(process) ?? new Set()).add(program));
        return all;
    }, [recording]);
    // Of one process, all threads are its own.
    const isOne = recording.about.process_count === 1;
    const hasWaits = sees && waits.length > 0;
    const template = `minmax(160px, 1fr) repeat(5, minmax(80px, 110px))${hasWaits ? " minmax(120px, 2fr)" : ""}`;
    const heights = useMemo(() => rows.map(({ lane }) => (lane === null ? ROW : ROW + LANE)), [rows]);
    /** How far down the middle of each lane is, and the end of all rows, pixels. */
    const [middleOf, height] = useMemo(() => {
        const middles = new Map<number, number>();
        const height = rows.reduce((top, { lane }, at) => {
            if (lane !== null) middles.set(lane, top + ROW + LANE / 2);
            return top + heights[at]!;
        }, 0);
        return [middles, height];
    }, [rows]);
    const end = recording.timeline.end_ns;
    const [from, to] = [Math.max(start, state.left ?? 0), Math.min(start + interval * intervals, state.right ?? end)];
    const isPart = state.from !== null || state.to !== null;
    const title = (name: Kind, sum: Sum) => {
        if (name !== "alive" && !isKnown[name]) return "not known: the kernel did not show it";
        const { value, low, high } = estimated(name, sum[name]);
        return `${spelledOut({ value, low, high }, "ns")}${name === "alive" ? "" : `, ${share(value, low, high, sum.alive)} of ${time(sum.alive)}`}`;
    };
    /** Part of a lane's interval; its time in calls was measured, as that without the CPU. */
    const partText = (name: Kind, part: number, alive: number) => {
        const { value, low, high } = name === "allocator" ? { value: part, low: part, high: part } : estimated(name, part);
        return share(value, low, high, alive);
    };
    return (
        <div class="fill">
            <div class="tools">
                {KINDS.map(([name, title]) => (
                    <span key={name} class="legend" title={name === "allocator" ? "In malloc, free and the like, by the clock, with mappings that they make" : undefined}>
                        <span class={`key ${name}`} /> {title}
                    </span>
                ))}
                <span class="legend"><span class="key program" /> the program's own work, and the recorder's</span>
                {!sees && <span class="soft">The kernel did not show when threads lost the CPU: waiting is not known.</span>}
                {total > threads.length && <span class="soft">The first {count(threads.length)} of {counted(total, "thread")}.</span>}
                <span class="soft">
                    {pointed
                        ? `${nameOf(pointed.lane)} waits ${waited(pointed.ended - pointed.began)} for ${nameOf(pointed.holder)}, until ${timeAt(pointed.ended, (to - from) / 1000)}`
                        : waits.length > 0 && `${counted(waitCount, "wait")} in the allocator${isMore ? `, the longest ${count(waits.length)} drawn` : ""}: a line leads to the thread that was in the allocator`}
                </span>
                {isPart && <span class="soft">Lanes are of all that the time line shows, numbers of the selection.</span>}
                {state.sizes !== "" && <span class="soft">Lanes are of blocks of all sizes.</span>}
                {selects(state) && <span class="soft">Lanes are of all that a thread does, not only of the call stacks that match; the allocator's time is theirs.</span>}
            </div>
            <Table
                label="threads over time"
                columns={template}
                heads={
                    <>
                        <SortHead column="thread" order={order} isLeft>thread</SortHead>
                        <SortHead column="alive" order={order} help="From the thread's first call of the allocator to its end. What it did before is in the sums of its process.">there</SortHead>
                        <SortHead column="allocator" order={order} help="The allocator's own work, as Lines have it: without mappings. Lanes show the time in its calls by the clock, mappings included, as far as it has room beside the rest.">allocator</SortHead>
                        <SortHead column="faulting" order={order} help="Page faults of all kinds, also those that no line pays for, each with what one takes on this machine.">faulting</SortHead>
                        <SortHead column="waiting" order={order} help="Inside calls of the allocator, for a thread that is in it.">waiting</SortHead>
                        <SortHead column="off" order={order} help="Without the CPU for other reasons: for the disk, for input, or because other programs have it.">off CPU</SortHead>
                        {hasWaits && <div role="columnheader" class="left">waited for <Define name="waits" /></div>}
                    </>
                }
                rows={rows}
                heights={heights}
                keyOf={({ process, lane }) => lane ?? `process ${process}`}
                cells={({ process, pid, lane, isProcess, sum }) => {
                    const id = idOf(recording, { process, pid });
                    const thread = lane === null ? null : threads[lane]!;
                    return (
                        <>
                            <div role="cell" class="what">
                                {thread && !isProcess ? (
                                    <Door to={toMember(id, thread.tid)} title="Show what this thread allocates"><bdi class="cut">{thread.name ?? "thread"}</bdi>&nbsp;<span class="soft cut">{thread.tid}{isOne ? "" : ` of ${id}`}</span></Door>
                                ) : (
                                    <Door to={toMember(id, null)} title="Show what this process allocates"><b class="name">{id} <bdi class="cut">{[...(programs.get(process) ?? [])].join(", then ")}</bdi></b></Door>
                                )}
                            </div>
                            <div role="cell" class="number" title={title("alive", sum)}><span class="text">{time(sum.alive)}</span></div>
                            {KINDS.map(([name]) => (
                                <div key={name} role="cell" class={isKnown[name] ? "number" : "number unknown"} title={title(name, sum)}>
                                    <span class="text">{isKnown[name] ? inRow(estimated(name, sum[name]), "ns") : "–"}</span>
                                </div>
                            ))}
                            {hasWaits && <div role="cell" title={lane === null ? "" : forWhom(lane).join("\n")}><bdi class="cut">{lane !== null && forWhom(lane, waitedInRow).slice(0, 2).join(", ")}</bdi></div>}
                            {lane !== null && <div class="lane"><Lane pack={pack} index={lane} intervals={intervals} theme={theme} waits={waits.filter((wait) => wait.lane === lane)} point={point} span={[from, to]} partText={partText} /></div>}
                        </>
                    );
                }}
            >
                <Overlay waits={waits} pointed={pointed} span={[from, to]} selected={isPart ? [state.from ?? 0, state.to ?? end] : null} middleOf={middleOf} height={height} />
            </Table>
        </div>
    );
}

interface Wait {
    /** The lanes of the thread that waited and of the one that was in the allocator; null: it is not known, or has no lane. */
    lane: number;
    holder: number | null;
    began: number;
    ended: number;
}

function waitsOf(pack: Pack<LanesPack>): Wait[] {
    const [lane, holder, began, ended] = pack.all("waits.lane", "waits.holder", "waits.began", "waits.ended");
    return Array.from(lane, (lane, at) => ({ lane, holder: holder[at] ? holder[at]! - 1 : null, began: began[at]!, ended: ended[at]! }));
}

type Span = [from: number, to: number];

interface OverlayProps {
    waits: Wait[];
    pointed: Wait | null;
    span: Span;
    /** The selection, if it is not the whole run. */
    selected: Span | null;
    /** How far down the middle of a lane is, pixels. */
    middleOf: Map<number, number>;
    height: number;
}

/** The selection, and lines from the end of a wait to the thread for which it was. */
function Overlay({ waits, pointed, span: [from, to], selected, middleOf, height }: OverlayProps) {
    const drawn = useMemo(() => {
        const lines = waits.filter((wait) => wait.holder !== null && wait.holder !== wait.lane && wait.ended >= from && wait.ended <= to);
        return lines.sort((a, b) => b.ended - b.began - (a.ended - a.began)).slice(0, 200);
    }, [waits, from, to]);
    const x = (ns: number) => Math.min(1000, Math.max(0, ((ns - from) / (to - from)) * 1000));
    const y = (lane: number) => middleOf.get(lane) ?? 0;
    return (
        <div class="arrows" style={{ height: `${height}px` }} aria-hidden="true">
            <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none">
                {selected && <rect class="selected" x={x(selected[0])} y={0} width={Math.max(1, x(selected[1]) - x(selected[0]))} height={height} />}
                {drawn.map((wait, index) => (
                    <path key={index} class={wait === pointed ? "pointed" : ""} d={`M${x(wait.ended).toFixed(2)} ${y(wait.lane)}V${y(wait.holder!)}`} />
                ))}
            </svg>
        </div>
    );
}

interface LaneProps {
    pack: Pack<LanesPack>;
    index: number;
    intervals: number;
    theme: string;
    waits: Wait[];
    point: (wait: Wait | null) => void;
    span: Span;
    /** A part of what a thread did in an interval, ns. */
    partText: (name: Kind, part: number, alive: number) => string;
}

/** Each interval as a column whose parts have the heights of their shares. */
function Lane({ pack, index, intervals, theme, waits, point, span: [from, to], partText }: LaneProps) {
    const { start_ns: start, interval_ns: interval } = pack.head;
    const canvas = useRef<HTMLCanvasElement>(null);
    const { width } = useSize(canvas);
    const high = LANE - 4;
    useCanvas(canvas, { width, height: high }, (ctx) => {
        const part = (name: Kind, at: number) => (pack.column(`lanes.${name}`)[index * intervals + at] ?? 0) / 1000;
        const colors = Object.fromEntries(["allocator", "faulting", "waiting", "off", "program"].map((name) => [name, colorOf(name === "faulting" ? "--faults" : `--${name}`)]));
        for (let at = 0; at < intervals; at++) {
            // Whole pixels: where neighbors share one, both would show through.
            const [left, right] = [at, at + 1].map((edge) => Math.round(((start + edge * interval - from) / (to - from)) * width)) as [number, number];
            let top = high;
            const draw = (name: string, share: number) => {
                ctx.fillStyle = colors[name]!;
                ctx.fillRect(left, top - share * high, right - left, share * high);
                top -= share * high;
            };
            const shares = KINDS.map(([name]) => part(name, at));
            KINDS.forEach(([name], kind) => draw(name, shares[kind]!));
            draw("program", Math.max(0, part("alive", at) - shares.reduce((sum, share) => sum + share, 0)));
        }
    }, [pack, index, theme, from, to]);
    const way = useWay();
    /** What the thread does in the interval at a pixel. */
    const tell = (x: number) => {
        const ns = from + (x / Math.max(1, width)) * (to - from);
        const number = Math.min(intervals - 1, Math.max(0, Math.floor((ns - start) / interval)));
        const lasted = (name: Kind) => (pack.column(`lanes.${name}`)[index * intervals + number]! / 1000) * interval;
        const when = timeAt(start + number * interval, interval);
        if (lasted("alive") === 0) return `${when}: not there`;
        const parts = KINDS.filter(([name]) => lasted(name) > 0).map(([name, title]) => `${partText(name, lasted(name), lasted("alive"))} ${title}`);
        return `${when}: ${parts.join(", ") || "only its own work"}`;
    };
    /** The wait at a pixel, or next to it. */
    const at = (event: MouseEvent) => {
        const ns = from + (event.offsetX / Math.max(1, width)) * (to - from);
        const near = (2 / Math.max(1, width)) * (to - from);
        return waits.find((wait) => wait.began - near <= ns && ns <= wait.ended + near) ?? null;
    };
    return (
        <canvas
            ref={canvas}
            aria-hidden="true"
            onMouseMove={(event) => {
                point(at(event));
                event.currentTarget.title = tell(event.offsetX);
            }} onMouseLeave={() => point(null)} onClick={(event) => {
                const wait = at(event);
                if (!wait) return;
                event.stopPropagation();
                way(toSpan(wait.began, wait.ended), event);
            }}
        />
    );
}
