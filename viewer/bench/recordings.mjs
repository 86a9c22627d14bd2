// The recordings that are opened. Each is made once.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { callPaths, deepLoop, folder, memtoll } from "./common.mjs";

function made(name, command, environment = {}) {
    const file = join(folder, `${name}.memtoll`);
    if (!existsSync(file)) execFileSync(memtoll, ["record", "--quiet", "-o", file, "--", ...command], { env: { ...process.env, ...environment } });
    return { name, file };
}

/** FILE, if there is one; else python3 and a loop of EVENTS million events in two threads. */
export function recordings() {
    if (process.env.FILE) return [{ name: basename(process.env.FILE), file: process.env.FILE }];
    const millions = Number(process.env.EVENTS ?? 60);
    return [made("python3", callPaths(), { PYTHONMALLOC: "malloc" }), made(`loop-${millions}`, deepLoop(millions, 2))];
}
