// Where answers come from: a server (server.ts), or the page itself (page.ts).

import type { FunctionCosts } from "./function_costs";
import type { Span } from "./activity";
import type { Advised } from "./advice";
import type { Finding, Metric, Profile, Timeline } from "./answer";
import type { Comparison } from "./comparison";
import type { Damage } from "./damage";
import type { Changed } from "./changed_tree";
import type { Pack } from "./pack";
import type { About, AboutPack, ActivityPack, BlocksPack, GenerationsPack, GroupsPack, LanesPack, LayoutPack, MapPack, PatternsPack, ResidentPack, StackChartPack, StackedPack } from "./packs";
import type { Borders, Look } from "./query";
import type { SourceFile } from "./source_file";
import type { Base, Selection, State, Wanted } from "./state";
import type { TreeItem } from "./tree";
import type { Waits } from "./waits";

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
    /** Whether a thread set regions, and marks. */
    regions: boolean;
    marks: boolean;
}

/** What selects a process and no other: what the list of processes says, if it is not too long. */
export const idOf = ({ about }: Pick<Recording, "about">, { process, pid }: { process: number; pid: number }): string => about.processes[process]?.id ?? String(pid);

/** What the user has added to a recording that is being made. */
export interface Added {
    /** When, ns. */
    at_ns: number;
    /** It is in what is opened after this generation. */
    generation: number;
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

export interface Source {
    /** What can be asked beside a span of time: threads, filters, and what takes a reading of all events. */
    readonly asks: boolean;
    readonly damage: Damage;
    /** What is asked and not answered yet. */
    readonly waits: Waits;
    /** A mouse selects spans that begin and end at multiples of this, ns. */
    readonly step: number;
    open(): Promise<Recording>;
    /** The state with the selection that it can answer. */
    possible(state: State): State;
    profile(selection: Selection & Partial<Wanted>, signal: AbortSignal): Promise<Profile>;
    /** What is worth a look in the selection, the most important first. */
    findings(selection: Selection & Partial<Wanted>, signal: AbortSignal): Promise<Finding[]>;
    /** A call tree; branches below `part.least` may not be loaded. */
    tree(selection: Selection, part: TreePart, signal: AbortSignal): Promise<TreeItem>;
    /** What functions cost, of themselves and with all that they call. */
    functions(selection: Selection, signal: AbortSignal): Promise<FunctionCosts>;
    /** Sums by thread or process. */
    groups(selection: Selection, group: string, signal: AbortSignal): Promise<Pack<GroupsPack>>;
    lanes(selection: Selection, signal: AbortSignal): Promise<Pack<LanesPack>>;
    patterns(selection: Selection, signal: AbortSignal): Promise<Pack<PatternsPack>>;
    advice(signal: AbortSignal): Promise<Advised>;
    /** What happens when; `span`: null for the whole run. */
    activity(span: Span | null, who: { process: string; thread: string }, signal?: AbortSignal): Promise<Pack<ActivityPack>>;
    /** What happens when in the recording before or, of one recording, in the span before. */
    activityBefore(base: Base | null, who: { process: string; thread: string }, signal: AbortSignal): Promise<Pack<ActivityPack>>;
    /** A metric over time, divided among functions or types (`by`); `span`: null for the whole run; `through`: only of call stacks with this function. */
    stacked(selection: Selection, by: string, metric: Metric, span: Span | null, signal?: AbortSignal, through?: string): Promise<Pack<StackedPack>>;
    /** The call stacks of a thread in the order of time. */
    stackChart(selection: Selection, metric: Metric, byLine: boolean, signal: AbortSignal): Promise<Pack<StackChartPack>>;
    /** What changed, as a tree of both sides; `base`: the span before, of one recording. */
    difference(selection: Selection, base: Base | null, part: TreePart, signal: AbortSignal): Promise<Changed>;
    compare(selection: Selection, base: Base | null, signal: AbortSignal): Promise<Comparison>;
    /** How many events were read so far for a question; null: it is answered. */
    eventsRead(number: number): Promise<number | null>;
    /** Ends a question before its answer is complete. */
    cancel(number: number): Promise<void>;
    /** How far a recording is that is being made. */
    live(): Promise<Live>;
    /** Sets a mark now. */
    mark(name: string): Promise<Added>;
    /** Looks at the pages of a process now, while the recording is being made. */
    lookNow(pid: number): Promise<Added>;
    /** Where live blocks lie at the end of the selection. */
    memory(selection: Selection, signal: AbortSignal): Promise<Pack<MapPack>>;
    /** The blocks of a range of addresses. */
    blocks(selection: Selection, range: { from: number; to: number }, signal: AbortSignal): Promise<Pack<BlocksPack>>;
    /** Who holds the resident set of the process that had most at a look, with a map of the pages. */
    residentSet(selection: Selection, look: Look, signal: AbortSignal): Promise<Pack<ResidentPack>>;
    /** What is live at the end of the selection, by generations: older than it or not, or one for each mark. */
    generations(selection: Selection, borders: Borders, signal: AbortSignal): Promise<Pack<GenerationsPack>>;
    /** Types of the selected blocks, and how the members of one lie in memory; empty: of none. */
    layout(selection: Selection, type: string, signal: AbortSignal): Promise<Pack<LayoutPack>>;
    /** A source file and what its lines cost. */
    file(selection: Selection, file: string, signal: AbortSignal): Promise<SourceFile>;
}

/** Nothing in the selection matches the filter. */
export class NothingThere extends Error {}

/** The server does not answer any more: what was answered before stays true. */
export class ServerGone extends Error {}

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
    /** What is searched for: then all branches are loaded at once, as far as a search looks. */
    search?: string;
}

export const isSearched = ({ search = "" }: TreePart): boolean => search.trim() !== "";

/** The share that branches must have to be loaded: a search looks through smaller ones, too. */
export const leastOf = (part: TreePart, least: number): number => (isSearched(part) ? 0 : least);

/** What is known of a recording before anything is selected. */
export function recordingOf(pack: Pack<AboutPack>): Recording {
    const { about, metrics, timeline, parts, compares, sources, editor, live, regions, marks } = pack.head;
    return { about, metrics, timeline: { ...timeline, live: pack.column("timeline.live"), parts }, compares, sources, editor, live, regions, marks };
}
