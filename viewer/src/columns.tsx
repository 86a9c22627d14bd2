// What a reader does to the columns of a table: chooses them, and drags their edges.

import { createContext } from "preact";
import { useContext, useId, useRef, useState } from "preact/hooks";
import { useShown } from "./context";
import { useSize } from "./hooks";
import { titleInRows, type Metric } from "./model/answer";
import { fitting, isHidden, LEAST, MOST, STEP, switched, withWidth, type TableColumn } from "./model/columns";

/** The column of a metric, and the first one of a table, which says what rows are. */
export function columnFor(metric: Metric, stays: boolean, parts = 1): TableColumn {
    const least = leastOf(metric, stays && parts === 1, parts);
    return { key: metric.name, title: titleInRows(metric), parts, width: `minmax(${least}px, 1fr)`, least: least * parts, stays };
}
export const nameColumn = (title: string): TableColumn => ({ key: "name", title, width: `minmax(${NAME}px, 12fr)`, least: NAME, stays: true });

/** The least width of names, and the widest number of a row, pixels. */
const NAME = 190;
const NUMBER = 63;

/** Pixels that a variable of the page has. */
export const pixelsOf = (name: string): number => parseFloat(getComputedStyle(document.documentElement).getPropertyValue(name));

/** The least width of each part of a metric's column, pixels. */
function leastOf(metric: Metric, isMain: boolean, parts = 1): number {
    const [edges, question] = [pixelsOf("--edges"), pixelsOf("--question")];
    const heading = isMain ? textWidth(600, `${titleInRows(metric)} ▾`) : textWidth(400, titleInRows(metric));
    return Math.max(NUMBER + edges, (heading + edges + question) / parts);
}

/** Columns of metrics that a reader has not hidden. The chosen one stays: the table is sorted by it. */
export const notHidden = (metrics: Metric[], chosen: Metric, text: string): Metric[] => metrics.filter((one) => one === chosen || !isHidden(text, one.name));

export interface Columns {
    all: readonly TableColumn[];
    shown: readonly TableColumn[];
    /** Pixels that the table has. */
    room: number;
    setRoom: (room: number) => void;
}

/** The columns of a table, which shows those that it has room for. */
export function useColumns(all: readonly TableColumn[]): Columns {
    const { state } = useShown();
    const [room, setRoom] = useState(Infinity);
    return { all, shown: fitting(all, state.columns, room), room, setRoom };
}

let pen: CanvasRenderingContext2D | null = null;

/** Pixels that the words of a heading take. Rows are grids of their own, so no column grows with its text by itself. */
function textWidth(weight: number, text: string): number {
    pen ??= document.createElement("canvas").getContext("2d")!;
    pen.font = `${weight} 13px ${getComputedStyle(document.body).fontFamily}`;
    return Math.ceil(pen.measureText(text).width);
}

export interface Resizing {
    columns: readonly TableColumn[];
    /** Shows a column as wide as it would be; null: as wide as it is. */
    preview: (column: string, width: number | null) => void;
}

/** Of the table in which a heading is; null: its columns stay as they are. */
export const Resizing = createContext<Resizing | null>(null);

/** The right edge of a column, at the end of its heading. A double click, or Enter, makes it as wide as the table would. */
export function Edge({ column }: { column: string }) {
    const { state, go } = useShown();
    const resizing = useContext(Resizing);
    const edge = useRef<HTMLSpanElement>(null);
    const grip = useRef<{ x: number; width: number } | null>(null);
    const cell = useRef<HTMLElement | null>(null);
    const of = resizing?.columns.find(({ key }) => key === column);
    const attach = (element: HTMLSpanElement | null) => {
        edge.current = element;
        cell.current = element?.parentElement ?? null;
    };
    useSize(cell);
    if (!resizing || !of) return null;
    const width = Math.round(cell.current?.getBoundingClientRect().width ?? 0);
    const set = (to: number | null, joins = false) => go({ columns: withWidth(state.columns, column, to) }, joins);
    const at = (event: PointerEvent) => grip.current!.width + event.clientX - grip.current!.x;
    const end = (event: PointerEvent) => {
        if (!grip.current) return;
        const to = at(event);
        const isMoved = event.clientX !== grip.current.x;
        grip.current = null;
        resizing.preview(column, null);
        if (isMoved) set(to);
    };
    const pressed = (event: KeyboardEvent) => {
        const by = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
        if (event.ctrlKey || event.metaKey || event.altKey || (!by && event.key !== "Enter")) return;
        event.preventDefault();
        event.stopPropagation();
        set(by ? Math.round(edge.current!.parentElement!.getBoundingClientRect().width) + by : null, true);
    };
    return (
        <span
            ref={attach}
            class="edge"
            role="separator"
            tabIndex={0}
            aria-orientation="vertical"
            aria-label={`width of ${of.title}`}
            aria-valuenow={width}
            aria-valuemin={LEAST}
            aria-valuemax={MOST}
            aria-valuetext={`${width} pixels`}
            title="Drag to make the column wider or narrower; a double click undoes that."
            onKeyDown={pressed}
            onClick={(event) => event.stopPropagation()}
            onDblClick={() => set(null)}
            onPointerDown={(event) => {
                if (event.button !== 0) return;
                event.preventDefault();
                edge.current!.focus();
                edge.current!.setPointerCapture(event.pointerId);
                grip.current = { x: event.clientX, width: edge.current!.parentElement!.getBoundingClientRect().width };
            }}
            onPointerMove={(event) => grip.current && resizing.preview(column, at(event))}
            onPointerUp={end}
            onPointerCancel={end}
        />
    );
}

/** A box for each column but the first. Of the chosen metric, it stays checked. */
export function ColumnChoice({ of: { all, shown, room } }: { of: Columns }) {
    const { state, go } = useShown();
    const id = useId();
    const button = useRef<HTMLButtonElement>(null);
    const menu = useRef<HTMLDivElement>(null);
    const place = (event: ToggleEvent) => {
        if (event.newState !== "open") return;
        const { left, bottom } = button.current!.getBoundingClientRect();
        menu.current!.style.left = `${left}px`;
        menu.current!.style.top = `${bottom}px`;
    };
    const hidden = all.length - shown.length;
    const isNarrow = all.some((one) => !shown.includes(one) && !isHidden(state.columns, one.key));
    return (
        <>
            <button ref={button} popovertarget={id} title={isNarrow ? "There is room for some columns only. Check another one to show it." : undefined}>columns{hidden > 0 && ` (${hidden} hidden)`}</button>
            <div ref={menu} id={id} popover="auto" class="menu boxes" role="group" aria-label="columns" onBeforeToggle={place} onKeyDown={(event) => event.stopPropagation()}>
                {all.slice(1).map((one) => (
                    <label key={one.key} title={one.stays ? "The table is sorted by it." : undefined}>
                        <input type="checkbox" checked={shown.includes(one)} disabled={one.stays} onChange={() => go({ columns: switched(all, state.columns, room, one) })} /> <bdi>{one.title}</bdi>
                    </label>
                ))}
            </div>
        </>
    );
}
