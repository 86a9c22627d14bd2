// The server that answers, and what it takes.

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { memtoll } from "./common.mjs";

/** CPU time that a process has used so far, ms. */
function processorTime(pid) {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
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
        // On a busy machine, it may get no processor for a second.
        for (let quiet = 0, before = used(); quiet < 3; before = used()) {
            await new Promise((resolve) => setTimeout(resolve, 500));
            quiet = used() === before ? quiet + 1 : 0;
        }
    };
    return { url, used, settled, memory: () => memory(server.pid), end: () => server.kill() };
}
