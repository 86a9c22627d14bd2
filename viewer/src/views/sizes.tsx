import { useEffect, useMemo } from "preact/hooks";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import { numbersOf } from "../model/answer";
import { bytes, count, exact, percent, time } from "../model/format";
import { selectionOf } from "../model/state";
import { Empty } from "../parts";

interface Bin {
    from: number;
    to: number;
    blocks: number;
    bytes: number;
    live: number;
    lifetime: number;
    released: number;
    sizes: number;
}

/** Number of the bin that a size is in: powers of two, each in two halves; small sizes in steps of 16 bytes. */
export function binOf(size: number): number {
    if (size < 64) return Math.floor(size / 16);
    const power = Math.floor(Math.log2(size));
    return 4 + (power - 6) * 2 + (size >= 1.5 * 2 ** power ? 1 : 0);
}

export function beginOf(bin: number): number {
    if (bin < 4) return bin * 16;
    const power = 6 + Math.floor((bin - 4) / 2);
    return (bin - 4) % 2 === 0 ? 2 ** power : 1.5 * 2 ** power;
}

export function Sizes() {
    const { source, recording, state, setCopy } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(source.asks ? JSON.stringify(selection) : null, (signal) => source.ask("groups", selection, "size", signal));
    const bins = useMemo(() => {
        const pack = loaded.value;
        if (!pack) return null;
        const labels = pack.get<string[]>("labels");
        const numbers = numbersOf(pack, "groups", recording.metrics);
        const of = (name: string) => numbers.get(name)!;
        const bins = new Map<number, Bin>();
        labels.forEach((label, index) => {
            const number = binOf(Number(label));
            const bin = bins.get(number) ?? { from: beginOf(number), to: beginOf(number + 1), blocks: 0, bytes: 0, live: 0, lifetime: 0, released: 0, sizes: 0 };
            bin.blocks += of("allocations")[index]!;
            bin.bytes += of("bytes")[index]!;
            bin.live += of("live")[index]!;
            bin.lifetime += of("lifetime")[index]!;
            bin.released += of("freed")[index]!;
            bin.sizes++;
            bins.set(number, bin);
        });
        return [...bins.values()].filter((bin) => bin.blocks > 0 || bin.live > 0).sort((a, b) => a.from - b.from);
    }, [loaded.value, recording]);
    useEffect(() => {
        setCopy(() => ({
            heads: ["size", "blocks", "bytes", "live at end", "mean lifetime"],
            rows: (bins ?? []).map((bin) => [nameOf(bin), count(bin.blocks), exact(bin.bytes, "bytes"), exact(bin.live, "bytes"), bin.released > 0 ? time(bin.lifetime / bin.released) : "not freed"]),
        }));
        return () => setCopy(null);
    }, [bins]);
    if (!source.asks) return <Empty>This page does not hold sizes of blocks. Open the recording with memtoll view to see them.</Empty>;
    if (loaded.failed) return <p class="empty" role="alert">{loaded.error}</p>;
    if (!bins) return <Empty>Reading all events …</Empty>;
    if (bins.length === 0) return <Empty>No block in this selection. Press Esc for the whole run.</Empty>;
    const most = (of: (bin: Bin) => number) => bins.reduce((most, bin) => Math.max(most, of(bin)), 0);
    const all = (of: (bin: Bin) => number) => bins.reduce((sum, bin) => sum + of(bin), 0);
    const bar = (value: number, largest: number, text: string, title: string) => (
        <td class={value === 0 ? "number zero" : "number"} title={title}>
            <span class="bar" style={{ width: `${largest > 0 ? (value / largest) * 100 : 0}%` }} />
            <span class="text">{text}</span>
        </td>
    );
    const others = loaded.value?.get<number>("site_others") ?? 0;
    return (
        <div class="fill scroll" tabIndex={0} role="region" aria-label="sizes of blocks">
            <table class="sizes">
                <caption>
                    {count(all((bin) => bin.blocks))} blocks by the size that the program asks for{loaded.loading && " · adding up …"}
                    {others > 0 && ` · without ${count(others)} rare sizes`}
                </caption>
                <thead>
                    <tr>
                        <th scope="col">size</th>
                        <th scope="col">blocks</th>
                        <th scope="col">bytes</th>
                        <th scope="col">live at end</th>
                        <th scope="col">mean lifetime</th>
                        <th scope="col">sizes</th>
                    </tr>
                </thead>
                <tbody>
                    {bins.map((bin) => (
                        <tr key={bin.from}>
                            <th scope="row">{nameOf(bin)}</th>
                            {bar(bin.blocks, most((one) => one.blocks), count(bin.blocks), `${percent(bin.blocks, all((one) => one.blocks))} of all blocks`)}
                            {bar(bin.bytes, most((one) => one.bytes), bytes(bin.bytes), exact(bin.bytes, "bytes"))}
                            {bar(bin.live, most((one) => one.live), bin.live === 0 ? "0" : bytes(bin.live), exact(bin.live, "bytes"))}
                            <td class={bin.released > 0 ? "number" : "number unknown"}>{bin.released > 0 ? time(bin.lifetime / bin.released) : "–"}</td>
                            <td class="number">{count(bin.sizes)}</td>
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function nameOf(bin: Bin): string {
    return bin.to <= 1024 ? `${bin.from} to ${bin.to - 1} B` : `${bytes(bin.from)} to ${bytes(bin.to)}`;
}
