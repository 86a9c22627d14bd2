import { useMemo, useRef } from "preact/hooks";
import { useShown } from "../context";
import { useLoaded, useSize } from "../hooks";
import type { Span } from "../model/activity";
import { curveOf, pathOf, type Curve } from "../model/compared_curves";
import { selects } from "../model/cuts";
import { bytes } from "../model/format";
import type { Base, Selection } from "../model/state";
import { axisOf, timeAt } from "../model/time_axis";
import { Define } from "../widgets";

const HEIGHT = 84;

/** Live bytes before and after on one scale: of two recordings, or of the span before (`base`) and the selection. */
export function ComparedCurves({ base, selection }: { base: Base | null; selection: Selection }) {
    const { source, recording, state } = useShown();
    const end = recording.timeline.end_ns;
    const spanIn = ({ from, to }: Base): Span => ({ from: from ?? 0, to: Math.min(to ?? end, end) });
    const spans = base && ([base, selection].map(spanIn) as [Span, Span]);
    // Of two recordings, whole runs are compared.
    const { process, thread } = base ? selection : { process: "", thread: "" };
    const key = JSON.stringify([spans, process, thread]);
    const asked = useLoaded(key, async (signal): Promise<[Curve, Curve]> => {
        const who = { process, thread };
        const packs = await Promise.all([source.activityBefore(base, who, signal), source.activity(spans && spans[1], who, signal)]);
        return [curveOf(packs[0], spans && spans[0]), curveOf(packs[1], spans && spans[1])];
    });
    const box = useRef<HTMLDivElement>(null);
    const { width } = useSize(box);
    const both = asked.value;
    const [length, most] = [Math.max(1, ...(both ?? []).map((one) => one.length)), Math.max(0, ...(both ?? []).map((one) => one.most))];
    const paths = useMemo(() => (both ?? []).map((one) => pathOf(one, { length, most, width, height: HEIGHT })), [both, width]);
    const axis = axisOf(0, length, Math.max(2, width / 110));
    const isSelected = base === null && (state.from !== null || state.to !== null);
    const at = (ns: number) => `${(Math.min(length, ns) / length) * width}px`;
    const words = (one: Curve | undefined) => (!one ? "" : one.steps ? `, at most ${bytes(one.most)} in ${timeAt(one.length, one.length / 100)}` : ", not known");
    return (
        <figure class={asked.loading ? "curves stale" : "curves"} aria-label="live bytes before and after">
            <figcaption>
                live bytes <Define name="live" />
                <span class="legend"><span class="key before" /> before{words(both?.[0])}</span>
                <span class="legend"><span class="key curve" /> after{words(both?.[1])}</span>
                {base && <span class="soft">each from the begin of its span</span>}
                {selects(selection) && <span class="soft">all call stacks</span>}
                {asked.error && <span class="error" role="alert">{asked.error}</span>}
            </figcaption>
            <span class="most">{both && bytes(most)}</span>
            <span class="least">{both && bytes(0)}</span>
            <div class="area" ref={box}>
                {isSelected && <span class="selected" title="the selection, in the recording after" style={{ left: at(state.from ?? 0), width: `calc(${at(state.to ?? end)} - ${at(state.from ?? 0)})` }} />}
                <svg width={width} height={HEIGHT} aria-hidden="true">
                    {paths[1] && <path class="filled" d={`${paths[1]}V${HEIGHT}H0Z`} />}
                    {paths[1] && <path class="after" d={paths[1]} />}
                    {paths[0] && <path class="before" d={paths[0]} />}
                </svg>
                {both && axis.ticks.map((tick, index) => <span key={tick} class="tick" style={{ left: at(tick) }}>{axis.labels[index]}</span>)}
            </div>
        </figure>
    );
}
