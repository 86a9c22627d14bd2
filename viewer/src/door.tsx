// A number leads to what explains it: the way there is an address, so a door opens in a new tab, takes the focus and obeys
// Enter as any link does.

import type { ComponentChildren, PartialAnchorHTMLAttributes } from "preact";
import { useShown } from "./context";
import type { Source } from "./model/data_source";
import { changed, OF_A_SERVER, toHash, UNFILTERED, type State } from "./model/state";

interface Props extends Pick<PartialAnchorHTMLAttributes<HTMLAnchorElement>, "title" | "style" | "onFocus" | "tabIndex" | "aria-label" | "aria-current"> {
    to: Partial<State>;
    class?: string;
    children?: ComponentChildren;
}

/** Whether a page lacks what is behind a door. */
const isShut = (source: Source, to: Partial<State>) => !source.asks && ((to.view !== undefined && OF_A_SERVER.includes(to.view)) || Object.entries({ ...UNFILTERED, ...to }).some(([key, value]) => key in UNFILTERED && value !== UNFILTERED[key as keyof typeof UNFILTERED]));

export function Door({ to, class: classes, children, ...rest }: Props) {
    const { source, state, go } = useShown();
    if (isShut(source, to)) return <span class={classes} style={rest.style} title={rest.title}>{children}</span>;
    return (
        <a
            {...rest}
            class={`door ${classes ?? ""}`}
            href={toHash(changed(state, to))}
            onClick={(event) => {
                event.stopPropagation();
                if (isForAnotherTab(event)) return;
                event.preventDefault();
                go(to);
            }}
        >
            {children}
        </a>
    );
}

const isForAnotherTab = (event: MouseEvent | KeyboardEvent) => event.ctrlKey || event.metaKey || event.shiftKey;

/** What surrounds a door leads where the door does, wherever it is clicked. */
export function throughDoor(event: MouseEvent): void {
    const { target, currentTarget } = event as { target: Element | null; currentTarget: Element | null };
    if (target?.closest("a, button, input, select, summary") || getSelection()?.type === "Range") return;
    const { ctrlKey, metaKey, shiftKey } = event;
    currentTarget?.querySelector("a.door:not(.define)")?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
}

/** The same for what is drawn, and has no element. */
export function useWay(): (to: Partial<State>, event: MouseEvent | KeyboardEvent) => void {
    const { source, state, go } = useShown();
    return (to, event) => (isShut(source, to) ? undefined : isForAnotherTab(event) ? void open(toHash(changed(state, to)), "_blank", "noopener") : go(to));
}
