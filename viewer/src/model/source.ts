// Where answers come from: the server, or the page itself.

import { branchesOf, type Step } from "./branches";
import { profileOf, type About, type Metric, type Profile, type Timeline } from "./answer";
import { comparisonIn, comparisonOf, type Comparison } from "./comparison";
import { differenceOf, merged, type Changed } from "./difference";
import { Pack } from "./pack";
import { joined, type Slice } from "./slices";
import type { Span } from "./activity";
import { sourceFileIn, sourceFileOf, type SourceFile, type Texts } from "./source_file";
import { START, type Base, type Selection } from "./state";
import { treeOf, type TreeItem } from "./tree";

export interface Recording {
    about: About;
    metrics: Metric[];
    timeline: Timeline;
    /** Whether there is a recording before it that it is compared with. */
    compares: boolean;
    /** Whether the text of source files is shown. */
    sources: boolean;
    /** A link with `{file}` and `{line}` that opens an editor; empty: none. */
    editor: string;
    /** Of a recording that is being made: how often its file was opened. */
    live: number | null;
}

/** A recording that is being made. */
export interface Live {
    /** How often its file was opened. */
    generation: number;
    /** How long it is so far, ns. */
    ns: number;
    /** Whether it is complete. */
    over: boolean;
}

/** What is asked beside a profile. */
export type What = "groups" | "lanes" | "patterns" | "advice";

export interface Source {
    /** What can be asked beside a span of time: threads, filters, and what takes a reading of all events. */
    readonly asks: boolean;
    /** A mouse selects spans that begin and end at multiples of this, ns. */
    readonly step: number;
    open(): Promise<Recording>;
    profile(selection: Selection, signal: AbortSignal): Promise<Profile>;
    /** A call tree; branches below `part.least` may not be loaded. */
    tree(selection: Selection, part: TreePart, signal: AbortSignal): Promise<TreeItem>;
    ask(what: What, selection: Selection, group: string, signal: AbortSignal): Promise<Pack>;
    /** What happens when; `span`: null for the whole run. */
    activity(span: Span | null, who: { process: string; thread: string }): Promise<Pack>;
    /** What changed, as a tree of both sides; `base`: the span before, of one recording. */
    difference(selection: Selection, base: Base | null, part: TreePart, signal: AbortSignal): Promise<Changed>;
    compare(selection: Selection, base: Base | null, signal: AbortSignal): Promise<Comparison>;
    /** How far a recording is that is being made. */
    live(): Promise<Live>;
    /** Sets a mark now. */
    mark(name: string): Promise<void>;
    /** Where live blocks lie at the end of the selection; `range`: the blocks there. */
    memory(selection: Selection, range: { from: number; to: number } | null, signal: AbortSignal): Promise<Pack>;
    /** What is live at the end of the selection, by generations: older than it or not, or one for each mark. */
    generations(selection: Selection, borders: "selection" | "marks", signal: AbortSignal): Promise<Pack>;
    /** Types of the selected blocks, and how the members of one lie in memory; empty: of none. */
    layout(selection: Selection, type: string, signal: AbortSignal): Promise<Pack>;
    /** A source file and what its lines cost. */
    file(selection: Selection, file: string, signal: AbortSignal): Promise<SourceFile>;
}

/** Which call tree. */
export interface TreePart {
    metric: Metric;
    /** Metrics whose numbers are wanted. */
    columns: Metric[];
    /** From the allocations outwards. */
    reversed: boolean;
    /** Only stacks through this function: what it calls, or who calls it. Empty: all. */
    through: string;
    /** What the first branches are: `module` or `type`; empty: frames. */
    by: string;
    /** Share of all that a branch must have to be loaded at once, 0 to 1. */
    least: number;
}

function recordingOf(pack: Pack): Recording {
    const timeline = { ...pack.get<Omit<Timeline, "live" | "parts">>("timeline"), live: pack.column("timeline.live"), parts: pack.get<number>("parts") };
    return { about: pack.get("about"), metrics: pack.get("metrics"), timeline, compares: pack.get<boolean>("compares"), sources: pack.get<boolean>("sources"), editor: pack.get<string>("editor"), live: pack.get<number | null>("live") };
}

export class Server implements Source {
    readonly asks = true;
    step = 0;
    private metrics: Metric[] = [];

    private async answer(question: object, signal?: AbortSignal): Promise<Pack> {
        const headers = { "Content-Type": "application/json" };
        const init: RequestInit = { method: "POST", headers, body: JSON.stringify(question) };
        if (signal) init.signal = signal;
        let response: Response;
        try {
            response = await fetch("/answer", init);
        } catch (error) {
            if (signal?.aborted) throw error;
            throw new Error("memtoll view does not answer any more. Start it again.");
        }
        if (!response.ok) throw new Error(await response.text());
        return Pack.read(await response.arrayBuffer());
    }

    async open(): Promise<Recording> {
        const recording = recordingOf(await this.answer({ what: "about" }));
        this.metrics = recording.metrics;
        this.step = recording.timeline.end_ns / recording.timeline.parts;
        return recording;
    }

    tree(selection: Selection, part: TreePart, signal: AbortSignal): Promise<TreeItem> {
        const main = part.metric.over ?? part.metric.name;
        const names = new Set([main, ...part.columns.flatMap((one) => (one.over ? [one.name, one.over] : [one.name]))]);
        const metrics = this.metrics.filter((one) => names.has(one.name));
        // What is loaded later belongs to a tree that is shown and stays shown.
        let first: AbortSignal | undefined = signal;
        const ask = (steps: Step[], least: number) => {
            const { reversed, through, by } = part;
            const [label] = steps.filter((step) => typeof step === "string");
            const path = steps.filter((step) => typeof step === "number");
            const tree = { reversed, metric: main, columns: metrics.map((one) => one.name), function: through || null, by: by || null, label: label ?? null, path, least };
            const answer = this.answer({ what: "tree", ...question(selection), tree }, first);
            first = undefined;
            return answer;
        };
        return branchesOf(ask, part.metric, metrics, part.least);
    }

    async profile(selection: Selection, signal: AbortSignal): Promise<Profile> {
        return profileOf(await this.answer({ what: "profile", ...question(selection) }, signal), this.metrics);
    }

    ask(what: What, selection: Selection, group: string, signal: AbortSignal): Promise<Pack> {
        if (what === "advice") return this.answer({ what }, signal);
        return this.answer({ what, ...question(selection), ...(what === "groups" ? { group } : {}) }, signal);
    }

    activity(span: Span | null, who: { process: string; thread: string }): Promise<Pack> {
        return this.answer({ what: "activity", ...question({ ...START, ...who, from: span && Math.round(span.from), to: span && Math.round(span.to) }) });
    }

    async compare(selection: Selection, base: Base | null, signal: AbortSignal): Promise<Comparison> {
        return comparisonOf(await this.answer({ what: "compare", ...question(selection), ...before(base) }, signal), this.metrics);
    }

    difference(selection: Selection, base: Base | null, { metric, reversed, least }: TreePart, signal: AbortSignal): Promise<Changed> {
        let first: AbortSignal | undefined = signal;
        const ask = (path: [number, number][], least: number) => {
            const tree = { metric: metric.name, reversed, least, path_of_both: path };
            const answer = this.answer({ what: "compare_tree", ...question(selection), ...before(base), tree }, first);
            first = undefined;
            return answer;
        };
        return differenceOf(ask, least);
    }

    async live(): Promise<Live> {
        const response = await fetch("/live");
        if (!response.ok) throw new Error(await response.text());
        return (await response.json()) as Live;
    }

    async mark(name: string): Promise<void> {
        const response = await fetch("/mark", { method: "POST", body: name });
        if (!response.ok) throw new Error(await response.text());
    }

    memory(selection: Selection, range: { from: number; to: number } | null, signal: AbortSignal): Promise<Pack> {
        return this.answer({ what: "memory", ...question(selection), memory: range ?? {} }, signal);
    }

    generations(selection: Selection, borders: "selection" | "marks", signal: AbortSignal): Promise<Pack> {
        return this.answer({ what: "generations", ...question(selection), borders }, signal);
    }

    layout(selection: Selection, type: string, signal: AbortSignal): Promise<Pack> {
        return this.answer({ what: "layout", ...question(selection), type_name: type }, signal);
    }

    async file(selection: Selection, file: string, signal: AbortSignal): Promise<SourceFile> {
        return sourceFileOf(await this.answer({ what: "source", ...question(selection), file }, signal), this.metrics);
    }
}

function before(base: Base | null): object {
    return base ? { base: { from_ns: base.from, to_ns: base.to } } : {};
}

function question(selection: Selection): object {
    const { from, to, filter, unfold, wrappers, paid, process, thread } = selection;
    return {
        from_ns: from,
        to_ns: to,
        filter,
        unfold,
        wrappers,
        paid,
        processes: process ? [process] : [],
        threads: thread ? [thread] : [],
    };
}

export class Embedded implements Source {
    readonly asks = false;
    step = 0;
    private metrics: Metric[] = [];
    private whole: Pack | undefined;
    private patterns: Pack | undefined;
    private advice: Pack | undefined;
    private whenever: Pack | undefined;
    private texts: Texts = {};
    /** What changed from the recording before, and that recording, if there is one. */
    private changes: Pack | undefined;
    private before: Pack | undefined;
    private slices: Slice[] = [];

    constructor(private readonly packed: string[]) {}

    async open(): Promise<Recording> {
        const packs = await Promise.all(this.packed.map(unpacked));
        const [about, whole, patterns, advice, activity, sources, changes, before, ...slices] = packs;
        if (!about || !whole || !patterns || !advice || !activity || !sources || !changes || !before) throw new Error("this page is not complete: write it again with memtoll html");
        const recording = recordingOf(about);
        this.metrics = recording.metrics;
        this.whole = whole;
        this.patterns = patterns;
        this.advice = advice;
        this.whenever = activity;
        this.texts = sources.get("sources");
        if (recording.compares) [this.changes, this.before] = [changes, before];
        this.slices = slices.map((pack) => ({ ...pack.get<{ from_ns: number; to_ns: number }>("slice"), pack }));
        this.step = recording.timeline.end_ns / Math.max(1, this.slices.length);
        return recording;
    }

    async tree(selection: Selection, part: TreePart): Promise<TreeItem> {
        return treeOf(await this.profile(selection), part.metric, part.reversed, part.through, part.by);
    }

    async profile(selection: Selection): Promise<Profile> {
        const whole = this.whole;
        if (!whole) throw new Error("nothing is open");
        if (selection.from === null && selection.to === null) return profileOf(whole, this.metrics);
        const [from, to] = [selection.from ?? 0, selection.to ?? Infinity];
        const middle = (slice: Slice) => (slice.from_ns + slice.to_ns) / 2;
        const part = this.slices.filter((slice) => middle(slice) >= from && middle(slice) <= to);
        return joined(profileOf(whole, this.metrics), part, this.metrics);
    }

    ask(what: What, selection: Selection): Promise<Pack> {
        if (what === "advice" && this.advice) return Promise.resolve(this.advice);
        if (what === "patterns" && this.patterns) {
            if (selection.from === null && selection.to === null) return Promise.resolve(this.patterns);
            return Promise.reject(new Error("This page holds sizes and lifetimes of the whole run only. Press Esc for it, or open the recording with memtoll view."));
        }
        return Promise.reject(new Error("This page holds no events. Open the recording with memtoll view."));
    }

    activity(): Promise<Pack> {
        return this.whenever ? Promise.resolve(this.whenever) : Promise.reject(new Error("nothing is open"));
    }

    async compare(selection: Selection, base: Base | null): Promise<Comparison> {
        if (this.changes) return comparisonOf(this.changes, this.metrics);
        return comparisonIn(await this.profileBefore(selection, base), await this.profile(selection), this.metrics);
    }

    async difference(selection: Selection, base: Base | null, { metric, reversed, least }: TreePart): Promise<Changed> {
        const [before, after] = [await this.profileBefore(selection, base), await this.profile(selection)].map((profile) => treeOf(profile, metric, reversed));
        return merged(before!, after!, least);
    }

    /** The recording before, or another span of this one. */
    private async profileBefore(selection: Selection, base: Base | null): Promise<Profile> {
        if (this.before) return profileOf(this.before, this.metrics);
        if (!base) throw new Error("There is nothing to compare with.");
        return this.profile({ ...selection, ...base });
    }

    live(): Promise<never> {
        return Promise.reject(new Error("A page does not grow."));
    }

    mark(): Promise<never> {
        return this.live();
    }

    memory(): Promise<never> {
        return Promise.reject(new Error("This page does not hold where blocks lie. Open the recording with memtoll view."));
    }

    generations(): Promise<never> {
        return Promise.reject(new Error("This page does not hold when live blocks were acquired. Open the recording with memtoll view."));
    }

    layout(): Promise<never> {
        return Promise.reject(new Error("This page does not hold how types lie in memory: that is in the debug information of the program. Open the recording with memtoll view, or run memtoll layout FILE TYPE."));
    }

    async file(selection: Selection, file: string): Promise<SourceFile> {
        return sourceFileIn(await this.profile(selection), file, this.texts);
    }
}

async function unpacked(text: string): Promise<Pack> {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return Pack.read(await new Response(stream).arrayBuffer());
}

/** The page's own packs, if it has any; otherwise the server. */
export function sourceOf(document: Document): Source {
    const packs = [...document.querySelectorAll<HTMLScriptElement>('script[type="application/x-memtoll"]')];
    return packs.length > 0 ? new Embedded(packs.map((pack) => pack.textContent ?? "")) : new Server();
}
