import { useShown } from "./context";
import { bytes, isolated, time } from "./model/format";
import type { ResidentSet } from "./model/packs";
import { lookOf } from "./model/query";

/** Which look at the pages a view is of: the last one, or that with most in memory. `set`: what is shown, where all looks at it are known. */
export function LookChoice({ set }: { set?: ResidentSet | undefined }) {
    const { recording, state, go } = useShown();
    const look = lookOf(state.look);
    const looks = set?.looks ?? [];
    // Lines have numbers of the last look only if it was at the end of a process.
    const hasLast = set !== undefined || recording.metrics.some(({ name, known }) => name === "resident" && known);
    const endsHighest = look === "last" && looks.length > 0 && Math.max(...looks.map(({ rss }) => rss)) === looks.at(-1)!.rss;
    const isOfOne = recording.about.process_count === 1 || state.process !== "";
    const why = endsHighest ? "The last look has most in memory." : isOfOne ? "" : "Of the process that had most in memory then: a look is at one process.";
    return (
        <>
            <div class="switch" role="group" aria-label="look">
                <button aria-pressed={hasLast && look === "last"} disabled={!hasLast} title={hasLast ? "" : "memtoll did not look when the program ended."} onClick={() => go({ look: "" }, true)}>last look</button>
                <button aria-pressed={look === "peak"} disabled={endsHighest} title={why} onClick={() => go({ look: "peak" }, true)}>highest look</button>
                {typeof look === "object" && looks.length === 0 && <button aria-pressed="true" title={why}>look at {time(look.near)}</button>}
            </div>
            {set && looks.length > 2 && (
                <label class="choice">
                    look at
                    <select value={String(set.at_ns)} onChange={(event) => go({ look: event.currentTarget.value })}>
                        {looks.map(({ at_ns, name, rss }) => (
                            <option key={at_ns} value={String(at_ns)}>{time(at_ns)}: {isolated(name)}, {bytes(rss)}</option>
                        ))}
                    </select>
                </label>
            )}
        </>
    );
}
