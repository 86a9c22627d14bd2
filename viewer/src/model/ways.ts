// Where what is shown leads: to the view, the filter or the selection that explains it.

import type { Frame, Profile, Site } from "./answer";
import { oneFunction, siteKey } from "./names";
import { matcher, wholeName } from "./search";
import { groupKey } from "./site_groups";
import type { State } from "./state";

export type Way = Partial<State>;

/** Which lines have most of a metric. */
export const toMetric = (metric: string): Way => ({ view: "lines", metric, order: "" });

/** The details of a line, or of the group of lines that it belongs to. */
export function toSite(site: Site, group = "line"): Way {
    return { view: "lines", group, search: "", focus: group === "line" ? siteKey(site) : groupKey(site, group) };
}

/** The lines of a function, or of all that have this name. */
export const toFunction = (of: Frame | string): Way => ({ view: "lines", group: "line", search: wholeName(of), focus: "" });

/** Whether a function has lines of its own: one that only calls others has none. */
export function hasLines(profile: Profile, of: Frame | string): boolean {
    const matches = matcher(wholeName(of))!;
    return profile.sites.some((site) => matches(site.frame, "", site.inlined));
}

/** What a process, or a thread of it, allocates. */
export const toMember = (process: string, tid: number | null): Way => ({ view: "lines", group: "line", search: "", focus: "", process, thread: tid === null ? "" : String(tid) });

/** Callers of a function, and what it calls. */
export const through = (frame: Frame): Way => ({ view: "tree", through: oneFunction(frame) });

/** What the lines of a file cost. */
export const toSource = (file: string, line: number | null): Way => ({ view: "source", file, line: line ?? 0 });

/** A span of time. */
export const toSpan = (from: number, to: number): Way => ({ from: Math.round(from), to: Math.round(to) });

/** What was live when most was, what is live at the end of the run, and what no process freed before it ended. */
export function toLive(end: number): Record<"peak" | "end" | "kept", Way> {
    return {
        peak: { metric: "peak", order: "" },
        end: { metric: "live", from: null, to: Math.floor(end), order: "" },
        kept: { metric: "live", from: null, to: null, order: "" },
    };
}
