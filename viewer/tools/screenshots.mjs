// The pictures of the docs: `make screenshots`. MEMTOLL: the memtoll that shows them; FILE: the recording.

import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** Bytes of a picture at the most: a repository keeps every one for good. */
const MOST = 200_000;
const docs = join(import.meta.dirname, "../../docs");
const { MEMTOLL, FILE } = process.env;
if (!MEMTOLL || !FILE) throw new Error("expected MEMTOLL and FILE in the environment: run make screenshots");

const server = spawn(MEMTOLL, ["view", "--no-open", "--no-debuginfod", FILE], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise((resolve, reject) => {
    server.stdout.once("data", (data) => resolve(String(data).trim()));
    server.once("exit", () => reject(new Error("memtoll view ended")));
});
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 }, colorScheme: "light", reducedMotion: "reduce" });
    await page.goto(url);
    await page.locator(".cost h2").waitFor();
    for (const view of ["overview", "flame"]) {
        await page.evaluate((view) => void (location.hash = view === "overview" ? "" : `view=${view}&metric=bytes`), view);
        await page.locator(`nav a[aria-current]`, { hasText: view === "flame" ? "Flame" : "Overview" }).waitFor();
        await page.waitForFunction(() => !/adding up …|Adding up (what|sizes)/.test(document.body.innerText));
        await page.mouse.move(640, 795);
        await page.waitForTimeout(300);
        const path = join(docs, `viewer-${view}.png`);
        await page.screenshot({ path });
        const { size } = statSync(path);
        console.log(`docs/viewer-${view}.png: ${size} bytes`);
        if (size >= MOST) throw new Error(`expected less than ${MOST} bytes`);
    }
} finally {
    await browser.close();
    server.kill();
}
