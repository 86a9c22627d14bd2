// What the measurements share: where things are, and a program that does nothing but allocate.

import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const root = join(import.meta.dirname, "../..");
export const memtoll = process.env.MEMTOLL ?? join(root, "target/release/memtoll");
export const folder = join(root, "target/bench-viewer");

/** The command that runs so many millions of calls. */
export function deepLoop(millions) {
    mkdirSync(folder, { recursive: true });
    const program = join(folder, "deep_loop");
    execFileSync("g++", ["-O2", "-g", "-pthread", "-I", join(root, "remedies/include"), "-o", program, join(root, "bench/programs/deep_loop.cpp")]);
    return [program, String((millions * 1e6) / 2), "1", "random"];
}

export const launch = () => chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
