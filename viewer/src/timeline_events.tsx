import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Door } from "./door";
import { peakOf, type Activity, type Span } from "./model/activity";
import { bytes, isolated, timeOf } from "./model/format";
import { placed, type Sign } from "./model/signs";
import { timeAt } from "./model/time_axis";
import { toMetric, toSpan } from "./model/ways";
import { GUTTER, MARGIN } from "./timeline_plot";
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

/** The peak and the marks, above the curves: a mark selects what comes until the next one. */
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
    const signs: Sign[] = activity.marks.map(({ name, at }, index) => {
        let next = index + 1;
        while (next < activity.marks.length && activity.marks[next]!.at <= at) next++;
        return { at, text: name, title: `${isolated(name)}, at ${timeAt(at, step)}: select what comes until the next mark`, to: toSpan(at, activity.marks[next]?.at ?? end), isFirst: false };
    });
    if (isOfLive && peak && peak.bytes > 0) {
        const text = `peak ${isSum ? "at most " : ""}${bytes(peak.bytes)}`;
        signs.push({ at: peak.at, text, title: `${text}, at ${timeOf(peak.at, activity.interval)}: what was live then`, to: toMetric("peak"), isFirst: true });
    }
    return (
        <div class="events" style={{ margin: `0 ${MARGIN}px 0 ${GUTTER}px` }}>
            {placed(signs, span, pixels).map(({ sign, left, width, isBefore, hasRoom }) => (
                <Door key={`${sign.at} ${sign.text}`} to={sign.to} class={`${sign.isFirst ? "peak" : ""} ${isBefore ? "before" : ""}`} style={{ left: `${left}px`, width: `${width}px` }} title={sign.title} aria-label={sign.title}>
                    {hasRoom && <bdi>{sign.text}</bdi>}
                </Door>
            ))}
        </div>
    );
}
