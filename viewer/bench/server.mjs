// The server that answers, and what it takes.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { memtoll } from "./common.mjs";

/** CPU time that a process has used so far, ms. */
function processorTime(pid) {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Whether one of its threads runs, or waits for a processor. */
function isBusy(pid) {
    const isAtWork = (thread) => {
        try {
            return /\) [RD] /.test(readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8"));
        } catch {
            return true; // it has ended since the folder was read
        }
    };
    return readdirSync(`/proc/${pid}/task`).some(isAtWork);
}

/** Bytes of memory that a process has of its own. */
function memory(pid) {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const of = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(rollup)?.[1] ?? 0) * 1024;
    return of("Private_Dirty") + of("Private_Clean");
}

export async function serve(file) {
    const server = spawn(memtoll, ["view", "--no-open", "--no-debuginfod", file], { stdio: ["ignore", "pipe", "ignore"] });
    const url = await new Promise((resolve, reject) => {
        server.stdout.once("data", (data) => resolve(String(data).trim()));
        server.once("exit", () => reject(new Error("memtoll view ended")));
    });
    const used = () => processorTime(server.pid);
    /** Until it has prepared what later questions need. */
    const settled = async () => {
        // On a busy machine, the thread that cuts slices, which stands behind all others, may get no processor for seconds.
        for (let quiet = 0, before = used(); quiet < 3; before = used()) {
            await new Promise((resolve) => setTimeout(resolve, 500));
            quiet = used() === before && !isBusy(server.pid) ? quiet + 1 : 0;
        }
    };
    return { url, used, settled, memory: () => memory(server.pid), end: () => server.kill() };
}
