// The frame that is chosen in a view: what can be done with it, by keys and from a menu, and what the panel beside the view is of.

import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { useShown } from "./context";
import type { Frame } from "./model/answer";
import { CUTS, cutOf, withCut } from "./model/cuts";
import { copy } from "./model/table_text";
import { hasLines, through, toFunction, toSource, type Way } from "./model/ways";
import { FramePanel } from "./views/frame_panel";

interface Action {
    text: string;
    key: string;
    way: Way;
}

interface At {
    frame: Frame;
    x: number;
    y: number;
}

interface Hands {
    /** Opens the menu of a frame. */
    open: (at: At) => void;
    /** Says which frame is chosen in a part of the view; null: none any more. */
    take: (part: object, frame: Frame | null) => void;
}

const Hands = createContext<Hands>({ open: () => undefined, take: () => undefined });

/** What leads on from a frame. */
function useActions(): (frame: Frame) => Action[] {
    const { source, state } = useShown();
    return (frame) => {
        const cuts = (source.asks ? CUTS : []).flatMap((choice) => {
            const cut = cutOf(choice, frame);
            return cut ? { text: choice.text, key: choice.key, way: withCut(state, cut) } : [];
        });
        return [{ text: "callers and callees", key: "s", way: through(frame) }, ...cuts];
    };
}

interface InHand {
    /** Does what a key is for with the frame. Whether there is such a key. */
    pressed: (event: KeyboardEvent) => boolean;
    /** Opens the menu of a frame where an event is. */
    menu: (event: MouseEvent, frame: Frame | null | undefined) => void;
}

/** The frame that is chosen in the view, if there is one. */
export function useInHand(frame: Frame | null | undefined): InHand {
    const { go } = useShown();
    const { take } = useContext(Hands);
    const actions = useActions();
    const menu = useMenu();
    const part = useRef({});
    useEffect(() => take(part.current, frame ?? null), [frame?.id]);
    useEffect(() => () => take(part.current, null), []);
    const pressed = (event: KeyboardEvent) => {
        const action = frame && !event.ctrlKey && !event.metaKey && !event.altKey && actions(frame).find(({ key }) => key === event.key);
        if (!action) return false;
        event.preventDefault();
        event.stopPropagation();
        go(action.way);
        return true;
    };
    return { pressed, menu };
}

function useMenu(): InHand["menu"] {
    const { open } = useContext(Hands);
    return (event, frame) => {
        if (!frame) return;
        event.preventDefault();
        // Of a key or of a button, the event has the place of what has the focus.
        const { left, bottom } = (event.target as Element).getBoundingClientRect();
        const isPointed = event.type === "contextmenu" && event.button === 2;
        open({ frame, x: isPointed ? event.clientX : left, y: isPointed ? event.clientY : bottom });
    };
}

/** Buttons for the chosen frame: its menu, and the panel. */
export function FrameButtons({ frame }: { frame: Frame | null | undefined }) {
    const { state, go } = useShown();
    const open = useMenu();
    return (
        <>
            <button disabled={!frame} aria-haspopup="menu" title="What can be done with the chosen function (right click)" onClick={(event) => open(event, frame)}>
                function ▾
            </button>
            <button aria-pressed={state.panel} title="Costs, time line, callers and source of the chosen function (i)" onClick={() => go({ panel: !state.panel })}>
                details
            </button>
        </>
    );
}

/** A view with the menu and the panel of its chosen frame. */
export function WithFrame({ children }: { children: ComponentChildren }) {
    const { state } = useShown();
    const [at, open] = useState<At | null>(null);
    // The last one of several parts in which something is chosen.
    const [chosen, choose] = useState<[part: object, frame: Frame][]>([]);
    const take = (part: object, frame: Frame | null) => choose((before) => [...before.filter(([other]) => other !== part), ...(frame ? [[part, frame] as [object, Frame]] : [])]);
    const hands = useRef<Hands>({ open, take });
    return (
        <Hands.Provider value={hands.current}>
            {children}
            {state.panel && <FramePanel frame={chosen.at(-1)?.[1] ?? null} />}
            {at && <Menu key={`${at.frame.id} ${at.x} ${at.y}`} at={at} close={() => open(null)} />}
        </Hands.Provider>
    );
}

function Menu({ at: { frame, x, y }, close }: { at: At; close: () => void }) {
    const { go, say, profile } = useShown();
    const actions = useActions();
    const menu = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        const of = menu.current!;
        of.showPopover();
        const { offsetWidth: width, offsetHeight: height } = of;
        of.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
        of.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
        of.querySelector("button")?.focus();
    }, []);
    const act = (way: Way) => {
        menu.current!.hidePopover();
        go(way);
    };
    const move = (by: number) => {
        const all = [...menu.current!.querySelectorAll("button")];
        const now = all.indexOf(document.activeElement as HTMLButtonElement);
        all[(now + by + all.length) % all.length]?.focus();
    };
    const copyName = async () => {
        menu.current!.hidePopover();
        const how = await copy(frame.full, "memtoll.txt");
        say(how === "copied" ? "Copied the name." : "Saved the name as memtoll.txt: the browser does not let the page copy.");
    };
    const pressed = (event: KeyboardEvent) => {
        event.stopPropagation();
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        const action = actions(frame).find(({ key }) => key === event.key);
        if (by) move(by);
        else if (action) act(action.way);
        else return;
        event.preventDefault();
    };
    return (
        <div ref={menu} popover="auto" class="menu" role="menu" aria-label={frame.function} onToggle={(event) => event.newState === "closed" && close()} onKeyDown={pressed}>
            <b title={frame.full}><bdi>{frame.function}</bdi></b>
            {actions(frame).map(({ text, key, way }) => (
                <button key={key} role="menuitem" onClick={() => act(way)}>
                    {text} <kbd>{key}</kbd>
                </button>
            ))}
            {hasLines(profile, frame) && <button role="menuitem" onClick={() => act(toFunction(frame))}>its lines</button>}
            {frame.file && <button role="menuitem" onClick={() => act(toSource(frame.file, frame.line))}>its source</button>}
            <button role="menuitem" onClick={() => void copyName()}>copy its name</button>
        </div>
    );
}
