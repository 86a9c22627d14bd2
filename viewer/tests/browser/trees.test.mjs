// The call tree and the flame graph.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { html, htmlOfBoth, recordings, report } from "./recordings.mjs";
import { becomes, breaches, open, settled, show, start, tableRows, viewed } from "./viewer.mjs";

test("branches are loaded when they are opened, however many there are", async () => {
    const server = await start(recordings.wide);
    const { page, problems, close } = await open(`${server.url}#view=tree&metric=allocations`);
    const tree = page.getByRole("treegrid");
    await tree.waitFor();
    const answers = [];
    page.on("response", async (reply) => answers.push((await reply.body().catch(() => "")).length));
    // main calls step; each of its steps is one of eight functions: 8 to the power of 5 paths.
    const rows = (level) => tree.locator(`[role="row"][aria-level="${level}"]`);
    const main = await tree.locator('[role="row"]', { has: page.locator(".function", { hasText: /^main$/ }) }).first();
    let level = Number(await main.getAttribute("aria-level"));
    if ((await main.getAttribute("aria-expanded")) === "false") await main.click();
    for (let paths = 8 ** 5; paths > 1; paths /= 8) {
        const next = rows(level + 1);
        await next.nth(1).waitFor();
        const values = await next.evaluateAll((all) => all.map((row) => Number(row.children[1].title.split(/[ ,](?!\d{3})/)[0].replaceAll(",", ""))));
        const open = await next.evaluateAll((all) => all.findIndex((row) => row.ariaExpanded === "true"));
        assert.ok(values.slice(0, 8).every((value) => value === paths / 8), `${level}: ${values}`);
        if (open < 0) await next.first().click();
        level++;
    }
    // A thousandth of the tree is one answer.
    assert.ok(answers.every((length) => length < 400_000), answers.join());
    // Callers of a function above what it calls.
    await tree.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("s");
    await page.waitForFunction(() => document.querySelectorAll('[role="treegrid"]').length === 2);
    assert.deepEqual(await breaches(page), []);
    await page.getByTitle("Show the whole tree").click();
    await page.waitForFunction(() => document.querySelectorAll('[role="treegrid"]').length === 1);
    await show(page, "view=flame&metric=allocations");
    await page.locator("main .empty").waitFor({ state: "detached" });
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

for (const where of ["server", "page"]) test(`call trees by module and by type are those of the report: ${where}`, async () => {
    const server = where === "server" ? await start(recordings.python) : { url: pathToFileURL(html("python", "--keep-paths")), stop: () => {} };
    const { page, problems, close } = await open(`${server.url}#view=tree&metric=allocations`);
    const tree = page.getByRole("treegrid");
    const choice = page.locator(".tools label", { hasText: /^by/ }).locator("select");
    assert.deepEqual(await choice.locator("option").allInnerTexts(), ["call path", "module", ...(where === "server" ? ["type"] : [])]);
    for (const by of where === "server" ? ["module", "type"] : ["module"]) {
        await choice.selectOption(by);
        await page.waitForFunction((by) => location.hash.includes(`by=${by}`) && document.querySelector(`[role="treegrid"][aria-label*="by ${by}"]`), by);
        const rows = tree.locator('[role="row"][aria-level="1"]');
        // The heaviest path is open, and only rows in sight exist.
        await tree.locator('[role="row"][aria-level="2"]').first().waitFor();
        await tree.focus();
        await page.keyboard.press("Home");
        await page.keyboard.press("ArrowLeft");
        await tree.locator('[role="row"][aria-level="2"]').first().waitFor({ state: "detached" });
        const shown = await rows.evaluateAll((all) => all.map((row) => [row.querySelector("b.name")?.title, Number(row.children[1].title.split(/[ ,](?!\d{3})/)[0].replaceAll(",", ""))]));
        const expected = report(recordings.python, "--callers", "--group", by, "--metric", "allocations", "--min-percent", "0.02").tree;
        const large = expected.children.filter((child) => child.allocations > 0).map((child) => [child.label, child.allocations]);
        assert.ok(large.length > 0);
        // A page leaves small call paths out, of all modules together.
        if (where === "server") assert.deepEqual(shown.filter(([label]) => label), large, by);
        else assert.equal(shown[0][0], large[0][0]);
    }
    // The largest module opens, from its allocations, too.
    await choice.selectOption("module");
    await tree.focus();
    await page.keyboard.press("r");
    await page.waitForFunction(() => location.hash.includes("reversed=true"));
    await tree.locator('[role="columnheader"]', { hasText: "module, allocated by" }).waitFor();
    const second = tree.locator('[role="row"][aria-level="2"]').first();
    await page.keyboard.press("Home");
    if (await second.isVisible()) await page.keyboard.press("ArrowLeft");
    await second.waitFor({ state: "detached" });
    await page.keyboard.press("ArrowRight");
    await second.waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("a search looks through branches that are too small to be loaded", async (t) => {
    const { page, problems } = await viewed(t, "wide", "view=flame&metric=allocations");
    const hits = page.locator(".hits");
    for (const [view, found, sums] of [
        ["flame", "too narrow to be drawn", "found: 1, < 0.1 % of 32,769"],
        ["compare&graph=true&base=-", "too narrow to be drawn", "found: 1 before, 1 after: 0 allocations"],
        ["tree", "1"],
    ]) {
        await show(page, `view=${view}&metric=allocations`);
        await page.keyboard.press("/");
        await page.keyboard.type("seldom");
        await hits.filter({ hasText: new RegExp(`^${found}`) }).waitFor();
        if (sums) {
            const sum = page.locator(".tools", { hasText: sums });
            await sum.waitFor();
            // A zoom hides nothing of it.
            await page.locator("main canvas").focus();
            for (const key of ["ArrowDown", "Enter"]) await page.keyboard.press(key);
            await page.getByRole("link", { name: "all", exact: true }).waitFor();
            await settled(page);
            await page.waitForTimeout(300);
            await sum.waitFor();
            await page.keyboard.press("/");
        }
        await page.keyboard.press("Control+a");
        await page.keyboard.type("nowhere");
        await hits.filter({ hasText: /^none$/ }).waitFor();
    }
    assert.deepEqual(problems, []);
});

test("the flame graph zooms and searches", async () => {
    const server = await start(recordings.git);
    const { page, problems, close } = await open(`${server.url}#view=flame&metric=allocations`);
    const graph = page.locator("main canvas");
    await graph.waitFor();
    await page.locator("main .empty").waitFor({ state: "detached" });
    const area = await graph.boundingBox();
    await page.mouse.move(area.x + 30, area.y + 18 * 3.5);
    const told = page.locator(".told");
    await page.waitForFunction(() => document.querySelector(".told").textContent.includes("%"));
    const name = (await told.innerText()).split(" (")[0];
    await page.mouse.click(area.x + 30, area.y + 18 * 3.5);
    await page.getByRole("link", { name: "all", exact: true }).waitFor();
    await page.mouse.move(area.x + area.width - 30, area.y + 18 * 3.5);
    await page.waitForFunction((name) => document.querySelector(".told").textContent.startsWith(name), name);
    await graph.focus();
    await page.keyboard.press("Backspace");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "SVG" }).click();
    const svg = readFileSync(await (await download).path(), "utf8");
    assert.match(svg, /^<svg xmlns[^]*<title>[^]*<\/svg>\n$/);
    const texts = await page.evaluate((svg) => {
        const of = document.body.appendChild(document.createElement("div"));
        of.innerHTML = svg;
        const all = [...of.querySelectorAll("g:has(text)")].map((one) => [one.querySelector("text").textContent, one.querySelector("text").getComputedTextLength(), one.querySelector("rect").getBBox().width]);
        of.remove();
        return all;
    }, svg);
    assert.ok(texts.length > 5, "frames have names");
    assert.deepEqual(texts.filter(([, length, width]) => length > width), [], "no name is wider than its frame");
    await page.keyboard.press("/");
    await page.keyboard.type("git");
    await page.locator(".tools", { hasText: "found:" }).waitFor();
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

/** The largest rows of the table of lines: function and allocations; and how many rows there are. */
async function largestLines(page) {
    await show(page, "view=lines&metric=allocations");
    await page.locator("main .tools", { hasText: /\d rows/ }).waitFor();
    return page.evaluate(() => {
        const heads = [...document.querySelectorAll('main [role="columnheader"]')].map((head) => head.textContent.replace(/ ?▾?\s*\?$/, ""));
        const rows = [...document.querySelectorAll('main [role="row"]')].filter((row) => row.querySelector(".function")).slice(0, 12);
        const number = (row) => Number(row.children[heads.indexOf("allocations")].title.split(/ |,(?! ?\d)/)[0].replaceAll(",", ""));
        const count = Number(/([\d,]+) rows/.exec(document.querySelector("main .tools").innerText)[1].replaceAll(",", ""));
        return { rows: rows.map((row) => [row.querySelector(".function").textContent, number(row)]), count };
    });
}

/** Those with more allocations than the last one: lines with as many have no order, and some of them may not be among the largest. */
function certain({ rows, count }) {
    const certain = rows.filter(([, number]) => number > rows.at(-1)[1]);
    return { rows: certain.sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)), count };
}

test("wrappers of the allocator are folded away as in the report, and come back", async () => {
    const server = await start(recordings.git);
    const { page, problems, close } = await open(server.url);
    const [folded, shown] = [report(recordings.git), report(recordings.git, "--wrappers")];
    const { functions } = folded.wrappers;
    assert.ok(functions.length > 0);
    const same = async (page, { sites }) => {
        const found = await largestLines(page);
        const told = sites.map((site) => [site.function, site.allocations]).sort((a, b) => b[1] - a[1]);
        assert.ok(certain(found).rows.length >= 5, found.rows.join());
        assert.deepEqual(certain(found), certain({ rows: told.slice(0, found.rows.length), count: sites.length }));
        return found.rows.map(([name]) => name);
    };
    const callers = await same(page, folded);
    assert.ok(!callers.some((name) => functions.includes(name)), `${functions}: ${callers}`);
    // The header names them, and the notes have the sentence of the report.
    const button = page.locator("header button.folded");
    assert.equal(await button.innerText(), `folded ${functions.join(", ")} ×`);
    const sentence = folded.notes.find((note) => note.startsWith("wrappers of malloc")).replace("; --wrappers shows them", "");
    await show(page, "view=notes");
    await page.locator(".notes li", { hasText: sentence }).waitFor();
    assert.deepEqual(await breaches(page), []);
    await button.click();
    await page.waitForFunction(() => /wrappers=true/.test(location.hash));
    await page.locator("header button.folded", { hasText: /^fold / }).waitFor();
    await show(page, "view=lines&metric=allocations&wrappers=true");
    const name = functions.find((name) => shown.sites.some((site) => site.function === name));
    const row = page.locator('main [role="row"]', { has: page.locator(".function").getByText(name, { exact: true }) }).first();
    // In Lines, the row itself leads to its callers.
    await row.getByRole("button", { name: "callers" }).click();
    await page.waitForFunction(() => !/wrappers/.test(location.hash));
    await button.filter({ hasText: /^folded / }).waitFor();
    await same(page, folded);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
    const saved = await open(pathToFileURL(html("git")));
    await same(saved.page, folded);
    assert.equal(await saved.page.locator("header .folded").innerText(), `folded ${functions.join(", ")}`);
    assert.deepEqual(await breaches(saved.page), []);
    assert.deepEqual(saved.problems, []);
    await saved.close();
});

test("a wrapper of one recording is folded in a comparison, by the server and in a page", async () => {
    const server = await start(recordings.phases, recordings.wrapped);
    for (const url of [server.url, pathToFileURL(htmlOfBoth("phases", "wrapped"))]) {
        const { page, problems, close } = await open(url);
        await show(page, "view=compare&metric=bytes");
        const named = (name) => page.locator('main [role="row"] .function', { hasText: new RegExp(`^${name}$`) });
        await named("buffer_again_and_again").first().waitFor();
        assert.equal(await named("xmalloc").count(), 0, String(url));
        assert.deepEqual(problems, []);
        await close();
    }
    server.stop();
});

test("the flame graph shows the digits of a cost that Lines shows", async (t) => {
    const { page, problems } = await viewed(t, "git", "view=lines&group=function&metric=cost");
    const lines = new Map(await tableRows(page).evaluateAll((all) => all.flatMap((row) => (row.querySelector(".function") ? [[row.querySelector(".function").textContent, row.querySelector(".number .text").textContent]] : []))));
    await show(page, "view=flame&metric=cost&reversed=true");
    const told = () => page.locator(".told").textContent();
    await page.locator(".flame canvas").focus();
    let compared = 0;
    for (const key of ["ArrowDown", ...Array(11).fill("ArrowRight")]) {
        const before = await told();
        await page.keyboard.press(key);
        await becomes(async () => (await told()) !== before, true);
        const [, name, text] = /^(.*) \(.*\) · (.*?), /.exec(await told()) ?? [];
        if (!lines.has(name)) continue;
        assert.equal(text, lines.get(name), name);
        compared++;
    }
    assert.ok(compared > 7, `${compared}`);
    assert.deepEqual(problems, []);
});
