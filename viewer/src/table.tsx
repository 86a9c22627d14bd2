// A long table of which only the rows in sight exist.

import { Fragment, toChildArray, type ComponentChild, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Resizing, type Columns } from "./columns";
import { useShown } from "./context";
import { throughDoor } from "./door";
import { useRows, useSize } from "./hooks";
import { templateOf, withWidth } from "./model/columns";

interface Props<Row> {
    label: string;
    /** All columns, of which those are shown that have room; or the widths of columns that always have it, as CSS has them. */
    columns: Columns | string;
    /** The cells of the head, one for each column. */
    heads: ComponentChildren;
    /** The cells of a row that stays below the head. */
    first?: ComponentChildren;
    rows: readonly Row[];
    keyOf: (row: Row) => string | number;
    cells: (row: Row) => ComponentChildren;
    /** The index of the row that is chosen, which comes into sight; -1: none. */
    chosen?: number;
    /** What a click on a row does; without it, a row leads where its first door does. */
    choose?: (row: Row) => void;
    pressed?: (event: KeyboardEvent) => void;
    /** What a right click on a row does; on a key, it is the chosen row's. */
    menu?: (row: Row, event: MouseEvent) => void;
    /** Of a tree: how far in a row is, and whether it is open; undefined: there is nothing in it. */
    branch?: (row: Row) => { level: number; isOpen: boolean | undefined };
    /** Whether its columns are narrow on a narrow screen, because there are many. */
    dense?: boolean;
    /** The height of each row, pixels; without it, all are rows of text. */
    heights?: readonly number[];
    /** What lies above the rows. */
    children?: ComponentChildren;
}

/** What stands in a row, made once until one of `inputs` changes: a step that changes the address alone draws no number again. */
export function useOnceByRow<Row extends object>(make: (row: Row) => ComponentChildren, inputs: unknown[]): (row: Row) => ComponentChildren {
    return useMemo(() => {
        const made = new WeakMap<Row, ComponentChildren>();
        return (row) => {
            if (!made.has(row)) made.set(row, make(row));
            return made.get(row);
        };
    }, inputs);
}

/** The cells, without fragments around them. */
const flat = (cells: ComponentChildren): ComponentChild[] =>
    toChildArray(cells).flatMap((cell) => (typeof cell === "object" && cell.type === Fragment ? flat(cell.props.children as ComponentChildren) : [cell]));

/** The cells of the columns that are shown, and what is more than one for each column. */
function shownOf(cells: ComponentChildren, { all, shown }: Columns, isHead = false): ComponentChildren {
    if (all.length === shown.length) return cells;
    const columns = all.flatMap((one) => Array(isHead ? 1 : (one.parts ?? 1)).fill(one));
    return flat(cells).filter((_, at) => at >= columns.length || shown.includes(columns[at]));
}

export function Table<Row>({ label, columns, heads, first, rows, keyOf, cells, chosen, choose, pressed, menu, branch, dense, heights, children }: Props<Row>) {
    const scroller = useRef<HTMLDivElement>(null);
    const { items, height, show } = useRows(scroller, rows.length, heights);
    useEffect(() => {
        if (chosen !== undefined && chosen >= 0) show(chosen);
    }, [chosen]);
    const { state } = useShown();
    const [dragged, setDragged] = useState<[column: string, width: number] | null>(null);
    const { width } = useSize(scroller);
    const fitted = typeof columns === "string" ? null : columns;
    useLayoutEffect(() => {
        if (width > 0) fitted?.setRoom(width);
    }, [width]);
    const template = typeof columns === "string" ? columns : templateOf(columns.shown, dragged ? withWidth(state.columns, ...dragged) : state.columns);
    const grid = { gridTemplateColumns: template };
    const resizing = fitted && { columns: fitted.shown, preview: (column: string, width: number | null) => setDragged(width === null ? null : [column, width]) };
    const above = first ? 3 : 2;
    const rightClick = (event: MouseEvent) => {
        const number = (event.target as Element).closest("[aria-rowindex]")?.getAttribute("aria-rowindex");
        const row = rows[number ? Number(number) - above : event.button === 2 ? -1 : (chosen ?? -1)];
        if (row !== undefined) menu?.(row, event);
    };
    return (
        <div class={dense ? "table dense" : "table"} role={branch ? "treegrid" : "table"} aria-label={label} aria-rowcount={rows.length + above - 1} ref={scroller} tabIndex={0} onKeyDown={pressed} onContextMenu={rightClick}>
            <div class="sticky" role="rowgroup">
                <Resizing.Provider value={resizing}>
                    <div class="row head" role="row" style={grid}>{fitted ? shownOf(heads, fitted, true) : heads}</div>
                </Resizing.Provider>
                {first && <div class="row" role="row" style={grid}>{fitted ? shownOf(first, fitted) : first}</div>}
            </div>
            <div role="rowgroup" class="body" style={{ height: `${height}px` }}>
                {children}
                {items.map(({ index, start, size }) => {
                    const row = rows[index];
                    if (row === undefined) return null;
                    const of = branch?.(row);
                    return (
                        <div
                            key={keyOf(row)}
                            role="row"
                            aria-rowindex={index + above}
                            aria-level={of?.level}
                            aria-expanded={of?.isOpen}
                            aria-selected={chosen === undefined ? undefined : index === chosen}
                            class={index === chosen ? "row chosen" : "row"}
                            style={{ ...grid, transform: `translateY(${start}px)`, height: `${size}px` }}
                            onClick={choose ? () => choose(row) : throughDoor}
                        >
                            {fitted ? shownOf(cells(row), fitted) : cells(row)}
                        </div>
                    );
                })}
            </div>
        </div>
    );
}
