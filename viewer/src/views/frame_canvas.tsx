// Frames as boxes on a canvas, callers above what they call: they are chosen, searched for, copied and saved.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useShown } from "../context";
import { Door } from "../door";
import { FrameButtons, useInHand } from "../frame_in_hand";
import { colorOf, useCanvas, useSize } from "../hooks";
import type { Box } from "../model/flame_layout";
import type { State } from "../model/state";
import { save, type Column } from "../model/table_text";
import { fitted, labelOf } from "../model/names";
import { matcher, type Matcher } from "../model/search";
import type { TreeItem } from "../model/tree";
import { Search } from "../widgets";

const LINE = 18;

const FONT = "11px system-ui, sans-serif";

/** Colors by name, for a canvas. */
export type Colors = Record<string, string>;

/** Those of variables of the page. */
function colorsOf(names: Record<string, string>): Colors {
    const all = { text: "--text", ground: "--ground", other: "--line", found: "--found", chosen: "--accent", ...names };
    return Object.fromEntries(Object.entries(all).map(([name, variable]) => [name, colorOf(variable)]));
}

/** What a box has room for of its name. */
const textIn = (ctx: CanvasRenderingContext2D, box: Box): string => (box.width < 28 ? "" : fitted(box.item.frame?.function ?? named(box), box.width - 8, (text) => ctx.measureText(text).width));

/** What a canvas shows. */
export interface Content<Item extends TreeItem> {
    /** What has all frames in it. */
    root: Item;
    /** What some frames have together. */
    together: (items: Item[]) => string;
    /** What the values are of. */
    title: string;
    search: string;
    /** Names of variables with colors, beside those of all canvases. */
    colors: Record<string, string>;
    /** The color of a frame that is not found by a search. */
    paint: (item: Item, colors: Colors) => string;
    /** The text of a frame beside its name. */
    tell: (item: Item) => string;
    /** Columns and numbers of a copied row, beside frame and depth. */
    columns: Column[];
    cells: (item: Item) => number[];
    /** What stands before the buttons, with the search. */
    tools: (search: ComponentChildren) => ComponentChildren;
    /** What stands below the buttons. */
    legend?: (boxes: Box[]) => ComponentChildren;
    empty: ComponentChildren;
}

interface Props<Item extends TreeItem> extends Content<Item> {
    /** What the picture is called, for those who do not see it. */
    name: string;
    /** The boxes on a canvas that is `width` pixels wide. When they move, this is a new function. */
    place: (width: number) => Box[];
    /** What a click on a frame, and Enter, do. */
    into: (item: Item) => void;
    /** What Backspace does. */
    outOf: () => void;
    /** What shows all again. */
    all: { to: Partial<State>; isShown: boolean };
    /** What else keys do. */
    keys?: Record<string, () => void>;
    /** The frame that is in hand where none is chosen. */
    within?: TreeItem;
    /** What can be done, in words. */
    hint: string;
    /** What stands between the words and the picture. */
    axis?: ComponentChildren;
}

/** What a box is called. */
const named = ({ item, parent }: Box) => (parent || item.frame || item.label ? labelOf(item) : "all");

export function FrameCanvas<Item extends TreeItem>({ root, together, title, search, colors: names, paint, tell, columns, cells, tools, legend, empty, name, place, into, outOf, all, keys, within, hint, axis }: Props<Item>) {
    const { theme, state, go, setCopy } = useShown();
    const holder = useRef<HTMLDivElement>(null);
    const canvas = useRef<HTMLCanvasElement>(null);
    const { width } = useSize(holder);
    /** Where the mouse is: pixels from the left, and the line. */
    const [pointed, point] = useState<[x: number, line: number] | null>(null);
    const matches = useMemo(() => matcher(search), [search]);
    const boxes = useMemo(() => place(width), [place, width]);
    const kept = useMemo(() => (state.branch === "" ? null : (boxes.find(({ item }) => item.key === state.branch) ?? null)), [boxes, state.branch]);
    const choose = (box: Box) => go({ branch: box.item.key, hit: 0 }, true);
    const hits = useMemo(() => (matches ? boxes.filter(({ item }) => matches(item.frame, item.label)).sort((a, b) => a.depth - b.depth || a.x - b.x) : []), [boxes, matches]);
    const hit = hits[Math.min(state.hit, hits.length) - 1] ?? null;
    const chosen = hit ?? kept;
    const depth = boxes.reduce((most, box) => Math.max(most, box.depth + 1), 1);
    const height = depth * LINE + 2;
    const fill = (box: Box, colors: Colors) => (box.item.frame || box.item === root ? paint(box.item as Item, colors) : colors["other"]!);

    useCanvas(canvas, { width, height }, (ctx) => {
        const colors = colorsOf(names);
        draw(ctx, boxes, colors, (box) => fill(box, colors), matches, chosen);
    }, [boxes, matches, theme, paint, chosen]);

    useEffect(() => {
        return setCopy(() => ({
            heads: ["frame", { title: "depth", unit: "count" }, ...columns],
            rows: boxes.map((box) => [named(box), box.depth, ...cells(box.item as Item)]),
        }));
    }, [boxes, title]);

    const placeOf = (event: MouseEvent): [x: number, line: number] => {
        const area = canvas.current!.getBoundingClientRect();
        return [event.clientX - area.left, Math.floor((event.clientY - area.top) / LINE)];
    };
    const boxAt = ([x, line]: [x: number, line: number]) => boxes.find((box) => box.depth === line && x >= box.x && x < box.x + box.width) ?? null;
    const at = useMemo(() => pointed && boxAt(pointed), [pointed, boxes]);
    const scroller = useRef<HTMLDivElement>(null);
    useEffect(() => {
        const top = (hit?.depth ?? 0) * LINE;
        const of = scroller.current;
        if (of && (top < of.scrollTop || top + LINE > of.scrollTop + of.clientHeight)) of.scrollTop = Math.max(0, top - of.clientHeight / 2);
    }, [hit]);

    const inHand = (chosen?.item ?? within)?.frame;
    const hand = useInHand(inHand);
    const pressed = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.metaKey || hand.pressed(event)) return;
        const from = chosen ?? boxes[0] ?? null;
        if (!from) return;
        const row = boxes.filter((box) => box.depth === from.depth);
        const place = row.indexOf(from);
        const acts: Record<string, () => void> = {
            ArrowDown: () => choose(boxes.find((box) => box.parent === from) ?? from),
            ArrowUp: () => choose(from.parent ?? from),
            ArrowLeft: () => choose(row[place - 1] ?? from),
            ArrowRight: () => choose(row[place + 1] ?? from),
            Enter: () => into(from.item as Item),
            Backspace: outOf,
            ...keys,
        };
        const act = acts[event.key];
        if (!act) return;
        event.preventDefault();
        event.stopPropagation();
        act();
    };

    const told = at ?? chosen;
    const found = useMemo(() => (matches ? matched(root, matches) : null), [root, matches, boxes]);
    const svg = () => {
        const colors = colorsOf(names);
        return svgOf(boxes, width, height, colors, (box) => fill(box, colors));
    };
    return (
        <>
            <div class="tools">
                {tools(<Search {...(found ? { hits: { ...found, isAny: found.items.length > 0, count: hits.length } } : {})} />)}
                {found && (found.isAll || found.items.length > 0) && <span class="soft">found: {found.isAll ? "" : "at least "}{together(found.items)}</span>}
                {all.isShown ? <button disabled>all</button> : <Door to={all.to} class="button">all</Door>}
                <FrameButtons frame={inHand} />
                <button onClick={() => canvas.current?.toBlob((blob) => blob && save(blob, "memtoll.png"))}>PNG</button>
                <button onClick={() => save(new Blob([svg()], { type: "image/svg+xml" }), "memtoll.svg")}>SVG</button>
            </div>
            <p class="told" role="status">
                {told ? <><bdi>{named(told)}</bdi><span> · {tell(told.item as Item)}</span></> : hint}
            </p>
            {legend?.(boxes)}
            {root.value <= 0 && empty}
            <div class="flame" ref={scroller}>
                <div ref={holder} />
                {axis}
                <canvas
                    ref={canvas}
                    tabIndex={0}
                    role="application"
                    aria-label={`${name} of ${title}: arrow keys move, Enter zooms in, Backspace goes back. A table shows the same.`}
                    style={{ width: `${width}px`, height: `${height}px` }}
                    onMouseMove={(event) => {
                        const place = placeOf(event);
                        if (!pointed || boxAt(place) !== at) point(place);
                    }}
                    onMouseLeave={() => point(null)}
                    onClick={(event) => {
                        const box = boxAt(placeOf(event));
                        if (box) into(box.item as Item);
                    }}
                    onContextMenu={(event) => hand.menu(event, event.button === 2 ? boxAt(placeOf(event))?.item.frame : inHand)}
                    onKeyDown={pressed}
                />
            </div>
        </>
    );
}

/** The outermost frames that match. */
function matched<Item extends TreeItem>(root: Item, matches: Matcher): { items: Item[]; isAll: boolean; looked: number } {
    const items: Item[] = [];
    let isAll = true;
    let looked = 0;
    const open = [...root.children()] as Item[];
    for (let item = open.pop(); item; item = open.pop()) {
        looked++;
        if (matches(item.frame, item.label)) items.push(item);
        else {
            if (item.hasMore) isAll = false;
            open.push(...(item.children() as Item[]));
        }
    }
    return { items, isAll, looked };
}

function draw(ctx: CanvasRenderingContext2D, boxes: Box[], colors: Colors, fill: (box: Box) => string, matches: Matcher | null, chosen: Box | null): void {
    ctx.fillStyle = colors["ground"]!;
    ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height);
    ctx.font = FONT;
    ctx.textBaseline = "middle";
    for (const box of boxes) {
        const [x, y, width] = [box.x, box.depth * LINE, box.width];
        const isFound = matches?.(box.item.frame, box.item.label);
        ctx.fillStyle = isFound ? colors["found"]! : fill(box);
        ctx.globalAlpha = matches && !isFound ? 0.4 : 0.78 + 0.22 * shade(box);
        ctx.fillRect(x, y, Math.max(0.5, width - (width > 3 ? 1 : 0)), LINE - 1);
        ctx.globalAlpha = 1;
        if (box === chosen) {
            ctx.strokeStyle = colors["chosen"]!;
            ctx.lineWidth = 2;
            ctx.strokeRect(x + 1, y + 1, Math.max(1, width - 3), LINE - 3);
        }
        const text = textIn(ctx, box);
        if (!text) continue;
        ctx.fillStyle = colors["text"]!;
        ctx.fillText(text, x + 4, y + LINE / 2);
    }
}

/** Neighbors differ a little, and a function always looks the same. */
function shade(box: Box): number {
    const name = box.item.frame?.function ?? "";
    let hash = 7;
    for (let at = 0; at < name.length && at < 64; at++) hash = (hash * 31 + name.charCodeAt(at)) | 0;
    return ((hash >>> 3) % 16) / 16;
}

function escaped(text: string): string {
    return text.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

function svgOf(boxes: Box[], width: number, height: number, colors: Colors, fill: (box: Box) => string): string {
    const ctx = document.createElement("canvas").getContext("2d")!;
    ctx.font = FONT;
    const rects = boxes.map((box) => {
        const label = named(box);
        const y = box.depth * LINE;
        const short = textIn(ctx, box);
        return (
            `<g><title>${escaped(label)}</title><rect x="${box.x.toFixed(1)}" y="${y}" width="${Math.max(0.5, box.width - 0.5).toFixed(1)}" height="${LINE - 1}" fill="${fill(box)}"/>` +
            (short ? `<text x="${(box.x + 4).toFixed(1)}" y="${y + 13}" fill="${colors["text"]}">${escaped(short)}</text>` : "") +
            `</g>`
        );
    });
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="11"><rect width="100%" height="100%" fill="${colors["ground"]}"/>${rects.join("")}</svg>\n`;
}
