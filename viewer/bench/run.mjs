// How fast the viewer is: `make bench-viewer`. It records a program that does nothing but allocate, opens the recording,
// and measures what a user waits for. MEMTOLL: the memtoll to measure. EVENTS: how many events, in
// millions; 6 by default. FILE: another recording.

import { execFileSync, spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { deepLoop, folder, launch, memtoll } from "./common.mjs";

const millions = Number(process.env.EVENTS ?? 6);
const ROUNDS = 9;

/** The recording of so many events. It is made once. */
function recording() {
    const file = join(folder, `${millions}.memtoll`);
    const command = deepLoop(millions);
    if (!existsSync(file)) execFileSync(memtoll, ["record", "--quiet", "-o", file, "--", ...command]);
    return file;
}

/** Bytes of memory that a process and those that it started have of their own. */
function memory(pid) {
    try {
        const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
        const of = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(rollup)?.[1] ?? 0) * 1024;
        return of("Private_Dirty") + of("Private_Clean");
    } catch {
        return 0;
    }
}

/** What the tasks of a page's main thread take: on a busy machine, their CPU time says more than how long they last. */
async function tracer(page) {
    const session = await page.context().newCDPSession(page);
    let events = [];
    session.on("Tracing.dataCollected", ({ value }) => events.push(...value));
    const start = () => session.send("Tracing.start", { traceConfig: { includedCategories: ["disabled-by-default-devtools.timeline", "devtools.timeline"] }, transferMode: "ReportEvents" });
    const longest = async () => {
        const complete = new Promise((resolve) => session.once("Tracing.tracingComplete", resolve));
        await session.send("Tracing.end");
        await complete;
        const mains = new Set(events.filter((one) => one.args?.name === "CrRendererMain").map((one) => `${one.pid}/${one.tid}`));
        const tasks = events.filter((one) => one.name === "RunTask" && mains.has(`${one.pid}/${one.tid}`));
        const [lasts, takes] = ["dur", "tdur"].map((time) => Math.max(0, ...tasks.map((task) => task[time] ?? 0)) / 1000);
        events = [];
        return `${milliseconds(lasts)}, CPU time ${milliseconds(takes)}`;
    };
    await start();
    return { start, longest };
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const milliseconds = (value) => `${Math.round(value)} ms`;
const megabytes = (value) => `${Math.round(value / 1e6)} MB`;

const file = process.env.FILE ?? recording();
const server = spawn(memtoll, ["view", "--no-open", "--no-debuginfod", file], { stdio: ["ignore", "pipe", "ignore"] });
const url = new URL(await new Promise((resolve, reject) => {
    server.stdout.once("data", (data) => resolve(String(data).trim()));
    server.once("exit", () => reject(new Error("memtoll view ended")));
}));
/** CPU time of the server so far, ms. */
const processorTime = () => readFileSync(`/proc/${server.pid}/stat`, "utf8").split(" ").slice(13, 15).map(Number).reduce((a, b) => a + b) * 10;

const browser = await launch();
try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
    const trace = await tracer(page);
    await page.goto(String(url));
    await page.locator(".cost h2").waitFor();
    const first = await page.evaluate(() => performance.now());
    const events = await page.locator("header .facts").innerText();
    const opening = await trace.longest();
    const area = await page.locator(".u-over").boundingBox();
    const drag = async (from, to) => {
        await page.mouse.move(area.x + area.width * from, area.y + 30);
        await page.mouse.down();
        await page.mouse.move(area.x + area.width * to, area.y + 30, { steps: 4 });
        // From the release of the button until the numbers of the selection are on the screen.
        await page.evaluate(() => void (window.told = new Promise((resolve) => {
            addEventListener("mouseup", () => {
                const from = performance.now();
                const main = document.querySelector("main");
                const done = () => {
                    if (main.ariaBusy === "true" || document.querySelector("main .empty")) return requestAnimationFrame(done);
                    resolve(performance.now() - from);
                };
                // An answer may be there before the next frame is drawn.
                const begun = new MutationObserver(() => (begun.disconnect(), requestAnimationFrame(done)));
                begun.observe(main, { attributeFilter: ["aria-busy"] });
            }, { once: true, capture: true });
        })));
        await page.mouse.up();
        return page.evaluate(() => window.told);
    };
    const drags = async () => {
        const times = [];
        for (let round = 0; round < ROUNDS; round++) times.push(await drag(0.1 + 0.05 * round, 0.4 + 0.05 * round));
        return times;
    };
    const soon = await drags();
    // The server cuts chapters finer once the first page is there.
    let before = -1;
    for (let used = 0; used !== before; ) {
        before = used;
        await new Promise((resolve) => setTimeout(resolve, 1000));
        used = processorTime();
    }
    const rows = [["first view", milliseconds(first), "1,000 ms"], ["longest task while opening", opening, "50 ms"]];
    rows.push(["drag to redraw, at once after opening", `${milliseconds(median(soon))}, ${milliseconds(Math.max(...soon))} at most`, ""]);
    for (const [view, name] of [["1", "Overview"], ["2", "Lines"], ["3", "Call tree"], ["4", "Flame graph"]]) {
        await page.keyboard.press(view);
        await page.waitForTimeout(500);
        const used = processorTime();
        await trace.start();
        const times = await drags();
        rows.push([`drag to redraw, ${name}`, `${milliseconds(median(times))}, ${milliseconds(Math.max(...times))} at most`, "100 ms"]);
        rows.push([`longest task, ${name}`, await trace.longest(), "50 ms"]);
        rows.push([`CPU time of the server a drag, ${name}`, milliseconds((processorTime() - used) / ROUNDS), ""]);
    }
    const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
    rows.push(["memory of the page (heap)", megabytes(heap), ""], ["memory of the server", megabytes(memory(server.pid)), ""]);
    console.log(`${events}, ${megabytes(statSync(file).size)}`);
    for (const [what, found, goal] of rows) console.log(`${what.padEnd(42)} ${found.padEnd(28)} ${goal && `goal ${goal}`}`);
} finally {
    await browser.close();
    server.kill();
}
