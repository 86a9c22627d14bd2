import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Shown, type Context } from "./context";
import { Door } from "./door";
import { Header } from "./header";
import { Help } from "./help";
import { WithFrame } from "./frame_in_hand";
import { Generation, isTyping, newStale, StaleParts, useIsStale, useLoaded, useTheme } from "./hooks";
import { asCsv, asMarkdown, asText, copy, save, type TextTable } from "./model/table_text";
import { titled } from "./model/answer";
import type { Live, Source } from "./model/data_source";
import { Errors } from "./model/errors";
import { counted } from "./model/format";
import { Missing } from "./missing";
import { baseText, changed, fromHash, leaving, OF_A_SERVER, selectionOf, START, toHash, VIEWS, type State, type ViewName } from "./model/state";
import { Definition, Failed } from "./widgets";
import { Waiting } from "./waiting";
import { TimelineBand } from "./timeline";
import { Compare } from "./views/compare";
import { Flame } from "./views/flame";
import { LayoutView } from "./views/layout";
import { Lifetimes } from "./views/lifetimes";
import { Functions } from "./views/functions";
import { Lines } from "./views/lines";
import { Notes } from "./views/notes";
import { Overview } from "./views/overview";
import { Processes } from "./views/processes";
import { Regions } from "./views/regions";
import { ResidentView } from "./views/resident";
import { Snapshots } from "./views/snapshots";
import { SourceView } from "./views/source";
import { Threads } from "./views/threads";
import { TreeView } from "./views/tree";

const TITLES: Record<ViewName, string> = {
    overview: "Overview",
    lines: "Lines",
    tree: "Call tree",
    flame: "Flame graph",
    snapshots: "Snapshots",
    resident: "Resident",
    lifetimes: "Lifetimes",
    threads: "Threads",
    notes: "Recording",
    source: "Source",
    layout: "Layout",
    compare: "Compare",
    regions: "Regions",
    processes: "Processes",
    functions: "Functions",
};

/** The keys that show them. */
const KEYS: Record<ViewName, string> = {
    overview: "1",
    lines: "2",
    tree: "3",
    flame: "4",
    snapshots: "5",
    resident: "w",
    lifetimes: "6",
    threads: "7",
    notes: "8",
    source: "9",
    layout: "l",
    compare: "0",
    regions: "g",
    processes: "p",
    functions: "f",
};

const SHOWN: Record<ViewName, () => preact.JSX.Element> = {
    overview: Overview,
    lines: Lines,
    tree: TreeView,
    flame: Flame,
    snapshots: Snapshots,
    resident: ResidentView,
    lifetimes: Lifetimes,
    threads: Threads,
    notes: Notes,
    source: SourceView,
    layout: LayoutView,
    compare: Compare,
    regions: Regions,
    processes: Processes,
    functions: Functions,
};

/** All of the run. */
const WHOLE = selectionOf(START);

/** What the view shows; its numbers fade while others are on the way. */
function Main({ title, children }: { title: string; children: preact.ComponentChildren }) {
    return <main aria-label={title} aria-busy={useIsStale()}>{children}</main>;
}

export function App({ source }: { source: Source }) {
    const here = () => source.possible(fromHash(location.hash));
    const [state, setState] = useState<State>(here);
    const current = useRef(state);
    current.current = state;
    const [theme, changeTheme] = useTheme();
    const [help, setHelp] = useState(false);
    const [said, say] = useState("");
    // The time line fades by itself.
    const timeline = useRef(newStale());
    const copied = useRef<(() => TextTable) | null>(null);
    const spans = useRef<{ list: [number | null, number | null][]; at: number }>({ list: [[state.from, state.to]], at: 0 });

    /** Steps of one kind that follow each other, such as letters of a search, are one step for Back. */
    const kind = useRef("");
    const go = useCallback((change: Partial<State>, joins = false) => {
        const next = source.possible(changed(current.current, change));
        if (toHash(next) === toHash(current.current)) return;
        if ("from" in change || "to" in change) {
            const known = spans.current;
            const last = known.list[known.at];
            if (last?.[0] !== next.from || last[1] !== next.to) {
                known.list = [...known.list.slice(0, known.at + 1), [next.from, next.to]];
                known.at = known.list.length - 1;
            }
        }
        const isJoined = joins && kind.current === Object.keys(change).join();
        kind.current = joins ? Object.keys(change).join() : "";
        history[isJoined ? "replaceState" : "pushState"](null, "", toHash(next));
        // What was said is of the last step.
        say("");
        current.current = next;
        setState(next);
    }, []);

    useEffect(() => {
        // The browser tells of one step by two events.
        const moved = () => {
            const next = here();
            if (toHash(next) === toHash(current.current)) return;
            kind.current = "";
            say("");
            current.current = next;
            setState(next);
        };
        addEventListener("popstate", moved);
        addEventListener("hashchange", moved);
        return () => {
            removeEventListener("popstate", moved);
            removeEventListener("hashchange", moved);
        };
    }, []);

    const [damage, setDamage] = useState<string[]>([]);
    useEffect(() => source.damage.tell(setDamage), [source]);

    const [live, setLive] = useState<Live | null>(null);
    const [gone, setGone] = useState("");
    const generation = live?.generation ?? 0;
    const opened = useLoaded("open", () => source.open(), generation);
    useEffect(() => {
        // Which spans a page can select is known when it is open.
        current.current = source.possible(current.current);
        setState(current.current);
    }, [opened.value]);
    const selection = selectionOf(state);
    const key = opened.value ? JSON.stringify(selection) : null;
    const loaded = useLoaded(key, async (signal) => ({ profile: await source.profile(selection, signal), answered: selection }), opened.value?.live ?? 0);
    // Where a selection has no answer, the header and the time line stay; the numbers of the last one leave. A page that opens with it
    // asks for the whole run.
    const last = useRef<Pick<Context, "profile" | "answered"> | null>(null);
    const whole = useLoaded(loaded.failed && !last.current ? "whole" : null, async (signal) => ({ profile: await source.profile(WHOLE, signal), answered: WHOLE }));
    last.current = loaded.value ?? last.current ?? whole.value;
    const shown = last.current;
    const titles = shown?.profile.totals.titles ?? {};
    const recording = useMemo(() => opened.value && { ...opened.value, metrics: titled(opened.value.metrics, titles) }, [opened.value, JSON.stringify(titles)]);

    useEffect(() => {
        if (recording?.live == null || live?.over) return;
        const ended = () => {
            clearInterval(timer);
            setGone("memtoll does not answer any more: the page shows the recording as it was.");
        };
        const timer = setInterval(() => source.live().then(setLive, ended), 1000);
        return () => clearInterval(timer);
    }, [recording?.live == null, live?.over]);
    const metric = recording?.metrics.find((one) => one.name === state.metric && one.known) ?? recording?.metrics[0];

    const setCopy = useCallback((copy: () => TextTable) => {
        copied.current = copy;
        return () => {
            if (copied.current === copy) copied.current = null;
        };
    }, []);
    const copyTable = useCallback(async (as: "markdown" | "text" | "csv") => {
        const table = copied.current?.();
        if (!table) return say("This view has no table to copy.");
        if (as === "csv") {
            save(new Blob([asCsv(table)], { type: "text/csv" }), "memtoll.csv");
            return say("Saved as memtoll.csv.");
        }
        const isText = as === "text";
        const name = isText ? "memtoll.txt" : "memtoll.md";
        const how = await copy(isText ? asText(table) : asMarkdown(table), name);
        say(how === "copied" ? `Copied ${counted(table.rows.length, "row")} as ${isText ? "text" : "Markdown"}.` : `Saved as ${name}: the browser does not let the page copy.`);
    }, []);

    useEffect(() => {
        if (said === "") return;
        const timer = setTimeout(() => say(""), 4000);
        return () => clearTimeout(timer);
    }, [said]);

    useEffect(() => {
        document.title = recording ? `memtoll: ${recording.about.file}` : "memtoll";
    }, [recording]);

    const compares = !!recording?.compares || state.base !== "";
    /** Views of what not every recording has. */
    const has: Partial<Record<ViewName, boolean>> = { compare: compares, regions: !!recording?.regions, processes: (recording?.about.process_count ?? 0) > 1 };
    const held = VIEWS.filter((view) => source.asks || !OF_A_SERVER.includes(view));
    const views = held.filter((view) => has[view] ?? true);
    /** The selection becomes the span before. */
    const compareWith = () => {
        const { from, to } = current.current;
        if (!recording) return;
        if (recording.compares) return say("Compare shows two recordings already.");
        if (from === null && to === null) return say("Select a span of time first.");
        go({ base: baseText({ from, to }) });
        say("This span is the one before. Select another one: Compare (0) shows what changed.");
    };

    useEffect(() => {
        const pressed = (event: KeyboardEvent) => {
            if (isTyping(event)) {
                if (event.key === "Escape" && event.target instanceof HTMLInputElement) event.target.blur();
                return;
            }
            const view = held.find((one) => KEYS[one] === event.key);
            if (view) return go({ view });
            const known = recording?.metrics.filter((one) => one.known) ?? [];
            const move = (by: number) => {
                const next = spans.current.list[spans.current.at + by];
                if (!next) return say(by < 0 ? "There is no selection before this one." : "There is no selection after this one.");
                spans.current.at += by;
                go({ from: next[0], to: next[1] });
            };
            const nextMetric = (by: number) => {
                const at = Math.max(0, known.findIndex((one) => one.name === current.current.metric));
                go({ metric: known[(at + by + known.length) % known.length]?.name ?? "cost" });
            };
            const keys: Record<string, () => void> = {
                "?": () => setHelp(true),
                "/": () => document.getElementById("search")?.focus(),
                m: () => nextMetric(1),
                M: () => nextMetric(-1),
                c: () => void copyTable("markdown"),
                C: () => void copyTable("csv"),
                t: () => void copyTable("text"),
                d: changeTheme,
                r: () => go({ reversed: !current.current.reversed }),
                "[": () => move(-1),
                "]": () => move(1),
                Escape: () => go(leaving(current.current) ?? {}),
                b: compareWith,
                i: () => go({ panel: !current.current.panel }),
            };
            const act = keys[event.key];
            if (!act) return;
            event.preventDefault();
            act();
        };
        addEventListener("keydown", pressed);
        return () => removeEventListener("keydown", pressed);
    }, [recording, metric, theme, compares]);

    // A recording that is being made is not cut off: it goes on.
    const isMade = recording?.live != null && !live?.over;
    const context = useMemo<Context | null>(
        () =>
            recording && shown && metric
                ? { source, recording, ...shown, errors: new Errors(shown.profile.totals, recording.metrics), damage: isMade ? [] : damage, state, go, metric, theme, say, setCopy }
                : null,
        [recording, shown, damage, isMade, state, metric, theme],
    );
    if (opened.failed && !recording) return <main class="failed"><p role="alert">{opened.error}</p></main>;
    if (!context) return <main class="failed">{loaded.failed && !whole.loading ? <Failed why={loaded.error} state={state} go={go} /> : <p role="status">Opening the recording …</p>}</main>;
    const View = SHOWN[state.view];
    return (
        <Generation.Provider value={recording?.live ?? 0}>
        <Shown.Provider value={context}>
            <Header live={live?.over ? null : live} error={gone} changeTheme={changeTheme} help={() => setHelp(true)} compareWith={compareWith} />
            <Missing />
            <StaleParts.Provider value={timeline.current}><TimelineBand /></StaleParts.Provider>
            <nav aria-label="views">
                <ul>
                    {views.map((view) => (
                        <li key={view}>
                            <Door to={{ view }} aria-current={state.view === view ? "page" : undefined}>
                                {TITLES[view]}
                                <kbd aria-hidden="true">{KEYS[view]}</kbd>
                            </Door>
                        </li>
                    ))}
                </ul>
                <div class="actions">
                    <button onClick={() => void copyTable("markdown")} title="Copy the table as Markdown (c)">copy</button>
                    <button onClick={() => void copyTable("text")} title="Copy the table as text (t)">text</button>
                    <button onClick={() => void copyTable("csv")} title="Save the table as CSV (C)">CSV</button>
                </div>
            </nav>
            <Main title={TITLES[state.view]}>
                {loaded.failed ? <Failed why={loaded.error} state={state} go={go} /> : <WithFrame><View /></WithFrame>}
            </Main>
            <div class="said" role="status">{said}</div>
            {help && <Help close={() => setHelp(false)} />}
            <Waiting />
            <Definition />
        </Shown.Provider>
        </Generation.Provider>
    );
}
