import { useEffect, useMemo, useRef } from "preact/hooks";
import uPlot from "uplot";
import { useShown } from "./context";
import { useSize } from "./hooks";
import { bytes, time } from "./model/format";

const HEIGHT = 116;

/** Steps of the axis of bytes. */
const POWERS = Array.from({ length: 50 }, (_, power) => 2 ** power);

/** Live bytes over the whole run. A drag selects a span of it, and every view answers for that. */
export function TimelineBand() {
    const { recording, state, go, source, theme } = useShown();
    const { timeline } = recording;
    const box = useRef<HTMLDivElement>(null);
    const plot = useRef<uPlot | null>(null);
    const { width } = useSize(box);
    const data = useMemo((): uPlot.AlignedData => {
        const xs = Array.from(timeline.live, (_, index) => (index * timeline.interval_ns) / 1e9);
        return [xs, Array.from(timeline.live)];
    }, [timeline]);
    const chosen = useRef(go);
    chosen.current = go;

    useEffect(() => {
        if (!box.current || width === 0) return;
        const style = getComputedStyle(document.documentElement);
        const color = (name: string) => style.getPropertyValue(name).trim();
        const font = "11px system-ui, sans-serif";
        const axis = { stroke: color("--soft"), font, grid: { stroke: color("--line"), width: 1 }, ticks: { stroke: color("--line"), width: 1 } };
        const end = timeline.end_ns / 1e9;
        const made = new uPlot(
            {
                width,
                height: HEIGHT,
                legend: { show: false },
                padding: [8, 28, 0, 0],
                scales: { x: { time: false, range: [0, end] }, y: { range: (_, __, most) => [0, Math.max(most, 1)] } },
                cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
                axes: [
                    { ...axis, size: 24, values: (_, values) => values.map((value) => time(value * 1e9)) },
                    { ...axis, size: 64, space: 24, incrs: POWERS, values: (_, values) => values.map((value) => bytes(value)) },
                ],
                series: [
                    {},
                    {
                        stroke: color("--curve"),
                        fill: color("--curve-fill"),
                        width: 1,
                        points: { show: false },
                        paths: uPlot.paths.stepped!({ align: 1 }),
                    },
                ],
                hooks: {
                    setSelect: [
                        (of) => {
                            const { left, width } = of.select;
                            if (width < 3) return;
                            const step = source.step;
                            const at = (pixel: number) => Math.min(Math.max(0, of.posToVal(pixel, "x") * 1e9), timeline.end_ns);
                            let [from, to] = [at(left), at(left + width)];
                            from = Math.floor(from / step + 0.001) * step;
                            to = Math.max(from + step, Math.round(to / step) * step);
                            const isAll = to > timeline.end_ns - step / 2;
                            chosen.current({ from: from === 0 ? null : Math.round(from), to: isAll ? null : Math.round(to) });
                        },
                    ],
                    draw: [
                        (of) => {
                            const { ctx, bbox } = of;
                            ctx.save();
                            ctx.strokeStyle = color("--soft");
                            ctx.lineWidth = devicePixelRatio;
                            for (const mark of timeline.marks) {
                                const x = Math.round(of.valToPos(mark.at_ns / 1e9, "x", true));
                                ctx.beginPath();
                                ctx.moveTo(x, bbox.top + bbox.height);
                                ctx.lineTo(x, bbox.top + bbox.height - (mark.kind === "mark" ? 12 : 6) * devicePixelRatio);
                                ctx.stroke();
                            }
                            ctx.restore();
                        },
                    ],
                    setCursor: [
                        (of) => {
                            const index = of.cursor.idx;
                            const text = box.current?.parentElement?.querySelector(".reading");
                            if (!text) return;
                            text.textContent =
                                index === null || index === undefined || (of.cursor.left ?? -1) < 0
                                    ? ""
                                    : `${bytes(timeline.live[index] ?? 0)} live at ${time(index * timeline.interval_ns)}`;
                        },
                    ],
                },
            },
            data,
            box.current,
        );
        plot.current = made;
        return () => {
            plot.current = null;
            made.destroy();
        };
    }, [data, width, theme]);

    useEffect(() => {
        const of = plot.current;
        if (!of) return;
        const left = of.valToPos((state.from ?? 0) / 1e9, "x");
        const right = of.valToPos((state.to ?? timeline.end_ns) / 1e9, "x");
        const none = state.from === null && state.to === null;
        const height = of.bbox.height / devicePixelRatio;
        of.setSelect({ left: none ? 0 : left, width: none ? 0 : right - left, top: 0, height: none ? 0 : height }, false);
    }, [state.from, state.to, data, width, theme]);

    /** Arrow keys move the selection, with Shift its end; + and - change its length. */
    const pressed = (event: KeyboardEvent) => {
        const end = timeline.end_ns;
        const step = source.asks ? end / 64 : source.step;
        const [from, to] = [state.from ?? 0, state.to ?? end];
        const moves: Record<string, [number, number]> = {
            ArrowLeft: event.shiftKey ? [from, to - step] : [from - step, to - step],
            ArrowRight: event.shiftKey ? [from, to + step] : [from + step, to + step],
            "+": [from, from + (to - from) / 2],
            "-": [from, from + (to - from) * 2],
        };
        const move = moves[event.key];
        if (!move) return;
        event.preventDefault();
        event.stopPropagation();
        const begin = Math.min(Math.max(0, move[0]), end - step);
        go({ from: Math.round(begin), to: Math.round(Math.min(end, Math.max(begin + step, move[1]))) });
    };

    const marks = timeline.marks.filter((mark) => mark.kind !== "end");
    return (
        <section class="time" aria-label="time line">
            <div class="caption">
                live bytes
                {timeline.sum_of_peaks && <span title="Each interval shows the sum of the highest of each process, which need not be at one instant."> · processes added up</span>}
                {!timeline.known && <span> · not known of all processes</span>}
                {marks.length > 0 && <span title={[...new Set(marks.map((mark) => mark.name))].slice(0, 50).join("\n")}> · {marks.length} marks</span>}
                <span class="reading" />
                <span class="hint">drag to select{!source.asks && `, in steps of ${time(source.step)}`}</span>
            </div>
            <div
                class="plot"
                ref={box}
                tabIndex={0}
                role="slider"
                aria-label="selected span of time: arrow keys move it, with Shift its end, plus and minus change its length"
                aria-valuemin={0}
                aria-valuemax={Math.round(timeline.end_ns)}
                aria-valuenow={Math.round(state.from ?? 0)}
                aria-valuetext={`${time(state.from ?? 0)} to ${time(state.to ?? timeline.end_ns)}`}
                onKeyDown={pressed}
            />
        </section>
    );
}
