import { useEffect, useRef, useState } from "preact/hooks";
import { useShown } from "./context";
import { useIsStale } from "./hooks";
import { timeAt } from "./model/time_axis";
import { count, counted, isolated, time } from "./model/format";
import { idOf, type Live } from "./model/data_source";
import { cutsOf, nameOf, SAYS, without } from "./model/cuts";
import { sizesInWords, sizesOf } from "./model/sizes";
import { withoutFolders } from "./model/names";
import { lookOf } from "./model/query";
import { isOfLook, type State } from "./model/state";

interface Props {
    /** A recording that is being made. */
    live: Live | null;
    error: string;
    changeTheme: () => void;
    help: () => void;
    compareWith: () => void;
}

/** Whether something goes on for longer than a moment. */
function useLasts(is: boolean): boolean {
    const [lasts, setLasts] = useState(false);
    useEffect(() => {
        if (!is) return setLasts(false);
        const timer = setTimeout(() => setLasts(true), 100);
        return () => clearTimeout(timer);
    }, [is]);
    return lasts;
}

export function Header({ live, error, changeTheme, help, compareWith }: Props) {
    const { recording, damage, state, go, theme, source } = useShown();
    const { about, timeline } = recording;
    const command = withoutFolders(about.command);
    const facts = [`${about.started} UTC`, about.duration_ns !== null && time(about.duration_ns), about.events !== null && counted(about.events, "event")].filter(Boolean).join(" · ");
    const lasts = useLasts(useIsStale());
    const reopened = useReopened();
    const isPart = state.from !== null || state.to !== null;
    const look = source.asks && isOfLook(state) ? lookOf(state.look) : "last";
    const sizes = sizesOf(state.sizes);
    const from = state.from ?? 0;
    const to = Math.max(from, Math.min(state.to ?? Infinity, timeline.end_ns));
    return (
        <header class="top">
            <h1>memtoll</h1>
            <span class="command" title={about.command} style={{ "--letters": command.length }}>
                <bdi>{command}</bdi>
            </span>
            <span class="facts" title={facts}>{facts}</span>
            {live && <Recording live={live} reopened={reopened} />}
            <span class="busy" role="status">{lasts && !live ? "adding up …" : ""}</span>
            {error && <span class="error" role="alert">{error}</span>}
            {source.asks && <Who />}
            <FoldedWrappers />
            {sizes && (
                <button class="folded" onClick={() => go({ sizes: "" })} title={`Only ${sizesInWords(sizes)} count. Click for all sizes.`}>
                    only {sizesInWords(sizes)} <span aria-hidden="true">×</span>
                </button>
            )}
            {cutsOf(state).map((cut) => (
                <button key={`${cut.kind} ${cut.of} ${cut.name}`} class="folded" onClick={() => go(without(state, cut))} title={`${SAYS[cut.kind].help}: ${nameOf(cut)}. Click to undo it.`}>
                    {SAYS[cut.kind].word} {cut.of === "module" && "module "}<bdi>{nameOf(cut)}</bdi> <span aria-hidden="true">×</span>
                </button>
            ))}
            {isPart ? (
                <button class="selection" onClick={() => go({ from: null, to: null })} title={`${time(to - from)}. Select the whole run (Esc)`}>
                    {timeAt(from, (to - from) / 100)} to {timeAt(to, (to - from) / 100)}<span class="length">, {time(to - from)}</span> <span aria-hidden="true">×</span>
                </button>
            ) : look !== "last" ? (
                <button class="selection" onClick={() => go({ look: "" })} title="Select the whole run">
                    until the {look === "peak" ? "highest look" : `look at ${time(look.near)}`} <span aria-hidden="true">×</span>
                </button>
            ) : (
                <span class="selection">{damage.length > 0 ? "what can be read" : "whole run"}</span>
            )}
            {isPart && !recording.compares && (
                <button onClick={compareWith} title="This span becomes the one before, for Compare (b)">compare</button>
            )}
            <button onClick={help} aria-label="help" title="Help (?)">?</button>
            <button onClick={changeTheme} aria-label={theme === "dark" ? "light colors" : "dark colors"} title="Dark or light (d)">◐</button>
        </header>
    );
}

/** Goes somewhere as soon as the file is opened again after this generation. */
type Reopened = (after: number, then: Partial<State>) => void;

function useReopened(): Reopened {
    const { recording, go } = useShown();
    const [waits, setWaits] = useState<{ after: number; then: Partial<State> } | null>(null);
    const opened = recording.live ?? 0;
    useEffect(() => {
        if (!waits || opened <= waits.after) return;
        setWaits(null);
        go(waits.then);
    }, [opened, waits]);
    return (after, then) => setWaits({ after, then });
}

/** How far the recording is; marks that are set, and looks that are made, by hand. */
function Recording({ live, reopened }: { live: Live; reopened: Reopened }) {
    const { source, say, state, recording } = useShown();
    const count = useRef(0);
    const tried = (what: Promise<unknown>) => void what.catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
    const mark = async (kind: string) => {
        const name = `${kind} ${++count.current}`;
        const added = await source.mark(name);
        say(`Set the mark “${name}”.`);
        return added;
    };
    const snapshot = async () => {
        const { at_ns, generation } = await mark("snapshot");
        reopened(generation, { view: "snapshots", from: null, to: at_ns });
    };
    const { processes } = recording.about;
    const pid = (processes.find(({ id }) => id === state.process) ?? processes[0])?.pid;
    const lookNow = async (pid: number) => {
        const { at_ns, generation } = await source.lookNow(pid);
        say(`Looked at the pages of process ${pid}, after ${time(at_ns)}.`);
        reopened(generation, { view: "resident", look: String(at_ns), process: recording.about.process_count > 1 ? String(pid) : state.process });
    };
    return (
        <span class="live">
            <span class="key recording" /> recording, {time(live.ns)} so far
            <button onClick={() => tried(mark("mark"))} title="Set a mark in the recording at this instant">mark</button>
            <button onClick={() => tried(snapshot())} title="Set a mark, and look at what is live now; the recording goes on">snapshot</button>
            {pid && (
                <button onClick={() => tried(lookNow(pid))} title={`Look at which pages of process ${pid} are in memory, and who holds them, as memtoll snapshot does; the program goes on`}>
                    look at pages now
                </button>
            )}
        </span>
    );
}

/** Which functions are folded away because they allocate on behalf of others, and a switch that shows them. */
function FoldedWrappers() {
    const { profile, state, source, go } = useShown();
    const wrappers = profile.wrappers;
    if (!wrappers || state.unfold) return null;
    const names = <bdi>{wrappers.functions.join(", ")}</bdi>;
    if (!source.asks) return <span class="folded" title={wrappers.folded ?? ""}>folded {names}</span>;
    if (wrappers.folded)
        return (
            <button class="folded" onClick={() => go({ wrappers: true, focus: "" })} title={`${wrappers.folded}. Click to show them.`}>
                folded {names} <span aria-hidden="true">×</span>
            </button>
        );
    return <button class="folded" onClick={() => go({ wrappers: false, focus: "" })} title="Show the callers of these functions, which allocate on behalf of others">fold {names}</button>;
}

/** Which processes and threads count, and which stacks. */
function Who() {
    const { recording, state, go } = useShown();
    const { processes, threads, process_count, thread_count } = recording.about;
    const [filter, setFilter] = useState(state.filter);
    useEffect(() => setFilter(state.filter), [state.filter]);
    return (
        <>
            {process_count > 1 && (
                <label class="choice" title="process">
                    <span class="word">process</span>
                    <select aria-label="process" value={state.process} onChange={(event) => go({ process: event.currentTarget.value, thread: "" })}>
                        <option value="">all {count(process_count)}</option>
                        {processes.map((one) => (
                            <option key={one.id} value={one.id}>
                                {one.id} {isolated(withoutFolders(one.command).slice(0, 60))}
                            </option>
                        ))}
                    </select>
                </label>
            )}
            {thread_count > 1 && thread_count > process_count && (
                <label class="choice" title="thread">
                    <span class="word">thread</span>
                    <select aria-label="thread" value={state.thread} onChange={(event) => go({ thread: event.currentTarget.value })}>
                        <option value="">all {count(thread_count)}</option>
                        {threads
                            .filter((one) => state.process === "" || idOf(recording, one) === state.process)
                            .map((one) => (
                                <option key={`${one.process}/${one.tid}`} value={String(one.tid)}>
                                    {one.tid} {isolated(one.name ?? "")}
                                </option>
                            ))}
                    </select>
                </label>
            )}
            <form
                onSubmit={(event) => {
                    event.preventDefault();
                    go({ filter });
                }}
            >
                <label class="choice">
                    <span class="word">filter</span>
                    <input
                        value={filter}
                        placeholder="regex"
                        aria-label="filter"
                        title="Only call stacks in which a function, a file or a module matches. Enter applies it."
                        onInput={(event) => setFilter(event.currentTarget.value)}
                        onKeyDown={(event) => {
                            // Leaving the field applies what stands in it.
                            if (event.key === "Escape") setFilter((event.currentTarget.value = state.filter));
                        }}
                        onBlur={(event) => go({ filter: event.currentTarget.value })}
                    />
                </label>
            </form>
            <label class="choice" title="Show library frames, too (std::, operator new, libc)">
                <input type="checkbox" checked={state.unfold} onChange={(event) => go({ unfold: event.currentTarget.checked })} />
                library frames
            </label>
            <label class="choice" title="Charge costs to the code that paid them, not to the line that allocated">
                <input type="checkbox" checked={state.paid} onChange={(event) => go({ paid: event.currentTarget.checked })} />
                as paid
            </label>
        </>
    );
}
