// How fast the viewer is: `make bench-viewer`. It opens recordings (recordings.mjs), measures what a user waits for, and prints
// it beside the goals. It fails where a view does not answer. MEMTOLL: the memtoll to measure. EVENTS: of the loop, in
// millions; 60 by default. FILE: another recording.

import { statSync } from "node:fs";
import { launch } from "./common.mjs";
import { html } from "./html.mjs";
import { drag, reset, until } from "./page.mjs";
import { questions } from "./questions.mjs";
import { recordings } from "./recordings.mjs";
import { serve } from "./server.mjs";
import { tracer } from "./tasks.mjs";

const ROUNDS = 9;
const LONGEST_TASK = 50;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const milliseconds = (value) => `${Math.round(value).toLocaleString("en")} ms`;
const megabytes = (value) => `${Math.round(value / 1e6)} MB`;

async function drags(page) {
    const times = [];
    for (let round = 0; round < ROUNDS; round++) times.push(await drag(page, "drag", 0.1 + 0.05 * round, 0.4 + 0.05 * round));
    return times;
}

/** Opens the page: the first view, its findings, and the advice below them. */
async function opened(page, server) {
    const trace = await tracer(page);
    const used = server.used();
    await page.goto(server.url);
    await page.locator(".cost h2").waitFor();
    const first = { wall: await page.evaluate(() => performance.now()), cpu: server.used() - used };
    await until(page, "findings", async () => {}, () => !document.querySelector("main .found .empty")?.textContent.startsWith("Looking for"));
    const findings = { wall: await page.evaluate(() => performance.now()), cpu: server.used() - used };
    const task = await trace.longest();
    await until(page, "What to change", async () => {}, () => ![...document.querySelectorAll("main .empty")].some((one) => one.textContent.startsWith("Looking for")));
    const advice = { wall: await page.evaluate(() => performance.now()), cpu: server.used() - used };
    return [
        { name: "first view", ...first, goal: 1000 },
        { name: "findings, from the beginning", ...findings },
        { name: "longest task while opening", ...task, goal: LONGEST_TASK },
        { name: "What to change, from the beginning", ...advice, goal: 2000 },
    ];
}

async function dragged(page, server) {
    const rows = [];
    for (const [view, name, goal] of [["1", "Overview", 100], ["2", "Lines", 200], ["3", "Call tree", 100], ["4", "Flame graph", 100]]) {
        await page.keyboard.press(view);
        await page.waitForTimeout(500);
        const used = server.used();
        const trace = await tracer(page);
        const times = await drags(page);
        rows.push({ name: `drag to redraw, ${name}`, wall: median(times), most: Math.max(...times), cpu: (server.used() - used) / ROUNDS, goal });
        rows.push({ name: `longest task, ${name}`, ...(await trace.longest()), goal: LONGEST_TASK });
    }
    return rows;
}

function show({ name, wall, most, cpu, goal }) {
    const verdict = goal === undefined ? "" : `${wall <= goal ? "within" : "misses"} ${milliseconds(goal)}`;
    console.log(`  ${name.padEnd(38)} ${milliseconds(wall).padStart(10)}${most === undefined ? "" : `, ${milliseconds(most)} at most`}`.padEnd(74) + ` CPU ${milliseconds(cpu).padStart(10)}   ${verdict}`);
}

const browser = await launch();
try {
    for (const { name, file } of recordings()) {
        const server = await serve(file);
        try {
            const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce" });
            const opening = await opened(page, server);
            console.log(`${name}: ${await page.locator("header .facts").innerText()}, ${megabytes(statSync(file).size)}`);
            opening.forEach(show);
            const used = server.used();
            const soon = await drags(page);
            show({ name: "drag to redraw, at once after opening", wall: median(soon), most: Math.max(...soon), cpu: (server.used() - used) / ROUNDS, goal: 100 });
            await server.settled();
            await reset(page);
            (await dragged(page, server)).forEach(show);
            for (const found of await questions(page, server)) show(found);
            const heap = await page.evaluate(() => performance.memory.usedJSHeapSize);
            console.log(`  memory of the page ${megabytes(heap)}, of the server ${megabytes(server.memory())}`);
            await page.close();
        } finally {
            server.end();
        }
        show({ name: "memtoll html", ...html(file), goal: 3000 });
    }
} finally {
    await browser.close();
}
