import { useMemo } from "preact/hooks";
import { count, percent } from "../model/format";
import { histogram, quantile, type Bin } from "../model/patterns";

/** Bars of the number of blocks in each bin; the axis is logarithmic. */
export function Chart({ title, bins: exact, show }: { title: string; bins: Bin[]; show: (value: number) => string }) {
    const bins = useMemo(() => histogram(exact), [exact]);
    const all = bins.reduce((sum, bin) => sum + bin.count, 0);
    const most = bins.reduce((most, bin) => Math.max(most, bin.count), 0);
    const median = quantile(exact, 0.5);
    return (
        <figure class="chart">
            <figcaption>
                {title}: {all === 0 ? "none" : <>{count(all)}, median {show(median)}</>}
            </figcaption>
            <div class="bins" role="img" aria-label={`${title}: ${bins.filter((bin) => bin.count > 0).map((bin) => `${show(bin.low)} ${count(bin.count)}`).slice(0, 60).join(", ")}`}>
                {bins.map((bin) => (
                    <span key={bin.low} class="bin" title={`${show(bin.low)} to ${show(bin.high)}: ${count(bin.count)}, ${percent(bin.count, all)} of ${count(all)}`}>
                        <span class="bar" style={{ height: `${most > 0 ? Math.max(bin.count > 0 ? 1.5 : 0, (bin.count / most) * 100) : 0}%` }} />
                    </span>
                ))}
            </div>
            <div class="scale">
                {bins.length > 0 && [0, Math.floor(bins.length / 2), bins.length - 1].filter((at, index, list) => list.indexOf(at) === index).map((at) => <span key={at}>{show(bins[at]!.low)}</span>)}
            </div>
        </figure>
    );
}
