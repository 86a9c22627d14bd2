// A source file with what its lines cost: of themselves, and with all that they call.

import { frameOf, numbersOf, valueOf, type Metric, type Numbers, type Profile } from "./answer";
import type { Pack } from "./pack";
import type { SourcePack, SourcesPack } from "./packs";

/** Numbers of lines. */
export interface Costs {
    /** Which row has a line's numbers. */
    at: Map<number, number>;
    numbers: Numbers;
}

export interface SourceFile {
    /** null: it is not shown, and `why` says why. */
    lines: string[] | null;
    why: string;
    /** Whether it was changed after the recording began. */
    isNewer: boolean;
    own: Costs;
    through: Costs;
    /** Functions of lines. */
    functions: Map<number, string>;
}

function linesOf(text: string): string[] {
    const lines = text.split(/\r\n|\n|\r/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
}

/** What a server says. */
export function sourceFileOf(pack: Pack<SourcePack>, metrics: Metric[]): SourceFile {
    const { text, why, is_newer, functions } = pack.head;
    const costs = (name: "own" | "through"): Costs => ({ at: new Map(Array.from(pack.column(`${name}.line`), (line, row) => [line, row])), numbers: numbersOf(pack, name, metrics) });
    return {
        lines: text === null ? null : linesOf(text),
        why: why ?? "",
        isNewer: is_newer,
        own: costs("own"),
        through: costs("through"),
        functions: new Map(Array.from(pack.column("through.line"), (line, row) => [line, functions[row] ?? ""])),
    };
}

/** Adds rows of other numbers up by line. */
function added(rows: [line: number, row: number][], of: Numbers): Costs {
    const at = new Map<number, number>();
    for (const [line] of rows) if (!at.has(line)) at.set(line, at.size);
    const numbers: Numbers = new Map();
    for (const [name, values] of of) {
        const sums = new Float64Array(at.size);
        for (const [line, row] of rows) sums[at.get(line)!]! += values[row] ?? 0;
        numbers.set(name, sums);
    }
    return { at, numbers };
}

/** What a page says: of its call sites, and of its call tree. */
export function sourceFileIn(profile: Profile, file: string, texts: SourcesPack["head"]["sources"]): SourceFile {
    const sites = profile.sites.filter((site) => site.frame?.file === file).map((site): [number, number] => [site.frame!.line, site.index]);
    const { tree } = profile;
    const through: [number, number][] = [];
    if (tree) {
        // A line that calls itself counts once: the outermost one.
        const above: (Set<number> | null)[] = [null];
        for (let node = 1; node < tree.parent.length; node++) {
            const known = above[tree.parent[node]!] ?? null;
            const frame = frameOf(profile, tree.frame[node]!);
            above[node] = known;
            if (frame?.file !== file || known?.has(frame.line)) continue;
            through.push([frame.line, node]);
            above[node] = new Set([...(known ?? []), frame.line]);
        }
    }
    const found = Object.hasOwn(texts, file) ? texts[file] : undefined;
    return {
        lines: found ? linesOf(found.text) : null,
        why: found ? "" : "This page holds no text of this file. memtoll html --sources puts source files into the page.",
        isNewer: found?.is_newer ?? false,
        own: added(sites, profile.siteNumbers),
        through: tree ? added(through, tree.numbers) : { at: new Map(), numbers: new Map() },
        functions: new Map(profile.frames.filter((frame) => frame.file === file).map((frame) => [frame.line, frame.function])),
    };
}

/** A line's number; null: it is not known, or the line has none. */
export function costOf(costs: Costs, metric: Metric, line: number): number | null {
    const row = costs.at.get(line);
    return row === undefined ? null : valueOf(costs.numbers, metric, row);
}

export interface FileRow {
    file: string;
    value: number;
    /** Its call sites. */
    sites: number[];
}

/** The files of call sites, by what they cost. */
export function filesOf(profile: Profile, metric: Metric): FileRow[] {
    const main = profile.siteNumbers.get(metric.over ?? metric.name);
    const sums = new Map<string, FileRow>();
    for (const { frame, index } of profile.sites) {
        if (!frame?.file) continue;
        const of = sums.get(frame.file) ?? { file: frame.file, value: 0, sites: [] };
        of.value += main?.[index] ?? 0;
        of.sites.push(index);
        sums.set(frame.file, of);
    }
    return [...sums.values()].sort((a, b) => b.value - a.value || (a.file < b.file ? -1 : 1));
}

/** The link that opens a line in an editor; empty: there is none, or the path is not one of this machine. */
export function editorLink(template: string, file: string, line: number): string {
    if (template === "" || !file.startsWith("/")) return "";
    const encoded = file.split("/").map(encodeURIComponent).join("/");
    return template.replaceAll("{file}", encoded).replaceAll("{line}", String(line || 1));
}
