// Tables as they are copied and saved. Cells are numbers, so that each form writes them in its own way.

import { csvCell, exact, markdownCell, type Unit } from "./format";

/** A column of numbers. */
export interface Column {
    title: string;
    unit: Unit | "%";
}

/** A cell; null: not known. */
export type Value = string | number | null;

/** Heads of columns, texts those of columns of texts; and the rows. */
export interface TextTable {
    heads: (string | Column)[];
    rows: Value[][];
}

const titleOf = (head: string | Column) => (typeof head === "string" ? head : head.title);

/** A cell for people. */
function shown(value: Value, head: string | Column | undefined): string {
    if (typeof value === "string") return value;
    if (value === null) return "not known";
    const unit = typeof head === "object" ? head.unit : "count";
    return unit === "%" ? `${value.toFixed(1)} %` : unit === "count" && !Number.isInteger(value) ? value.toFixed(1) : exact(value, unit);
}

const textsOf = ({ heads, rows }: TextTable) => [heads.map(titleOf), ...rows.map((row) => row.map((value, at) => shown(value, heads[at])))];

export function asMarkdown(table: TextTable): string {
    const line = (cells: string[]) => `| ${cells.map(markdownCell).join(" | ")} |`;
    const [heads = [], ...rows] = textsOf(table);
    return [line(heads), `|${heads.map((_, index) => (index === 0 ? "---" : "--:")).join("|")}|`, ...rows.map(line)].join("\n") + "\n";
}

/** The unit that a heading of CSV has behind its title: numbers of programs have none. */
const UNITS: Record<Column["unit"], string> = { ns: " [ns]", bytes: " [bytes]", "%": " [%]", count: "" };

/** Numbers without separators and units, which stand in the headings. What is not known is empty. */
export function asCsv({ heads, rows }: TextTable): string {
    const head = (one: string | Column) => (typeof one === "string" ? one : `${one.title}${UNITS[one.unit]}`);
    const cell = (value: Value) => (value === null ? "" : typeof value === "number" ? String(Number(value.toFixed(3))) : csvCell(value));
    return [heads.map((one) => csvCell(head(one))), ...rows.map((row) => row.map(cell))].map((cells) => cells.join(",")).join("\r\n") + "\r\n";
}

/** As aligned text: the first column to the left, the others to the right. */
export function asText(table: TextTable): string {
    const lines = textsOf(table).map((row) => row.map((cell) => cell.replace(/\s*[\r\n]+\s*/g, " ")));
    const widths = table.heads.map((_, column) => lines.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
    const line = (row: string[]) => row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("  ");
    return lines.map((row) => line(row).trimEnd()).join("\n") + "\n";
}

/** Copies a text. Where the browser does not let a page do that, it is offered as a file. */
export async function copy(text: string, name: string): Promise<"copied" | "saved"> {
    try {
        await navigator.clipboard.writeText(text);
        return "copied";
    } catch {
        save(new Blob([text], { type: "text/plain" }), name);
        return "saved";
    }
}

export function save(blob: Blob, name: string): void {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
