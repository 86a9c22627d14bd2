import { useEffect, useMemo, useState } from "preact/hooks";
import { useShown } from "../context";
import { useLoaded } from "../hooks";
import { count, counted, exact, number, percent } from "../model/format";
import { memberText, partsOf, sizeText, type Layout, type Part } from "../model/type_layout";
import { selectionOf } from "../model/state";
import { EditorLink, Empty, Pending, PlaceLink, PlainHead } from "../widgets";
import { Door } from "../door";
import { Table } from "../table";
import { naming } from "../model/columns";

/** How the members of a type lie in memory, times its live objects. */
export function LayoutView() {
    const { source, recording, state, go, setCopy } = useShown();
    const selection = selectionOf(state);
    const loaded = useLoaded(JSON.stringify([selection, state.type]), (signal) => source.layout(selection, state.type, signal));
    const pack = loaded.value;
    const { types, layout, newer, why, similar } = pack?.head ?? { types: [], layout: null, newer: null, why: "", similar: [] };
    const [typed, setTyped] = useState(state.type);
    useEffect(() => setTyped(state.type), [state.type]);
    const parts = useMemo(() => (layout ? partsOf(layout) : []), [layout]);

    useEffect(() => {
        return setCopy(() =>
            layout
                ? { heads: ["member", { title: "offset", unit: "bytes" }, { title: "size", unit: "bytes" }, "cache line"], rows: parts.map((part) => [part.what, part.at / 8, part.bits === null ? null : part.bits / 8, part.lines.join("–")]) }
                : { heads: ["type", { title: "peak", unit: "bytes" }, { title: "live", unit: "bytes" }], rows: types.map((one) => [one.name, one.peak, one.live]) },
        );
    }, [pack]);

    if (!pack) return <Pending of={loaded}>Adding up what is of which type …</Pending>;
    return (
        <div class="fill">
            <form
                class="tools"
                onSubmit={(event) => {
                    event.preventDefault();
                    go({ type: typed.trim() });
                }}
            >
                <label class="choice">
                    type
                    <input id="search" type="search" placeholder="app::Row" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
                </label>
                <button>show</button>
                {state.type !== "" && <button type="button" onClick={() => go({ type: "" })}>all types</button>}
                <span class="soft">{loaded.loading ? "Reading debug information …" : state.type === "" ? "Types of the selected blocks, where the names of functions tell them. A click shows the members of what a container holds." : ""}</span>
            </form>
            {why && <Empty>{why}</Empty>}
            {similar.length > 0 && (
                <ul class="similar" aria-label="similar types">
                    {similar.map((name) => (
                        <li key={name}><Door to={{ type: name }} class="link"><bdi class="code">{name}</bdi></Door></li>
                    ))}
                </ul>
            )}
            {layout && <Head layout={layout} newer={newer} />}
            {layout ? (
                <Members layout={layout} parts={parts} />
            ) : (
                !why && (types.length === 0 ? (
                    <Empty>The recording tells no type of these blocks: it knows types from the names of functions that were inlined. Type a name above.</Empty>
                ) : (
                    <Table
                        label="types of the selected blocks"
                        columns={`${naming(300)} minmax(130px, 1fr) minmax(130px, 1fr)`}
                        heads={
                            <>
                                <div role="columnheader">type</div>
                                {recording.metrics.filter(({ name }) => ["peak", "live"].includes(name)).map((one) => <PlainHead key={one.name} metric={one} />)}
                            </>
                        }
                        rows={types}
                        keyOf={(one) => one.name}
                        cells={(one) => (
                            <>
                                <div role="cell" class="what">
                                    <Door to={{ type: one.asked }}><bdi class="code">{one.name}</bdi></Door>
                                </div>
                                {[one.peak, one.live].map((value, at) => (
                                    <div key={at} role="cell" class={value === 0 ? "number zero" : "number"} title={exact(value, "bytes")}><span class="text">{number(value, "bytes")}</span></div>
                                ))}
                            </>
                        )}
                    />
                ))
            )}
        </div>
    );
}

/** Its members by offset, and below them, or beside them on a wide screen, an order that takes less. */
function Members({ layout, parts }: { layout: Layout; parts: Part[] }) {
    const order = layout.better?.order.map((index) => memberText(layout.members[index]!)) ?? [];
    return (
        <div class="layout-parts">
            {parts.length === 0 ? (
                <Empty>It has no members.</Empty>
            ) : (
                <div class="few shrinks" style={{ "--rows": parts.length }}>
                    <Table
                        label={`members of ${layout.name}`}
                        columns={`${naming(300)} minmax(120px, 1fr) minmax(80px, 1fr) minmax(90px, 1fr)`}
                        heads={
                            <>
                                <div role="columnheader">member</div>
                                <div role="columnheader">offset</div>
                                <div role="columnheader">size</div>
                                <div role="columnheader">cache line</div>
                            </>
                        }
                        rows={parts}
                        keyOf={(part) => `${part.at} ${part.what}`}
                        cells={(part) => (
                            <>
                                <div role="cell" class={part.kind === "padding" ? "what padding" : "what"}><bdi class="code">{part.what}</bdi></div>
                                <div role="cell" class="number" title={`${part.at} bits from the begin`}>
                                    <span class="text">{count(Math.floor(part.at / 8))}{part.at % 8 > 0 && `, bit ${part.at % 8}`}</span>
                                </div>
                                <div role="cell" class="number"><span class="text">{sizeText(part.bits)}</span></div>
                                <div role="cell" class="number"><span class="text">{part.lines[0] === part.lines[1] ? part.lines[0] : part.lines.join("–")}</span></div>
                            </>
                        )}
                    />
                </div>
            )}
            {layout.better && (
                <section class="better" aria-label="a better order" tabIndex={0}>
                    <h3>
                        This order takes {counted(layout.better.size, "byte")}, {count(layout.better.saves)} less ({percent(layout.better.saves, layout.size)})
                        {layout.better.saves_at_peak ? `; ${least(layout.instances)}${number(layout.better.saves_at_peak, "bytes")} at the peak, in ${least(layout.instances)}${counted(layout.instances!.at_peak, "instance")}` : ""}
                    </h3>
                    <pre class="code">{order.join("\n")}</pre>
                    <p class="soft">The order of members is the order of their initialization, and part of a library's interface.</p>
                </section>
            )}
        </div>
    );
}

/** What stands before numbers that come from the number of instances. */
const least = (of: Layout["instances"]) => (of?.is_least ? "at least " : "");

/** What a type is, and how many objects of it there are. */
function Head({ layout, newer }: { layout: Layout; newer: string | null }) {
    const { padding_bits: padding, instances } = layout;
    const bytes = padding === null ? null : padding / 8;
    const wasted = bytes === null || !instances ? 0 : bytes * instances.at_peak;
    return (
        <div class="layout-head">
            <h2><bdi class="code">{layout.kind} {layout.name}</bdi></h2>
            <p>
                {counted(layout.size, "byte")}, {layout.is_packed && "packed, "}aligned to {layout.alignment}, {counted(layout.cache_lines, "cache line")},{" "}
                {bytes === null ? "padding not known" : bytes === 0 ? "no padding" : `${padding! % 8 === 0 ? `${counted(bytes, "byte")}` : `${padding} bits`} of padding (${percent(bytes, layout.size)})`}
                {layout.file && <> · <PlaceLink file={layout.file} line={layout.line} /> <EditorLink file={layout.file} line={layout.line ?? 1} /></>}
            </p>
            {instances && (
                <p>
                    {instances.at_peak + instances.at_end === 0
                        ? "The recording knows of no instance that was live in this selection."
                        : `${least(instances)}${counted(instances.at_peak, "instance")} live at the peak, in blocks of ${number(instances.bytes_at_peak, "bytes")}${wasted > 0 ? `: ${least(instances)}${number(wasted, "bytes")} of it is padding` : ""}; ${least(instances)}${count(instances.at_end)} at the end.`}
                </p>
            )}
            {newer && <p role="alert"><bdi>{newer}</bdi> is newer than the recording: how many instances there were is of an older {layout.name}.</p>}
        </div>
    );
}
