// `memtoll view` and a browser that looks at it.

import { spawn } from "node:child_process";
import { chromium } from "playwright-core";
import { MEMTOLL } from "./recordings.mjs";

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

/** A page, with what went wrong in it. */
export async function open(url, options = {}) {
    browser ??= await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
    const page = await context.newPage();
    const problems = [];
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
    page.on("dialog", (dialog) => (problems.push(`dialog: ${dialog.message()}`), dialog.dismiss()));
    await page.goto(String(url));
    await page.getByRole("navigation", { name: "views" }).waitFor();
    return { page, problems, close: () => context.close() };
}

export async function end() {
    await browser?.close();
    servers.forEach((server) => server.kill());
}
