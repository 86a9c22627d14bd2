// Bins of histograms lead to the blocks of their sizes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { becomes, breaches, numbersOf, packOf, show, tableRows, viewed, words } from "./viewer.mjs";

test("a bin of a histogram leads to the blocks of its sizes, in all views, and back", async (t) => {
    const { page, problems } = await viewed(t, "staircase", "view=lifetimes");
    const bins = page.getByRole("group", { name: "size of blocks, when they are allocated" });
    const of = (sizes) => report(recordings.staircase, "--min-size", String(sizes[0]), "--max-size", String(sizes[1])).totals;
    const small = [768, 1023];
    const bin = bins.getByRole("link", { name: new RegExp(`^768 B to 1.00 KiB: ${of(small).allocations.toLocaleString("en")},`) });
    assert.ok(of(small).allocations >= 1000);
    // By key: arrows go from bin to bin, Enter goes there.
    await bin.focus();
    await page.keyboard.press("ArrowRight");
    const next = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    assert.ok(next && !next.startsWith("768 B"), next);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await bin.evaluate((one) => one === document.activeElement && one.tabIndex === 0), true);
    await page.keyboard.press("Enter");
    await becomes(() => words(page).sizes, "768-1023");
    await becomes(() => bins.getByRole("link").count(), 1);
    assert.deepEqual(await breaches(page), []);

    await show(page, "view=lines&metric=allocations&sizes=768-1023");
    await becomes(async () => (await numbersOf(page, "small"))?.allocations, "1000");
    assert.equal(await tableRows(page).filter({ hasText: "large" }).count(), 0);
    await page.getByText("curves: all sizes").waitFor();
    await page.getByRole("button", { name: "only blocks of 768 B to below 1.00 KiB" }).click();
    await becomes(() => words(page).sizes, undefined);
    await becomes(async () => (await numbersOf(page, "large"))?.allocations, "500");
    await page.goBack();
    await becomes(() => words(page).sizes, "768-1023");

    // CPU time is known, but these blocks have no share of it.
    await show(page, "view=overview&sizes=768-1023");
    await page.locator(".cost", { hasText: "The program's CPU time is that of blocks of all sizes" }).waitFor();
    assert.equal(await page.locator(".cost", { hasText: "not known" }).count(), 0);

    // What lies in memory follows, too.
    const query = { min_size: 4000, max_size: 4000 };
    const map = await packOf(page, { query, page: { memory: { range: null } } });
    assert.deepEqual([map.head.blocks, map.head.live], [500, 2_000_000]);
    const generations = await packOf(page, { query, page: { generations: { borders: "selection" } } });
    const blocks = Object.entries(generations.columns).filter(([name]) => name.startsWith("blocks.")).flatMap(([, values]) => values);
    assert.equal(blocks.reduce((sum, one) => sum + one, 0), 500);
    assert.deepEqual(problems, []);
});

test("a cell of the heat map leads to the blocks of its size", async (t) => {
    const { page } = await viewed(t, "phases", "view=lifetimes");
    // 20,000 blocks of 64 bytes, which are freed at once.
    const cell = page.getByRole("gridcell", { name: /^64 B to below 128 B, lived / });
    await cell.first().waitFor();
    const counts = await cell.evaluateAll((all) => all.map((one) => Number(/: ([\d,]+) block/.exec(one.ariaLabel)?.[1].replaceAll(",", "") ?? 0)));
    await cell.nth(counts.indexOf(Math.max(...counts))).click();
    await page.getByRole("link", { name: "only blocks of this size" }).click();
    await becomes(() => words(page).sizes, "64-127");
    assert.equal(words(page).cell, undefined);
    await show(page, "view=lines&metric=allocations&sizes=64-127");
    await becomes(async () => (await numbersOf(page, "thread"))?.allocations, "20000");
});
