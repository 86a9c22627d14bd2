// Answers of memtoll view: each question is a query, and the page of its answer that is shown.

import type { Span } from "./activity";
import type { Advised } from "./advice";
import { profileOf, type Finding, type Metric, type Profile } from "./answer";
import { branchesOf, type Step } from "./loaded_tree";
import { withParts } from "./errors";
import { Damage } from "./damage";
import { comparisonOf, type Comparison } from "./comparison";
import { differenceOf, type Changed } from "./changed_tree";
import { Pack, type Declared } from "./pack";
import type { AboutPack, ActivityPack, AdvicePack, BlocksPack, ChangedTreesPack, ChangesPack, FindingsPack, GenerationsPack, FunctionsPack, GroupsPack, LanesPack, LayoutPack, LevelPack, MapPack, PatternsPack, ProfilePack, ResidentPack, SourcePack, StackChartPack, StackedPack } from "./packs";
import { queryOf, whenOf, type Borders, type Look, type Query, type Question, type View } from "./query";
import { selects } from "./cuts";
import { COARSER } from "./stacked";
import { NothingThere, ServerGone, isSearched, leastOf, recordingOf, type Added, type Live, type Recording, type Source, type TreePart } from "./data_source";
import { functionCostsOf, type FunctionCosts } from "./function_costs";
import { sourceFileOf, type SourceFile } from "./source_file";
import { START, type Base, type Selection, type State, type Wanted } from "./state";
import type { TreeItem } from "./tree";
import { Waits } from "./waits";

/** Rows that are sent; the others are one. */
const MOST_ROWS = 2000;

/** Intervals of what threads do. */
const LANE_INTERVALS = 500;

/** Intervals of the time line at the most. They are half as many at the least, and a screen shows half of them. */
const ACTIVITY_INTERVALS = 4096;

const ACTIVITY: View = { activity: { intervals: ACTIVITY_INTERVALS } };

/** Functions or types of the time line that are shown one by one. */
const STACKED = 7;
/** Parts of the time of a stack chart at the most. */
const CHART_COLUMNS = 1024;

/** What lies in memory is not asked: no part of the time says it. */
const NO_PAGES = { pages: false, look: "" };

/** Cells of a map of pages at the most. */
const PAGE_CELLS = 1 << 15;

const table = (group: string): View => ({ table: { group, limit: MOST_ROWS } });

/** The view of a tree without branches below a share of the level's, 0 to 1. */
function treeView({ reversed, through, by }: Pick<TreePart, "reversed"> & Partial<TreePart>, least: number): View {
    return { tree: { direction: reversed ? "callers" : "callees", function: through || null, by: by || null, min_percent: least * 100 } };
}

const searchedBy = (part: TreePart) => (isSearched(part) ? { searched: true } : {});

export class Server implements Source {
    readonly asks = true;
    readonly damage = new Damage();
    readonly waits = new Waits();
    step = 0;
    private metrics: Metric[] = [];

    private answer<D extends Declared>(question: Question, signal?: AbortSignal): Promise<Pack<D>> {
        return this.waits.during((number) => this.asked(number, question, signal));
    }

    private async asked<D extends Declared>(number: number, question: Question, signal?: AbortSignal): Promise<Pack<D>> {
        const headers = { "Content-Type": "application/json", "X-Question": String(number) };
        const init: RequestInit = { method: "POST", headers, body: JSON.stringify(question) };
        if (signal) init.signal = signal;
        let response: Response;
        let body: ArrayBuffer;
        try {
            response = await fetch("/answer", init);
            body = await response.arrayBuffer();
        } catch (error) {
            if (signal?.aborted) throw error;
            throw new ServerGone("memtoll view does not answer any more. Start it again.");
        }
        const why = () => new TextDecoder().decode(body);
        if (response.status === 404) throw new NothingThere(why());
        if (!response.ok) throw new Error(why());
        const pack = Pack.read<D>(body);
        this.damage.add(pack.head);
        return pack;
    }

    async eventsRead(number: number): Promise<number | null> {
        const response = await fetch(`/reading/${number}`).catch(() => null);
        return response?.ok ? ((await response.json()) as { events: number | null }).events : null;
    }

    async cancel(number: number): Promise<void> {
        await fetch(`/cancel/${number}`, { method: "POST" });
    }

    /** Asks for what a view of a selection shows. */
    private shown<D extends Declared>(selection: Selection, more: Query, signal?: AbortSignal): Promise<Pack<D>> {
        return this.answer({ query: { ...queryOf(selection), ...more } }, signal);
    }

    async open(): Promise<Recording> {
        this.damage.clear();
        const recording = recordingOf(await this.answer<AboutPack>({ page: "about" }));
        this.metrics = recording.metrics;
        this.step = recording.timeline.end_ns / recording.timeline.parts;
        return recording;
    }

    possible(state: State): State {
        return state;
    }

    tree(selection: Selection, part: TreePart, signal: AbortSignal): Promise<TreeItem> {
        const main = part.metric.over ?? part.metric.name;
        const shown = [main, ...part.columns.flatMap((one) => (one.over ? [one.name, one.over] : [one.name]))];
        const names = withParts(shown);
        const metrics = this.metrics.filter((one) => names.includes(one.name));
        const columns = metrics.map((one) => one.name);
        // What is loaded later belongs to a tree that is shown and stays shown.
        let first: AbortSignal | undefined = signal;
        const ask = (steps: Step[], least: number) => {
            const [label] = steps.filter((step) => typeof step === "string");
            const path = steps.filter((step) => typeof step === "number");
            const query = { ...queryOf(selection), metric: main, view: treeView(part, leastOf(part, least)) };
            const answer = this.answer<LevelPack>({ query, page: { level: { columns, label: label ?? null, path, ...searchedBy(part) } } }, first);
            first = undefined;
            return answer;
        };
        return branchesOf(ask, part.metric, metrics, part.least);
    }

    async profile(selection: Selection & Partial<Wanted>, signal: AbortSignal): Promise<Profile> {
        return profileOf(await this.shown<ProfilePack>(selection, { view: table("site") }, signal), this.metrics);
    }

    async findings(selection: Selection & Partial<Wanted>, signal: AbortSignal): Promise<Finding[]> {
        return (await this.answer<FindingsPack>({ query: queryOf(selection), page: "findings" }, signal)).head.findings;
    }

    groups(selection: Selection, group: string, signal: AbortSignal): Promise<Pack<GroupsPack>> {
        return this.shown(selection, { view: table(group) }, signal);
    }

    async functions(selection: Selection, signal: AbortSignal): Promise<FunctionCosts> {
        return functionCostsOf(await this.answer<FunctionsPack>({ query: queryOf(selection), page: "functions" }, signal), this.metrics);
    }

    lanes(selection: Selection, signal: AbortSignal): Promise<Pack<LanesPack>> {
        return this.shown(selection, { view: { lanes: { intervals: LANE_INTERVALS } } }, signal);
    }

    patterns(selection: Selection, signal: AbortSignal): Promise<Pack<PatternsPack>> {
        return this.shown(selection, { view: table("site"), patterns: true }, signal);
    }

    async advice(signal: AbortSignal): Promise<Advised> {
        return (await this.answer<AdvicePack>({ page: "advice" }, signal)).head.advice;
    }

    activityBefore(base: Base | null, who: { process: string; thread: string }, signal: AbortSignal): Promise<Pack<ActivityPack>> {
        return this.answer({ query: { ...queryOf({ ...START, ...who }), view: ACTIVITY }, page: { changes: { before: base && whenOf(base) } } }, signal);
    }

    activity(span: Span | null, who: { process: string; thread: string }, signal?: AbortSignal): Promise<Pack<ActivityPack>> {
        const selection = { ...START, ...who, from: span && Math.round(span.from), to: span && Math.round(span.to) };
        return this.shown(selection, { view: ACTIVITY }, signal);
    }

    stacked(selection: Selection, by: string, metric: Metric, span: Span | null, signal?: AbortSignal, through?: string): Promise<Pack<StackedPack>> {
        const query = queryOf({ ...selection, ...NO_PAGES, from: span && Math.round(span.from), to: span && Math.round(span.to) });
        const view: View = { table: { group: by, limit: STACKED } };
        const intervals = ACTIVITY_INTERVALS / (metric.join === "sum" ? COARSER : 1);
        return this.answer({ query: { ...query, metric: metric.name, view }, page: { stacked: { intervals, ...(through !== undefined && { through }) } } }, signal);
    }

    stackChart(selection: Selection, metric: Metric, byLine: boolean, signal: AbortSignal): Promise<Pack<StackChartPack>> {
        return this.answer({ query: { ...queryOf({ ...selection, ...NO_PAGES }), metric: metric.name }, page: { "stack-chart": { columns: CHART_COLUMNS, lines: byLine, metrics: withParts([metric.name]) } } }, signal);
    }

    async compare(selection: Selection, base: Base | null, signal: AbortSignal): Promise<Comparison> {
        const query = { ...queryOf(selection), view: table("site") };
        return comparisonOf(await this.answer<ChangesPack>({ query, page: { changes: { before: base && whenOf(base) } } }, signal), this.metrics, selects(selection));
    }

    difference(selection: Selection, base: Base | null, part: TreePart, signal: AbortSignal): Promise<Changed> {
        let first: AbortSignal | undefined = signal;
        const ask = (path: [number, number][], least: number) => {
            const query = { ...queryOf(selection), metric: part.metric.name, view: treeView({ reversed: part.reversed }, leastOf(part, least)) };
            const answer = this.answer<ChangedTreesPack>({ query, page: { changes: { before: base && whenOf(base), path, ...searchedBy(part) } } }, first);
            first = undefined;
            return answer;
        };
        return differenceOf(ask, part.least);
    }

    async live(): Promise<Live> {
        const response = await fetch("/live");
        if (!response.ok) throw new Error(await response.text());
        return (await response.json()) as Live;
    }

    mark(name: string): Promise<Added> {
        return this.add("/mark", name);
    }

    lookNow(pid: number): Promise<Added> {
        return this.add("/look", String(pid));
    }

    private async add(path: string, body: string): Promise<Added> {
        const response = await fetch(path, { method: "POST", body });
        if (!response.ok) throw new Error(await response.text());
        return (await response.json()) as Added;
    }

    memory(selection: Selection, signal: AbortSignal): Promise<Pack<MapPack>> {
        return this.answer({ query: queryOf(selection), page: { memory: { range: null } } }, signal);
    }

    blocks(selection: Selection, { from, to }: { from: number; to: number }, signal: AbortSignal): Promise<Pack<BlocksPack>> {
        return this.answer({ query: queryOf(selection), page: { memory: { range: [from, to] } } }, signal);
    }

    residentSet({ process, filter, cuts, unfold, wrappers }: Selection, look: Look, signal: AbortSignal): Promise<Pack<ResidentPack>> {
        // A look is at a whole process, at its own instant.
        return this.shown({ ...START, process, filter, cuts, unfold, wrappers }, { view: { resident: { at: look, cells: PAGE_CELLS } } }, signal);
    }

    generations(selection: Selection, borders: Borders, signal: AbortSignal): Promise<Pack<GenerationsPack>> {
        return this.answer({ query: queryOf(selection), page: { generations: { borders } } }, signal);
    }

    layout(selection: Selection, type: string, signal: AbortSignal): Promise<Pack<LayoutPack>> {
        return this.answer({ query: queryOf(selection), page: { layout: { of: type || null } } }, signal);
    }

    async file(selection: Selection, file: string, signal: AbortSignal): Promise<SourceFile> {
        return sourceFileOf(await this.answer<SourcePack>({ query: queryOf(selection), page: { source: { file } } }, signal), this.metrics);
    }
}
