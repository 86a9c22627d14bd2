// `memtoll view` and a browser that looks at it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after } from "node:test";
import { chromium } from "playwright-core";
import { FOLDER, MEMTOLL, patient, recordings } from "./recordings.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export const VIEWS = ["overview", "lines", "tree", "flame", "snapshots", "resident", "lifetimes", "threads", "notes", "source"];

/** Those that a page of `memtoll html` has. */
export const PAGE_VIEWS = VIEWS.filter((view) => !["resident", "threads"].includes(view));

let browser;
const servers = new Set();

/** A viewer of recordings; options may stand before them. */
export async function start(...files) {
    const server = spawn(MEMTOLL, ["view", "--no-open", "--no-debuginfod", ...files], { stdio: ["ignore", "pipe", "pipe"] });
    servers.add(server);
    const url = await new Promise((resolve, reject) => {
        let errors = "";
        server.stderr.on("data", (data) => (errors += data));
        server.stdout.once("data", (data) => resolve(String(data).trim()));
        server.once("exit", () => reject(new Error(`memtoll view ended: ${errors}`)));
    });
    return { url: new URL(url), stop: () => void (server.kill(), servers.delete(server)) };
}

/** A recording that is looked at while it is made, of a program that waits for its input to end. */
export async function startLive(name = "live.memtoll") {
    const file = join(FOLDER, name);
    const record = spawn(MEMTOLL, ["record", "--live", "-o", file, "--", patient()], { stdio: ["pipe", "ignore", "pipe"] });
    servers.add(record);
    let errors = "";
    const url = await new Promise((resolve, reject) => {
        record.stderr.on("data", (data) => {
            errors += data;
            const found = /http:\S+/.exec(errors);
            if (found) resolve(found[0]);
        });
        record.once("exit", () => reject(new Error(`memtoll record ended: ${errors}`)));
    });
    const ended = new Promise((resolve) => record.once("exit", (code) => (servers.delete(record), resolve(code))));
    /** Resolves when the program has ended and the recording is complete. */
    const goOn = async () => {
        record.stdin.end();
        while (!errors.includes("Ctrl-C ends the viewer")) await new Promise((resolve) => record.stderr.once("data", resolve));
    };
    return { url: new URL(url), file, goOn, vanish: () => record.kill("SIGKILL"), end: () => (record.kill("SIGINT"), ended) };
}

/** Any page, with what went wrong in it. */
export async function openPage(url, options = {}) {
    browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("dialog", (dialog) => (problems.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    await page.goto(String(url));
    return { page, problems, close: () => context.close() };
}

/** A page of the viewer. */
export async function open(url, options = {}) {
    const opened = await openPage(url, options);
    await opened.page.getByRole("navigation", { name: "views" }).waitFor();
    return opened;
}

/** Goes to a view and waits until it is there. */
export async function show(page, hash) {
    await page.evaluate((hash) => void (location.hash = hash), hash);
    const view = new URLSearchParams(hash).get("view") ?? "overview";
    await page.locator(`nav[aria-label="views"] a[aria-current][href*="${view === "overview" ? "#" : `view=${view}`}"]`).waitFor();
    await settled(page);
}

/** Waits until the numbers of a view are those of what its labels say. */
export async function settled(page) {
    await page.waitForFunction(() => document.querySelector("main[aria-busy=false]:not(:has([aria-busy=true]))")?.innerText.trim() && !/Reading (all events|call stacks)|Adding up (what|sizes)|Looking for findings/.test(document.body.innerText));
}

/** Waits until something has a value, however slow the machine is. */
export async function becomes(get, value) {
    const end = Date.now() + 60_000;
    let found = await get();
    for (; found !== value && Date.now() < end; found = await get()) await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(found, value);
}

/** Breaches of the rules of accessibility. */
export async function breaches(page) {
    // Numbers on their way out are faint.
    await page.locator('main[aria-busy="true"]').waitFor({ state: "detached" });
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}

/** Exact numbers of a line in the table of lines, by the title of their column. */
export async function numbersOf(page, name) {
    return page.evaluate((name) => {
        const heads = [...document.querySelectorAll('main [role="columnheader"]')].map((head) => head.textContent.replace(/ ?▾?\s*\?$/, ""));
        const row = [...document.querySelectorAll('main [role="row"]')].find((row) => row.firstElementChild.textContent.includes(name));
        return row && Object.fromEntries([...row.children].slice(1).map((cell, index) => [heads[index + 1], cell.title.split(/ |,(?! ?\d)/)[0].replaceAll(",", "")]));
    }, name);
}

/** The pack that answers a question: its object, and its columns by name. */
export const packOf = (page, question) =>
    page.evaluate(async (body) => {
        const buffer = await (await fetch("/answer", { method: "POST", body })).arrayBuffer();
        const length = new DataView(buffer).getUint32(0, true);
        const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
        let at = 4 + length;
        const columns = {};
        for (const [name, type, count] of head.columns) {
            const Type = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array }[type];
            const bytes = Type.BYTES_PER_ELEMENT * count;
            columns[name] = [...new Type(buffer.slice(at, at + bytes))];
            at += bytes;
        }
        return { head, columns };
    }, JSON.stringify(question));

/** What the address says. */
export const words = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));

/** The rows of a table, or of all tables. */
export const tableRows = (page, label = "") => page.locator(`main .table${label && `[aria-label="${label}"]`} .body [role="row"]`);

/** A page of a recording, which ends with the test. */
export async function viewed(t, name, hash = "", options = {}) {
    const server = await start(recordings[name]);
    const opened = await open(`${server.url}#${hash}`, options);
    t.after(async () => {
        server.stop();
        await opened.close();
    });
    return opened;
}

after(async () => {
    await browser?.close();
    servers.forEach((server) => server.kill());
});

/** From now on, the server's answers wait, or those to some questions. Returns what lets them through. */
export async function holdAnswers(page, isHeld = () => true) {
    let answer;
    const held = new Promise((resolve) => (answer = resolve));
    await page.route("**/answer", async (route) => {
        if (isHeld(route.request().postDataJSON())) await held;
        await route.continue();
    });
    return answer;
}
