// What the measurements share: where things are, the programs that are recorded, and a browser.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const root = join(import.meta.dirname, "../..");
export const memtoll = process.env.MEMTOLL ?? join(root, "target/release/memtoll");
export const folder = join(root, "target/bench-viewer");

/** The command that makes so many million events: calls and nothing else. `threads` share the calls. */
export function deepLoop(millions, threads = 1) {
    mkdirSync(folder, { recursive: true });
    const program = join(folder, "deep_loop");
    execFileSync("g++", ["-O2", "-g", "-pthread", "-I", join(root, "remedies/include"), "-o", program, join(root, "bench/programs/deep_loop.cpp")]);
    return [program, String((millions * 1e6) / 2 / threads), String(threads), "random"];
}

/** The command of a program with thousands of call paths. */
export function callPaths() {
    mkdirSync(folder, { recursive: true });
    return ["/usr/bin/python3", join(import.meta.dirname, "call_paths.py")];
}

export const launch = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
