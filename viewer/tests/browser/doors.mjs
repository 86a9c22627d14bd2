// Every number leads to what explains it: by a click, by Enter, and as an address that opens in another tab.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { breaches, open, show, start } from "./viewer.mjs";

/** What the address says. */
const words = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
const rows = (page, label = "") => page.locator(`main .table${label && `[aria-label="${label}"]`} .body [role="row"]`);

/** The row of a function. */
const named = (page, name) => rows(page).filter({ has: page.locator(".function", { hasText: new RegExp(`^${name}$`) }) }).first();

/** A page of a recording, which ends with the test. */
async function viewed(t, name, hash = "", options = {}) {
    const server = await start(...(options.sources ? ["--sources"] : []), recordings[name]);
    const opened = await open(`${server.url}#${hash}`, options);
    t.after(async () => {
        server.stop();
        await opened.close();
    });
    return opened;
}

/** Goes where a locator leads by a click, comes back, and goes there by Enter. Returns what the address says there. */
async function enter(page, door) {
    const before = page.url();
    await door.click();
    await page.waitForFunction((before) => location.href !== before, before);
    const there = page.url();
    await page.goBack();
    await page.waitForFunction((before) => location.href === before, before);
    await door.locator("xpath=self::a | descendant::a[contains(concat(' ', @class, ' '), ' door ')][not(contains(@class, 'define'))]").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((there) => location.href === there, there);
    return words(page);
}

test("tiles, parts of the cost, worst lines and findings lead to lines", async (t) => {
    const { page, problems } = await viewed(t, "wrapped");
    const go = async (locator) => {
        await show(page, "view=overview");
        return enter(page, locator);
    };
    const tiles = page.locator(".facts-of > div");
    assert.ok((await tiles.count()) > 5);
    for (const tile of [0, 1, 2]) {
        await show(page, "view=overview");
        const title = await tiles.nth(tile).locator("dt").evaluate((dt) => dt.firstChild.textContent);
        const there = await go(tiles.nth(tile));
        assert.equal(there.view, "lines", title);
        await page.locator('main [role="columnheader"][aria-sort="descending"]', { hasText: title === "never freed" ? "live" : title }).waitFor();
    }
    // The part is a bar, however narrow, and a word.
    assert.deepEqual(await go(page.locator(".cost .stack .faults")), { view: "lines", metric: "fault-time" });
    assert.deepEqual(await go(page.locator(".cost .parts .door", { hasText: "allocator" })), { view: "lines", metric: "allocator" });
    assert.equal((await go(page.locator(".cost .stack .program"))).define, "program");
    await page.keyboard.press("Escape");
    const worst = await go(page.locator(".worst li").first());
    assert.equal(worst.view, "lines");
    assert.match(worst.focus, /^buffer_again_and_again \(wrapped\.c:\d+\)/);
    await page.locator(".details h2", { hasText: "buffer_again_and_again" }).waitFor();
    assert.deepEqual(problems, []);
});

test("a door opens in another tab, with all that its address says", async (t) => {
    const { page } = await viewed(t, "phases", "view=overview&metric=bytes");
    const door = page.locator(".worst li a.door").first();
    const href = await door.getAttribute("href");
    const other = page.context().waitForEvent("page");
    await page.locator(".worst li").first().click({ modifiers: ["Control"], position: { x: 3, y: 3 } });
    const tab = await other;
    await tab.waitForURL((url) => url.hash === href);
    assert.equal(words(page).view, "overview", "this page stays where it is");
});

test("each row leads on: threads, processes, types, snapshots", async (t) => {
    const { page, problems } = await viewed(t, "phases");
    const { threads, processes } = { threads: report(recordings.phases, "--list", "threads").threads, processes: report(recordings.phases, "--list", "processes").processes };
    const second = threads.find(({ tid, pid }) => tid !== pid);
    await show(page, "view=threads");
    const thread = await enter(page, rows(page).filter({ hasText: `${second.tid} of ${second.pid}` }));
    assert.deepEqual([thread.view, thread.process, thread.thread], ["lines", String(second.pid), String(second.tid)]);
    await named(page, "thread").waitFor();
    // 20,000 blocks of 64 bytes, and nothing of what others do.
    const own = report(recordings.phases, "--process", String(second.pid), "--thread", String(second.tid)).sites;
    assert.deepEqual(own.map(({ function: name, allocations }) => [name, allocations]).filter(([name]) => ["early", "late", "thread"].includes(name)), [["thread", 20_000]]);
    assert.equal(await rows(page).filter({ hasText: "early" }).count(), 0);
    // Details of a thread and of a process have its call paths.
    for (const [group, name, path] of [["thread", String(second.tid), /thread/], ["process", String(processes[0].pid), /late ← main/]]) {
        await show(page, `view=lines&group=${group}&metric=bytes`);
        await rows(page).filter({ hasText: name }).first().click();
        await page.locator(".details .path").first().waitFor();
        assert.match((await page.locator(".details .path").allInnerTexts()).join("\n").replace(/[\u2066-\u2069]/g, ""), path);
    }
    await show(page, "view=snapshots");
    const line = await enter(page, named(page, "late"));
    assert.deepEqual([line.view, line.metric], ["lines", "live"]);
    assert.match(line.focus, /^late \(phases\.c:\d+\)/);
    await page.locator(".details h2", { hasText: "late" }).waitFor();
    assert.deepEqual(problems, []);
});

test("a type's details show its call paths", async (t) => {
    const { page, problems } = await viewed(t, "rows", "view=lines&group=type&metric=bytes");
    await rows(page).filter({ hasText: "app::Row" }).first().click();
    await page.locator(".details .path").first().waitFor();
    assert.match((await page.locator(".details .path").first().innerText()).replace(/[\u2066-\u2069]/g, ""), /main/);
    await show(page, "view=layout");
    const type = await enter(page, rows(page).filter({ hasText: "app::Row" }).first());
    assert.equal(type.view, "layout");
    assert.match(type.type, /app::Row/);
    assert.deepEqual(problems, []);
});

test("regions beyond the budget lead to a table of regions, whose rows select their spans", async (t) => {
    const { page, problems } = await viewed(t, "marked");
    const runs = report(recordings.marked, "--regions").regions[0].runs;
    const lengths = runs.map((one) => one.duration_ns).sort((a, b) => a - b);
    const limit = (lengths[23] + lengths[24]) / 2;
    await show(page, `view=overview&budget=${Math.round(limit)}`);
    const over = page.locator(".time .over");
    await over.filter({ hasText: "6 of 30 over" }).waitFor();
    assert.equal((await enter(page, over)).view, "regions");
    await rows(page, "runs of regions").first().waitFor();
    const [summary] = await rows(page, "regions").all();
    const numbers = async () => Promise.all((await summary.locator(".number").all()).map(async (cell) => Number((await cell.getAttribute("title")).replace(/[^\d]/g, ""))));
    const near = (a, b) => Math.abs(a - b) <= 2;
    const [count, median, p99, worst, all] = await numbers();
    assert.equal(count, 30);
    assert.ok(near(median, lengths[14]) && near(p99, lengths[29]) && near(worst, lengths[29]), `${median} ${p99} ${worst}: ${lengths}`);
    assert.ok(Math.abs(all - lengths.reduce((a, b) => a + b)) <= 60);
    // The longest comes first; a click on the head turns that around.
    const table = rows(page, "runs of regions");
    const takes = () => table.evaluateAll((all) => all.map((row) => Number(row.children[2].title.replace(/[^\d]/g, ""))));
    const ordered = await takes();
    assert.deepEqual(ordered, ordered.toSorted((a, b) => b - a));
    assert.ok(near(ordered[0], lengths[29]));
    await page.locator('[role="columnheader"] a', { hasText: "takes" }).click();
    await page.locator('[role="columnheader"][aria-sort="ascending"]', { hasText: "takes" }).waitFor();
    assert.ok(near((await takes())[0], lengths[0]));
    const span = await enter(page, table.first());
    const shortest = runs.toSorted((a, b) => a.duration_ns - b.duration_ns)[0];
    assert.ok(near(Number(span.from), shortest.begin_ns) && near(Number(span.to) - Number(span.from), shortest.duration_ns), JSON.stringify(span));
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    assert.deepEqual(await breaches(page), []);
    // A mark selects what comes until the next one; a region that is drawn, itself.
    const mark = page.locator(".events .door", { hasText: "between" }).first();
    const href = new URLSearchParams((await mark.getAttribute("href")).slice(1));
    const marks = Number(href.get("to")) - Number(href.get("from"));
    assert.ok(marks > 5e6, "from one mark to the next the program sleeps for 5 ms");
    await mark.click();
    await page.waitForFunction((from) => location.hash.includes(`from=${from}&`), href.get("from"));
    const longest = runs.toSorted((a, b) => b.duration_ns - a.duration_ns)[0];
    const area = await page.locator(".u-over").boundingBox();
    const end = report(recordings.marked).seconds * 1e9;
    await page.mouse.click(area.x + (area.width * (longest.begin_ns + longest.duration_ns / 2)) / end, area.y - 8);
    await page.waitForFunction((from) => Math.abs(Number(new URLSearchParams(location.hash.slice(1)).get("from")) - from) <= 2, longest.begin_ns);
    assert.deepEqual(problems, []);
});
