import { csvCell, markdownCell } from "./format";

export interface TextTable {
    heads: string[];
    rows: string[][];
}

export function asMarkdown({ heads, rows }: TextTable): string {
    const line = (cells: string[]) => `| ${cells.map(markdownCell).join(" | ")} |`;
    return [line(heads), `|${heads.map((_, index) => (index === 0 ? "---" : "--:")).join("|")}|`, ...rows.map(line)].join("\n") + "\n";
}

export function asCsv({ heads, rows }: TextTable): string {
    return [heads, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

/** As aligned text: the first column to the left, the others to the right. */
export function asText({ heads, rows }: TextTable): string {
    const lines = [heads, ...rows].map((row) => row.map((cell) => cell.replace(/\s*[\r\n]+\s*/g, " ")));
    const widths = heads.map((_, column) => lines.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0));
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
