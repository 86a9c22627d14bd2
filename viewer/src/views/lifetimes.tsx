import { useEffect, useMemo } from "preact/hooks";
import { ColumnChoice, nameColumn, pixelsOf, useColumns } from "../columns";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import { valueOf } from "../model/answer";
import { cellFrom, countIn, lifetimeText, lowest, sizeText } from "../model/size_lifetime";
import { plainColumn } from "../model/columns";
import { toSizes } from "../model/sizes";
import { blocks, bytes, count, counted, exact, isolated, number, percent, shortCount, time } from "../model/format";
import { siteKey, siteName } from "../model/names";
import { quantile, rowsOf, type Bin } from "../model/patterns";
import { selectionOf } from "../model/state";
import { matcher } from "../model/search";
import { Empty, Name, Pending, Search } from "../widgets";
import { Door } from "../door";
import { Table } from "../table";
import type { Column } from "../model/table_text";
import { Chart } from "./chart";
import { HeatMap } from "./heat_map";

/** Sizes, lifetimes and growth of blocks, of all call sites or of those that are searched for. */
export function Lifetimes() {
    const { source, profile, recording, state, go, setCopy } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(JSON.stringify(selection), (signal) => source.patterns(selection, signal));
    const allocations = recording.metrics.find((one) => one.name === "allocations")!;
    const all = useMemo(() => (loaded.value ? rowsOf(loaded.value, profile.sites.length) : null), [loaded.value, profile]);
    const shown = useMemo(() => {
        const matches = matcher(state.search);
        const sites = profile.sites.filter((site) => all && (all.sizes[site.index]?.length || all.lifetimes[site.index]?.length));
        const found = matches ? sites.filter((site) => matches(site.frame, `${siteName(site)} ${site.type}`, site.inlined)) : sites;
        const got = (index: number) => valueOf(profile.siteNumbers, allocations, index) ?? 0;
        return found.sort((a, b) => got(b.index) - got(a.index));
    }, [all, profile, state.search]);
    const chosen = shown.find((site) => siteKey(site) === state.focus);
    const of = chosen ? [chosen] : shown;
    const sizes = useMemo(() => (all ? of.flatMap((site) => all.sizes[site.index] ?? []) : []), [all, shown, chosen]);
    const lifetimes = useMemo(() => (all ? of.flatMap((site) => all.lifetimes[site.index] ?? []) : []), [all, shown, chosen]);
    const both = useMemo(() => (all ? of.flatMap((site) => all.cells.bySite[site.index] ?? []) : []), [all, shown, chosen]);
    const cell = cellFrom(state.cell);
    const inCell = (index: number) => (all && cell ? countIn(all.cells.bySite[index], cell) : 0);
    const listed = useMemo(() => (cell ? shown.filter((site) => inCell(site.index) > 0).sort((a, b) => inCell(b.index) - inCell(a.index)) : shown), [all, shown, state.cell]);
    const allInCell = listed.reduce((sum, site) => sum + inCell(site.index), 0);
    const heads = cell ? [IN_CELL, ...HEADS] : HEADS;
    const copied = cell ? COPIED : COPIED.slice(1);
    const cells = (index: number) => {
        const [size, life] = [all!.sizes[index] ?? [], all!.lifetimes[index] ?? []];
        const grown = all!.grownBlocks[index] ?? 0;
        return [
            ...(cell ? [`${count(inCell(index))} (${percent(inCell(index), allInCell)})`] : []),
            number(valueOf(profile.siteNumbers, allocations, index) ?? 0, "count"),
            ...[0.5, 0.99].map((share) => (size.length > 0 ? bytes(quantile(size, share)) : "–")),
            ...[0.5, 0.99].map((share) => (life.length > 0 ? time(quantile(life, share)) : "–")),
            number(grown, "count"),
            grown > 0 ? shortCount((all!.grownSteps[index] ?? 0) / grown) : "–",
            number(all!.elsewhere[index] ?? 0, "count"),
            number(all!.acquiring[index] ?? 0, "count"),
        ];
    };
    const numbers = (index: number) => {
        const [size, life] = [all!.sizes[index] ?? [], all!.lifetimes[index] ?? []];
        const of = (bins: Bin[], share: number) => (bins.length > 0 ? quantile(bins, share) : null);
        return [
            ...(cell ? [inCell(index)] : []),
            valueOf(profile.siteNumbers, allocations, index) ?? 0,
            ...[0.5, 0.99].map((share) => of(size, share)),
            ...[0.5, 0.99].map((share) => of(life, share)),
            all!.grownBlocks[index] ?? 0,
            all!.grownSteps[index] ?? 0,
            all!.elsewhere[index] ?? 0,
            all!.acquiring[index] ?? 0,
        ];
    };
    /** All digits of what is counted; of a mean of steps, their number. */
    const titles = (index: number) =>
        numbers(index).map((value, at) => {
            const { unit } = copied[at]!;
            if (value === null || unit !== "count") return "";
            return copied[at] === STEPS ? counted(value, "step") : exact(value, unit);
        });
    useEffect(() => {
        return setCopy(() => ({ heads: ["line", "type", ...copied], rows: all ? listed.map((site) => [siteName(site), site.type, ...numbers(site.index)]) : [] }));
    }, [listed, all]);
    const fitted = useColumns([nameColumn("line"), ...(cell ? [plainColumn(IN_CELL[0], 150)] : []), ...HEADS.map(([head]) => plainColumn(head, 82 + pixelsOf("--edges")))]);
    if (!all) return <Pending of={loaded}>Adding up sizes and lifetimes …</Pending>;
    return (
        <div class="fill">
            <div class="tools">
                <Search />
                <ColumnChoice of={fitted} />
                <span class="soft">
                    {chosen ? `Histograms of ${isolated(siteName(chosen))}: click it again for all lines.` : `Histograms of ${counted(shown.length, "line")}: click one for its own.`} Values are at most 3.1 % off.
                </span>
            </div>
            {shown.length === 0 ? (
                <Empty>No block in this selection. Press Esc for the whole run, or empty the search field.</Empty>
            ) : (
                <>
                    <div class="histograms with-heat">
                        <Chart title="size of blocks, when they are allocated" bins={sizes} show={(value) => bytes(value)} to={(bin) => toSizes(bin, state.sizes)} />
                        <Chart title="lifetime of blocks, when they are freed" bins={lifetimes} show={(value) => time(value)} />
                        <HeatMap cells={both} unit={all.cells.unit} />
                    </div>
                    {cell && (
                        <p class="tools">
                            <span>
                                {listed.length === 0 ? "No line" : counted(listed.length, "line")} with {blocks(allInCell)} of {sizeText(cell.size)} that lived {lifetimeText(cell.lifetime, all.cells.unit)}.
                            </span>
                            {source.asks && <Door to={{ ...toSizes({ low: lowest(cell.size), high: lowest(cell.size + 1) }, ""), cell: "" }} class="link">only blocks of this size</Door>}
                            <button onClick={() => go({ cell: "" }, true)}>all lines <kbd>Esc</kbd></button>
                        </p>
                    )}
                    <Table
                        label="how lines use memory"
                        dense
                        columns={fitted}
                        heads={
                            <>
                                <div role="columnheader">line</div>
                                {heads.map(([head, help]) => (
                                    <div role="columnheader" key={head} title={help}>{head}</div>
                                ))}
                            </>
                        }
                        rows={listed}
                        keyOf={(site) => site.index}
                        chosen={chosen ? listed.indexOf(chosen) : -1}
                        cells={(site) => {
                            const exactly = titles(site.index);
                            return <>
                                <div role="cell" class="what"><Door to={{ focus: site === chosen ? "" : siteKey(site) }}>{site.frame ? <Name frame={site.frame} type={site.type} inlined={site.inlined} /> : siteName(site)}</Door></div>
                                {cells(site.index).map((text, cell) => (
                                    <div role="cell" key={cell} class={text === "0" ? "number zero" : text === "–" ? "number unknown" : "number"} title={exactly[cell]}>
                                        <span class="text">{text}</span>
                                    </div>
                                ))}
                            </>;
                        }}
                    />
                </>
            )}
        </div>
    );
}

const IN_CELL: [string, string] = ["in the cell", "Freed blocks of the chosen size and lifetime, and their share of all of them."];

const STEPS: Column = { title: "growth steps", unit: "count" };

/** The columns of numbers that are copied. */
const COPIED: Column[] = [
    { title: "in the cell", unit: "count" },
    { title: "blocks", unit: "count" },
    { title: "median size", unit: "bytes" },
    { title: "p99 size", unit: "bytes" },
    { title: "median life", unit: "ns" },
    { title: "p99 life", unit: "ns" },
    { title: "blocks that grew", unit: "count" },
    STEPS,
    { title: "freed abroad", unit: "count" },
    { title: "threads", unit: "count" },
];

const HEADS: [string, string][] = [
    ["blocks", "Blocks that the line got, reallocations included."],
    ["median size", "Half of the blocks are not larger."],
    ["p99 size", "One block in a hundred is larger."],
    ["median life", "Half of the freed blocks do not live longer."],
    ["p99 life", "One freed block in a hundred lives longer."],
    ["grew", "Blocks that grew, by realloc or as a vector does."],
    ["steps each", "How often each of them grew, on average. Reserving the size in advance saves these steps."],
    ["freed abroad", "Blocks that another thread freed than the one that allocated them."],
    ["threads", "Threads that allocated here. Of several processes, each counts its own."],
];
