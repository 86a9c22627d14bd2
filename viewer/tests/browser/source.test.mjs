// Source files: what their lines cost, and who may read them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { MEMTOLL, SOURCE, html, recordings, report, run } from "./recordings.mjs";
import { breaches, open, show, start } from "./viewer.mjs";

test("lines of sources stand beside what they cost", async () => {
    const server = await start("--sources", "--editor", "idea://open?file={file}&line={line}", recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=source&metric=bytes`);
    const expected = report(recordings.phases);
    const text = readFileSync(SOURCE, "utf8").split("\n");
    const table = page.getByRole("table");
    await table.waitFor();
    const rows = await table.locator(".body .row").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => [cell.textContent, cell.title])));
    assert.deepEqual(rows.map((row) => row.at(-1)[0]), text.slice(0, -1));
    const number = (title) => Number(title.split(/ |,(?! ?\d)/)[0].replaceAll(",", ""));
    for (const name of ["early", "late", "thread"]) {
        const sites = expected.sites.filter((site) => site.function === name);
        const sum = sites.reduce((sum, site) => sum + site.bytes, 0);
        const row = rows[sites[0].line - 1];
        assert.match(row.at(-1)[0], new RegExp(`void \\*?${name}\\(`));
        assert.equal(number(row[1][1]), sum, name);
    }
    // main calls them all: each of its calls stands at its line.
    const late = rows[text.findIndex((line) => line.includes("late();")) ];
    assert.equal(number(late[2][1]), expected.sites.filter((site) => site.function === "late").reduce((sum, site) => sum + site.bytes, 0));
    assert.equal(late[1][1], "");
    assert.match(await page.getByRole("link", { name: "open in the editor" }).getAttribute("href"), /^idea:\/\/open\?file=\/.*\/home\/ann\/phases\.c&line=\d+$/);
    assert.deepEqual(await breaches(page), []);
    // From a line of the table of lines to its place in the source.
    await show(page, "view=lines&metric=bytes");
    await page.locator('main [role="row"]', { hasText: "late" }).first().click();
    await page.locator(".details a", { hasText: "phases.c:" }).click();
    await page.locator(".row.chosen", { hasText: "late(void)" }).waitFor();
    // Without the option, there are lines and functions, and no text.
    assert.deepEqual(problems, []);
    await close();
    server.stop();
    const plain = await start("--editor", "none", recordings.phases);
    const closed = await open(`${plain.url}#view=source&metric=bytes`);
    await closed.page.locator(".empty", { hasText: "--sources" }).waitFor();
    assert.ok(!(await closed.page.getByRole("main").innerText()).includes("malloc(1000)"));
    assert.equal(await closed.page.getByRole("link", { name: "open in the editor" }).count(), 0);
    await closed.page.locator(".body .row", { hasText: "late" }).first().waitFor();
    assert.deepEqual(closed.problems, []);
    await closed.close();
    plain.stop();
});

test("a page has the text of sources only if it is asked for", async () => {
    const saved = html("phases", "--sources", "--keep-paths");
    const { page, problems, close } = await open(`${pathToFileURL(saved)}#view=source&metric=bytes`);
    await page.locator(".text-of", { hasText: "static void late(void)" }).waitFor();
    const own = await page.locator(".row", { hasText: "static void late(void)" }).locator(".number").nth(1).getAttribute("title");
    const late = report(recordings.phases).sites.filter((site) => site.function === "late").reduce((sum, site) => sum + site.bytes, 0);
    assert.ok(own.startsWith(`${late.toLocaleString("en-US")} bytes`), own);
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    const plain = readFileSync(html("phases"), "utf8");
    const packs = [...plain.matchAll(/<script type="application\/x-memtoll">(.*?)<\/script>/g)].map(([, pack]) => gunzipSync(Buffer.from(pack, "base64")).toString("latin1")).join("");
    assert.ok(!packs.includes("usleep(200000)"));
});

test("snippets have the names of the source only where it may be read", async () => {
    const { findings } = JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", recordings.growing, "--format", "json"));
    const named = findings.find((one) => one.snippet.includes("numbers_that_grow"));
    assert.ok(named, JSON.stringify(findings));
    for (const options of [[], ["--sources"]]) {
        const server = await start(...options, recordings.growing);
        const { page, problems, close } = await open(server.url);
        await page.locator(".findings details").first().waitFor();
        const text = (await page.locator(".findings pre").allTextContents()).join("\n");
        assert.equal(text.includes("numbers_that_grow"), options.length > 0, text);
        assert.deepEqual(problems, []);
        await close();
        server.stop();
    }
});
