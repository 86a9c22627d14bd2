// What things are called where there is one line for them.

import type { Frame, Site } from "./answer";
import { counted } from "./format";
import type { TreeItem } from "./tree";

export function fileName(path: string): string {
    return path.slice(path.lastIndexOf("/") + 1);
}

/** A command line that begins with what the program is called, not with its folders. */
export const withoutFolders = (command: string): string => command.replace(/^\/\S*\/(?=\S)/, "");

/** A text no wider than this, with an ellipsis in its middle; empty where that would leave less than four letters. */
export function fitted(text: string, width: number, widthOf: (text: string) => number): string {
    const whole = widthOf(text);
    if (whole <= width) return text;
    // Letters differ in width: what is left may be wider than its share.
    for (let room = Math.floor((width / whole) * text.length); room >= 4; room--) {
        const tail = Math.floor((room - 1) / 2);
        const short = `${text.slice(0, room - 1 - tail)}…${text.slice(text.length - tail)}`;
        if (widthOf(short) <= width) return short;
    }
    return "";
}

/** `grow.cpp:12`, or the loaded file where there is no line: `libz.so`, `a/plugin.so` where there is another one of this name. Both where
    several loaded files have that line. */
export function placeOf(frame: Frame): string {
    const module = frame.moduleName ?? fileName(frame.module);
    if (!frame.file) return module;
    const place = frame.line > 0 ? `${fileName(frame.file)}:${frame.line}` : fileName(frame.file);
    return frame.sharedSource ? `${place}, ${module}` : place;
}

export function frameName(frame: Frame): string {
    return `${frame.function} (${placeOf(frame)})`;
}

/** The function that a frame is inlined into, where it has another name. */
export function outerOf(frame: Frame, inlined: Frame[] | undefined): Frame | undefined {
    const outer = inlined?.at(-1);
    return outer?.function === frame.function ? undefined : outer;
}

export function siteName(site: Site): string {
    if (site.others > 0) return counted(site.others, "other call site");
    if (!site.frame) return "(no stack)";
    const outer = outerOf(site.frame, site.inlined);
    return frameName(site.frame) + (outer ? ` inlined into ${outer.function}` : "");
}

/** What tells a call site apart in the address of the page: its types and inlined callers, too. Overloads may share a line, and libraries a
    name or a source file. */
export function siteKey(site: Site): string {
    const { frame } = site;
    const name = frame ? [`${frame.full} (${placeOf(frame)})`, frame.module] : [siteName(site)];
    return [...name, site.type, ...site.inlined.map((one) => `${one.full}:${one.line}`)].filter(Boolean).join(" · ");
}

/** What tells a function apart from those of its name in other files. */
export function functionKey({ full, module }: Pick<Frame, "full" | "module">): string {
    return [full, module].filter(Boolean).join(" · ");
}

/** One function, with its parameters, for trees through it and cuts of it: that of its loaded file, where others have one of its name.
    crates/analysis/src/one_function.rs reads it. */
export const oneFunction = ({ full, uniqueModule, shared }: Pick<Frame, "full" | "uniqueModule" | "shared">): string => (shared && uniqueModule ? full + MODULE + uniqueModule : full);

const MODULE = " module:";

/** The function, and its file, if that is named. */
export function partsOfFunction(text: string): string[] {
    const at = text.lastIndexOf(MODULE);
    return at < 0 ? [text] : [text.slice(0, at), text.slice(at + MODULE.length)];
}

/** Whether frames are of a function; one without parameters is each of that name. */
export function areOf(text: string): (frame: Pick<Frame, "full" | "qualified" | "uniqueModule">) => boolean {
    const [name, file] = partsOfFunction(text);
    return ({ full, qualified, uniqueModule }) => (full === name || qualified === name) && (file === undefined || uniqueModule === file);
}

/** A branch of a call tree. */
export function labelOf(item: TreeItem): string {
    if (item.frame) return frameName(item.frame);
    if (item.label) return item.label;
    return item.others > 0 ? counted(item.others, "other call path") : "(no stack)";
}
