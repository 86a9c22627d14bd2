// What is cut out of call stacks, from the menu of a frame and by keys: all views follow, the numbers are those of the report,
// and the header undoes each cut.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { becomes, breaches, numbersOf, show, viewed, words } from "./viewer.mjs";

/** Allocations of functions, as the report has them. */
const reported = (...options) => Object.fromEntries(report(recordings.recursion, "--group", "function", ...options).sites.map((site) => [site.function, site.allocations]));

const allocationsOf = async (page, name) => Number((await numbersOf(page, name))?.allocations ?? NaN);
const rowOf = (page, name) => page.getByRole("treegrid").locator('[role="row"]', { has: page.locator(".function", { hasText: new RegExp(`^${name}$`) }) }).first();
const cut = (page, text) => page.locator("header .folded", { hasText: text });

/** Chooses something from the menu of a frame. */
async function choose(page, at, text) {
    await at.click({ button: "right" });
    await page.getByRole("menu").getByRole("menuitem", { name: text }).click();
    await becomes(() => page.getByRole("menu").count(), 0);
}

test("cuts of the tree hold in all views, and are undone one by one", async (t) => {
    const { page, problems } = await viewed(t, "recursion", "view=tree&reversed=true&metric=allocations");
    const all = reported();
    assert.deepEqual([all.walk, all.visit, all.leaf], [5, 4, 17]);
    await choose(page, rowOf(page, "visit"), "leave out all calls through this function");
    await cut(page, "without visit").waitFor();
    assert.equal(words(page).cuts, "drop function:visit(int)");
    await becomes(async () => (await page.locator(".shares").innerText()).startsWith("shares are of 8 allocations, of the call stacks that match"), true);
    await rowOf(page, "leaf").click();
    await page.keyboard.press("x");
    await cut(page, "folded leaf").waitFor();
    assert.equal(words(page).cuts, "drop function:visit(int)\nfold function:leaf(int)");
    const left = reported("--drop", "^visit$", "--fold", "^leaf$");
    assert.deepEqual(left, { main: 7, walk: 1 });
    await show(page, `view=lines&group=function&metric=allocations&cuts=${encodeURIComponent("drop function:visit(int)\nfold function:leaf(int)")}`);
    for (const [name, allocations] of Object.entries(left)) await becomes(() => allocationsOf(page, name), allocations);
    assert.equal(await numbersOf(page, "leaf"), undefined);
    assert.deepEqual(await breaches(page), []);
    await page.keyboard.press("Escape");
    await becomes(() => words(page).cuts, "drop function:visit(int)");
    await cut(page, "without visit").click();
    await becomes(() => allocationsOf(page, "leaf"), 17);
    await page.goBack();
    await cut(page, "without visit").waitFor();
    assert.deepEqual(problems, []);
});

test("a function that calls itself is shown once, a focus begins with it, and there is one focus", async (t) => {
    const { page, problems } = await viewed(t, "recursion", "view=tree&metric=allocations");
    const names = () => page.getByRole("treegrid").locator(".function").allInnerTexts();
    await becomes(async () => (await names()).filter((name) => name === "walk").length, 5);
    await rowOf(page, "walk").click();
    await page.keyboard.press("k");
    await becomes(async () => (await names()).filter((name) => name === "walk").length, 1);
    await cut(page, "collapsed walk").waitFor();
    for (const name of ["visit", "leaf"]) {
        await rowOf(page, name).click();
        await page.keyboard.press("o");
        await cut(page, `only ${name}`).waitFor();
        await becomes(async () => (await names())[0], name);
    }
    assert.equal(words(page).cuts, "collapse function:walk(int)\nfocus function:leaf(int)");
    await becomes(async () => (await page.locator(".shares").innerText()).startsWith("shares are of 17 allocations"), true);
    assert.deepEqual(problems, []);
});

test("frames of the flame graph, of lines and of functions have the same menu, with the keyboard, too", async (t) => {
    const { page, problems } = await viewed(t, "recursion", "view=flame&metric=allocations");
    const canvas = page.locator(".flame canvas");
    await canvas.click({ button: "right", position: { x: 20, y: 27 } });
    const menu = page.getByRole("menu", { name: "main" });
    await menu.waitFor();
    assert.deepEqual(await breaches(page), []);
    await page.keyboard.press("ArrowDown");
    assert.equal(await menu.getByRole("menuitem", { name: "show only calls" }).evaluate((item) => item === document.activeElement), true);
    await page.keyboard.press("Escape");
    await menu.waitFor({ state: "hidden" });
    assert.equal(words(page).cuts, undefined, "Esc closes the menu and nothing else");
    // A key of the chosen frame.
    await canvas.focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("D");
    await cut(page, "without").waitFor();
    for (const view of ["lines", "functions"]) {
        await show(page, `view=${view}&metric=allocations`);
        const row = page.locator('main .body [role="row"]', { has: page.locator(".function", { hasText: /^visit$/ }) }).first();
        await choose(page, row, "callers and callees");
        await becomes(() => words(page).view, "tree");
        assert.match(words(page).through, /^visit/);
    }
    assert.deepEqual(problems, []);
});

test("where nothing is left, the page says so, and a click leads back", async (t) => {
    const { page, problems } = await viewed(t, "recursion", "view=lines&metric=allocations");
    await show(page, `view=lines&metric=allocations&cuts=${encodeURIComponent("focus function:leaf\ndrop function:main")}`);
    await page.getByRole("alert").filter({ hasText: "No call stack of this selection is left" }).waitFor();
    await page.getByRole("button", { name: "whole call stacks" }).click();
    await becomes(() => allocationsOf(page, "leaf"), 17);
    assert.equal(words(page).cuts, undefined);
    // The browser names the answer that there is nothing.
    assert.ok(problems.every((problem) => problem.includes("404")), problems.join());
});

test("one of two libraries of one file name is cut by its path", async (t) => {
    const { page, problems } = await viewed(t, "twins", "view=lines&group=function&metric=allocations");
    const made = () => page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^made$/ }) });
    await becomes(() => made().count(), 2);
    await choose(page, made().first().locator(".function"), "fold its module away: its callers lead");
    await becomes(() => made().count(), 1);
    assert.match(words(page).cuts, /^fold module:\/.*twin-[12]\/twin\.so$/);
    assert.deepEqual(problems, []);
});

test("of functions of one name in two libraries, a row's cut takes the one that the row shows", async (t) => {
    const { page, problems } = await viewed(t, "twins", "view=lines&group=function&metric=allocations");
    const made = (page) => page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^made$/ }) });
    for (const place of [1, 2]) {
        const row = made(page).filter({ has: page.locator(`[title*="twin-${place}/"]`) });
        await show(page, "view=lines&group=function&metric=allocations");
        await becomes(() => made(page).count(), 2);
        await choose(page, row.locator(".function"), "leave out all calls through this function");
        await becomes(() => made(page).count(), 1);
        assert.equal(await row.count(), 0, "the other one is left");
        const [kind, names] = words(page).cuts.split(/ (.*)/);
        const left = report(recordings.twins, "--group", "function", `--${kind}`, names).sites.filter((site) => site.function === "made");
        assert.deepEqual(left.map(({ allocations }) => allocations), [3 - place]);
        await becomes(() => allocationsOf(page, "made"), 3 - place);
    }
    // Functions has one row for both, and its cut takes both.
    await show(page, "view=functions&metric=allocations");
    await becomes(() => made(page).count(), 1);
    await made(page).click({ button: "right" });
    const menu = page.getByRole("menu", { name: "made" });
    await menu.waitFor();
    assert.equal(await menu.getByRole("menuitem", { name: "its module" }).count(), 0, "there are two");
    await menu.getByRole("menuitem", { name: "leave out all calls through this function" }).click();
    await becomes(() => made(page).count(), 0);
    assert.equal(words(page).cuts, "drop function:made");
    assert.deepEqual(problems, []);
});

test("of overloads, a row's cut takes the one that the row shows", async (t) => {
    const { page, problems } = await viewed(t, "overloads", "view=lines&group=function&metric=bytes");
    const made = () => page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^made$/ }) });
    for (const [parameter, left] of [["int", 3000], ["long", 1000]]) {
        await show(page, "view=lines&group=function&metric=bytes");
        await becomes(() => made().count(), 2);
        await choose(page, made().filter({ hasText: `(${parameter})` }).locator(".function"), "leave out all calls through this function");
        await becomes(() => made().count(), 1);
        await becomes(async () => Number((await numbersOf(page, "made")).bytes), left);
        assert.equal(words(page).cuts, `drop function:made(${parameter})`);
        await cut(page, `without made(${parameter})`).waitFor();
        const { sites } = report(recordings.overloads, "--group", "function", "--drop", `function:^made\\(${parameter}\\)$`);
        assert.deepEqual(sites.filter((site) => site.function === "made").map(({ bytes }) => bytes), [left]);
    }
    assert.deepEqual(problems, []);
});
