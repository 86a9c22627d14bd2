import { useEffect, useState } from "preact/hooks";
import { useShown } from "./context";
import { count, shortCount } from "./model/format";
import type { Wait } from "./model/waits";

/** Waits of this length say how far they are, ms; and how often that is asked. */
const [LONG, EVERY] = [1000, 500];

/** How far the question is that has been asked for long, and a button that ends it. It lies above the page and moves nothing. */
export function Waiting() {
    const { source, recording } = useShown();
    const [waits, setWaits] = useState<Wait[]>([]);
    const [shown, show] = useState<{ number: number; events: number } | null>(null);
    useEffect(() => source.waits.tell(setWaits), [source]);
    const oldest = waits[0];
    useEffect(() => {
        show(null);
        if (!oldest) return;
        const look = async () => {
            if (performance.now() - oldest.since < LONG) return;
            const events = await source.eventsRead(oldest.number);
            show((before) => (events === null ? before : { number: oldest.number, events }));
        };
        const timer = setInterval(() => void look(), EVERY);
        return () => clearInterval(timer);
    }, [oldest?.number]);
    if (!oldest || shown?.number !== oldest.number) return null;
    const all = recording.about.events;
    // A question may read the events twice, or wait for one that was asked before.
    const of = all !== null && shown.events <= all ? ` of at most ${shortCount(all)}` : "";
    return (
        <div class="waiting-for" role="status" title={`${count(shown.events)} events`}>
            {shown.events > 0 ? `${shortCount(shown.events)}${of} events read` : "waiting for the question before"}
            <button onClick={() => void source.cancel(oldest.number)}>cancel</button>
        </div>
    );
}
