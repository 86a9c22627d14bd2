// Pages without a server.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterThread, html, instantOf, recordings, report } from "./recordings.mjs";
import { PAGE_VIEWS, becomes, breaches, open, settled, show, start, viewed } from "./viewer.mjs";

for (const name of ["phases", "git"]) {
    test(`${name}: one page holds it all`, async () => {
        const file = html(name);
        const size = statSync(file).size;
        assert.ok(size < 5_000_000, `${size}`);
        const text = readFileSync(file, "utf8");
        assert.ok(!/https?:\/\/(?!www\.w3\.org)/.test(text.replace(/<script type="application.*?<\/script>/gs, "")), "the page names no other place");
        const { page, problems, close } = await open(pathToFileURL(file));
        const expected = report(recordings[name]);
        const shut = /view=(resident|threads|layout|functions)\b/;
        for (const view of PAGE_VIEWS) {
            await show(page, `view=${view}`);
            assert.deepEqual(await breaches(page), [], view);
            // Nothing leads to what the page does not hold.
            const ways = await page.locator("a[href]").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
            assert.deepEqual(ways.filter((way) => shut.test(way)), [], view);
        }
        for (const key of ["w", "7", "l", "f"]) await page.keyboard.press(key);
        assert.doesNotMatch(page.url(), shut);
        await show(page, "view=overview");
        const bytes = () => page.evaluate(() => [...document.querySelectorAll(".facts-of div")].find((one) => one.firstChild.firstChild.textContent === "bytes").lastChild.title);
        const exact = (number) => `${number.toLocaleString("en-US")} bytes`;
        assert.equal(await bytes(), exact(expected.totals.bytes));
        // Two parts together are the whole.
        const numbers = [expected.totals.bytes];
        const step = (expected.seconds * 1e9) / 50;
        const instant = instantOf(recordings[name], "bytes", expected.totals.bytes / 3, (expected.totals.bytes * 2) / 3);
        const middle = Math.round(Math.min(49, Math.max(1, Math.round(instant / step))) * step);
        for (const part of [`to=${middle}`, `from=${middle}`]) {
            await show(page, part);
            const isNew = async () => Number((await bytes()).replace(/\D/g, "")) !== numbers.at(-1);
            await becomes(isNew, true);
            numbers.push(Number((await bytes()).replace(/\D/g, "")));
            // Call sites of the other part are not counted.
            const there = report(recordings[name], "--limit", "100000", `--${part}ns`).sites.length;
            await page.getByRole("link", { name: `all ${there}`, exact: true }).waitFor();
        }
        assert.equal(numbers[1] + numbers[2], numbers[0]);
        assert.ok(numbers.every((number) => number > 0), numbers.join());
        assert.deepEqual(problems, []);
        await close();
    });
}

test("a page shows callers and callees of a function, and compares two spans", async () => {
    const expected = report(recordings.phases);
    const { page, problems, close } = await open(`${pathToFileURL(html("phases"))}#view=tree&metric=bytes`);
    const tree = page.getByRole("treegrid");
    await tree.waitFor();
    const sum = (name) => expected.sites.filter((site) => site.function === name).reduce((sum, site) => sum + site.bytes, 0);
    const late = tree.locator('[role="row"]', { has: page.locator(".function", { hasText: /^late$/ }) }).first();
    await late.click();
    await page.getByRole("button", { name: "function ▾" }).click();
    await page.getByRole("menuitem", { name: "callers and callees" }).click();
    const [callers, callees] = ["called from", "calls"].map((title) => page.getByRole("treegrid", { name: title, exact: false }).filter({ has: page.locator('[role="columnheader"]', { hasText: new RegExp(`^${title}$`) }) }));
    for (const part of [callers, callees]) {
        const row = part.locator('[role="row"][aria-level="1"]');
        await row.filter({ hasText: "late" }).waitFor();
        const told = await row.locator(".number").first().getAttribute("title");
        assert.ok(told.startsWith(`${sum("late").toLocaleString("en-US")} bytes`), told);
    }
    await callers.locator('[role="row"][aria-level="2"]', { hasText: "main" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    // The whole run is in two spans, each of whole parts of it.
    const middle = afterThread();
    await page.evaluate((middle) => void (location.hash = `view=compare&metric=bytes&base=-${middle}&from=${middle}`), middle);
    await page.getByRole("table").waitFor();
    await page.getByLabel("small changes").check();
    for (const name of ["early", "late"]) {
        const row = page.locator('main [role="row"]', { has: page.locator(".function", { hasText: new RegExp(`^${name}$`) }) }).first();
        const titles = await row.locator(".number").evaluateAll((all) => all.slice(0, 2).map((one) => Number(one.title.replace(/\D/g, ""))));
        assert.equal(titles[0] + titles[1], sum(name), `${name}: ${titles}`);
    }
    assert.deepEqual(await breaches(page), []);
    await page.getByRole("button", { name: "flame graph", exact: true }).click();
    const graph = await page.locator("main canvas").boundingBox();
    const told = async () => {
        await page.mouse.move(graph.x + 30 + Math.random(), graph.y + 9);
        return /^all · .* before, .* after: /.test(await page.locator(".told").textContent());
    };
    await becomes(told, true);
    await page.mouse.click(graph.x + 30, graph.y + 18 * 1.5);
    await page.getByRole("link", { name: "all", exact: true }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
});

test("two spans differ by as much on a page as on a server, and are as well known", async () => {
    const server = await start(recordings.phases);
    const margins = async (url, hash) => {
        const { page, problems, close } = await open(String(url) + hash);
        await settled(page);
        const all = await page.locator('main [role="row"]').evaluateAll((rows) => rows.map((row) => [row.firstElementChild.textContent, /; difference (-?[\d,]+) ns to (-?[\d,]+) ns/.exec(row.children[3]?.title)?.slice(1).map((text) => Number(text.replaceAll(",", "")))]));
        assert.deepEqual(problems, []);
        await close();
        return Object.fromEntries(all.flatMap(([name, span]) => (span ? [[name, { by: (span[0] + span[1]) / 2, margin: (span[1] - span[0]) / 2 }]] : [])));
    };
    // A page holds 50 parts of the time.
    const part = (report(recordings.phases).seconds * 1e9) / 50;
    const middle = Math.round(Math.round(afterThread() / part) * part);
    const hash = `#view=compare&metric=cost&small=true&base=-${middle}&from=${middle}`;
    const [onPage, onServer] = [await margins(pathToFileURL(html("phases")), hash), await margins(server.url, hash)];
    const names = Object.keys(onServer).filter((name) => onPage[name] && onServer[name].margin > 100);
    // What is new has an error in any run, also where what is left of earlier phases errs by less than a digit.
    assert.ok(["late", "main"].every((name) => names.some((row) => row.includes(name))), names.join());
    for (const name of names) {
        const [one, other] = [onPage[name], onServer[name]];
        assert.ok(Math.abs(one.by - other.by) <= other.margin && one.margin > other.margin / 2 && one.margin < other.margin * 2, `${name}: ${one.by} ± ${one.margin}, ${other.by} ± ${other.margin}`);
    }
    server.stop();
});

test("a page says nothing of home folders, unless asked", () => {
    const packs = (file) => [...readFileSync(file, "utf8").matchAll(/<script type="application\/x-memtoll">(.*?)<\/script>/g)].map(([, pack]) => gunzipSync(Buffer.from(pack, "base64")).toString("latin1")).join("");
    assert.match(packs(html("phases", "--keep-paths")), /\/home\/ann\/phases\.c/);
    const text = packs(html("phases"));
    assert.match(text, /~\/phases\.c/);
    assert.doesNotMatch(text, /\/home\/ann/);
});

test("a span in the address of a page is one of whole parts, in what is shown and in its numbers", async (t) => {
    const { page, problems, close } = await open(pathToFileURL(html("marked")));
    t.after(close);
    const end = report(recordings.marked).seconds * 1e9;
    const step = end / 50;
    const spanOf = () => page.getByRole("link", { name: "Lines" }).getAttribute("href").then((way) => new URLSearchParams(way.slice(1))).then((way) => ["from", "to"].map((key) => (way.has(key) ? Number(way.get(key)) : null)));
    const near = (found, expected) => found.forEach((one, at) => assert.ok(expected[at] === null ? one === null : Math.abs(one - expected[at] * step) <= 1, `${found} are not ${expected} parts of ${step}`));
    for (const [asked, parts] of [[[10.3, 20.4], [10, 20]], [[10.6, 10.9], [10, 11]], [[null, 30.2], [null, 30]], [[20.7, 99], [21, 50]], [[49.9, null], [49, null]]]) {
        await show(page, ["from", "to"].flatMap((key, at) => (asked[at] === null ? [] : [`${key}=${Math.round(asked[at] * step)}`])).join("&"));
        near(await spanOf(), parts);
        const [from, to] = await spanOf();
        const expected = report(recordings.marked, ...(from === null ? [] : ["--from", `${from}ns`]), ...(to === null ? [] : ["--to", `${Math.min(to, Math.floor(end))}ns`])).totals.allocations;
        const told = page.locator(".facts-of div", { hasText: "allocations" }).locator("dd");
        await becomes(() => told.getAttribute("title"), expected.toLocaleString("en-US"));
    }
    await show(page, `view=lines&from=${Math.round(2 * end)}`);
    await page.getByRole("alert").filter({ hasText: /^The recording ends after .* this selection begins at / }).waitFor();
    await page.getByRole("button", { name: "whole run", exact: true }).click();
    await page.getByRole("table").waitFor();
    assert.deepEqual(problems, []);
});

test("the processes of a page lead to no selection that it does not hold", async (t) => {
    const { page, problems, close } = await open(`${pathToFileURL(html("executed"))}#view=processes`);
    t.after(close);
    const table = page.locator('main [aria-label="processes"]');
    await table.waitFor();
    assert.equal(await table.locator("a[href*='process=']").count(), 0);
    assert.deepEqual(await table.getByRole("columnheader").allTextContents(), ["process", "ran for", "exit", "began at", "ended at", "threads"]);
    assert.doesNotMatch(await page.locator("main").innerText(), /selects its process/);
    assert.deepEqual(problems, []);
});

test("what a page adds up by function says how much of it has no function there", async (t) => {
    // 32,768 call paths are more than a page holds.
    const { page, problems, close } = await open(`${pathToFileURL(html("wide"))}#view=tree&metric=allocations`);
    t.after(close);
    const total = report(recordings.wide).totals.allocations;
    const note = page.getByText(/^Sums are at least this: the page does not hold which functions have another /);
    await page.getByRole("treegrid").waitFor();
    assert.equal(await note.count(), 0, "from main, rows say all that they have");
    await show(page, "view=tree&metric=allocations&reversed=true");
    await note.waitFor();
    const rows = await page.getByRole("treegrid").locator('[aria-level="1"]').evaluateAll((rows) => rows.map((row) => [row.firstElementChild.textContent, Number(row.children[1].title.split(" ")[0].replace(/\D/g, ""))]));
    assert.equal(rows.reduce((sum, [, value]) => sum + value, 0), total);
    const others = rows.find(([name]) => /other call path/.test(name))[1];
    const said = Number((await note.innerText()).match(/another ([\d,]+)/)[1].replace(/\D/g, ""));
    assert.ok(Math.abs(said - others) <= others * 0.01, `${said} is not ${others}`);
    for (const view of ["view=flame&reversed=true", "view=tree&through=step1", "view=tree&by=module"]) {
        await show(page, `metric=allocations&${view}`);
        await note.waitFor();
    }
    assert.deepEqual(problems, []);
});

test("of a part of the time, a page shows costs with the errors that a server gives them", async (t) => {
    const ended = report(recordings.growing).seconds * 1e9;
    // The program has not begun in the first parts, which take no CPU time.
    const span = `view=overview&to=${Math.round((ended / 50) * 35)}`;
    const textsOf = async (page) => {
        await settled(page);
        await page.locator("header .selection", { hasText: " to " }).waitFor();
        await page.locator(".worst li").first().waitFor();
        const texts = (selector) => page.locator(selector).allInnerTexts();
        return { head: await page.locator(".cost h2").innerText(), parts: await texts(".parts b"), lines: await texts(".worst b") };
    };
    const { page: served } = await viewed(t, "growing", span);
    const { page, problems, close } = await open(`${pathToFileURL(html("growing"))}#${span}`);
    t.after(close);
    const [a, b] = [await textsOf(served), await textsOf(page)];
    assert.match(a.head, / of (.*) CPU time \(/);
    assert.match(a.parts.join(), / (±|to) /);
    assert.deepEqual(b, a);
    assert.deepEqual(problems, []);
});
