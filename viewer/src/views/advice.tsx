import { useShown } from "../context";
import { useLoaded } from "../hooks";
import { selects } from "../model/cuts";
import { processorOf } from "../model/answer";
import { saving, type Change, type Range, type Verified } from "../model/advice";
import { count, counted, percent, type Unit } from "../model/format";
import { Door } from "../door";
import { hasLines, toFunction } from "../model/ways";
import { Empty, Pending, PlaceLink } from "../widgets";

const SAVES: [string, string, Unit][] = [
    ["cpu_ns", "CPU time", "ns"],
    ["wall_ns", "wall time", "ns"],
    ["peak_bytes", "at the peak", "bytes"],
    ["resident_peak_bytes", "resident", "bytes"],
    ["resident_end_bytes", "resident at the end", "bytes"],
    ["allocations", "allocations", "count"],
    ["faults", "page faults", "count"],
];

/** What to change in the program, and what that saves: cards, the one that saves most first. `isBelow`: what stands above it is not there yet, and would move it. */
export function Advice({ isBelow }: { isBelow: boolean }) {
    const { source, state, profile } = useShown();
    const isWhole = state.from === null && state.to === null && !state.process && !state.thread && !selects(state) && state.sizes === "";
    const loaded = useLoaded(isWhole ? "advice" : null, (signal) => source.advice(signal));
    if (!isWhole || isBelow) return null;
    const advice = loaded.value;
    if (!advice) return <section><Pending of={loaded}>Looking for what to change …</Pending></section>;
    if (advice.findings.length === 0)
        return (
            <section>
                <h2>What to change</h2>
                <Empty>No rule of memtoll finds a change that pays in functions with names.</Empty>
            </section>
        );
    return (
        <section>
            <h2>What to change</h2>
            <ol class="findings">
                {advice.findings.slice(0, 12).map((one) => (
                    <Card key={one.id} change={one} processor={processorOf(profile)?.value ?? null} all={advice.findings} />
                ))}
            </ol>
            <p class="soft more">
                {advice.findings.length > 12 && `${count(advice.findings.length - 12)} more: memtoll advise shows all. `}
                Savings are predicted, and do not add up. memtoll verify measures what a change saves.
            </p>
        </section>
    );
}

function isSame(a: Range, b: Range | undefined): boolean {
    return a.low === b?.low && a.high === b.high;
}

const MEASURED: [name: "cpu_ns" | "wall_ns" | "faults" | "resident_peak_bytes" | "resident_end_bytes", title: string, unit: Unit][] = [
    ["cpu_ns", "CPU time", "ns"],
    ["wall_ns", "wall time", "ns"],
    ["faults", "page faults", "count"],
    ["resident_peak_bytes", "resident", "bytes"],
    ["resident_end_bytes", "resident at the end", "bytes"],
];

/** What was measured, beside what was predicted. What may be nothing is left out. */
function Measured({ of }: { of: Verified }) {
    const told = MEASURED.flatMap(([name, title, unit]) => {
        const saved = of[name];
        return saved && (saved.low > 0 || saved.high < 0) ? [saving({ low: saved.low, likely: saved.median, high: saved.high }, title, unit)] : [];
    });
    const verdict = of.as_predicted === null ? "" : of.as_predicted ? ", as predicted" : ", not as predicted";
    return (
        <p class="saves" title={`${of.commands[0]}\n${of.commands[1]}`}>
            <span class="tag">verified{verdict}</span>
            {told.map((text) => <b key={text}>{text}</b>)}
            {told.length === 0 && <b>saves nothing that can be told from chance</b>}
            <span class="soft">in {counted(of.rounds, "round")} without the recorder, {Math.round(of.confidence * 100)} % confidence</span>
        </p>
    );
}

function Card({ change, processor, all }: { change: Change; processor: number | null; all: Change[] }) {
    const { profile, state, go } = useShown();
    const explained = state.explained.split(" ").filter((id) => id !== "");
    const line = hasLines(profile, change.function);
    const full = profile.frames.find((frame) => frame.function === change.function);
    const saves = SAVES.map(([name, title, unit]) => [change.saves[name], title, unit] as const).filter(([range, title]) => range && (range.low !== 0 || range.high !== 0) && !(title === "wall time" && isSame(range, change.saves["cpu_ns"])));
    const cpu = change.saves["cpu_ns"];
    const others = change.conflicts.map((id) => all.findIndex((one) => one.id === id) + 1).filter((number) => number > 0);
    return (
        <li>
            <p>
                <bdi>{change.change}</bdi>
            </p>
            <p class="soft">
                <bdi class="code">{change.function}</bdi>
                {change.file && <PlaceLink file={change.file} line={change.line} />}
                <span class="tag">{change.rule}</span>
                {/* Where wrappers of malloc are shown, the lines that call them are not among those that allocate. */}
                <Door to={line ? toFunction(change.function) : { view: "tree", through: full?.full ?? change.function }} class="link">{line ? "lines" : "callers and callees"}</Door>
            </p>
            {saves.length > 0 && (
                <p class="saves">
                    {saves.slice(0, 3).map(([range, title, unit]) => (
                        <b key={title}>{saving(range!, title, unit)}</b>
                    ))}
                    {cpu && cpu.likely > 0 && processor !== null && <span class="soft">{percent(cpu.likely, processor)} of CPU time, likely</span>}
                    <span class="soft">{change.confidence} confidence</span>
                </p>
            )}
            {change.verified && <Measured of={change.verified} />}
            <details open={explained.includes(change.id)} onToggle={({ newState }) => go({ explained: [...explained.filter((id) => id !== change.id), ...(newState === "open" ? [change.id] : [])].join(" ") })}>
                <summary>why, and how</summary>
                <ul class="dots">{change.evidence.text.map((text, index) => <li key={index}><bdi>{text}</bdi></li>)}</ul>
                {change.snippet && <pre class="code">{change.snippet}</pre>}
                {change.assumptions.length > 0 && <p class="soft">It assumes:</p>}
                <ul class="dots soft">{change.assumptions.map((text, index) => <li key={index}><bdi>{text}</bdi></li>)}</ul>
                {saves.length > 3 && <p class="soft">Also {saves.slice(3).map(([range, title, unit]) => saving(range!, title, unit)).join(", ")}.</p>}
                {others.length > 0 && <p class="soft">Do this or number {others.join(", ")}: they save the same costs.</p>}
            </details>
        </li>
    );
}

