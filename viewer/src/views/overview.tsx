import { useEffect, useMemo, useRef } from "preact/hooks";
import { useShown } from "../context";
import { newStale, StaleParts, useIsStale, useLoaded, type Loaded } from "../hooks";
import { selects } from "../model/cuts";
import { columnOf, countOfSites, processorOf, shownIn, totalInWords, totalOf, valueOf, wholeOf, type Finding, type Metric, type Profile, type Site } from "../model/answer";
import { CHARGED, together, WAITS, type Errors } from "../model/errors";
import { bytes, count, counted, estimate, exact, inRow, known, percent, share as shareInWords, spelledOut, time } from "../model/format";
import { siteName } from "../model/names";
import { wholeName } from "../model/search";
import { toFunction, toMetric, toSite } from "../model/ways";
import { Door, throughDoor } from "../door";
import { Advice } from "./advice";
import { OF_PAGES, type Balance, type Estimated, type Memory } from "../model/packs";
import { Define, Empty, FoldWrappers, Name, Pending, PlaceLink } from "../widgets";

interface Part {
    name: string;
    color: string;
    /** Null: not known. */
    of: Estimated | null;
    help: string;
    /** What tells its meaning. */
    define: string;
    /** What is a part of it, and has its own color. */
    within?: Part;
}

/** Where the program's CPU time goes: parts and its own work, which add up to all of it. They are called as metrics are. */
function partsOf(balance: Balance, errors: Errors, metrics: Metric[]): Part[] {
    const metric = (name: string): Part => {
        const of = metrics.find((one) => one.name === name)!;
        return { name: of.title, color: of.color, of: errors.ofAll(name), help: of.help, define: name };
    };
    const all: (Part | null)[] = [
        { ...metric("fault-time"), within: metric("zeroing") },
        metric("mapping"),
        metric("allocator"),
        { name: "other faults", color: "other", of: balance.other_faults, help: "Page faults of code, files and stacks, and those that the kernel only counted.", define: "other-faults" },
        balance.rest && {
            name: balance.recorder ? "program" : "program and recorder",
            color: "program",
            of: balance.rest,
            help: balance.recorder ? "The program's own work: what nothing else here explains." : "The program's own work and the recorder's. Of a part of the run, they cannot be told apart.",
            define: "program",
        },
    ];
    return all.filter((part): part is Part => part !== null);
}

/** With the digits that are known. */
const inDigits = ({ value, low, high }: Estimated) => known(value, low, high, "ns");

const nsOf = (part: { of: Estimated | null } | undefined) => Math.max(0, part?.of?.value ?? 0);

function Cost() {
    const { profile, errors, answered, recording, damage } = useShown();
    const { balance, totals } = profile;
    const { recorder } = balance;
    const isFiltered = selects(answered);
    const parts = partsOf(balance, errors, recording.metrics).filter((part) => !isFiltered || part.define !== "other-faults");
    const memory = together(parts.flatMap((part) => (part.define === "program" ? [] : [part.of])));
    const charged = together(parts.flatMap((part) => (["program", "other-faults"].includes(part.define) ? [] : [part.of])));
    const processor = processorOf(profile);
    const whole = processor?.value ?? null;
    const sum = Math.max(parts.reduce((sum, part) => sum + nsOf(part), 0), isFiltered ? (whole ?? 0) : 0);
    const isTooMuch = balance.rest !== null && balance.rest.value < 0;
    const others = balance.other_faults?.value ?? 0;
    const waiting = errors.ofAll("waiting");
    const waited = WAITS.flatMap((name) => {
        const of = errors.ofAll(name);
        return of && of.value > 0 ? [{ name, of }] : [];
    });
    const waits = waited.flatMap(({ name, of }) => (of.value > memory.value / 10 ? [`${inDigits(of)} of ${name}`] : []));
    const isLess = parts.some((part) => part.of === null);
    const bars = parts.flatMap((part) => [{ ...part, ns: nsOf(part) - nsOf(part.within) }, ...(part.within ? [{ ...part.within, ns: nsOf(part.within) }] : [])]);
    // Lines say who pays for a part; what no line pays for has a definition.
    const wayOf = (name: string) => (recording.metrics.some((one) => one.name === name) ? toMetric(name) : { define: name });
    const shown = (of: Estimated | null) => (of ? <b title={exact(of.value, "ns")}>{estimate(of.value, of.low, of.high)}</b> : <b class="unknown" title="not known: Recording says why">–</b>);
    return (
        <section class="cost">
            <h2>
                What memory costs{isFiltered && " of the call stacks that match"}{damage.length > 0 && ", as far as it can be read"}: {isLess && "at least "}{inDigits(memory)}
                {processor && ` of ${inDigits(processor)} CPU time${isFiltered ? " of all" : ""} (${shareInWords(memory.value, memory.low, memory.high, processor.value)})`}
                {waits.length > 0 && `, and ${waits.join(" and ")}`} <Define name="cost" />
            </h2>
            <div class="stack" role="group" aria-label={parts.map((part) => `${part.name} ${part.of ? time(part.of.value) : "not known"}`).join(", ")}>
                {bars.map(({ name, color, ns, define }) => (ns > 0 ? <Door key={name} to={wayOf(define)} class={`bar ${color}`} style={{ width: `${(ns / sum) * 100}%` }} aria-label={`${name} ${time(ns)}`} title={`${name}: ${exact(ns, "ns")}`} /> : null))}
            </div>
            <ul class="parts">
                {parts.map((part) => {
                    const { name, color, of, within } = part;
                    return (
                        <li key={name} title={part.help}>
                            <span class={`key ${color}`} />
                            <Door to={wayOf(part.define)}>{name}</Door>
                            {shown(of)}
                            {whole !== null && of && <span class="soft">{percent(of.value, whole)}</span>}
                            <Define name={part.define} />
                            {within && of && (
                                <span class="within" title={within.help}>
                                    <span class={`key ${within.color}`} /> <Door to={wayOf(within.define)}>{within.name}</Door> {shown(within.of)} of it <Define name={within.define} />
                                </span>
                            )}
                        </li>
                    );
                })}
                {waited.map(({ name, of }) => (
                    <li key={name} title="Not CPU time, and of all threads together: it has no part of the bar.">
                        <span class="key waiting" />
                        <Door to={toMetric(name)}>{recording.metrics.find((one) => one.name === name)?.title}</Door>
                        {shown(of)}
                        <span class="soft">beside CPU time</span>
                        <Define name={name} />
                    </li>
                ))}
                {processor && <li class="soft">shares are of {inDigits(processor)} CPU time</li>}
            </ul>
            <p class="soft">
                {others > 0 && `${inDigits(charged)} of it is charged to lines; the other faults are those of code, global variables and stacks. `}
                {whole === null && (answered.sizes === "" ? "The program's CPU time is not known: the kernel did not tell it, or the recorder took about as much. " : "The program's CPU time is that of blocks of all sizes: these have no share of it. ")}
                {balance.plain && "The CPU time is that of plain runs, without the recorder. "}
                {recorder && recorder.value > 0 && (
                    <>
                        Besides, the recorder <Define name="recorder" /> took{" "}
                        <span title={exact(recorder.value, "ns")}>{estimate(recorder.value, recorder.low, recorder.high)}</span>.{" "}
                    </>
                )}
                {!errors.ofAll("faults") ? "The kernel did not show page faults: their cost is not known. " : !errors.ofAll("fault-time") && "What page faults cost is not known: their price is measured when a recording ends. "}
                {isTooMuch && "The parts are more than the CPU time: the difference is within their errors, or the times are off. "}
                {!waiting ? "Waiting is not known: the kernel did not show when threads lost the CPU." : waiting.value === 0 && `No thread waited in the allocator${isFiltered ? " there" : ""}.`}
                {totals.processes > 1 && ` Sums of ${counted(totals.processes, "process")}.`}
            </p>
            <Resident memory={profile.memory} processes={totals.processes} />
        </section>
    );
}

/** What the kernel had in memory, which is another thing than live bytes. */
function Resident({ memory, processes }: { memory: Memory; processes: number }) {
    const { resident, at_end, with_mappings, reserved } = memory;
    const withError = (of: Estimated) => <span title={exact(of.value, "bytes")}>{estimate(of.value, of.low, of.high, "bytes")}</span>;
    const isReserved = reserved !== null && reserved.value > 0;
    if (!resident && !isReserved && !with_mappings) return null;
    return (
        <p class="soft">
            {resident && <>Resident set{processes > 1 && ` of ${counted(processes, "process")} together`}: <Door to={{ view: "resident", look: "peak" }}>{withError(resident)} at its peak</Door>{at_end && <>, <Door to={{ view: "resident", look: "" }}>{withError(at_end)} at the end</Door></>}. </>}
            {with_mappings && <>Live blocks and the program's own mappings together: {withError(with_mappings)} at their peak. </>}
            {isReserved && <>Only reserved: {withError(reserved)} of mappings that the program has not touched, or cannot access. </>}
        </p>
    );
}

/** With its last stop, unless it ends in a command. */
const Sentence = ({ text }: { text: string }) => <bdi>{text}{/\.\w+$/.test(text) ? "" : "."}</bdi>;

function Findings({ of }: { of: Loaded<Finding[]> }) {
    const { answered, source, state } = useShown();
    const isPart = answered.from !== null || answered.to !== null;
    if (!source.asks && isPart) return <Empty>This page holds findings of the whole run only. Press Esc for it.</Empty>;
    if (!of.value) return <Pending of={of}>Looking for findings …</Pending>;
    if (of.value.length === 0) return <Empty>{isPart ? "memtoll finds nothing worth saying of this selection." : "memtoll finds nothing worth saying: memory costs little here."}</Empty>;
    return (
        <ol class="findings">
            {of.value.map((finding, index) => (
                <li key={index}>
                    <p>
                        <Sentence text={finding.text} />
                    </p>
                    {finding.also.length > 0 && <ul class="dots">{finding.also.map(({ text }, at) => <li key={at}><Sentence text={text} /></li>)}</ul>}
                    <p class="soft">
                        <span class="tag">{finding.id}</span>
                        {finding.function && <Door to={toFunction(finding.function)} class="link">lines</Door>}
                        {finding.function && <Door to={{ view: "tree", reversed: true, search: wholeName(finding.function) }} class="link">callers</Door>}
                        {finding.text.includes("--paid") && !state.paid && source.asks && <Door to={{ view: "lines", paid: true }} class="link">as paid</Door>}
                        {finding.file && <PlaceLink file={finding.file} line={finding.line} />}
                    </p>
                </li>
            ))}
        </ol>
    );
}

/** What comes later than the numbers: findings of what these are of, which may take a reading of all events, and the advice below them. */
function Later() {
    const { source, answered } = useShown();
    const found = useLoaded(JSON.stringify(answered), (signal) => source.findings(answered, signal));
    return (
        <div class="first">
            <section class="found" aria-busy={useIsStale()}>
                <h2>Findings</h2>
                <Findings of={found} />
            </section>
            <Advice isBelow={found.value === null && !found.failed} />
        </div>
    );
}

/** The metric that counts the blocks that another one is of; null: those at the peak and in memory are not counted. */
function countOf({ name }: Metric): string | null {
    if (name === "live") return "live-blocks";
    return name === "peak" || OF_PAGES.includes(name) ? null : "allocations";
}

/** `3 blocks of 120 × 16 B`; nothing for memory that is only mapped. */
function blocksOf(profile: Profile, metrics: Metric[], metric: Metric, site: Site): string {
    const counts = metrics.find(({ name }) => name === countOf(metric));
    const blocks = counts ? (valueOf(profile.siteNumbers, counts, site.index) ?? 0) : 0;
    if (blocks === 0) return "";
    return `${counted(blocks, "block")}${site.elements > 0 ? ` of ${count(site.elements)} × ${bytes(site.element)}` : ""}`;
}

interface Share {
    whole: number;
    /** What it is a share of. */
    name: string;
    /** What a row has of it. */
    part: (row: number) => Estimated;
    /** The metrics of what a row waited beside it, ns. */
    waits: (row: number) => [name: string, ns: Estimated][];
}

/** What shares of a metric are of; null: a mean has none. Those of costs in CPU time are of the CPU time, as in the report's first lines. */
function shareOf(profile: Profile, errors: Errors, metric: Metric, metrics: Metric[]): Share | null {
    const of = (name: string, row: number): Estimated => {
        const one = metrics.find((one) => one.name === name);
        return (one && errors.of(one, (one) => valueOf(profile.siteNumbers, one, row))) ?? { value: 0, low: 0, high: 0 };
    };
    const processor = processorOf(profile)?.value ?? null;
    if (processor !== null && metric.name === "cost")
        return { whole: processor, name: "CPU time", part: (row) => together(CHARGED.map((name) => of(name, row))), waits: (row) => WAITS.map((name) => [name, of(name, row)]) };
    const part = (row: number) => of(metric.name, row);
    if (processor !== null && [...CHARGED, "zeroing"].includes(metric.name)) return { whole: processor, name: "CPU time", part, waits: () => [] };
    const whole = wholeOf(profile, metric);
    return metric.over || whole === null ? null : { whole: whole.value, name: whole.words, part, waits: () => [] };
}

export function Overview() {
    const { profile, errors, answered, recording, damage, metric, setCopy } = useShown();
    const share = shareOf(profile, errors, metric, recording.metrics);
    // It fades by itself.
    const later = useRef(newStale());
    const worst = useMemo(() => {
        const value = (index: number) => valueOf(profile.siteNumbers, metric, index) ?? 0;
        return profile.sites
            .filter((site) => site.others === 0 && value(site.index) > 0)
            .sort((a, b) => value(b.index) - value(a.index))
            .slice(0, 10);
    }, [profile, metric]);
    const allocations = recording.metrics.find((one) => one.name === "allocations")!;
    useEffect(() => {
        return setCopy(() => ({
            heads: ["line", "type", columnOf(metric), { title: "share", unit: "%" }, columnOf(allocations)],
            rows: worst.map((site) => [
                siteName(site),
                site.type,
                valueOf(profile.siteNumbers, metric, site.index),
                share && (share.part(site.index).value / share.whole) * 100,
                valueOf(profile.siteNumbers, allocations, site.index),
            ]),
        }));
    }, [worst, metric]);
    const largest = worst[0] ? (valueOf(profile.siteNumbers, metric, worst[0].index) ?? 0) : 0;
    return (
        <div class="overview">
            <Cost />
            {damage.length > 0 ? <p class="soft">Of what can be read{answered.filter && ", where the filter matches"}:</p> : answered.filter && <p class="soft">Of the call stacks that match:</p>}
            <dl class="facts-of">
                {shownIn(recording.metrics, "overview").map((of) => {
                    const value = totalOf(profile.totals, of);
                    const interval = profile.totals.intervals[of.name];
                    return (
                        <div key={of.name} title={of.help} onClick={throughDoor}>
                            <dt>{of.name === "live" && answered.to === null ? recording.about.kept : of.title} <Define name={of.name} /></dt>
                            <dd title={value === null ? "not known" : interval ? estimate(value, ...interval, of.unit) : exact(value, of.unit)}>{value === null ? "–" : <Door to={toMetric(of.name)}>{totalInWords(profile.totals, of)}</Door>}</dd>
                        </div>
                    );
                })}
            </dl>
            <div class="columns">
                <StaleParts.Provider value={later.current}><Later /></StaleParts.Provider>
                <section>
                    <h2 title={metric.help}>
                        Lines by {metric.title}{" "}
                        <Door to={{ view: "lines", search: "" }} class="link">all {count(countOfSites(profile.sites))}</Door>
                    </h2>
                    {worst.length === 0 ? (
                        <Empty>No line has any of this metric. Press m for the next metric.</Empty>
                    ) : (
                        <ol class="worst">
                            {worst.map((site) => {
                                const all = errors.of(metric, (one) => valueOf(profile.siteNumbers, one, site.index))!;
                                const part = share?.part(site.index);
                                return (
                                    <li key={site.index} onClick={throughDoor}>
                                        <div class="what"><Door to={toSite(site)}>{site.frame ? <Name frame={site.frame} type={site.type} inlined={site.inlined} /> : "(no stack)"}</Door>{site.frame && <FoldWrappers around={site.frame} />}</div>
                                        <div class="amount">
                                            <span class={`bar ${metric.color}`} style={{ width: `${largest > 0 ? (all.value / largest) * 100 : 0}%` }} />
                                            <b title={spelledOut(all, metric.unit)}>{inRow(all, metric.unit)}</b>
                                            <span class="soft">{part && share && `${shareInWords(part.value, part.low, part.high, share.whole)} of ${share.name}`}{share?.waits(site.index).map(([name, ns]) => ns.value > 0 && `, beside ${inDigits(ns)} of ${name}`)}</span>
                                            <span class="soft">{blocksOf(profile, recording.metrics, metric, site)}</span>
                                        </div>
                                    </li>
                                );
                            })}
                        </ol>
                    )}
                </section>
            </div>
        </div>
    );
}
