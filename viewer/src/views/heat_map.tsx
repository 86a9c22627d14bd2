import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useShown } from "../context";
import { cellFrom, cellText, fewestOf, gridOf, lifetimeText, lowest, sizeText, stepOf, type Cell } from "../model/size_lifetime";
import { blocks, bytes, count, percent, shortCount, time } from "../model/format";

/** How dark a step is, percent of the way to the color of most blocks. */
function strength(step: number, steps: number): number {
    return steps < 2 ? 60 : Math.round((step / (steps - 1)) * 100);
}

function colorOf(step: number, steps: number): string {
    const percent = strength(step, steps);
    return percent < 50
        ? `color-mix(in oklab, var(--heat-some) ${percent * 2}%, var(--heat-few))`
        : `color-mix(in oklab, var(--heat-many) ${percent * 2 - 100}%, var(--heat-some))`;
}

/** Freed blocks by size and lifetime; a click on a cell chooses it. */
export function HeatMap({ cells, unit }: { cells: Cell[]; unit: number }) {
    const { state, go } = useShown();
    const grid = useMemo(() => gridOf(cells), [cells]);
    const [at, setAt] = useState<[number, number] | null>(null);
    const body = useRef<HTMLDivElement>(null);
    const chosen = cellFrom(state.cell);
    const steps = stepOf(grid.most) + 1;
    const [rows, columns] = [grid.sizes.length, grid.lifetimes.length];
    // The cell that the Tab key reaches: the chosen one, or the one with the most blocks.
    const first = useMemo<[number, number]>(() => {
        const row = Math.max(0, chosen && grid.sizes.includes(chosen.size) ? grid.sizes.indexOf(chosen.size) : grid.counts.findIndex((row) => row.includes(grid.most)));
        const of = chosen && grid.sizes.includes(chosen.size) ? grid.lifetimes.indexOf(chosen.lifetime) : (grid.counts[row]?.indexOf(grid.most) ?? 0);
        return [row, Math.max(0, of)];
    }, [grid, state.cell]);
    const entry: [number, number] = at && at[0] < rows && at[1] < columns ? at : first;
    useEffect(() => setAt(null), [grid]);

    const name = (row: number, column: number) =>
        `${sizeText(grid.sizes[row]!)}, lived ${lifetimeText(grid.lifetimes[column]!, unit)}: ${blocks(grid.counts[row]![column]!)}, ${percent(grid.counts[row]![column]!, grid.all)} of ${count(grid.all)}`;
    const choose = (row: number, column: number) => {
        const cell = cellText({ size: grid.sizes[row]!, lifetime: grid.lifetimes[column]! });
        if (state.cell === cell) go({ cell: "" }, true);
        else if (grid.counts[row]![column]! > 0) go({ cell }, true);
    };
    const pressed = (event: KeyboardEvent) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const [row, column] = entry;
        const to: Record<string, [number, number]> = {
            ArrowLeft: [row, column - 1],
            ArrowRight: [row, column + 1],
            ArrowUp: [row - 1, column],
            ArrowDown: [row + 1, column],
            Home: [row, 0],
            End: [row, columns - 1],
        };
        const next = to[event.key];
        if (next) {
            const [toRow, toColumn] = [Math.min(rows - 1, Math.max(0, next[0])), Math.min(columns - 1, Math.max(0, next[1]))];
            setAt([toRow, toColumn]);
            (body.current?.children[toRow]?.children[toColumn + 1] as HTMLElement | undefined)?.focus();
        } else if (event.key === "Enter" || event.key === " ") choose(row, column);
        else return;
        event.preventDefault();
        event.stopPropagation();
    };
    const every = Math.max(1, Math.ceil(columns / 8));
    return (
        <figure class="chart heat">
            <figcaption>
                size and lifetime of freed blocks: {grid.all === 0 ? "none" : count(grid.all)}
            </figcaption>
            {grid.all > 0 && (
                <>
                    <div class="heat-body" role="grid" aria-label="freed blocks by size and lifetime" ref={body} style={{ "--columns": columns }} onKeyDown={pressed} onMouseLeave={() => setAt(null)}>
                        {grid.sizes.map((size, row) => (
                            <div role="row" key={size} class="heat-row">
                                <div role="rowheader" class="heat-size">
                                    <span class="unseen">{sizeText(size)}</span>
                                    <span aria-hidden="true">{(rows - 1 - row) % Math.ceil(rows / 12) === 0 ? bytes(lowest(size)) : ""}</span>
                                </div>
                                {grid.lifetimes.map((lifetime, column) => {
                                    const here = grid.counts[row]![column]!;
                                    const isChosen = chosen?.size === size && chosen.lifetime === lifetime;
                                    return (
                                        <div
                                            role="gridcell"
                                            key={lifetime}
                                            class={isChosen ? "heat-cell chosen" : here > 0 ? "heat-cell" : "heat-cell none"}
                                            style={{ background: here > 0 ? colorOf(stepOf(here), steps) : "" }}
                                            tabIndex={entry[0] === row && entry[1] === column ? 0 : -1}
                                            aria-selected={isChosen}
                                            aria-label={name(row, column)}
                                            title={name(row, column)}
                                            onMouseEnter={() => setAt([row, column])}
                                            onFocus={() => setAt([row, column])}
                                            onClick={() => choose(row, column)}
                                        />
                                    );
                                })}
                            </div>
                        ))}
                    </div>
                    <div class="heat-times" aria-hidden="true" style={{ "--columns": columns }}>
                        {grid.lifetimes.map((lifetime, column) => (
                            <span key={lifetime}>{column % every === 0 && column + every <= columns && <span>{time(lowest(lifetime) * unit)}</span>}</span>
                        ))}
                    </div>
                    <p class="heat-legend">
                        {Array.from({ length: steps }, (_, step) => (
                            <span key={step} class="legend"><span class="key" style={{ background: colorOf(step, steps) }} />{shortCount(fewestOf(step))}{step === steps - 1 ? " blocks or more" : ""}</span>
                        ))}
                    </p>
                    <p class="heat-told" role="status">{at && at[0] < rows && at[1] < columns ? name(...at) : "Left: freed soon. Top: large. Click a cell for the lines behind it."}</p>
                </>
            )}
        </figure>
    );
}
