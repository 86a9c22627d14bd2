import { useEffect, useState } from "preact/hooks";
import { useCells } from "../cells";
import { useShown } from "../context";
import { colorOf, useCanvas, useLoaded } from "../hooks";
import { bytes, count, counted, exact, isolated, percent, time } from "../model/format";
import { addressOf, AGES, areaOf, hex, memoryBlocksOf, memoryMapOf, placeOfCell, rangeOf, rowOf, stepOf, type Layout, type MapSite, type MemoryMap as Memory } from "../model/memory_map";
import { placeOf } from "../model/names";
import { selectionOf } from "../model/state";
import { Define, Empty, Name, Pending } from "../widgets";
import { Door } from "../door";
import { toFunction } from "../model/ways";
import { Table } from "../table";

/** Room for addresses left of the map, pixels. */
const LABEL = 138;

/** Call sites with a color of their own. */
const COLORED = 8;

function nameOf(site: MapSite | null): string {
    if (!site?.frame) return site ? "(no stack)" : "(not in the filter)";
    const place = placeOf(site.frame);
    // A function without a name is called by its place.
    return site.frame.function.startsWith(`${place}+`) ? site.frame.function : `${site.frame.function} (${place})`;
}

/** Where live blocks lie at the end of the selection, of one process. */
export function MemoryMap() {
    const { source, state, go, setCopy } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(source.asks ? JSON.stringify(selection) : null, async (signal) => ({ map: memoryMapOf(await source.memory(selection, signal)), isEnd: selection.to === null }));
    const map = loaded.value?.map;
    const isAge = state.map === "age";
    useEffect(() => {
        if (!map || state.range) return;
        return setCopy(() => ({ heads: ["line", "type", { title: "live", unit: "bytes" }, { title: "blocks", unit: "count" }], rows: map.sites.map((site) => [nameOf(site), site.type, site.live, site.blocks]) }));
    }, [map, state.range]);
    if (!source.asks) return <Empty>This page does not hold where blocks lie. Open the recording with memtoll view to see it.</Empty>;
    if (!map) return <Pending of={loaded}>Reading all events …</Pending>;
    const at = loaded.value?.isEnd ? "the end" : time(map.at);
    return (
        <>
            <div class="tools">
                <span>
                    {bytes(map.live)} in {counted(map.blocks, "block")}, live at {at}; a cell is {bytes(map.cell)} <Define name="memory-map" />
                </span>
                {map.processes.length > 1 && (
                    <label class="choice">
                        process
                        <select value={map.process ?? ""} onChange={(event) => go({ process: event.currentTarget.value })}>
                            {map.processes.map(({ id, program, live }) => (
                                <option key={id} value={id}>{id} {isolated(program)}, {bytes(live)}</option>
                            ))}
                        </select>
                    </label>
                )}
                <div class="switch" role="group" aria-label="color">
                    <button aria-pressed={!isAge} onClick={() => go({ map: "line" }, true)}>by line</button>
                    <button aria-pressed={isAge} onClick={() => go({ map: "age" }, true)}>by age</button>
                </div>
                {map.areasLeftOut > 0 && <span class="soft">{counted(map.areasLeftOut, "area")} with fewer live bytes not drawn</span>}
            </div>
            <Legend map={map} isAge={isAge} />
            {map.blocks === 0 ? <Empty>No block was live at {at}. Drag over the time line: the map is of the end of the selection.</Empty> : <Canvas map={map} isAge={isAge} />}
            {rangeOf(state.range) && <Blocks />}
        </>
    );
}

function Legend({ map, isAge }: { map: Memory; isAge: boolean }) {
    if (isAge)
        return (
            <p class="legends">
                <span class="soft">age:</span>
                {AGES.map((share, step) => (
                    <span key={step} class="legend"><span class={`key age-${step + 1}`} />{Number.isFinite(share) ? `up to ${time(share * map.at)}` : "older"}</span>
                ))}
            </p>
        );
    const rest = map.sites.slice(COLORED);
    return (
        <ul class="legends">
            {map.sites.slice(0, COLORED).map((site, index) => (
                <li key={index} class="legend" title={`${nameOf(site)}${site.type && `, ${site.type}`}: ${exact(site.live, "bytes")}, ${percent(site.live, map.live)} of ${bytes(map.live)}, in ${counted(site.blocks, "block")}`}>
                    <span class={`key site-${index + 1}`} />{site.frame ? <Door to={toFunction(site.frame)}><bdi>{nameOf(site)}</bdi></Door> : <bdi>{nameOf(site)}</bdi>} {bytes(site.live)}
                </li>
            ))}
            {rest.length > 0 && <li class="legend"><span class="key site-0" />{counted(rest.length, "other line")} {bytes(rest.reduce((sum, site) => sum + site.live, 0))}</li>}
        </ul>
    );
}

function Canvas({ map, isAge }: { map: Memory; isAge: boolean }) {
    const { state, go, theme } = useShown();
    const { holder, canvas, width, layout, at, setAt, hit, keys } = useCells(map.areas, LABEL);
    const [drag, setDrag] = useState<[number, number] | null>(null);
    const range = rangeOf(state.range);
    const cells = drag ? [Math.min(...drag), Math.max(...drag)] as const : null;
    const chosen = cells ? { from: addressOf(map, cells[0]), to: addressOf(map, cells[1]) + map.cell } : range;

    useCanvas(canvas, { width, height: layout.height }, (ctx) => draw(ctx, map, layout, isAge, chosen), [map, layout, isAge, theme, state.range, drag]);

    const choose = (first: number, last: number) => go({ range: `${hex(addressOf(map, Math.min(first, last)))}-${hex(addressOf(map, Math.max(first, last)) + map.cell)}` }, true);
    return (
        <>
            <p class="told" role="status">{at === null ? "Click a cell or drag over several: their blocks and lines are shown." : tell(map, at)}</p>
            <div class="flame memory">
                <div ref={holder} />
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="application"
                    aria-label="map of memory: arrow keys move from cell to cell, Enter shows the blocks in it. The list of lines above says how much each has."
                    style={{ width: `${width}px`, height: `${layout.height}px` }}
                    onMouseMove={(event) => {
                        const cell = hit(event);
                        setAt(cell);
                        if (drag && cell !== null) setDrag([drag[0], cell]);
                    }}
                    onMouseLeave={() => (setAt(null), setDrag(null))}
                    onMouseDown={(event) => {
                        const cell = hit(event);
                        if (cell !== null) setDrag([cell, cell]);
                    }}
                    onMouseUp={() => {
                        if (drag) choose(...drag);
                        setDrag(null);
                    }}
                    onKeyDown={keys((cell) => choose(cell, cell))}
                />
            </div>
        </>
    );
}

/** What is in a cell. */
function tell(map: Memory, number: number): string {
    const place = placeOfCell(map, number);
    const area = areaOf(map, number);
    const where = `${hex(addressOf(map, number))}${area ? `, in ${bytes(area.cells * map.cell)} with ${bytes(area.live)} live` : ""}`;
    if (map.number[place] !== number) return `${where}: nothing live`;
    const site = map.site[place] ? (map.sites[map.site[place]! - 1] ?? null) : null;
    return `${where}: ${bytes(map.fill[place]!)} live of ${bytes(map.cell)}, most by ${isolated(nameOf(site))}, ${time(map.age[place]!)} old`;
}

function draw(ctx: CanvasRenderingContext2D, map: Memory, layout: Layout, isAge: boolean, chosen: { from: number; to: number } | null): void {
    const sites = Array.from({ length: COLORED + 1 }, (_, index) => colorOf(`--site-${index}`));
    const ages = AGES.map((_, step) => colorOf(`--age-${step + 1}`));
    const high = rowOf(layout);
    const [gapX, gapY] = [layout.size > 4 ? 1 : 0, high > 4 ? 1 : 0];
    ctx.font = "11px ui-monospace, 'DejaVu Sans Mono', monospace";
    ctx.textBaseline = "top";
    for (const { area, top, height } of layout.placed) {
        ctx.globalAlpha = 1;
        ctx.fillStyle = colorOf("--text");
        ctx.fillText(hex(area.from), 0, top + 1);
        ctx.fillStyle = colorOf("--soft");
        ctx.fillText(`${bytes(area.cells * map.cell)}, ${percent(area.live, area.cells * map.cell)}`, 0, top + 15, LABEL - 8);
        ctx.fillStyle = colorOf("--off");
        const rows = Math.floor(area.cells / layout.columns);
        const rest = area.cells % layout.columns;
        if (rows > 0) ctx.fillRect(LABEL, top, layout.columns * layout.size, rows * high);
        if (rest > 0) ctx.fillRect(LABEL, top + rows * high, rest * layout.size, high);
        const last = area.first + area.cells;
        for (let place = placeOfCell(map, area.first); place < map.number.length && map.number[place]! < last; place++) {
            const inside = map.number[place]! - area.first;
            const [x, y] = [LABEL + (inside % layout.columns) * layout.size, top + Math.floor(inside / layout.columns) * high];
            const site = map.site[place]!;
            ctx.fillStyle = isAge ? ages[stepOf(map.age[place]!, map.at)]! : sites[site <= COLORED ? site : 0]!;
            ctx.globalAlpha = 0.35 + 0.65 * Math.min(1, map.fill[place]! / map.cell);
            ctx.fillRect(x, y, layout.size - gapX, high - gapY);
        }
        if (!chosen) continue;
        ctx.globalAlpha = 1;
        ctx.fillStyle = colorOf("--text");
        const [first, until] = [chosen.from, chosen.to].map((address) => Math.min(area.cells, Math.max(0, Math.ceil((address - area.from) / map.cell)))) as [number, number];
        for (let inside = first; inside < until; inside++) {
            const [x, y] = [LABEL + (inside % layout.columns) * layout.size, top + Math.floor(inside / layout.columns) * high];
            if (y < top + height) ctx.fillRect(x, y + high - 2, layout.size - gapX, 2);
        }
    }
}

/** The blocks of the range that is chosen. */
function Blocks() {
    const { source, state, go, setCopy } = useShown();
    const selection = selectionOf(state);
    const range = rangeOf(state.range)!;
    const loaded = useLoaded(JSON.stringify([selection, state.range]), async (signal) => memoryBlocksOf(await source.blocks(selection, range, signal)));
    const list = loaded.value?.list ?? [];
    useEffect(() => {
        return setCopy(() => ({ heads: ["address", { title: "size", unit: "bytes" }, { title: "age", unit: "ns" }, "line", "type"], rows: list.map((block) => [hex(block.address), block.size, block.age, nameOf(block.site), block.site?.type ?? ""]) }));
    }, [loaded.value]);
    return (
        <div class="details wide-blocks">
            <div class="tools">
                <h2>
                    {hex(range.from)} to {hex(range.to)}: {loaded.value ? `${bytes(loaded.value.live)} in ${counted(loaded.value.count, "block")}` : loaded.failed ? loaded.error : "reading …"}
                    {loaded.value && loaded.value.count > list.length && <span class="soft"> the first {count(list.length)}</span>}
                </h2>
                <button onClick={() => go({ range: "" }, true)} aria-label="close">×</button>
            </div>
            <Table
                label="blocks in this range"
                columns="minmax(150px, 1fr) minmax(100px, 1fr) minmax(100px, 1fr) minmax(260px, 5fr)"
                heads={
                    <>
                        <div role="columnheader">address</div>
                        <div role="columnheader">bytes</div>
                        <div role="columnheader" title="How long it has been live, at the instant of the map.">age</div>
                        <div role="columnheader" class="left">line</div>
                    </>
                }
                rows={list}
                keyOf={(block) => block.address}
                cells={(block) => (
                    <>
                        <div role="cell" class="code what">{hex(block.address)}</div>
                        <div role="cell" class="number" title={exact(block.size, "bytes")}><span class="text">{bytes(block.size)}</span></div>
                        <div role="cell" class="number" title={exact(block.age, "ns")}><span class="text">{time(block.age)}</span></div>
                        <div role="cell">{block.site?.frame ? <Door to={toFunction(block.site.frame)}><Name frame={block.site.frame} type={block.site.type} /></Door> : nameOf(block.site)}</div>
                    </>
                )}
            />
        </div>
    );
}
