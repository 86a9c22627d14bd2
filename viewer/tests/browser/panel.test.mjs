// The panel beside a view: what the chosen function costs, when, by whom, in which sizes, and its source.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { becomes, breaches, open, show, start, viewed, words } from "./viewer.mjs";

const panelOf = (page) => page.getByRole("complementary", { name: "the chosen function" });
const exact = async (cell) => (await cell.getAttribute("title")).split(/ |,(?! ?\d)/)[0].replaceAll(",", "");
/** Of the function itself, and with what it calls. */
const numbersOf = async (page, metric) => {
    const row = panelOf(page).locator("tr", { has: page.locator("th", { hasText: new RegExp(`^${metric}`) }) });
    await row.waitFor();
    return Promise.all([0, 1].map((at) => exact(row.locator("td").nth(at))));
};

test("the panel has what the chosen function costs, who calls it, its sizes and its source in colors", async (t) => {
    const server = await start("--sources", recordings.recursion);
    const { page, problems, close } = await open(`${server.url}#view=tree&metric=allocations`);
    t.after(async () => (server.stop(), close()));
    await page.getByRole("treegrid").locator(".function", { hasText: /^walk$/ }).nth(2).click();
    await page.keyboard.press("i");
    const panel = panelOf(page);
    await panel.getByRole("heading", { name: /^walk/ }).waitFor();
    assert.equal(words(page).panel, "true");
    // 5 calls of itself, 4 of visit and 10 of leaf: a function that calls itself counts once.
    await becomes(async () => String(await numbersOf(page, "allocations")), "5,19");
    assert.deepEqual(await numbersOf(page, "bytes"), ["240", "608"]);
    await becomes(async () => (await panel.locator(".callers li").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim()).join(), "19 100 % main");
    // All metrics come and go, and the address says which there are.
    const metrics = () => panel.locator(".costs-of tbody tr").count();
    const usual = await metrics();
    await panel.getByRole("button", { name: "all metrics" }).click();
    await page.reload();
    await panel.getByRole("button", { name: "fewer metrics" }).waitFor();
    await becomes(async () => (await metrics()) > usual, true);
    await page.goBack();
    await becomes(metrics, usual);
    await panel.locator(".sparkline canvas").waitFor();
    assert.match(await panel.locator("figcaption", { hasText: "over time" }).innerText(), /^allocations over time, with what it calls: .+ at most$/);
    await panel.locator("figcaption", { hasText: /size of its own blocks.*: 5, median/ }).waitFor();
    const line = panel.locator(".around .chosen");
    assert.match((await line.innerText()).replaceAll(/\s+/g, " "), /13 5 free\(kept = malloc\(48\)\);/);
    assert.equal(await line.locator(".code-number").innerText(), "48");
    assert.ok((await panel.locator(".around .code-keyword").allInnerTexts()).includes("if"));
    assert.deepEqual(await breaches(page), []);
    // All of Source is in colors, too; the text stays what it is.
    await panel.getByRole("link", { name: "recursion.c:13" }).click();
    await becomes(() => words(page).view, "source");
    await page.locator(".file .code-comment", { hasText: "Functions that call themselves" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
});

test("of a function, the panel shows the line that has most of the metric", async (t) => {
    const { page } = await viewed(t, "phases", "view=functions&metric=bytes&panel=true");
    const sites = report(recordings.phases).sites.filter((site) => site.function === "main").toSorted((a, b) => b.bytes - a.bytes);
    assert.ok(sites.length > 1 && sites[0].bytes > sites[1].bytes, JSON.stringify(sites));
    await page.locator("main").getByRole("link", { name: /^main/ }).first().click();
    await panelOf(page).getByRole("link", { name: `phases.c:${sites[0].line}`, exact: true }).waitFor();
});

test("the panel follows what is chosen, in each view that has functions", async (t) => {
    const { page, problems } = await viewed(t, "recursion", "view=functions&metric=allocations&panel=true");
    await panelOf(page).getByRole("heading", { name: "No function is chosen" }).waitFor();
    await page.locator("main").getByRole("link", { name: /^leaf/ }).first().click();
    await becomes(async () => String(await numbersOf(page, "allocations")), "17,17");
    const callers = async () => (await panelOf(page).locator(".callers li").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, " ").trim()).join();
    await becomes(callers, "10 58.8 % walk,7 41.2 % main");
    await show(page, "view=flame&metric=allocations&panel=true");
    const canvas = page.locator(".flame canvas");
    await canvas.focus();
    for (const name of ["main", "walk", "visit"]) {
        await page.keyboard.press("ArrowDown");
        await panelOf(page).getByRole("heading", { name: new RegExp(`^${name}`) }).waitFor().catch(() => assert.fail(name));
    }
    await becomes(async () => String(await numbersOf(page, "allocations")), "4,18");
    await becomes(callers, "18 100 % walk");
    // A caller leads on.
    await panelOf(page).getByRole("link", { name: "walk" }).click();
    await becomes(() => words(page).view, "tree");
    assert.match(words(page).through, /^walk/);
    await panelOf(page).getByRole("button", { name: "close the panel" }).click();
    await becomes(() => panelOf(page).count(), 0);
    assert.deepEqual(problems, []);
});

test("beside the panel, tables have as many columns as fit, and say how many are hidden", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines&metric=cost");
    for (const view of ["lines", "functions", "tree"]) {
        const columns = () => page.locator('main .table').first().locator('.head [role="columnheader"]').count();
        await show(page, `view=${view}&metric=cost`);
        await becomes(async () => (await columns()) > 3, true);
        const all = await columns();
        await show(page, `view=${view}&metric=cost&panel=true`);
        await panelOf(page).waitFor();
        await becomes(() => page.evaluate(() => document.querySelector("main .table").scrollWidth - document.querySelector("main .table").clientWidth), 0);
        const shown = await columns();
        assert.ok(shown > 1 && shown < all, `${view}: ${shown} of ${all}`);
        assert.match(await page.locator("main .table").first().locator('.head [role="columnheader"]').nth(1).innerText(), /cost/);
        if (view !== "tree") await page.getByRole("button", { name: `columns (${all - shown} hidden)` }).waitFor();
        await panelOf(page).getByRole("button", { name: "close the panel" }).click();
        await becomes(columns, all);
    }
    assert.deepEqual(problems, []);
});

test("the panel, callers and callees are of the function that a row shows, not of others of its name", async (t) => {
    for (const [name, part, bytes] of [["twins", "twin-1/", "100"], ["twins", "twin-2/", "200"], ["overloads", "(int)", "1000"], ["overloads", "(long)", "3000"]]) {
        const { page, problems } = await viewed(t, name, "view=lines&group=function&metric=bytes&panel=true");
        await page.locator('main [role="row"]', { has: page.locator(`[title*="${part}"]`), hasText: "made" }).locator(".what").click();
        await becomes(async () => (await numbersOf(page, "bytes")).join(), `${bytes},${bytes}`);
        await page.getByRole("button", { name: "function ▾" }).click();
        await page.getByRole("menuitem", { name: "callers and callees" }).click();
        const root = page.getByRole("treegrid", { name: /: calls$/ }).locator('[role="row"][aria-level="1"]');
        await becomes(() => exact(root.locator(".number").first()), bytes);
        assert.deepEqual(problems, []);
    }
});
