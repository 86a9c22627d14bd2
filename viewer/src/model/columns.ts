// Which columns a table shows, and how wide they are, as the address has it: `zeroing_0.cost_120` hides one column and makes another
// 120 pixels wide. A metric is the same column in all tables.

export interface TableColumn {
    key: string;
    title: string;
    /** As CSS has it, unless the reader chose another one. */
    width: string;
    /** Pixels that it takes at least. */
    least: number;
    /** Whether it is shown in the narrowest table, and can't be hidden. */
    stays?: boolean;
    /** Cells of a row that share it; one if it does not say. */
    parts?: number;
}

/** Pixels: the narrowest and the widest column, and what a key adds. */
export const LEAST = 40;
export const MOST = 2000;
export const STEP = 10;

/** The column that says what rows are: this wide at least, pixels, but on a narrow screen numbers have most of the room. */
export const naming = (pixels: number): string => `minmax(min(${pixels}px, 30vw), 5fr)`;
export const namingColumn = (title: string, pixels: number): TableColumn => ({ key: "name", title, width: naming(pixels), least: Math.min(pixels, innerWidth * 0.3), stays: true });

/** A column of numbers. */
export const plainColumn = (title: string, least: number, key = title): TableColumn => ({ key, title, width: `minmax(${least}px, 1fr)`, least });

const HIDDEN = 0;

const limited = (width: number) => Math.min(MOST, Math.max(LEAST, Math.round(width)));

function widthsOf(text: string): Map<string, number> {
    const found = text.split(".").map((word) => /^(.+)_(\d+)$/.exec(word));
    return new Map(found.flatMap((one) => (one ? [[one[1]!, Number(one[2]) === HIDDEN ? HIDDEN : limited(Number(one[2]))] as const] : [])));
}

const toText = (widths: Map<string, number>) => [...widths].map(([key, width]) => `${key}_${width}`).join(".");

export const isHidden = (text: string, key: string): boolean => widthsOf(text).get(key) === HIDDEN;

/** The columns that a table of `room` pixels shows: those that stay, those that the reader resized, and the others in their order while they fit. */
export function fitting(columns: readonly TableColumn[], text: string, room: number): TableColumn[] {
    const widths = widthsOf(text);
    const isSure = ({ key, stays }: TableColumn) => stays || !!widths.get(key);
    const wanted = columns.filter((one) => one.stays || widths.get(one.key) !== HIDDEN);
    const needs = ({ key, least }: TableColumn) => widths.get(key) || least;
    let left = wanted.filter(isSure).reduce((left, one) => left - needs(one), room);
    return wanted.filter((one) => isSure(one) || (left -= needs(one)) >= 0);
}

/** With a column hidden, or shown in a table of `room` pixels. */
export function switched(columns: readonly TableColumn[], text: string, room: number, column: TableColumn): string {
    if (fitting(columns, text, room).includes(column)) return toggled(text, column.key);
    const without = isHidden(text, column.key) ? toggled(text, column.key) : text;
    return fitting(columns, without, room).includes(column) ? without : withWidth(without, column.key, column.least);
}

/** With a column hidden, or shown again. */
export function toggled(text: string, key: string): string {
    const widths = widthsOf(text);
    if (!isHidden(text, key)) widths.set(key, HIDDEN);
    else widths.delete(key);
    return toText(widths);
}

/** With a column of this width; null: as wide as the table makes it. */
export function withWidth(text: string, key: string, width: number | null): string {
    const widths = widthsOf(text);
    if (width === null) widths.delete(key);
    else widths.set(key, limited(width));
    return toText(widths);
}

/** The widths of the columns, as CSS has them. */
export function templateOf(columns: readonly TableColumn[], text: string): string {
    const widths = widthsOf(text);
    return columns
        .flatMap(({ key, width, parts = 1 }) => {
            const chosen = widths.get(key);
            return Array<string>(parts).fill(chosen ? `${chosen / parts}px` : width);
        })
        .join(" ");
}
