import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useShown } from "../context";
import { colorOf, ROW, useCanvas, useLoaded, useSize } from "../hooks";
import { timeAt } from "../model/time_axis";
import type { Pack } from "../model/pack";
import type { LanesPack } from "../model/packs";
import { count, counted, isolated, percent, time } from "../model/format";
import { selectionOf } from "../model/state";
import { Define, Empty, Pending } from "../widgets";
import { Table } from "../table";

/** Parts of a lane, and the names of their colors. */
const KINDS = [
    ["allocator", "in calls of the allocator"],
    ["faulting", "faulting"],
    ["waiting", "waiting"],
    ["off", "off the CPU"],
] as const;

type Kind = (typeof KINDS)[number][0] | "alive";

/** What each thread did: lanes over what the time line shows, if that is a part of the run, or else over the selected span. */
export function Threads() {
    const { source, state } = useShown();
    const isZoomed = state.left !== null || state.right !== null;
    const selection = { ...selectionOf(state), ...(isZoomed ? { from: state.left, to: state.right } : {}) };
    const loaded = useLoaded(source.asks ? JSON.stringify(selection) : null, (signal) => source.lanes(selection, signal));
    if (!source.asks) return <Empty>This page does not hold what threads did over time. Open the recording with memtoll view to see it.</Empty>;
    if (!loaded.value) return <Pending of={loaded}>Reading all events …</Pending>;
    if (loaded.value.head.lanes.length === 0) return <Empty>No thread in this selection. Press Esc for the whole run.</Empty>;
    return <Lanes pack={loaded.value} loading={loaded.loading} />;
}

function Lanes({ pack, loading }: { pack: Pack<LanesPack>; loading: boolean }) {
    const { theme, state, setCopy } = useShown();
    const { lanes: threads, sees_switches: sees, times_faults, interval_ns: interval, start_ns: start, count: total, waits: waitCount } = pack.head;
    const isKnown = { allocator: true, faulting: times_faults, waiting: sees, off: sees };
    const intervals = pack.column("lanes.alive").length / threads.length;
    const sums = useMemo(
        () =>
            threads.map((_, index) => {
                const sum = (name: Kind) => {
                    const column = pack.column(`lanes.${name}`);
                    let thousandths = 0;
                    for (let at = index * intervals; at < (index + 1) * intervals; at++) thousandths += column[at]!;
                    return (thousandths / 1000) * interval;
                };
                return { index, alive: sum("alive"), allocator: sum("allocator"), faulting: sum("faulting"), waiting: sum("waiting"), off: sum("off") };
            }),
        [pack],
    );
    const waits = useMemo(() => waitsOf(pack), [pack]);
    const nameOf = (lane: number | null) => (lane === null ? "unknown" : `${isolated(threads[lane]?.name ?? "thread")} ${threads[lane]?.tid ?? ""}`.trim());
    /** For whom a thread waited, longest first. */
    const holders = useMemo(() => {
        const sums = threads.map(() => new Map<number | null, number>());
        for (const wait of waits) sums[wait.lane]!.set(wait.holder, (sums[wait.lane]!.get(wait.holder) ?? 0) + wait.ended - wait.began);
        return sums.map((sum) => [...sum].sort((a, b) => b[1] - a[1]));
    }, [waits]);
    const isMore = waitCount > waits.length;
    const forWhom = (index: number) => holders[index]!.map(([lane, ns]) => `${nameOf(lane)} ${isMore ? "at least " : ""}${time(ns)}`);
    const [pointed, point] = useState<Wait | null>(null);
    useEffect(() => {
        setCopy(() => ({
            heads: ["thread", "process", ...["there", ...KINDS.map(([, title]) => title)].map((title) => ({ title, unit: "ns" as const })), "waited for"],
            rows: threads.map((thread, index) => [`${thread.tid ?? ""} ${thread.name ?? ""}`, String(thread.pid), sums[index]!.alive, ...KINDS.map(([name]) => (isKnown[name] ? sums[index]![name] : null)), forWhom(index).join(", ")]),
        }));
        return () => setCopy(null);
    }, [pack]);
    const hasWaits = sees && waits.length > 0;
    const template = `minmax(160px, 240px) minmax(240px, 1fr) repeat(5, 80px)${hasWaits ? " minmax(120px, 200px)" : ""}`;
    const [from, to] = [start, start + interval * intervals];
    return (
        <div class="fill">
            <div class="tools">
                {KINDS.map(([name, title]) => (
                    <span key={name} class="legend">
                        <span class={`key ${name}`} /> {title}
                    </span>
                ))}
                <span class="legend"><span class="key program" /> the program's own work, and the recorder's</span>
                {!sees && <span class="soft">The kernel did not show when threads lost the CPU: waiting is not known.</span>}
                {total > threads.length && <span class="soft">The first {count(threads.length)} of {counted(total, "thread")}.</span>}
                <span class="soft">
                    {pointed
                        ? `${nameOf(pointed.lane)} waits ${time(pointed.ended - pointed.began)} for ${nameOf(pointed.holder)}, until ${timeAt(pointed.ended, (to - from) / 1000)}`
                        : waits.length > 0 && `${counted(waitCount, "wait")} in the allocator${isMore ? `, the longest ${count(waits.length)} drawn` : ""}: a line leads to the thread that was in it`}
                </span>
                {state.filter !== "" && <span class="soft">Lanes are of all that a thread does, whatever the filter is.</span>}
                {loading && <span class="soft">adding up …</span>}
            </div>
            <Table
                label="threads over time"
                template={template}
                heads={
                    <>
                        <div role="columnheader">thread <Define name="threads" /></div>
                        <div role="columnheader" class="left">{timeAt(from, (to - from) / 100)} to {timeAt(to, (to - from) / 100)}</div>
                        <div role="columnheader">there</div>
                        <div role="columnheader">in calls</div>
                        <div role="columnheader">faulting</div>
                        <div role="columnheader">waiting</div>
                        <div role="columnheader">off CPU</div>
                        {hasWaits && <div role="columnheader" class="left">waited for <Define name="waits" /></div>}
                    </>
                }
                rows={sums}
                keyOf={({ index }) => index}
                cells={(sum) => {
                    const { index } = sum;
                    const thread = threads[index]!;
                    return (
                        <>
                            <div role="cell" class="what">
                                <bdi>{thread.name ?? "thread"}</bdi> <span class="soft">{thread.tid} of {thread.pid}</span>
                            </div>
                            <div role="cell" class="lane"><Lane pack={pack} index={index} intervals={intervals} theme={theme} waits={waits.filter((wait) => wait.lane === index)} point={point} span={[from, to]} /></div>
                            <div role="cell" class="number"><span class="text">{time(sum.alive)}</span></div>
                            {KINDS.map(([name]) => (
                                <div key={name} role="cell" class={isKnown[name] ? "number" : "number unknown"} title={isKnown[name] ? `${percent(sum[name], sum.alive)} of ${time(sum.alive)}` : "not known: the kernel did not show it"}>
                                    <span class="text">{isKnown[name] ? time(sum[name]) : "–"}</span>
                                </div>
                            ))}
                            {hasWaits && <div role="cell" title={forWhom(index).join("\n")}><bdi>{forWhom(index).slice(0, 2).join(", ")}</bdi></div>}
                        </>
                    );
                }}
            >
                <Arrows waits={waits} pointed={pointed} span={[from, to]} template={template} height={threads.length * ROW} />
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

/** Lines from the end of a wait to the thread for which it was. */
function Arrows({ waits, pointed, span: [from, to], template, height }: { waits: Wait[]; pointed: Wait | null; span: Span; template: string; height: number }) {
    const lines = waits.filter((wait) => wait.holder !== null && wait.holder !== wait.lane && wait.ended >= from && wait.ended <= to);
    const drawn = useMemo(() => lines.toSorted((a, b) => b.ended - b.began - (a.ended - a.began)).slice(0, 200), [waits]);
    if (drawn.length === 0) return null;
    const y = (lane: number) => lane * ROW + ROW / 2;
    return (
        <div class="arrows" style={{ gridTemplateColumns: template, height: `${height}px` }} aria-hidden="true">
            <svg viewBox={`0 0 1000 ${height}`} preserveAspectRatio="none">
                {drawn.map((wait, index) => {
                    const x = ((wait.ended - from) / (to - from)) * 1000;
                    return <path key={index} class={wait === pointed ? "pointed" : ""} d={`M${x.toFixed(2)} ${y(wait.lane)}V${y(wait.holder!)}`} />;
                })}
            </svg>
        </div>
    );
}

/** Each interval as a column whose parts have the heights of their shares. */
function Lane({ pack, index, intervals, theme, waits, point, span: [from, to] }: { pack: Pack<LanesPack>; index: number; intervals: number; theme: string; waits: Wait[]; point: (wait: Wait | null) => void; span: Span }) {
    const canvas = useRef<HTMLCanvasElement>(null);
    const { width } = useSize(canvas);
    const high = ROW - 4;
    useCanvas(canvas, { width, height: high }, (ctx) => {
        const part = (name: Kind, at: number) => (pack.column(`lanes.${name}`)[index * intervals + at] ?? 0) / 1000;
        const colors = Object.fromEntries(["allocator", "faulting", "waiting", "off", "program"].map((name) => [name, colorOf(name === "faulting" ? "--faults" : `--${name}`)]));
        for (let at = 0; at < intervals; at++) {
            // Whole pixels: where neighbors share one, both would show through.
            const [left, right] = [at, at + 1].map((edge) => Math.round((edge * width) / intervals)) as [number, number];
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
    }, [pack, index, theme]);
    /** The wait at a pixel, or next to it. */
    const pointAt = (event: MouseEvent) => {
        const ns = from + (event.offsetX / Math.max(1, width)) * (to - from);
        const near = (2 / Math.max(1, width)) * (to - from);
        point(waits.find((wait) => wait.began - near <= ns && ns <= wait.ended + near) ?? null);
    };
    return <canvas ref={canvas} aria-hidden="true" onMouseMove={pointAt} onMouseLeave={() => point(null)} />;
}
