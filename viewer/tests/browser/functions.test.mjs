// What functions cost, of themselves and with all that they call.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { afterEarly, recordings, report } from "./recordings.mjs";
import { becomes, breaches, show, tableRows, viewed, words } from "./viewer.mjs";

/** Exact numbers of all functions, by name: of the metric that the table is sorted by, self and total. */
const numbers = (page) =>
    page.evaluate(() => {
        const exact = (cell) => Number(cell.title.split(/ |,(?! ?\d)/)[0].replaceAll(",", ""));
        const rows = [...document.querySelectorAll('main .table[aria-label^="functions"] .body [role="row"]')];
        return Object.fromEntries(rows.map(({ children: [name, self, total] }) => [(name.querySelector(".function") ?? name).textContent, { self: exact(self), total: exact(total) }]));
    });

test("overloads are told apart, and each is chosen for itself", async (t) => {
    const { page, problems } = await viewed(t, "overloads", "view=functions&metric=bytes");
    for (const view of ["functions", "lines", "lifetimes"]) {
        await show(page, `view=${view}&metric=bytes`);
        const names = page.locator("main .body .row .name", { hasText: /^made/ });
        await becomes(async () => (await names.allInnerTexts()).map((text) => /\((int|long)\)/.exec(text)?.[1]).sort().join(), "int,long");
        if (view === "functions") continue;
        for (const type of ["int", "long"]) {
            await names.filter({ hasText: `(${type})` }).click();
            await becomes(() => page.locator('main .body .row[aria-selected="true"]').filter({ hasText: `(${type})` }).count(), 1);
            assert.equal(await page.locator('main .body .row[aria-selected="true"]').count(), 1);
        }
    }
    assert.deepEqual(problems, []);
});

test("templates of one shortened name have the argument beside them in which they differ, on a narrow screen too", async (t) => {
    const { page, problems } = await viewed(t, "templates", "view=functions&metric=bytes");
    for (const view of ["functions", "lines", "lifetimes", "tree"]) {
        await show(page, `view=${view}&metric=bytes`);
        const parts = page.locator("main .body .name", { hasText: "insert" }).locator(".apart");
        await becomes(async () => (await parts.allInnerTexts()).sort().join(), "[Apple],[Apricot]");
        assert.ok(await parts.evaluateAll((all) => all.every((one) => one.scrollWidth <= one.clientWidth)), view);
    }
    assert.deepEqual(problems, []);
});

test("functions of libraries that share a file name are rows of their own, and each is chosen for itself", async (t) => {
    const { page, problems } = await viewed(t, "twins", "view=lines&metric=allocations");
    const rows = () => tableRows(page).filter({ hasText: "made" });
    for (const [view, group] of [["lines", "line"], ["lines", "function"], ["lifetimes", "line"]]) {
        await show(page, `view=${view}&group=${group}&metric=allocations`);
        await becomes(() => rows().count(), 2);
        const places = await rows().locator(".place").allInnerTexts();
        assert.deepEqual(places.sort(), ["twin-1/twin.so", "twin-2/twin.so"], view);
        for (const place of [0, 1]) {
            await rows().nth(place).locator(".what").click();
            await becomes(() => rows().evaluateAll((all) => all.map((row) => row.getAttribute("aria-selected")).join()), place === 0 ? "true,false" : "false,true");
        }
    }
    assert.deepEqual(problems, []);
});

test("each function has what it costs itself, and with all that it calls", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=functions&metric=allocations");
    await tableRows(page).first().waitFor();
    const found = await numbers(page);
    // main calls early, late and, for a thread and in the child, malloc; a thread has no main.
    const own = report(recordings.phases).sites.filter((site) => site.function === "main").reduce((sum, { allocations }) => sum + allocations, 0);
    assert.ok(own >= 100);
    assert.deepEqual([found.early, found.late, found.thread], [2_000, 2_000, 20_000].map((all) => ({ self: all, total: all })));
    assert.deepEqual(found.main, { self: own, total: own + 4_000 });
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
});

test("what functions cost themselves adds up to the whole, for each metric, filter and span", async (t) => {
    const { page, problems } = await viewed(t, "phases");
    const from = afterEarly();
    for (const [hash, ...options] of [[""], ["&filter=late", "--filter", "late"], [`&from=${from}`, "--from", `${from}ns`]]) {
        const { sites } = report(recordings.phases, "--limit", "1000", ...options);
        for (const [metric, key] of [["allocations", "allocations"], ["bytes", "bytes"], ["live", "live_bytes"]]) {
            const all = sites.reduce((sum, site) => sum + site[key], 0);
            await show(page, `view=functions&metric=${metric}${hash}`);
            await becomes(async () => Object.values(await numbers(page)).reduce((sum, { self }) => sum + self, 0), all);
            for (const [name, { self, total }] of Object.entries(await numbers(page))) assert.ok(self <= total && total <= all, `${name}, ${metric}${hash}: ${self} of ${total}, ${all} in all`);
        }
    }
    assert.deepEqual(problems, []);
});

test("a function leads to who calls it and what it calls, and the address holds order and function", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=functions&metric=allocations");
    const first = () => page.locator('main .table[aria-label^="functions"] .body .row .function').first().innerText();
    await page.getByRole("columnheader", { name: "allocations, self" }).getByRole("link").click();
    await becomes(first, "thread");
    assert.equal(words(page).order, "self");
    await page.getByRole("columnheader", { name: "bytes, total" }).getByRole("link").click();
    await page.waitForFunction(() => /metric=bytes/.test(location.hash) && /order=total/.test(location.hash));
    await page.goBack();
    await page.goBack();
    await page.getByRole("link", { name: /^late/ }).first().click();
    await page.waitForFunction(() => /through=late/.test(location.hash));
    // Both trees begin with the function and all of it; main calls it, and it calls malloc, which is left out.
    for (const name of ["called from", "calls"]) {
        const tree = page.getByRole("treegrid", { name: new RegExp(`: ${name}$`) });
        const root = tree.locator('[role="row"][aria-level="1"]', { hasText: "late" });
        await root.waitFor();
        assert.match(await root.locator(".number").first().getAttribute("title"), /^2,000, 100 % of 2,000 allocations/);
    }
    await page.getByRole("treegrid", { name: /: called from$/ }).locator('[role="row"][aria-level="2"]', { hasText: "main" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    // The table of functions is copied, with trees below it and without.
    const saved = async () => {
        const [download] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("C")]);
        return readFileSync(await download.path(), "utf8").split("\n")[0];
    };
    assert.match(await saved(), /^function,allocations self/);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !/through=/.test(location.hash));
    assert.match(await saved(), /^function,allocations self/);
    assert.deepEqual(problems, []);
});
