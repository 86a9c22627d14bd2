// A map of memory: areas of addresses, cut into cells, in rows as long as there is room.

import { framesOf, type Frame, type FrameColumn } from "./answer";
import type { Column, Pack, With } from "./pack";
import type { BlocksPack, LiveProcess, MapPack } from "./packs";

export interface MapSite {
    frame: Frame | null;
    type: string;
    live: number;
    blocks: number;
}

export interface MemoryArea {
    from: number;
    /** How many cells it has, and how many the areas before it. */
    cells: number;
    first: number;
    live: number;
    blocks: number;
}

export interface MemoryMap {
    at: number;
    /** The process; null: none had begun then. */
    process: string | null;
    processes: LiveProcess[];
    /** Bytes of a cell. */
    cell: number;
    live: number;
    blocks: number;
    areas: MemoryArea[];
    areasLeftOut: number;
    /** By live bytes, most first. */
    sites: MapSite[];
    /** Cells that are not empty: number, live bytes, site from 1 (0: the filter leaves it out), and age in ns. */
    number: Column;
    fill: Column;
    site: Column;
    age: Column;
}

export interface MemoryBlock {
    address: number;
    size: number;
    age: number;
    site: MapSite | null;
}

type SiteColumn = "sites.frame" | "sites.live" | "sites.blocks";

function sitesOf(pack: With<SiteColumn | FrameColumn, Pick<BlocksPack["head"], "types" | "texts">>): MapSite[] {
    const { types, texts } = pack.head;
    const frames = framesOf(pack, texts, "");
    const [frame, live, blocks] = [pack.column("sites.frame"), pack.column("sites.live"), pack.column("sites.blocks")];
    return types.map((type, index) => ({ frame: frame[index] ? (frames[frame[index]! - 1] ?? null) : null, type, live: live[index]!, blocks: blocks[index]! }));
}

export function memoryMapOf(pack: Pack<MapPack>): MemoryMap {
    const [from, cells, liveOf, blocksOf] = pack.all("areas.from", "areas.cells", "areas.live", "areas.blocks");
    let first = 0;
    const areas = Array.from(from, (from, index): MemoryArea => {
        const area = { from, cells: cells[index]!, first, live: liveOf[index]!, blocks: blocksOf[index]! };
        first += area.cells;
        return area;
    });
    const [number, fill, site, age] = pack.all("cells.number", "cells.live", "cells.site", "cells.age");
    const { at_ns, process, processes, cell, live, blocks, areas_left_out } = pack.head;
    return { at: at_ns, process, processes, cell, live, blocks, areas, areasLeftOut: areas_left_out, sites: sitesOf(pack), number, fill, site, age };
}

export function memoryBlocksOf(pack: Pack<BlocksPack>): { list: MemoryBlock[]; count: number; live: number } {
    const sites = sitesOf(pack);
    const [address, size, age, site] = pack.all("blocks.address", "blocks.size", "blocks.age", "blocks.site");
    const list = Array.from(address, (address, index) => ({ address, size: size[index]!, age: age[index]!, site: site[index] ? (sites[site[index]! - 1] ?? null) : null }));
    return { list, count: pack.head.blocks, live: pack.head.live };
}

/** Where an area is drawn, pixels. */
export interface Placed {
    area: MemoryArea;
    top: number;
    height: number;
}

export interface Layout {
    /** Cells of a row: a power of two, so that rows are as long as round numbers of bytes. */
    columns: number;
    /** Pixels of a cell. */
    size: number;
    placed: Placed[];
    height: number;
}

/** Rows below each other; an area is as high as its text at the least. */
export function layoutOf(areas: MemoryArea[], width: number, label: number): Layout {
    const room = Math.max(64, width - label);
    let columns = 16;
    while (columns * 2 * 4 <= room) columns *= 2;
    const size = Math.max(2, Math.floor(room / columns));
    const height = Math.min(size, 8);
    let top = 0;
    const placed = areas.map((area): Placed => {
        const of = { area, top, height: Math.max(30, Math.ceil(area.cells / columns) * height) };
        top += of.height + 6;
        return of;
    });
    return { columns, size, placed, height: top };
}

/** Pixels of a row. */
export function rowOf({ size }: Layout): number {
    return Math.min(size, 8);
}

/** The number of the cell at a place right of the labels; null: there is none. */
export function cellAt(layout: Layout, x: number, y: number): number | null {
    const found = layout.placed.find(({ top, height }) => y >= top && y < top + height);
    if (!found || x < 0 || x >= layout.columns * layout.size) return null;
    const inside = Math.floor((y - found.top) / rowOf(layout)) * layout.columns + Math.floor(x / layout.size);
    return inside < found.area.cells ? found.area.first + inside : null;
}

/** First address of a cell. */
export function addressOf(map: Pick<MemoryMap, "areas" | "cell">, number: number): number {
    const area = areaOf(map, number);
    return area ? area.from + (number - area.first) * map.cell : 0;
}

export function areaOf(map: Pick<MemoryMap, "areas">, number: number): MemoryArea | undefined {
    return map.areas.findLast((area) => area.first <= number);
}

/** Where the cells that are not empty begin that are not before this one. */
export function placeOfCell(map: Pick<MemoryMap, "number">, number: number): number {
    let [low, high] = [0, map.number.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if (map.number[middle]! < number) low = middle + 1;
        else high = middle;
    }
    return low;
}

export const hex = (address: number): string => `0x${address.toString(16)}`;

/** Ages as shares of the time until the instant: five steps, youngest first. */
export const AGES = [0.001, 0.01, 0.1, 0.5, Infinity];

export function stepOf(age: number, at: number): number {
    return AGES.findIndex((share) => age <= share * at);
}

/** `0x1000-0x2000` of the address of the page; null: nothing is chosen. */
export function rangeOf(text: string): { from: number; to: number } | null {
    const found = /^(0x[0-9a-f]{1,13})-(0x[0-9a-f]{1,13})$/.exec(text);
    if (!found) return null;
    const [from, to] = [Number(found[1]), Number(found[2])];
    return from < to ? { from, to } : null;
}
