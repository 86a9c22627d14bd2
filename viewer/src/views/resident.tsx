import { useEffect } from "preact/hooks";
import { useCells } from "../cells";
import { useShown } from "../context";
import { colorOf, useCanvas, useLoaded } from "../hooks";
import { selects } from "../model/cuts";
import { bytes, count, counted, exact, isolated, time, percent } from "../model/format";
import { addressOf, areaOf, hex, placeOfCell, rowOf, type Layout } from "../model/memory_map";
import { placeOf } from "../model/names";
import { heldOf, mostOf, onlyOf, PARTS, partsOf, SHORT, type Held, type Owner, type PageMap } from "../model/resident_set";
import { lookOf } from "../model/query";
import { selectionOf } from "../model/state";
import { toMetric, type Way } from "../model/ways";
import { Door } from "../door";
import { LookChoice } from "../look_choice";
import type { Frame } from "../model/answer";
import { naming } from "../model/columns";
import { Define, Empty, Name, Pending } from "../widgets";
import { Table } from "../table";

/** Room for addresses left of the map, pixels. */
const LABEL = 150;

function ownerName({ frame, file }: Owner): string {
    if (!frame) return file || "(no stack)";
    const place = placeOf(frame);
    return frame.function.startsWith(`${place}+`) ? frame.function : `${frame.function} (${place})`;
}

/** Who holds the resident set of a process when memtoll looked: at its end, or where it had most. */
export function ResidentView() {
    const { source, state, setCopy } = useShown();
    const selection = selectionOf(state);
    const look = lookOf(state.look);
    const loaded = useLoaded(source.asks ? JSON.stringify([selection, look]) : null, async (signal) => heldOf(await source.residentSet(selection, look, signal)));
    const held = loaded.value;
    useEffect(() => {
        if (!held || typeof held === "string") return;
        return setCopy(() => ({ heads: ["held by", { title: "resident", unit: "bytes" }, { title: "share", unit: "%" }], rows: held.set.parts.map((part) => [part.title, part.bytes, part.bytes === null ? null : (part.bytes / held.set.rss) * 100]) }));
    }, [held]);
    if (!source.asks) return <Empty>This page does not hold which pages were in memory. Open the recording with memtoll view to see it.</Empty>;
    if (!held) return <Pending of={loaded}>Reading all events …</Pending>;
    if (typeof held === "string") return <Empty>{held}</Empty>;
    const { set, pins, map } = held;
    return (
        <>
            <div class="tools">
                <LookChoice set={set} />
                <span>
                    {bytes(set.rss)} in memory after {time(set.at_ns)} (kernel: {bytes(set.kernel)}), the recorder included, <bdi>{set.program}</bdi> {set.id}, {set.allocator} <Define name="resident-set" />
                </span>
                {set.others > 0 && <span class="soft">{counted(set.others, "other process")} with less: choose one above</span>}
                {(state.from !== null || state.to !== null) && <span class="soft">A look is of one instant, whatever span is selected.</span>}
                {state.thread !== "" && <span class="soft">The pages are those of the whole process, not only of the thread.</span>}
                {state.sizes !== "" && <span class="soft">All is of blocks of all sizes.</span>}
                {selects(state) && <span class="soft">The parts are those of all call stacks, not only of those that match.</span>}
            </div>
            <Balance held={held} />
            <Pins held={held} />
            <Globals held={held} />
            <WhatHelps held={held} />
            {pins.length === 0 && set.on_wastes.length === 0 && <p class="soft note">Who pins is not known: {set.allocator} gives memory back in units of its own, which memtoll does not know.</p>}
            <h2 class="over-map">
                Map of the pages <span class="soft">a cell is {bytes(map.cell)}; blank: not in memory{map.areasLeftOut > 0 && `; ${counted(map.areasLeftOut, "area")} with fewer bytes not drawn`}</span>
            </h2>
            <Canvas held={held} />
        </>
    );
}

/** The metric that says which lines have a part; the other parts belong to no line. */
const METRICS: Record<string, string> = { live: "resident", slack: "slack", pinned: "pinned" };

/** Lines at the look that is shown: at the whole process, with blocks of all sizes. */
function useWayTo(id: string): (metric: string) => Way {
    const { recording, state } = useShown();
    const process = recording.about.process_count > 1 ? id : state.process;
    return (metric) => ({ ...toMetric(metric), process, thread: "", sizes: "", from: null, to: null });
}

/** The lines of a function that hold something. */
const useLinesOf = () => {
    const { state } = useShown();
    return (way: Way, frame: Frame): Way => ({ ...way, ...onlyOf(state, frame) });
};

function Balance({ held: { set } }: { held: Held }) {
    const wayTo = useWayTo(set.id);
    const wayOf = (part: string): Way => (METRICS[part] ? wayTo(METRICS[part]) : { define: "resident-set" });
    const known = set.parts.filter((part) => part.bytes !== null && part.bytes > 0);
    return (
        <section class="held" aria-label="who holds it">
            <div class="stack" role="group" aria-label={known.map((part) => `${part.title}: ${percent(part.bytes!, set.rss)}`).join(", ")}>
                {known.map((part) => (
                    <Door key={part.name} to={wayOf(part.name)} class={`bar part-${part.name}`} style={{ width: `${(part.bytes! / set.rss) * 100}%` }} aria-label={`${part.title} ${bytes(part.bytes!)}`} title={`${part.title}: ${exact(part.bytes!, "bytes")}`} />
                ))}
            </div>
            <ul class="parts">
                {set.parts.filter((part) => part.bytes !== 0).map((part) => (
                    <li key={part.name}>
                        <span class={`key part-${part.name}`} />
                        <Door to={wayOf(part.name)}>{part.name === "live" ? `${part.title}: ${count(set.live_blocks)}` : part.title}</Door>
                        <b title={part.bytes === null ? "" : exact(part.bytes, "bytes")}>{part.bytes === null ? "not known" : bytes(part.bytes)}</b>
                        {part.bytes !== null && <span class="soft">{percent(part.bytes, set.rss)}</span>}
                    </li>
                ))}
            </ul>
            <p class="soft">
                {set.never_touched > 0 && `${bytes(set.never_touched)} more of the live blocks were never touched. `}
                {set.swapped > 0 && `${bytes(set.swapped)} are swapped out. `}
                {[set.huge_pages, set.missed_peak].filter(Boolean).join(" ")}
            </p>
        </section>
    );
}

function Pins({ held: { set, pins } }: { held: Held }) {
    const wayTo = useWayTo(set.id);
    const linesOf = useLinesOf();
    if (pins.length === 0) return null;
    return (
        <section class="pins">
            <h2>
                Who pins <Define name="pins" />
            </h2>
            <Table
                label="lines that pin free memory"
                columns={`${naming(260)} minmax(84px, 1fr) minmax(84px, 1fr) minmax(80px, 1fr) minmax(84px, 1fr) minmax(96px, 1fr)`}
                heads={
                    <>
                        <div role="columnheader" class="left">line</div>
                        <div role="columnheader" title="Its part of the free memory on its pages: shares add up to what is pinned.">share</div>
                        <div role="columnheader" title="What comes back when only its blocks vanish.">alone</div>
                        <div role="columnheader">blocks</div>
                        <div role="columnheader">bytes</div>
                        <div role="columnheader">median age</div>
                    </>
                }
                rows={pins}
                keyOf={(pin) => pins.indexOf(pin)}
                cells={(pin) => (
                    <>
                        <div role="cell">
                            {pin.frame ? (
                                    <Door to={linesOf(wayTo("pinned"), pin.frame)} title="Show only stacks with this function"><Name frame={pin.frame} /></Door>
                            ) : (
                                "(no stack)"
                            )}
                        </div>
                        {([[pin.share, "bytes"], [pin.alone, "bytes"], [pin.blocks, "count"], [pin.bytes, "bytes"], [pin.medianAge, "ns"]] as const).map(([value, unit], index) => (
                            <div key={index} role="cell" class="number" title={exact(value, unit)}>
                                <span class="text">{unit === "bytes" ? bytes(value) : unit === "ns" ? time(value) : count(value)}</span>
                            </div>
                        ))}
                    </>
                )}
            />
            {set.held_below && (
                <p class="soft">
                    Without the blocks of <bdi>{set.held_below.function}</bdi> and of what it calls, {bytes(set.held_below.alone)} could be given back.
                </p>
            )}
        </section>
    );
}

function Globals({ held: { set } }: { held: Held }) {
    if (set.globals.length === 0) return null;
    return (
        <section class="pins">
            <h2>Global variables</h2>
            <Table
                label="global variables"
                columns={`${naming(260)} minmax(100px, 1fr) minmax(100px, 1fr)`}
                heads={
                    <>
                        <div role="columnheader" class="left">variable</div>
                        <div role="columnheader" title="How much of it is in memory.">bytes</div>
                        <div role="columnheader">size</div>
                    </>
                }
                rows={set.globals}
                keyOf={(row) => set.globals.indexOf(row)}
                cells={(row) => (
                    <>
                        <div role="cell">
                            <span class="name"><bdi>{row.symbol}</bdi> <span class="soft into"><bdi>{row.place}</bdi> in <bdi>{row.module}</bdi></span></span>
                        </div>
                        {[row.bytes, row.size].map((value, index) => (
                            <div key={index} role="cell" class="number" title={value === null ? "" : exact(value, "bytes")}>
                                <span class="text">{value === null ? "" : bytes(value)}</span>
                            </div>
                        ))}
                    </>
                )}
            />
            {set.globals_left_out > 0 && <p class="soft">and {counted(set.globals_left_out, "other")}</p>}
        </section>
    );
}

/** What would make it smaller, as the text report has it. */
function WhatHelps({ held: { set, wastes } }: { held: Held }) {
    const wayTo = useWayTo(set.id);
    const linesOf = useLinesOf();
    if (wastes.length === 0 && set.on_wastes.length === 0) return null;
    return (
        <section class="wastes">
            <h2>What helps</h2>
            {wastes.length > 0 && (
                <table aria-label="what would make it smaller">
                    <thead>
                        <tr>
                            <th scope="col">saves</th>
                            <th scope="col">what to do</th>
                        </tr>
                    </thead>
                    <tbody>
                        {wastes.map(({ frame, saves, remedy }, index) => (
                            <tr key={index}>
                                <td>{saves}</td>
                                <td>
                                    <bdi>{remedy}</bdi>{" "}
                                    {frame && <Door to={linesOf(wayTo("resident"), frame)} class="link" title="Show only stacks with this function">lines</Door>}
                                </td>
                            </tr>
                        ))}
                    </tbody>
                </table>
            )}
            {set.on_wastes.map((text) => <p key={text} class="soft">{text}</p>)}
        </section>
    );
}

function Canvas({ held: { set, map } }: { held: Held }) {
    const { go, theme } = useShown();
    const wayTo = useWayTo(set.id);
    const linesOf = useLinesOf();
    const { holder, canvas, width, layout, at, setAt, hit, keys } = useCells(map.areas, LABEL);
    useCanvas(canvas, { width, height: layout.height }, (ctx) => draw(ctx, map, layout, at), [map, layout, theme, at]);

    /** The lines of the function that has most of a cell. */
    const choose = (number: number) => {
        const frame = ownerOf(map, number)?.frame;
        if (frame) go(linesOf(wayTo("resident"), frame));
    };
    return (
        <>
            <p class="told" role="status">{at === null ? "Point at a cell; a click shows the lines of the function that has most of it." : tell(map, at)}</p>
            <div class="flame memory">
                <div ref={holder} />
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="application"
                    aria-label="map of the pages in memory: arrow keys move from cell to cell, Enter shows the lines of the function that has most of it. The list above says how much each part has."
                    style={{ width: `${width}px`, height: `${layout.height}px` }}
                    onMouseMove={(event) => setAt(hit(event))}
                    onMouseLeave={() => setAt(null)}
                    onClick={(event) => {
                        const cell = hit(event);
                        if (cell !== null) choose(cell);
                    }}
                    onKeyDown={keys(choose)}
                />
            </div>
        </>
    );
}

function ownerOf(map: PageMap, number: number): Owner | null {
    const place = placeOfCell(map, number);
    const owner = map.number[place] === number ? map.owner[place]! : 0;
    return owner ? (map.owners[owner - 1] ?? null) : null;
}

/** What is in a cell. */
function tell(map: PageMap, number: number): string {
    const place = placeOfCell(map, number);
    const area = areaOf(map, number);
    const where = `${hex(addressOf(map, number))}${area ? `, in ${bytes(area.cells * map.cell)} of which ${bytes(area.live)} are in memory` : ""}`;
    if (map.number[place] !== number) return `${where}: not in memory`;
    const owner = ownerOf(map, number);
    const parts = partsOf(map, place).map(({ name, bytes: of }) => `${bytes(of)} ${SHORT[name]}`);
    return `${where}: ${parts.join(", ")}${owner ? `; most by ${isolated(ownerName(owner))}` : ""}`;
}

function draw(ctx: CanvasRenderingContext2D, map: PageMap, layout: Layout, at: number | null): void {
    const colors = Object.fromEntries(PARTS.map((name) => [name, colorOf(`--part-${name}`)]));
    const high = rowOf(layout);
    const [gapX, gapY] = [layout.size > 4 ? 1 : 0, high > 4 ? 1 : 0];
    ctx.clearRect(0, 0, ctx.canvas.width, ctx.canvas.height);
    ctx.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
    ctx.textBaseline = "top";
    for (const { area, top } of layout.placed) {
        ctx.fillStyle = colorOf("--text");
        ctx.fillText(hex(area.from), 0, top + 1);
        ctx.fillStyle = colorOf("--soft");
        ctx.fillText(`${bytes(area.live)} of ${bytes(area.cells * map.cell)}`, 0, top + 15, LABEL - 8);
        ctx.fillStyle = colorOf("--off");
        const rows = Math.floor(area.cells / layout.columns);
        const rest = area.cells % layout.columns;
        if (rows > 0) ctx.fillRect(LABEL, top, layout.columns * layout.size, rows * high);
        if (rest > 0) ctx.fillRect(LABEL, top + rows * high, rest * layout.size, high);
        const last = area.first + area.cells;
        for (let place = placeOfCell(map, area.first); place < map.number.length && map.number[place]! < last; place++) {
            const inside = map.number[place]! - area.first;
            const [x, y] = [LABEL + (inside % layout.columns) * layout.size, top + Math.floor(inside / layout.columns) * high];
            ctx.fillStyle = colors[mostOf(map, place)]!;
            ctx.fillRect(x, y, layout.size - gapX, high - gapY);
        }
        if (at === null || at < area.first || at >= last) continue;
        const inside = at - area.first;
        ctx.strokeStyle = colorOf("--text");
        ctx.strokeRect(LABEL + (inside % layout.columns) * layout.size - 0.5, top + Math.floor(inside / layout.columns) * high - 0.5, layout.size, high);
    }
}
