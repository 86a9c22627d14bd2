// What call sites have in common.

import type { Site } from "./answer";
import { frameName, functionKey, siteName } from "./names";

/** A call site, whatever recording or span it is of. */
function lineKey(site: Site): string {
    const frame = site.frame;
    return [frame?.full, frame?.file, frame?.line, frame?.module, site.type, ...site.inlined.map((one) => `${one.full}:${one.line}`)].join("\0");
}

/** What the sites of a group share; of `line`, each site is one. */
export function groupKey(site: Site, group: string): string {
    if (site.others > 0) return siteName(site);
    if (group === "type") return site.type || "(type not known)";
    if (group === "module") return site.frame?.module ?? "(no stack)";
    if (group === "function") return site.frame ? functionKey(site.frame) : "(no stack)";
    return lineKey(site);
}

/** What a group is called; of lines and functions, a frame tells. */
export function groupName(site: Site, group: string): string {
    if (group === "type" || group === "module") return groupKey(site, group);
    // A function may be inlined into several.
    return group === "function" && site.frame && site.others === 0 ? frameName(site.frame) : siteName(site);
}

export const GROUPS = ["line", "function", "module", "type"] as const;

/** By what Snapshots and Generations add up; lines of code, where something else was chosen elsewhere. */
export function groupOf(chosen: string): string {
    return GROUPS.find((one) => one === chosen) ?? "line";
}
