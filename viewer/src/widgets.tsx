// Small things that views are made of.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Edge } from "./columns";
import { useShown } from "./context";
import { Door } from "./door";
import type { Loaded } from "./hooks";
import { LookChoice } from "./look_choice";
import { basisOf, titleInRows, wholeOf, type Frame, type Metric } from "./model/answer";
import { definitionOf } from "./model/definitions";
import type { Has } from "./model/errors";
import { byChance, count, inRow, share as shareOf, spelledOut } from "./model/format";
import { fileName, outerOf, placeOf } from "./model/names";
import { clicked, type Order } from "./model/order";
import { editorLink, type SourceFile } from "./model/source_file";
import { selects } from "./model/cuts";
import { isOfLook, type State } from "./model/state";
import { unnamed } from "./model/tree";
import { toLive, toSource } from "./model/ways";

/** The line behind a source file; the address behind a loaded file, and the last letters of a function. */
const [TAIL_OF_PLACE, TAIL] = [/:\d+$/, /\+0x[\da-f]+$|(::)?[\w~${}#]{1,15}(\(\))?$/];

/** A text in code, whose tail stays when the rest is cut: without it, rows of one file or one class look alike. */
export function Tailed({ kind, text }: { kind: "function" | "place" | "code"; text: string }) {
    const at = text.search(kind === "place" ? TAIL_OF_PLACE : TAIL);
    if (at <= 0) return <bdi class={kind}>{text}</bdi>;
    return <span class={`${kind} tailed`}><bdi>{text.slice(0, at)}</bdi><span>{text.slice(at)}</span></span>;
}

/** A name, its place behind it. */
export function Name({ frame, type, inlined, marked }: { frame: Frame; type?: string; inlined?: Frame[]; marked?: boolean }) {
    const place = placeOf(frame);
    const outer = outerOf(frame, inlined);
    const title = [
        frame.full,
        frame.file && `${frame.file}${frame.line ? `:${frame.line}` : ""}`,
        frame.module,
        frame.withoutTables && "no unwind tables: its caller is less sure",
        ...(inlined ?? []).map((one) => `inlined into ${one.full}`),
        type && `type: ${type}`,
    ].filter(Boolean);
    return (
        <span class={marked ? "name found" : "name"} title={title.join("\n")}>
            <Tailed kind="function" text={frame.function} />
            {frame.parameters && <bdi class="code soft apart">{frame.parameters}</bdi>}
            {!frame.function.startsWith(`${place}+`) && <Tailed kind="place" text={place} />}
            {outer && <span class="soft into">inlined into <bdi>{outer.function}</bdi></span>}
            {type && <bdi class="type">{type}</bdi>}
        </span>
    );
}

/** A number with a bar of its share in the largest of its column. */
export function Cell({ metric, has, most, total, isMain }: { metric: Metric; has: Has; most: number; total: number | null; isMain: boolean }) {
    const { errors } = useShown();
    const of = errors.of(metric, has);
    if (of === null)
        return <div role="cell" class="number unknown" title={metric.known ? "no block was freed" : "not known: the notes say why"}>–</div>;
    const { value } = of;
    const share = total !== null && !metric.over ? shareOf(value, ...byChance(value, has(basisOf(metric, "variance")) ?? 0), total) : "";
    const title = `${spelledOut(of, metric.unit)}${share && `, ${share} of ${errors.inWords(metric, total!)} ${metric.title}`}`;
    return (
        <div role="cell" class={value === 0 ? "number zero" : "number"} title={title}>
            <span class={`bar ${metric.color}`} style={{ width: `${most > 0 ? (Math.max(0, value) / most) * 100 : 0}%` }} />
            <span class="text">{value === 0 ? "0" : inRow(of, metric.unit)}</span>
            {isMain && <span class="share">{share}</span>}
        </div>
    );
}

/** The head of a column of a metric that does not sort. */
export const PlainHead = ({ metric }: { metric: Metric }) => <div role="columnheader">{titleInRows(metric)} <Define name={metric.name} inHead /></div>;

/** The head of a column of a metric: a click sorts by it, the question mark says what it means. The keys m and ? do the same. */
export function Heading({ metric, order, isMain = order !== null, before }: { metric: Metric; order: Order | null; isMain?: boolean; before?: string }) {
    const title = <>{before}{titleInRows(metric)}{isMain && <span aria-hidden="true"> {order?.isUp ? "▴" : "▾"}</span>}</>;
    return (
        <div role="columnheader" aria-sort={sortOf(order)} title={`${before ? "Difference. " : ""}${metric.help}`}>
            {metric.known ? <Door to={{ metric: metric.name, order: order ? clicked(order, metric.name) : "" }} tabIndex={isMain ? 0 : -1}>{title}</Door> : <span class="soft">{title}</span>}
            <Define name={metric.name} inHead />
            <Edge column={metric.name} />
        </div>
    );
}

const sortOf = (order: Order | null) => (order ? (order.isUp ? "ascending" : "descending") : undefined);

interface SortHeadProps {
    column: string;
    /** null: the table is sorted by another metric. */
    order: Order | null;
    /** The metric of which it is a column; it becomes the chosen one. */
    metric?: Metric;
    isLeft?: boolean;
    help?: string;
    children: ComponentChildren;
}

/** The head of a column that is not all of a metric: a click sorts by it, and by the other end where that is so already. */
export function SortHead({ column, order, metric, isLeft, help, children }: SortHeadProps) {
    const isBy = order?.column === column;
    return (
        <div role="columnheader" class={isLeft ? "left" : ""} aria-label={metric && `${metric.title}, ${column}`} aria-sort={isBy ? sortOf(order) : undefined} title={help}>
            <Door to={{ ...(metric && { metric: metric.name }), order: order ? clicked(order, column) : column }} tabIndex={order ? 0 : -1}>
                {children}
                {isBy && <span aria-hidden="true"> {order?.isUp ? "▴" : "▾"}</span>}
            </Door>
        </div>
    );
}

/** A link that says what a number means. */
export function Define({ name, inHead }: { name: string; inHead?: boolean }) {
    const { recording } = useShown();
    const definition = definitionOf(name, recording.metrics);
    if (!definition) return null;
    return (
        <Door to={{ define: name }} class="define" tabIndex={inHead ? -1 : 0} aria-label={`what ${definition.title} means`} title={`${definition.text[0]} Click for more.`}>
            ?
        </Door>
    );
}

/** What a number means, and where that is written. */
export function Definition() {
    const { recording, state, go, source } = useShown();
    const definition = definitionOf(state.define, recording.metrics);
    if (!definition) return null;
    const page = `docs/${definition.page}`;
    return (
        <Dialog title={definition.title} close={() => go({ define: "" })}>
            {definition.text.map((text) => (
                <p key={text}>{text}</p>
            ))}
            <p class="soft">
                {source.asks ? (
                    <a href={`/${page}`} target="_blank" rel="noopener">{page}</a>
                ) : (
                    page
                )}
                , “{definition.heading}”
            </p>
        </Dialog>
    );
}

/** A place in a source file, which leads to what its lines cost. */
export function PlaceLink({ file, line }: { file: string; line: number | null }) {
    return (
        <Door to={toSource(file, line)} class="link" title={`${file}${line ? `:${line}` : ""}`}>
            <bdi>{fileName(file)}</bdi>{line ? `:${line}` : ""}
        </Door>
    );
}

/** Beside a source file that is not the one that ran. */
export function Newer({ of }: { of: Pick<SourceFile, "isNewer"> }) {
    return of.isNewer ? <p class="warning">This file was changed after the recording began: numbers may stand beside other lines than those that ran.</p> : null;
}

/** A link that opens a line in an editor, if there is one. */
export function EditorLink({ file, line }: { file: string; line: number }) {
    const { recording } = useShown();
    const link = editorLink(recording.editor, file, line);
    return link ? <a href={link}>open in the editor</a> : null;
}

export function MetricChoice() {
    const { recording, metric, go } = useShown();
    return (
        <label class="choice">
            metric
            <select value={metric.name} onChange={(event) => go({ metric: event.currentTarget.value })}>
                {recording.metrics.map((one) => (
                    <option key={one.name} value={one.name} disabled={!one.known}>
                        {one.title}
                        {one.known ? "" : " (not known)"}
                    </option>
                ))}
            </select>
            <Define name={metric.name} />
        </label>
    );
}

/** By what rows are added up, or a tree is sorted. */
export function GroupChoice({ groups, group, choose }: { groups: readonly string[]; group: string; choose?: (group: string) => void }) {
    const { go } = useShown();
    const chosen = choose ?? ((group) => go({ group, focus: "" }));
    return (
        <label class="choice">
            by
            <select value={group} onChange={(event) => chosen(event.currentTarget.value)}>
                {groups.map((one) => (
                    <option key={one}>{one}</option>
                ))}
            </select>
        </label>
    );
}

/** Beside a line of a function that allocates on behalf of others: shows the callers of all of these. */
export function FoldWrappers({ around }: { around: Frame }) {
    const { source, profile, state, go } = useShown();
    const { functions: names = [], folded } = profile.wrappers ?? {};
    if (![around.function, fileName(around.module)].some((name) => names.includes(name)) || folded || !source.asks || state.unfold) return null;
    return (
        <button
            class="link"
            title={`Show the callers of ${names.join(", ")}, which allocate on behalf of others`}
            onClick={(event) => {
                event.stopPropagation();
                go({ wrappers: false, focus: "" });
            }}
        >
            callers
        </button>
    );
}

/** Which end of call paths a tree begins with. */
export function DirectionChoice() {
    const { state, go } = useShown();
    return (
        <div class="switch" role="group" aria-label="direction">
            <button aria-pressed={!state.reversed} onClick={() => go({ reversed: false })} title="Callers above what they call (r)">from main</button>
            <button aria-pressed={state.reversed} onClick={() => go({ reversed: true })} title="Allocations above their callers (r)">from the allocations</button>
        </div>
    );
}

/** Whether frames are added up over the selected time, or stand in its order. */
export function OrderChoice() {
    const { source, state, go } = useShown();
    if (!source.asks && !state.inOrder) return null;
    return (
        <div class="switch" role="group" aria-label="order">
            <button aria-pressed={!state.inOrder} onClick={() => go({ inOrder: false })} title="Each function once below its callers, largest first">merged</button>
            <button aria-pressed={state.inOrder} onClick={() => go({ inOrder: true })} title="The calls of one thread from left to right as time goes by">in time order</button>
        </div>
    );
}

interface Hits {
    count: number;
    /** Whether nothing is left to look at. */
    isAll: boolean;
    /** Branches that were looked at. */
    looked: number;
    /** Whether something was found; it may be too narrow to be a hit. */
    isAny?: boolean;
}

/** How many there are, or what was looked at in vain. */
function hitsInWords({ count: all, isAll, looked, isAny }: Hits, at: number): string {
    if (all > 0) return `${at > 0 ? `${count(at)} of ` : ""}${count(all)}${isAll ? "" : " or more"}`;
    if (isAny) return "too narrow to be drawn";
    return isAll ? "none" : `none in the ${count(looked)} largest frames`;
}

/** The field that is searched for; `hits`: how many places there are, where one is chosen (Enter: the next one). */
export function Search({ hits }: { hits?: Hits }) {
    const { state, go } = useShown();
    const all = hits?.count ?? 0;
    const at = Math.min(state.hit, all);
    const step = (by: number) => all > 0 && go({ hit: ((at - 1 + by + all) % all) + 1 }, true);
    const isAsked = hits && state.search.trim() !== "";
    return (
        <span class="choice">
            <label>
                <span class="unseen">search</span>
                <input
                    id="search"
                    type="search"
                    placeholder="search  /"
                    value={state.search}
                    onInput={(event) => go({ search: event.currentTarget.value }, true)}
                    onKeyDown={(event) => {
                        if (event.key !== "Enter") return;
                        event.preventDefault();
                        step(event.shiftKey ? -1 : 1);
                    }}
                />
            </label>
            {isAsked && (
                <>
                    <span class="hits" role="status">{hitsInWords(hits, at)}</span>
                    <button onClick={() => step(-1)} disabled={all === 0} aria-label="previous" title="Previous (Shift+Enter in the field)">‹</button>
                    <button onClick={() => step(1)} disabled={all === 0} aria-label="next" title="Next (Enter in the field)">›</button>
                </>
            )}
        </span>
    );
}

/** Whether lines of one function are frames of their own. */
export function LinesChoice() {
    const { state, go } = useShown();
    return (
        <label class="choice" title="Show a frame for each line of a function that calls, not one for the function">
            <input type="checkbox" checked={state.byLine} onChange={(event) => go({ byLine: event.currentTarget.checked })} />
            lines
        </label>
    );
}

/** One click to what was live at the peak, is at the end, and was never freed; of what lies in memory, which look says it. */
export function LiveChoice() {
    const { source, recording, state, metric } = useShown();
    const ways = toLive(recording.timeline.end_ns);
    const isWhole = state.from === null && state.to === null;
    const choices = [
        ["at the peak", ways.peak, metric.name === "peak"],
        ["at the end", ways.end, metric.name === "live" && !isWhole],
        [recording.about.kept, ways.kept, metric.name === "live" && isWhole],
    ] as const;
    if (!recording.metrics.some(({ name, known }) => name === "live" && known)) return null;
    return (
        <>
            <span class="switch" role="group" aria-label="live bytes">
                {choices.map(([title, way, isChosen]) => (
                    <Door key={title} to={way} class="button" aria-current={isChosen ? "true" : undefined}>{title}</Door>
                ))}
            </span>
            {source.asks && isOfLook(state) && <LookChoice />}
        </>
    );
}

/** What a view says that has nothing to show: why, and what to do. */
export function Empty({ children }: { children: ComponentChildren }) {
    return <p class="empty">{children}</p>;
}

/** Why a selection has no answer, and what leads back to one. */
export function Failed({ why, state, go }: { why: string; state: State; go: (change: Partial<State>) => void }) {
    return (
        <div class="empty alert" role="alert">
            <p><bdi>{why}</bdi></p>
            {state.filter !== "" && <button onClick={() => go({ filter: "" })}>empty the filter</button>}
            {state.cuts !== "" && <button onClick={() => go({ cuts: "" })}>whole call stacks</button>}
            {(state.process !== "" || state.thread !== "") && <button onClick={() => go({ process: "", thread: "" })}>all processes and threads</button>}
            {(state.from !== null || state.to !== null) && <button onClick={() => go({ from: null, to: null })}>whole run</button>}
        </div>
    );
}

/** What stands where something is loaded, or could not be. */
export function Pending({ of, children }: { of: Loaded<unknown>; children: ComponentChildren }) {
    return of.failed ? <p class="empty alert" role="alert"><bdi>{of.error}</bdi></p> : <Empty>{children}</Empty>;
}

/** What shares are of. */
export function SharesOf({ metric }: { metric: Metric }) {
    const { profile, answered } = useShown();
    const whole = wholeOf(profile, metric);
    if (!whole?.value || metric.over) return null;
    return <span class="soft shares">shares are of {whole.words}{whole.isTotal && metric.title !== "bytes" && ` ${metric.title}`}{selects(answered) && ", of the call stacks that match"}</span>;
}

/** Beside what is added up by function: by how much a page may be short of it. */
export function AtLeast({ metric }: { metric: Metric }) {
    const { profile, errors } = useShown();
    const sum = useMemo(() => unnamed(profile, metric), [profile, metric]);
    return sum > 0 ? <span class="soft">Sums are at least this: the page does not hold which functions have another {errors.inWords(metric, sum)}.</span> : null;
}

export function Dialog({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) {
    const dialog = useRef<HTMLDialogElement>(null);
    useEffect(() => {
        dialog.current?.showModal();
    }, []);
    return (
        <dialog ref={dialog} aria-label={title} onClose={close} onClick={(event) => event.target === dialog.current && close()}>
            <header>
                <h2>{title}</h2>
                <button onClick={close} aria-label="close">
                    ×
                </button>
            </header>
            {children}
        </dialog>
    );
}
