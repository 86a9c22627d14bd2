// Answers of a self-contained page: made from its own packs, of the whole recording and of slices of its time.

import type { Advised } from "./advice";
import { profileOf, type Finding, type Metric, type Profile } from "./answer";
import { comparisonIn, comparisonOf, type Comparison } from "./comparison";
import { time } from "./format";
import { Damage } from "./damage";
import { estimatesOf, marginsOfBoth, merged, type Changed } from "./changed_tree";
import { Pack, type Declared } from "./pack";
import type { AboutPack, ActivityPack, AdvicePack, ChangesPack, MetricsPack, PatternsPack, ProfilePack, SlicePack, SourcesPack } from "./packs";
import { joined, type Slice } from "./time_slices";
import { leastOf, recordingOf, type Recording, type Source, type TreePart } from "./data_source";
import { sourceFileIn, type SourceFile } from "./source_file";
import { baseOf, baseText, UNFILTERED, type Base, type Selection, type State, type Wanted } from "./state";
import { treeOf, type TreeItem } from "./tree";
import { Waits } from "./waits";

export class Page implements Source {
    readonly asks = false;
    readonly damage = new Damage();
    readonly waits = new Waits();
    step = 0;
    private metrics: Metric[] = [];
    /** As the recording before has them. */
    private metricsBefore: Metric[] = [];
    private whole: Pack<ProfilePack> | undefined;
    private patternsOfAll: Pack<PatternsPack> | undefined;
    private advised: Pack<AdvicePack> | undefined;
    private whenever: Pack<ActivityPack> | undefined;
    private texts: SourcesPack["head"]["sources"] = {};
    /** What changed from the recording before, and that recording, if there is one. */
    private changes: Pack<ChangesPack> | undefined;
    private before: Pack<ProfilePack> | undefined;
    private slices: Slice[] = [];
    /** What is live at the end; of one process, that is what the last slice ends with. */
    private atEnd: Slice | undefined;

    constructor(private readonly packed: string[]) {}

    async open(): Promise<Recording> {
        const [about, whole, patterns, advice, activity, sources, changes, metrics, before, ...slices] = this.packed;
        if (!about || !whole || !patterns || !advice || !activity || !sources || !changes || !metrics || !before) throw new Error("this page is not complete: write it again with memtoll html");
        const recording = recordingOf(await unpacked<AboutPack>(about));
        this.metrics = recording.metrics;
        [this.whole, this.patternsOfAll, this.advised, this.whenever] = await Promise.all([unpacked<ProfilePack>(whole), unpacked<PatternsPack>(patterns), unpacked<AdvicePack>(advice), unpacked<ActivityPack>(activity)]);
        for (const { head } of [this.whole, this.patternsOfAll, this.whenever]) this.damage.add(head);
        this.damage.add({ about: recording.about });
        this.texts = (await unpacked<SourcesPack>(sources)).head.sources;
        this.metricsBefore = this.metrics;
        if (recording.compares) {
            [this.changes, this.before] = await Promise.all([unpacked<ChangesPack>(changes), unpacked<ProfilePack>(before)]);
            this.metricsBefore = (await unpacked<MetricsPack>(metrics)).head.metrics;
        }
        this.slices = await Promise.all(slices.map((slice) => unpacked<SlicePack>(slice)));
        if (recording.about.process_count > 1) this.atEnd = this.slices.pop();
        this.step = recording.timeline.end_ns / Math.max(1, this.slices.length);
        return recording;
    }

    /** What is said of some call stacks, or of some sizes, would be of all; a span is of whole parts. */
    possible(state: State): State {
        const base = baseOf(state.base);
        return { ...state, ...UNFILTERED, ...this.ofParts(state), base: base ? baseText(this.ofParts(base)) : "" };
    }

    /** The span of the nearest whole parts: one at the least. What begins after the run stays as it is. */
    private ofParts({ from, to }: Base): Base {
        const [step, count] = [this.step, this.slices.length];
        if (step === 0 || (from === null && to === null) || (from ?? 0) >= step * count) return { from, to };
        const last = Math.min(count, Math.max(1, Math.round((to ?? Infinity) / step)));
        const first = Math.min(Math.round((from ?? 0) / step), last - 1);
        return { from: from === null ? null : Math.round(first * step), to: to === null ? null : Math.round(last * step) };
    }

    async tree(selection: Selection, part: TreePart): Promise<TreeItem> {
        return treeOf(await this.profile(selection), part.metric, part.reversed, part.through, part.by);
    }

    async profile(selection: Selection & Partial<Wanted>): Promise<Profile> {
        const whole = this.whole;
        if (!whole) throw new Error("nothing is open");
        if (selection.at !== undefined && this.atEnd) return joined(profileOf(whole, this.metrics), [this.atEnd], this.metrics);
        if (selection.from === null && selection.to === null) return profileOf(whole, this.metrics);
        const [from, to] = [selection.from ?? 0, selection.to ?? Infinity];
        const middle = ({ head: { slice } }: Slice) => (slice.from_ns + slice.to_ns) / 2;
        const part = this.slices.filter((slice) => middle(slice) >= from && middle(slice) <= to);
        if (part.length === 0) throw new Error(`The recording ends after ${time(this.step * this.slices.length)}: this selection begins at ${time(from)}. Press Esc for the whole run.`);
        return joined(profileOf(whole, this.metrics), part, this.metrics);
    }

    /** Of the whole run only. */
    findings(): Promise<Finding[]> {
        return Promise.resolve(this.whole?.head.findings ?? []);
    }

    private noEvents(): Promise<never> {
        return Promise.reject(new Error("This page holds no events. Open the recording with memtoll view."));
    }

    groups(): Promise<never> {
        return this.noEvents();
    }

    functions(): Promise<never> {
        return this.noEvents();
    }

    lanes(): Promise<never> {
        return this.noEvents();
    }

    patterns(selection: Selection): Promise<Pack<PatternsPack>> {
        if (selection.from !== null || selection.to !== null) return Promise.reject(new Error("This page holds sizes and lifetimes of the whole run only. Press Esc for it, or open the recording with memtoll view."));
        return this.patternsOfAll ? Promise.resolve(this.patternsOfAll) : this.noEvents();
    }

    advice(): Promise<Advised> {
        return this.advised ? Promise.resolve(this.advised.head.advice) : this.noEvents();
    }

    activity(): Promise<Pack<ActivityPack>> {
        return this.whenever ? Promise.resolve(this.whenever) : Promise.reject(new Error("nothing is open"));
    }

    async compare(selection: Selection, base: Base | null): Promise<Comparison> {
        if (this.changes) return comparisonOf(this.changes, this.metrics);
        return comparisonIn(await this.profileBefore(selection, base), await this.profile(selection), this.metrics);
    }

    async difference(selection: Selection, base: Base | null, part: TreePart): Promise<Changed> {
        const [before, after] = [await this.profileBefore(selection, base), await this.profile(selection)];
        const [was, is] = [before, after].map((profile) => treeOf(profile, part.metric, part.reversed));
        const errors = [estimatesOf(part.metric, before.totals, this.metricsBefore), estimatesOf(part.metric, after.totals, this.metrics)] as const;
        return merged(was!, is!, leastOf(part, part.least), marginsOfBoth(errors));
    }

    /** The recording before, or another span of this one. */
    private async profileBefore(selection: Selection, base: Base | null): Promise<Profile> {
        if (this.before) return profileOf(this.before, this.metricsBefore);
        if (!base) throw new Error("There is nothing to compare with.");
        return this.profile({ ...selection, ...base });
    }

    eventsRead(): Promise<null> {
        return Promise.resolve(null);
    }

    cancel(): Promise<void> {
        return Promise.resolve();
    }

    live(): Promise<never> {
        return Promise.reject(new Error("A page does not grow."));
    }

    mark(): Promise<never> {
        return this.live();
    }

    lookNow(): Promise<never> {
        return this.live();
    }

    memory(): Promise<never> {
        return Promise.reject(new Error("This page does not hold where blocks lie. Open the recording with memtoll view."));
    }

    residentSet(): Promise<never> {
        return Promise.reject(new Error("This page does not hold which pages were in memory. Open the recording with memtoll view."));
    }

    blocks(): Promise<never> {
        return this.memory();
    }

    activityBefore(): Promise<never> {
        return this.noEvents();
    }

    stacked(): Promise<never> {
        return this.noEvents();
    }

    stackChart(): Promise<never> {
        return this.noEvents();
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

async function unpacked<D extends Declared>(text: string): Promise<Pack<D>> {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return Pack.read<D>(await new Response(stream).arrayBuffer());
}

/** The packs of a page, if it has any. */
export function packsIn(document: Document): string[] {
    return [...document.querySelectorAll<HTMLScriptElement>('script[type="application/x-memtoll"]')].map((pack) => pack.textContent ?? "");
}
