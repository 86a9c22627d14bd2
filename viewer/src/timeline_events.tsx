import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Door } from "./door";
import { peakOf, type Activity, type Span } from "./model/activity";
import { bytes, counted, isolated, timeOf } from "./model/format";
import { placed, type Sign } from "./model/signs";
import { timeAt } from "./model/time_axis";
import { toMetric, toSpan } from "./model/ways";
import { useShown } from "./context";

interface Props {
    activity: Activity;
    seen: Span;
    /** Width of the curves. */
    pixels: number;
    /** Whether the curve adds up what processes had at different instants. */
    isSum: boolean;
    /** Whether the curve is of what is live, and so has its peak. */
    isOfLive: boolean;
    /** Takes what is called when another part of the time is shown. */
    moves: RefObject<((span: Span) => void) | null>;
}

/** Marks whose names a tooltip lists. */
const NAMED = 20;

/** No zoom shows marks apart that are nearer to each other, ns. */
const APART = 20;

/** The peak, and below it the marks, above the curves. A mark selects what comes until the next one; marks too near for that are one link, which zooms in to them. */
export function Events({ activity, seen, pixels, isSum, isOfLive, moves }: Props) {
    const { recording } = useShown();
    const end = recording.timeline.end_ns;
    const [span, setSpan] = useState(seen);
    useEffect(() => {
        moves.current = setSpan;
        setSpan(seen);
        return () => void (moves.current = null);
    }, [end]);
    const peak = peakOf(activity);
    const step = (span.to - span.from) / 1000;
    const nextAfter = (at: number) => activity.marks.find((other) => other.at > at)?.at ?? end;
    const marks = activity.marks.map(({ name, at }): Sign => ({ at, text: name, title: `${isolated(name)}, at ${timeAt(at, step)}: select what comes until the next mark`, to: toSpan(at, nextAfter(at)) }));
    const together = (near: Sign[]): Sign => {
        const [first, last] = [near[0]!.at, near.at(-1)!.at];
        const text = counted(near.length, "mark");
        const names = [...near.slice(0, NAMED).map((one) => isolated(one.text)), ...(near.length > NAMED ? ["…"] : [])].join(", ");
        if (last - first < APART) return { at: first, text, title: `${names}, at ${timeAt(first, step)}: select what comes until the next mark`, to: toSpan(first, nextAfter(last)) };
        const beside = (last - first) / 10;
        return { at: first, text, title: `${text}: ${names}: zoom in to them`, to: { left: Math.max(0, Math.floor(first - beside)), right: Math.min(end, Math.ceil(last + beside)) } };
    };
    const peaks: Sign[] = [];
    if (isOfLive && peak && peak.bytes > 0) {
        // How much several processes had together at most is what the sums say: this curve may know it better in its own intervals.
        const text = isSum ? "peak" : `peak ${bytes(peak.bytes)}`;
        peaks.push({ at: peak.at, text, title: `${text}, at ${timeOf(peak.at, activity.interval)}: what was live then`, to: toMetric("peak") });
    }
    return (
        <>
            {[["peak", peaks] as const, ...(recording.marks ? [["marks", marks] as const] : [])].map(([name, signs]) => (
                <div key={name} class={`events ${name}`}>
                    {placed(signs, span, pixels, together).map(({ sign, left, width, isBefore, hasRoom }) => (
                        <Door key={`${sign.at} ${sign.text}`} to={sign.to} class={isBefore ? "before" : ""} style={{ left: `${left}px`, width: `${width}px` }} title={sign.title} aria-label={sign.title}>
                            {hasRoom && <bdi>{sign.text}</bdi>}
                        </Door>
                    ))}
                </div>
            ))}
        </>
    );
}
