// The address holds all that is seen: Back undoes each step, and Esc leaves the innermost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { becomes, settled, show, viewed, words } from "./viewer.mjs";

test("what was said leaves with its step", async (t) => {
    const { page } = await viewed(t, "wide", "view=tree&metric=allocations");
    await settled(page);
    await page.getByRole("button", { name: "heaviest path" }).click();
    const said = page.locator(".said", { hasText: "The heaviest path has" });
    await said.waitFor();
    await page.goBack();
    // It would stay for 4 s.
    await said.waitFor({ state: "hidden", timeout: 1500 });
});

test("the address holds open branches, and Back undoes each step", async (t) => {
    const { page, problems } = await viewed(t, "wide", "view=tree&metric=allocations");
    const open = () => page.locator('main [role="row"][aria-expanded="true"]').count();
    const level = (number) => page.locator(`main [role="row"][aria-level="${number}"]`);
    await page.waitForFunction(() => document.querySelectorAll('main [role="row"][aria-expanded="true"]').length > 0);
    const heaviest = await open();
    // Closing the outermost branch closes all; Back opens them again.
    await level(1).first().click();
    await page.waitForFunction(() => document.querySelectorAll('main [role="row"][aria-expanded="true"]').length === 0);
    assert.ok(words(page).open, page.url());
    await page.goBack();
    await page.waitForFunction((count) => document.querySelectorAll('main [role="row"][aria-expanded="true"]').length === count, heaviest);
    await page.goForward();
    await page.waitForFunction(() => document.querySelectorAll('main [role="row"][aria-expanded="true"]').length === 0);
    await level(1).first().click();
    await level(2).first().waitFor();
    if ((await level(2).first().getAttribute("aria-expanded")) === "false") await level(2).first().click();
    await level(3).first().waitFor();
    const names = () => page.locator('main [role="row"] .function').allInnerTexts();
    const shown = await names();
    // A link shows the same.
    const again = await page.context().newPage();
    await again.goto(page.url());
    await again.locator('main [role="row"][aria-level="3"]').first().waitFor();
    assert.deepEqual(await again.locator('main [role="row"] .function').allInnerTexts(), shown);
    await again.close();
    // The key r shows another tree, whose branches are others.
    await page.keyboard.press("r");
    await page.waitForFunction(() => location.hash.includes("reversed=true") && !location.hash.includes("open="));
    await page.goBack();
    await page.waitForFunction((shown) => JSON.stringify([...document.querySelectorAll('main [role="row"] .function')].map((one) => one.innerText)) === shown, JSON.stringify(shown));
    assert.deepEqual(problems, []);
});

test("the zoom of the flame graph is in the address; Esc leaves the innermost", async (t) => {
    const { page, problems } = await viewed(t, "wide", "view=flame&metric=allocations&search=step3");
    const graph = page.locator("main canvas");
    await page.waitForFunction(() => document.querySelector("main canvas")?.height > 60);
    const told = page.locator(".told");
    // The root, main, and one of eight steps, an eighth of it.
    const { x, y, width } = await graph.boundingBox();
    const depth = async (name, at) => {
        for (let line = 0; line < 8; line++) {
            await page.mouse.move(x + width * at, y + line * 18 + 9);
            if ((await told.innerText()).startsWith(name)) return line;
        }
        return -1;
    };
    const line = await depth("step", 0.5);
    assert.ok(line > 0);
    const [text] = /^step\d/.exec(await told.innerText());
    await page.mouse.click(x + width * 0.5, y + line * 18 + 9);
    await page.waitForFunction(() => location.hash.includes("zoom="));
    const wide = async () => {
        await page.mouse.move(x + width * 0.02, y + line * 18 + 9);
        return told.innerText();
    };
    assert.ok((await wide()).startsWith(text), "what is zoomed into is as wide as all");
    const again = await page.context().newPage();
    await again.goto(page.url());
    await becomes(async () => {
        await again.mouse.move(x + width * (0.02 + Math.random() / 100), y + line * 18 + 9);
        return (await again.locator(".told").innerText()).slice(0, text.length);
    }, text);
    await again.close();
    await page.evaluate(() => document.activeElement.blur());
    await page.evaluate(() => void (location.hash += "&from=1000000"));
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    for (const gone of ["zoom=", "search=", "from="]) {
        assert.ok(page.url().includes(gone), `${gone}: ${page.url()}`);
        await page.keyboard.press("Escape");
        await page.waitForFunction((gone) => !location.hash.includes(gone), gone);
    }
    await page.goBack();
    await page.waitForFunction(() => location.hash.includes("from="));
    assert.deepEqual(problems, []);
});

test("the frame that is chosen in the flame graph is in the address, with its panel", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=flame&metric=bytes&panel=true");
    for (const order of ["", "&inOrder=true"]) {
        await show(page, `view=flame&metric=bytes&panel=true${order}`);
        const [told, panel] = [page.locator(".told"), page.locator(".panel h2").first()];
        const seen = async () => `${await told.innerText()} ${await panel.innerText()}`;
        await page.waitForFunction(() => document.querySelector("main canvas")?.height > 40);
        await page.locator("main canvas").focus();
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("ArrowDown");
        await told.filter({ hasText: "%" }).waitFor();
        assert.ok(words(page).branch, page.url());
        await settled(page);
        const before = await seen();
        assert.doesNotMatch(before, /No function/);
        await page.reload();
        await told.filter({ hasText: "%" }).waitFor();
        await becomes(seen, before);
        // A search goes on from hit to hit, whatever was chosen before.
        await page.keyboard.press("/");
        await page.keyboard.type("main");
        await page.keyboard.press("Enter");
        await told.filter({ hasText: /^main/ }).waitFor();
    }
    assert.deepEqual(problems, []);
});

test("letters of a search are one step for Back; hits are counted, and Enter goes to the next", async (t) => {
    const { page, problems } = await viewed(t, "wrapped", "view=tree&metric=allocations&wrappers=true");
    await page.locator('main [role="row"] .function').first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("step");
    const hits = page.locator(".hits");
    // Twelve functions are called so, which main calls.
    await hits.filter({ hasText: /^1 of 12/ }).waitFor();
    const chosen = () => page.locator('main [role="row"][aria-selected="true"] .function').innerText();
    const first = await chosen();
    await page.keyboard.press("Enter");
    await hits.filter({ hasText: /^2 of 12/ }).waitFor();
    assert.notEqual(await chosen(), first);
    await page.keyboard.press("Shift+Enter");
    await page.keyboard.press("Shift+Enter");
    await hits.filter({ hasText: /^12 of 12/ }).waitFor();
    await page.getByRole("button", { name: "next" }).click();
    await hits.filter({ hasText: /^1 of 12/ }).waitFor();
    await page.goBack();
    await page.goBack();
    await page.waitForFunction(() => !location.hash.includes("search="));
    await show(page, "view=flame&metric=allocations&search=step&wrappers=true");
    await hits.filter({ hasText: /^1 of 12/ }).waitFor();
    assert.deepEqual(problems, []);
});

test("a box that was clicked leaves the keys to the page; Esc in the filter field forgets what was typed", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=overview");
    await settled(page);
    await page.getByLabel("as paid").click();
    await page.waitForFunction(() => location.hash.includes("paid"));
    await page.keyboard.press("2");
    await page.waitForFunction(() => location.hash.includes("view=lines"));
    const filter = page.getByRole("textbox", { name: "filter", exact: true });
    await filter.fill("nothing is called so");
    await filter.press("Escape");
    assert.equal(await filter.inputValue(), "");
    assert.equal(words(page).filter ?? "", "");
    assert.ok(await page.evaluate(() => document.activeElement === document.body));
    await filter.fill("main");
    await filter.press("Enter");
    await page.waitForFunction(() => location.hash.includes("filter=main"));
    assert.deepEqual(problems, []);
});

test("a table can be copied after Back, and after the address is changed", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=overview&metric=bytes", { permissions: ["clipboard-read", "clipboard-write"] });
    const copies = async () => {
        await page.keyboard.press("c");
        await page.locator(".said", { hasText: /^(Copied|Saved)/ }).waitFor();
        await page.locator(".said").waitFor({ state: "hidden" });
    };
    await show(page, "view=lines&metric=bytes");
    await copies();
    await page.goBack();
    await page.locator('nav a[aria-current]', { hasText: "Overview" }).waitFor();
    await settled(page);
    await copies();
    await page.goForward();
    await page.locator("nav a[aria-current]", { hasText: "Lines" }).waitFor();
    await settled(page);
    await copies();
    assert.deepEqual(problems, []);
});
