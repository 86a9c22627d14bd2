// What is folded away: its callers lead, in all views, and no sum changes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { becomes, breaches, numbersOf, show, viewed, words } from "./viewer.mjs";

const allocations = (sites, name) => sites.filter((site) => site.function === name).reduce((sum, site) => sum + site.allocations, 0);

test("a function that is folded away leaves its calls to its callers, in all views", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=tree&reversed=true&metric=allocations");
    const { sites, totals } = report(recordings.phases, "--limit", "1000");
    await page.getByRole("treegrid").locator('[role="row"]', { hasText: "late" }).first().click();
    await page.getByRole("button", { name: "fold function" }).click();
    await page.locator("header .folded", { hasText: "late" }).waitFor();
    assert.equal(words(page).fold, "late");
    await becomes(() => page.getByRole("treegrid").locator(".function", { hasText: /^late$/ }).count(), 0);
    await show(page, "view=lines&group=function&metric=allocations&fold=late");
    await becomes(async () => (await numbersOf(page, "main"))?.allocations, String(allocations(sites, "main") + 2_000));
    assert.equal((await numbersOf(page, "early")).allocations, "2000");
    assert.match(await page.locator("main .tools").innerText(), new RegExp(`shares are of ${totals.allocations.toLocaleString("en-US").slice(0, 2)}`));
    assert.deepEqual(await breaches(page), []);
    // The header undoes it, and so does Back.
    await page.locator("header .folded", { hasText: "late" }).click();
    await becomes(async () => (await numbersOf(page, "late"))?.allocations, "2000");
    await page.goBack();
    await page.locator("header .folded", { hasText: "late" }).waitFor();
    assert.deepEqual(problems, []);
});

test("a module is folded away by a key, and Esc leaves that", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=tree&reversed=true&metric=allocations");
    await page.getByRole("treegrid").locator('[role="row"]', { hasText: "late" }).first().click();
    await page.keyboard.press("X");
    await page.waitForFunction(() => /fold=phases/.test(location.hash));
    await page.locator("header .folded", { hasText: "phases" }).waitFor();
    // All of the program is in this module: a stack that would have no frame left is shown whole.
    await page.locator("main .function", { hasText: /^late$/ }).first().waitFor();
    await page.keyboard.press("Escape");
    await becomes(() => page.locator("header .folded", { hasText: "phases" }).count(), 0);
    assert.deepEqual(problems, []);
});
