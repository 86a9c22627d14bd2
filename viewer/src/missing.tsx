import { useShown } from "./context";
import { toHash } from "./model/state";

/** Statements that have room above every view. */
const MOST = 2;

/** What is missing, above every view: what cannot be read, and what was not recorded. The view Recording has all of it. */
export function Missing() {
    const { profile, damage, state, go } = useShown();
    const all = [...damage, ...profile.missing];
    if (all.length === 0) return null;
    return (
        <aside class="missing" aria-label="what is missing">
            {damage.length > 0 && <b>The recording is incomplete: all numbers are of what can be read. </b>}
            {all.slice(0, MOST).map((text) => <bdi key={text}>{text} </bdi>)}
            {all.length > MOST && (
                <a
                    href={toHash({ ...state, view: "notes" })}
                    onClick={(event) => {
                        event.preventDefault();
                        go({ view: "notes" });
                    }}
                >
                    {all.length - MOST} more
                </a>
            )}
        </aside>
    );
}
