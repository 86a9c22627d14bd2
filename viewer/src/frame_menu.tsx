// What can be done with a frame: a menu at the pointer, with the keys that do the same in the view.

import { createContext } from "preact";
import { useContext, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import { useShown } from "./context";
import type { Frame } from "./model/answer";
import { CUTS, cutOf, withCut } from "./model/cuts";
import { copy } from "./model/table_text";
import { through, toFunction, toSource, type Way } from "./model/ways";

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

/** Opens the menu of a frame. */
const Opener = createContext<(at: At) => void>(() => undefined);

/** What leads on from a frame. */
function useActions(): (frame: Frame) => Action[] {
    const { source, state } = useShown();
    return (frame) => [
        { text: "callers and callees", key: "s", way: through(frame) },
        ...(source.asks ? CUTS.map((choice) => ({ text: choice.text, key: choice.key, way: withCut(state, cutOf(choice, frame)) })) : []),
    ];
}

/** Does what a key is for with the chosen frame. Whether there is such a key. */
export function useFrameKeys(): (event: KeyboardEvent, frame: Frame | null | undefined) => boolean {
    const { go } = useShown();
    const actions = useActions();
    return (event, frame) => {
        const action = frame && !event.ctrlKey && !event.metaKey && !event.altKey && actions(frame).find(({ key }) => key === event.key);
        if (!action) return false;
        event.preventDefault();
        event.stopPropagation();
        go(action.way);
        return true;
    };
}

/** Opens the menu where an event is. */
export function useFrameMenu(): (event: MouseEvent, frame: Frame | null | undefined) => void {
    const open = useContext(Opener);
    return (event, frame) => {
        if (!frame) return;
        event.preventDefault();
        // Of a key or of a button, the event has the place of what has the focus.
        const { left, bottom } = (event.target as Element).getBoundingClientRect();
        const isPointed = event.type === "contextmenu" && event.button === 2;
        open({ frame, x: isPointed ? event.clientX : left, y: isPointed ? event.clientY : bottom });
    };
}

/** A button that opens the menu of the chosen frame. */
export function FrameButton({ frame }: { frame: Frame | null | undefined }) {
    const open = useFrameMenu();
    return (
        <button disabled={!frame} aria-haspopup="menu" title="What can be done with the chosen function (right click)" onClick={(event) => open(event, frame)}>
            function ▾
        </button>
    );
}

/** Everything that has frames. */
export function FrameMenus({ children }: { children: ComponentChildren }) {
    const [at, open] = useState<At | null>(null);
    return (
        <Opener.Provider value={open}>
            {children}
            {at && <Menu key={`${at.frame.id} ${at.x} ${at.y}`} at={at} close={() => open(null)} />}
        </Opener.Provider>
    );
}

function Menu({ at: { frame, x, y }, close }: { at: At; close: () => void }) {
    const { go, say } = useShown();
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
            <button role="menuitem" onClick={() => act(toFunction(frame.function))}>its lines</button>
            {frame.file && <button role="menuitem" onClick={() => act(toSource(frame.file, frame.line))}>its source</button>}
            <button role="menuitem" onClick={() => void copyName()}>copy its name</button>
        </div>
    );
}
