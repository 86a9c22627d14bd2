import { Fragment } from "preact";
import { useEffect } from "preact/hooks";
import { useShown } from "../context";
import { count, counted, time } from "../model/format";

/** What the recording is, what is missing in it, and what the viewer is made of. */
export function Notes() {
    const { source, recording, profile, answered, damage, setCopy } = useShown();
    const { about } = recording;
    const notes = [...new Set([...damage, ...profile.missing, ...profile.notes, ...(profile.wrappers?.folded ? [profile.wrappers.folded] : [])])];
    const { from, to, process, thread, filter, sizes, cuts } = answered;
    const isPart = from !== null || to !== null || [process, thread, filter, sizes, cuts].some((text) => text !== "");
    // A page has the notes of the whole run only.
    const isOfAll = (note: string) => !source.asks || [...damage, ...about.missing, ...about.notes].includes(note);
    const lists = isPart ? ([["Notes on the selection", notes.filter((note) => !isOfAll(note))], ["Notes on the whole recording", notes.filter(isOfAll)]] as const) : ([["Notes", notes]] as const);
    useEffect(() => {
        return setCopy(() => ({ heads: ["pid", "command"], rows: about.processes.map((one) => [String(one.pid), one.command]) }));
    }, []);
    return (
        <div class="fill scroll notes" tabIndex={0} role="region" aria-label="recording">
            <dl class="keys">
                <div><dt>file</dt><dd><bdi>{about.file}</bdi></dd></div>
                <div><dt>command</dt><dd><bdi class="code">{about.command}</bdi></dd></div>
                <div><dt>recorded</dt><dd>{about.started} UTC{about.duration_ns !== null && `, ${time(about.duration_ns)}`}</dd></div>
                <div><dt>machine</dt><dd>{about.processor}, {counted(about.processors, "CPU")}</dd></div>
                {about.malloc && <div><dt>malloc</dt><dd>{about.malloc}</dd></div>}
                <div><dt>events</dt><dd>{about.events === null ? "not known: the recording was cut off" : count(about.events)}</dd></div>
            </dl>
            {lists.filter(([, some]) => some.length > 0).map(([title, some]) => (
                <Fragment key={title}>
                    <h2>{title}</h2>
                    <ul>{some.map((note) => <li key={note}><bdi>{note}</bdi></li>)}</ul>
                </Fragment>
            ))}
            <h2>Processes</h2>
            <ul class="code">
                {about.processes.slice(0, 500).map((one, index) => (
                    <li key={index}>{one.pid} <bdi>{one.command}</bdi></li>
                ))}
                {about.process_count > 500 && <li>and {count(about.process_count - 500)} more</li>}
            </ul>
        </div>
    );
}
