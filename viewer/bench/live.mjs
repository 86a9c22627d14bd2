// What a program notices of being looked at while it is recorded: `make bench-live`. A program is recorded in turn with and
// without --live, a browser showing the page. MEMTOLL: the memtoll to measure. EVENTS: how many events, in millions; 20 by
// default. ROUNDS: how often; 10 by default.

import { execFileSync, spawn } from "node:child_process";
import { join } from "node:path";
import { deepLoop, folder, launch, memtoll } from "./common.mjs";

const rounds = Number(process.env.ROUNDS ?? 10);
const command = deepLoop(Number(process.env.EVENTS ?? 20));
const file = join(folder, "live.memtoll");

/** CPU time of the program in the recording, seconds. */
function processorTime() {
    const said = execFileSync(memtoll, ["report", "--no-debuginfod", "--format", "json", "--limit", "1", file], { maxBuffer: 1 << 26 });
    return JSON.parse(said).totals.cpu_ns / 1e9;
}

function plain() {
    execFileSync(memtoll, ["record", "--quiet", "--force", "-o", file, "--", ...command], { stdio: "ignore" });
    return processorTime();
}

/** The same, with a page that shows it; `loads`: how often the page got the recording anew. */
async function watched(browser) {
    const record = spawn(memtoll, ["record", "--live", "--force", "-o", file, "--", ...command], { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    const until = (pattern) =>
        new Promise((resolve, reject) => {
            const look = () => pattern.exec(said) && (record.stderr.off("data", look), resolve(pattern.exec(said)[0]));
            record.stderr.on("data", look);
            record.once("exit", () => reject(new Error(`memtoll record ended: ${said}`)));
            look();
        });
    record.stderr.on("data", (data) => (said += data));
    const over = until(/Ctrl-C ends the viewer/);
    over.catch(() => {});
    const page = await browser.newPage();
    let loads = 0;
    page.on("response", (reply) => (loads += Number(reply.url().endsWith("/answer"))));
    await page.goto(await until(/http:\S+/));
    await over;
    await page.close();
    const ended = new Promise((resolve) => record.once("exit", resolve));
    record.kill("SIGINT");
    await ended;
    return { seconds: processorTime(), loads };
}

const browser = await launch();
try {
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
        // Each goes first in half of the rounds.
        let without = round % 2 === 0 ? plain() : 0;
        const { seconds, loads } = await watched(browser);
        without ||= plain();
        ratios.push(seconds / without);
        console.log(`CPU time of the program: ${without.toFixed(3)} s, with --live ${seconds.toFixed(3)} s; the page asked ${loads} times`);
    }
    const mean = ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / rounds;
    const spread = Math.sqrt(ratios.reduce((sum, ratio) => sum + (Math.log(ratio) - mean) ** 2, 0) / Math.max(1, rounds - 1) / rounds);
    const percent = (of) => `${((Math.exp(of) - 1) * 100).toFixed(2)} %`;
    console.log(`--live costs the program ${percent(mean)} of CPU time, ± ${percent(2 * spread)} (two standard errors of ${rounds} pairs); goal 1 %`);
} finally {
    await browser.close();
}
