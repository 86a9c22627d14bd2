import { useMemo, useRef, useState } from "preact/hooks";
import { useShown } from "../context";
import { Door } from "../door";
import { count, percent } from "../model/format";
import { histogram, quantile, type Bin } from "../model/patterns";
import type { State } from "../model/state";

interface Props {
    title: string;
    bins: Bin[];
    show: (value: number) => string;
    /** Where a bin leads to; without it, bins are a picture. */
    to?: (bin: Bin) => Partial<State>;
}

/** Bars of the number of blocks in each bin; the axis is logarithmic. */
export function Chart({ title, bins: exact, show, to }: Props) {
    const { source } = useShown();
    const bins = useMemo(() => histogram(exact), [exact]);
    const all = bins.reduce((sum, bin) => sum + bin.count, 0);
    const most = bins.reduce((most, bin) => Math.max(most, bin.count), 0);
    const median = quantile(exact, 0.5);
    const body = useRef<HTMLDivElement>(null);
    // The bin that the Tab key reaches: the one where the arrows were, or the highest.
    const [entry, enter] = useState<number | null>(null);
    const reached = bins.some((bin) => bin.low === entry && bin.count > 0) ? entry : bins.find((bin) => bin.count === most)?.low;
    const leads = to !== undefined && source.asks;
    const said = (bin: Bin) => `${show(bin.low)} to ${show(bin.high)}: ${count(bin.count)}, ${percent(bin.count, all)} of ${count(all)}`;
    const bar = (bin: Bin) => <span class="bar" style={{ height: `${most > 0 ? Math.max(bin.count > 0 ? 1.5 : 0, (bin.count / most) * 100) : 0}%` }} />;
    const pressed = (event: KeyboardEvent) => {
        const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
        if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
        const doors = [...body.current!.querySelectorAll("a")];
        doors[doors.indexOf(document.activeElement as HTMLAnchorElement) + by]?.focus();
        event.preventDefault();
        event.stopPropagation();
    };
    const picture = { role: "img", "aria-label": `${title}: ${bins.filter((bin) => bin.count > 0).map((bin) => `${show(bin.low)} ${count(bin.count)}`).slice(0, 60).join(", ")}` } as const;
    return (
        <figure class="chart">
            <figcaption>
                {title}: {all === 0 ? "none" : <>{count(all)}, median {show(median)}</>}
            </figcaption>
            <div class="bins" ref={body} {...(leads ? { role: "group", "aria-label": title, onKeyDown: pressed } : picture)}>
                {bins.map((bin) =>
                    leads && bin.count > 0 ? (
                        <Door key={bin.low} to={to(bin)} class="bin" tabIndex={bin.low === reached ? 0 : -1} onFocus={() => enter(bin.low)} aria-label={said(bin)} title={`${said(bin)}. Click for these blocks only, and again for all.`}>
                            {bar(bin)}
                        </Door>
                    ) : (
                        <span key={bin.low} class="bin" title={said(bin)}>{bar(bin)}</span>
                    ),
                )}
            </div>
            <div class="scale">
                {bins.length > 0 && [0, Math.floor(bins.length / 2), bins.length - 1].filter((at, index, list) => list.indexOf(at) === index).map((at) => <span key={at}>{show(bins[at]!.low)}</span>)}
            </div>
        </figure>
    );
}
