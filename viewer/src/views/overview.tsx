import { useEffect, useMemo } from "preact/hooks";
import { useShown } from "../context";
import { chanceOf, shownIn, totalInWords, totalOf, valueOf, type Site } from "../model/answer";
import { bytes, count, counted, estimate, exact, inRow, number, percent, share, spelledOut, time } from "../model/format";
import { siteName } from "../model/names";
import { Advice } from "./advice";
import type { Balance, Estimated, Memory } from "../model/packs";
import { Define, Empty, FoldWrappers, Name, PlaceLink } from "../widgets";

interface Slice {
    name: string;
    color: string;
    part: Estimated;
    help: string;
    /** What tells its meaning. */
    define: string;
}

/** Where the program's CPU time goes: parts and its own work, which add up to all of it. */
function slicesOf(balance: Balance): Slice[] {
    const all: (Slice | null)[] = [
        { name: "page faults", color: "faults", part: balance.faults, help: "Page faults of blocks and mappings, without zeroing.", define: "fault-time" },
        { name: "zeroing", color: "zeroing", part: balance.zeroing, help: "The part of these page faults in which the kernel fills fresh pages with zeros.", define: "zeroing" },
        { name: "mapping", color: "mapping", part: balance.mapping, help: "Time in mmap, munmap, mremap, madvise and brk.", define: "mapping" },
        { name: "allocator", color: "allocator", part: balance.allocator, help: "Time inside malloc, free and the like, without the rest of this list.", define: "allocator" },
        { name: "other faults", color: "other", part: balance.other_faults, help: "Page faults of code, files and stacks, and those that the kernel only counted.", define: "other-faults" },
        balance.rest && {
            name: balance.recorder ? "program" : "program and recorder",
            color: "program",
            part: balance.rest,
            help: balance.recorder ? "The program's own work: what nothing else here explains." : "The program's own work and the recorder's. Of a part of the run, they cannot be told apart.",
            define: "program",
        },
    ];
    return all.filter((slice): slice is Slice => slice !== null);
}

/** What threads waited for; it is no CPU time. */
const WAITS = [["waiting_ns", "waiting in the allocator"], ["reading_ns", "waiting for the disk"]] as const;

function Cost() {
    const { profile } = useShown();
    const { balance, totals } = profile;
    const { recorder } = balance;
    const slices = slicesOf(balance);
    const memory = balance.allocator.value + balance.faults.value + balance.zeroing.value + balance.mapping.value + balance.other_faults.value;
    const whole = balance.processor_ns;
    const sum = slices.reduce((sum, slice) => sum + Math.max(0, slice.part.value), 0);
    const isTooMuch = balance.rest !== null && balance.rest.value < 0;
    const charged = balance.other_faults.value > 0 ? balance.allocator.value + balance.faults.value + balance.zeroing.value + balance.mapping.value : null;
    const waiting = (balance.waiting_ns ?? 0) + (balance.reading_ns ?? 0);
    return (
        <section class="cost">
            <h2>
                What memory costs: {time(memory)}
                {whole !== null && ` of ${time(whole)} CPU time (${percent(memory, whole)})`}
                {waiting > memory / 10 && `, and ${time(waiting)} of waiting`} <Define name="cost" />
            </h2>
            <div class="stack" role="img" aria-label={slices.map((slice) => `${slice.name} ${time(slice.part.value)}`).join(", ")}>
                {slices.map((slice) =>
                    slice.part.value > 0 ? (
                        <span key={slice.name} class={`bar ${slice.color}`} style={{ width: `${(slice.part.value / sum) * 100}%` }} title={`${slice.name}: ${exact(slice.part.value, "ns")}`} />
                    ) : null,
                )}
            </div>
            <ul class="parts">
                {slices.map((slice) => {
                    return (
                        <li key={slice.name} title={slice.help}>
                            <span class={`key ${slice.color}`} />
                            {slice.name}
                            <b title={exact(slice.part.value, "ns")}>{estimate(slice.part.value, slice.part.low, slice.part.high)}</b>
                            {whole !== null && <span class="soft">{percent(slice.part.value, whole)}</span>}
                            <Define name={slice.define} />
                        </li>
                    );
                })}
                {WAITS.map(([name, title]) => {
                    const ns = balance[name] ?? 0;
                    if (ns <= 0) return null;
                    return (
                        <li key={name} title="Not CPU time, and of all threads together: it has no part of the bar.">
                            <span class="key waiting" />
                            {title}
                            <b title={exact(ns, "ns")}>{time(ns)}</b>
                            <span class="soft">beside CPU time</span>
                            <Define name={name === "waiting_ns" ? "waiting" : "reading"} />
                        </li>
                    );
                })}
            </ul>
            <p class="soft">
                {charged !== null && `${time(charged)} of it is charged to lines; the other faults are those of code, files and stacks. `}
                {whole === null && "The kernel did not tell the CPU time of this selection. "}
                {balance.plain && "The CPU time is that of plain runs, without the recorder. "}
                {recorder && recorder.value > 0 && (
                    <>
                        Besides, the recorder <Define name="recorder" /> took{" "}
                        <span title={exact(recorder.value, "ns")}>{estimate(recorder.value, recorder.low, recorder.high)}</span>.{" "}
                    </>
                )}
                {!balance.sees_faults && "The kernel did not show page faults: their cost is not known. "}
                {isTooMuch && "The parts are more than the CPU time: the difference is within their errors, or the times are off. "}
                {balance.waiting_ns === null ? "Waiting is not known: the kernel did not show when threads lost the CPU." : balance.waiting_ns === 0 && "No thread waited in the allocator."}
                {totals.processes > 1 && ` Sums of ${counted(totals.processes, "process")}.`}
            </p>
            <Resident memory={profile.memory} />
        </section>
    );
}

/** What the kernel had in memory, which is another thing than live bytes. */
function Resident({ memory }: { memory: Memory }) {
    const { resident, at_end, reserved } = memory;
    const withError = (of: Estimated) => <span title={exact(of.value, "bytes")}>{estimate(of.value, of.low, of.high, "bytes")}</span>;
    const isReserved = reserved !== null && reserved.value > 0;
    if (!resident && !isReserved) return null;
    return (
        <p class="soft">
            {resident && <>Resident set: {withError(resident)} at its peak{at_end && <>, {withError(at_end)} at the end</>}. </>}
            {isReserved && <>Only reserved: {withError(reserved)} of mappings that the program has not touched, or cannot access. </>}
        </p>
    );
}

function Findings() {
    const { profile, go, source, state } = useShown();
    if (profile.findings.length === 0)
        return <Empty>{state.from !== null || state.to !== null ? "memtoll finds nothing worth saying of this selection." : "memtoll finds nothing worth saying: memory costs little here."}</Empty>;
    return (
        <ol class="findings">
            {profile.findings.map((finding, index) => (
                <li key={index}>
                    <p>
                        <bdi>{finding.text}.</bdi>
                    </p>
                    <p class="soft">
                        <span class="tag">{finding.id}</span>
                        {finding.function && (
                            <a
                                href="#"
                                onClick={(event) => {
                                    event.preventDefault();
                                    go({ view: "lines", search: finding.function ?? "" });
                                }}
                            >
                                lines
                            </a>
                        )}
                        {finding.function && (
                            <a
                                href="#"
                                onClick={(event) => {
                                    event.preventDefault();
                                    go({ view: "tree", reversed: true, search: finding.function ?? "" });
                                }}
                            >
                                callers
                            </a>
                        )}
                        {finding.text.includes("--paid") && !state.paid && source.asks && (
                            <a
                                href="#"
                                onClick={(event) => {
                                    event.preventDefault();
                                    go({ view: "lines", paid: true });
                                }}
                            >
                                as paid
                            </a>
                        )}
                        {finding.file && <PlaceLink file={finding.file} line={finding.line} />}
                    </p>
                </li>
            ))}
        </ol>
    );
}

/** `3 blocks of 120 × 16 B`; nothing for memory that is only mapped. */
function blocksOf(site: Site, blocks: number): string {
    if (blocks === 0) return "";
    return `${counted(blocks, "block")}${site.elements > 0 ? ` of ${count(site.elements)} × ${bytes(site.element)}` : ""}`;
}

export function Overview() {
    const { profile, recording, metric, go, setCopy, state } = useShown();
    const total = totalOf(profile.totals, metric);
    const worst = useMemo(() => {
        const value = (index: number) => valueOf(profile.siteNumbers, metric, index) ?? 0;
        return profile.sites
            .filter((site) => site.others === 0 && value(site.index) > 0)
            .sort((a, b) => value(b.index) - value(a.index))
            .slice(0, 10);
    }, [profile, metric]);
    const allocations = recording.metrics.find((one) => one.name === "allocations")!;
    useEffect(() => {
        setCopy(() => ({
            heads: ["line", "type", metric.name, "share", "allocations"],
            rows: worst.map((site) => {
                const value = valueOf(profile.siteNumbers, metric, site.index) ?? 0;
                return [siteName(site), site.type, number(value, metric.unit), percent(value, total ?? 0), count(valueOf(profile.siteNumbers, allocations, site.index) ?? 0)];
            }),
        }));
        return () => setCopy(null);
    }, [worst, metric]);
    const most = worst[0] ? (valueOf(profile.siteNumbers, metric, worst[0].index) ?? 0) : 0;
    return (
        <div class="overview">
            <Cost />
            <dl class="facts-of">
                {shownIn(recording.metrics, "overview").map((of) => {
                    const value = totalOf(profile.totals, of);
                    const interval = profile.totals.intervals[of.name];
                    return (
                        <div key={of.name} title={of.help}>
                            <dt>{of.name === "live" && state.to === null ? recording.about.kept : of.title} <Define name={of.name} /></dt>
                            <dd title={value === null ? "not known" : interval ? estimate(value, ...interval, of.unit) : exact(value, of.unit)}>{value === null ? "–" : totalInWords(profile.totals, of)}</dd>
                        </div>
                    );
                })}
            </dl>
            <div class="columns">
                <section>
                    <Advice />
                    <h2>Findings</h2>
                    <Findings />
                </section>
                <section>
                    <h2 title={metric.help}>
                        Lines by {metric.title}
                        <button class="link" onClick={() => go({ view: "lines", search: "" })}>
                            all {count(profile.sites.length)}
                        </button>
                    </h2>
                    {worst.length === 0 ? (
                        <Empty>No line has any of this metric. Press m for the next metric.</Empty>
                    ) : (
                        <ol class="worst">
                            {worst.map((site) => {
                                const value = valueOf(profile.siteNumbers, metric, site.index) ?? 0;
                                return (
                                    <li key={site.index}>
                                        <div class="what">{site.frame ? <Name frame={site.frame} type={site.type} inlined={site.inlined} /> : "(no stack)"}{site.frame && <FoldWrappers around={site.frame} />}</div>
                                        <div class="amount">
                                            <span class={`bar ${metric.color}`} style={{ width: `${most > 0 ? (value / most) * 100 : 0}%` }} />
                                            <b title={spelledOut(value, chanceOf(profile.siteNumbers, metric, site.index), metric.unit)}>{inRow(value, chanceOf(profile.siteNumbers, metric, site.index), metric.unit)}</b>
                                            <span class="soft">{metric.over || total === null ? "" : `${share(value, chanceOf(profile.siteNumbers, metric, site.index), total)} of ${totalInWords(profile.totals, metric)}`}</span>
                                            <span class="soft">{blocksOf(site, valueOf(profile.siteNumbers, allocations, site.index) ?? 0)}</span>
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
