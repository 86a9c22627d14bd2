// How long `memtoll html` takes.

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { folder, memtoll } from "./common.mjs";

/** Wall and CPU time, ms. */
export function html(file) {
    // bash says what its child has used. It fails where memtoll does.
    const script = 'set -e; TIMEFORMAT="%R %U %S"; { time "$@" >/dev/null 2>&1; } 2>&1';
    const told = execFileSync("bash", ["-c", script, "bash", memtoll, "html", "--no-debuginfod", "--force", "-o", join(folder, "page.html"), file], { encoding: "utf8" });
    const [wall, user, system] = told.trim().split(" ").map((seconds) => Number(seconds) * 1000);
    return { wall, cpu: user + system };
}
