// The views: their numbers, keys and room.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { MEMTOLL, afterEarly, html, recordings, report, run } from "./recordings.mjs";
import { VIEWS, becomes, breaches, numbersOf, open, show, start, tableRows, viewed, words } from "./viewer.mjs";

for (const [name, themes] of Object.entries({ phases: ["light", "dark"], git: ["light"], python: ["dark"] })) {
    test(`${name}: every view is there and accessible: ${themes.join(", ")}`, async () => {
        const server = await start(recordings[name]);
        const { page, problems, close } = await open(server.url);
        for (const colorScheme of themes) {
            await page.emulateMedia({ colorScheme });
            for (const view of [...VIEWS, "layout", "functions"]) {
                await show(page, `view=${view}`);
                assert.notEqual((await page.getByRole("main").innerText()).trim(), "", view);
                assert.deepEqual(await breaches(page), [], `${view}, ${colorScheme}`);
            }
        }
        assert.deepEqual(problems, []);
        await close();
        server.stop();
    });
}

test("the numbers are those of the report, of the whole run and of a span", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const expected = report(recordings.phases);
    const facts = await page.locator(".facts-of div").evaluateAll((all) => all.map((one) => [one.firstChild.firstChild.textContent, one.lastChild.title]));
    const known = Object.fromEntries(facts);
    const totals = expected.totals;
    assert.equal(known["allocations"], totals.allocations.toLocaleString("en-US"));
    assert.equal(known["bytes"], `${totals.bytes.toLocaleString("en-US")} bytes`);
    assert.equal(known["never freed"], `${totals.live_bytes.toLocaleString("en-US")} bytes`);
    await show(page, "view=lines");
    const site = (of, name) => of.sites.find((site) => site.function === name);
    for (const name of ["early", "late", "thread"]) {
        const row = await numbersOf(page, name);
        assert.equal(Number(row.allocations), site(expected, name).allocations, name);
        assert.equal(Number(row.bytes), site(expected, name).bytes, name);
    }
    // The second half: without the first phase.
    const from = afterEarly();
    const part = report(recordings.phases, "--from", `${from}ns`);
    await show(page, `view=lines&from=${from}`);
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.waitForFunction((count) => document.querySelector(".tools").innerText.includes(`${count} rows`), part.sites.length);
    // Both tables can have as many rows: the old one may still be there.
    const early = String(site(part, "early")?.allocations ?? 0);
    await becomes(async () => (await numbersOf(page, "early"))?.allocations ?? "0", early);
    assert.equal((await numbersOf(page, "late")).bytes, String(site(part, "late").bytes));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the parts of the CPU time add up to all of the program's own", async (t) => {
    // Of a program that works for milliseconds, the recorder's error may be all of it.
    const { page, problems } = await viewed(t, "python");
    const { totals } = report(recordings.python);
    assert.match(await page.locator(".cost h2").innerText(), /What memory costs: .* of .* CPU time/);
    const parts = await page.locator(".parts li > b").evaluateAll((all) => all.map((one) => Number(one.title.replace("−", "-").replace(/[^\d-]/g, ""))));
    assert.ok(Math.abs(parts.reduce((a, b) => a + b, 0) - totals.program_ns) <= parts.length, `${parts} are ${totals.program_ns}`);
    assert.deepEqual(problems, []);
});

test("numbers of what was sampled have the digits that are known, as in the report", async () => {
    const { sites, totals } = report(recordings.storm);
    assert.ok(totals.faults_standard_error > 0, "the recorder sampled");
    const text = run(MEMTOLL, "report", "--no-debuginfod", recordings.storm, "--metric", "faults");
    const [, known] = / (\d+,\d{3}) .*touch_all/.exec(text) ?? assert.fail(text);
    const site = sites.find((site) => site.function === "touch_all" && site.faults > 0);
    assert.ok(known.replaceAll(",", "").endsWith("00") && site.intervals.faults.high > site.faults, known);
    for (const url of [(await start(recordings.storm)).url, pathToFileURL(html("storm")).href]) {
        const { page, problems, close } = await open(url);
        const fact = page.locator(".facts-of div").filter({ hasText: "page faults" }).locator("dd");
        assert.match(await fact.getAttribute("title"), /^[\d,]+ ± [\d,]+$/);
        for (const view of ["lines", "tree"]) {
            await show(page, `view=${view}&metric=faults${view === "tree" ? "&reversed=1" : ""}`);
            const row = page.getByRole(view === "tree" ? "treegrid" : "table").locator('[role="row"]').filter({ hasText: "touch_all" }).first();
            await row.locator(".number").first().waitFor();
            const cells = await row.locator(".number").evaluateAll((all) => all.map((cell) => [cell.querySelector(".text")?.textContent, cell.title]));
            const sampled = cells.filter(([, title]) => / ± /.test(title));
            assert.ok(sampled.some(([text]) => text === known), `${view}: ${known}: ${JSON.stringify(cells)}`);
            assert.ok(cells.some(([, title]) => !/ ± /.test(title)), "what was counted is exact");
        }
        assert.deepEqual(problems, []);
        await close();
    }
});

test("rows show the digits of times that are known, as the report does", async (t) => {
    const [rows, titles] = [8, ["cost", "allocator", "fault time", "mapping"]];
    const table = run(MEMTOLL, "report", "--no-debuginfod", recordings.git, "--metric", "cost", "-n", String(rows)).split("\n");
    // Columns end where their headings do. A report leaves out what is nothing.
    const ends = [...table[0].matchAll(/\S+( \S+)*/g)].map((head) => ({ title: head[0], end: head.index + head[0].length }));
    const told = table.slice(1, 1 + rows).map((line) => titles.map((title) => {
        const at = ends.findIndex((head) => head.title === title);
        return line.slice(at > 0 ? ends[at - 1].end : 0, ends[at].end).trim() || "0";
    }));
    const { page, problems } = await viewed(t, "git", "view=lines&metric=cost");
    await tableRows(page).nth(rows).waitFor();
    const heads = await page.locator('main [role="columnheader"]').allInnerTexts();
    const cells = await tableRows(page).evaluateAll((all, rows) => all.slice(0, rows).map((row) => [...row.children].map((cell) => cell.querySelector(".text")?.textContent ?? "")), rows);
    const shown = cells.map((row) => titles.map((title) => row[heads.findIndex((head) => head.startsWith(title))]));
    assert.deepEqual(shown, told, table.join("\n"));
    assert.deepEqual(problems, []);
});

test("keys that follow each other at once count from what the one before did", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines&metric=bytes");
    await page.evaluate(() => void ["m", "m", "M", "M"].forEach((key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))));
    assert.equal(words(page).metric, "bytes");
    assert.deepEqual(problems, []);
});

test("everything is reachable by key", async () => {
    const server = await start(recordings.git);
    const { page, problems, close } = await open(server.url, { permissions: ["clipboard-read", "clipboard-write"] });
    const numbered = VIEWS.filter((view) => view !== "resident").map((view, index) => [String(index + 1), view]);
    // Views that have nothing of this recording say why.
    for (const [key, view] of [["w", "resident"], ["p", "processes"], ["g", "regions"], ["0", "compare"], ...numbered]) {
        await page.keyboard.press(key);
        await page.waitForFunction((view) => (new URLSearchParams(location.hash.slice(1)).get("view") ?? "overview") === view, view);
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await breaches(page), []);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("3");
    const tree = page.getByRole("treegrid");
    // Keys go to rows that are there.
    await tree.locator('[role="row"][aria-level="2"]').first().waitFor();
    await tree.focus();
    await page.keyboard.press("Home");
    const first = tree.locator('[aria-selected="true"]');
    await first.waitFor();
    const name = await first.locator(".function").innerText();
    if ((await first.getAttribute("aria-expanded")) === "true") await page.keyboard.press("ArrowLeft");
    await tree.locator('[aria-selected="true"][aria-expanded="false"]').waitFor();
    await page.keyboard.press("ArrowRight");
    await tree.locator('[aria-selected="true"][aria-expanded="true"]').waitFor();
    await page.keyboard.press("ArrowRight");
    assert.equal(await tree.locator('[aria-selected="true"]').getAttribute("aria-level"), "2");
    await page.keyboard.press("ArrowLeft");
    if ((await tree.locator('[aria-selected="true"]').getAttribute("aria-level")) === "2") await page.keyboard.press("ArrowLeft");
    assert.equal(await tree.locator('[aria-selected="true"] .function').innerText(), name);
    await page.keyboard.press("h");
    await page.waitForFunction(() => Number(document.querySelector('[role="treegrid"] [aria-selected="true"]')?.ariaLevel ?? 0) > 2);
    await page.keyboard.press("r");
    await page.waitForFunction(() => location.hash.includes("reversed=true"));
    const metric = await page.locator(".tools select").first().inputValue();
    await page.keyboard.press("m");
    await page.waitForFunction((metric) => document.querySelector(".tools select").value !== metric, metric);
    await page.keyboard.press("Shift+M");
    await page.waitForFunction((metric) => document.querySelector(".tools select").value === metric, metric);
    await page.keyboard.press("2");
    await page.keyboard.press("/");
    await page.keyboard.type("git");
    await page.waitForFunction(() => location.hash.includes("search=git"));
    const rows = await page.locator('main [role="row"] .what').allInnerTexts();
    assert.ok(rows.length > 0 && rows.every((row) => /git/i.test(row)), rows.join("\n"));
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("1");
    await page.keyboard.press("c");
    await page.locator(".said", { hasText: "as Markdown" }).waitFor();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(copied, /^\| line \| type \| .*\n\|---\|--:/);
    const dark = await page.evaluate(() => document.documentElement.dataset.theme);
    await page.keyboard.press("d");
    await page.waitForFunction((dark) => document.documentElement.dataset.theme !== dark, dark);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("what a number means is a click away, with the page that defines it", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    for (const [place, title, heading] of [[".facts-of", "peak", "## peak"], [".cost p", "recorder", "## The recorder's own work"], [".caption", "live at end", "## live"]]) {
        await page.locator(`${place} .define[aria-label="what ${title} means"]`).click();
        const dialog = page.getByRole("dialog");
        await dialog.waitFor();
        assert.equal(await dialog.locator("h2").innerText(), title);
        assert.deepEqual(await breaches(page), []);
        const link = await dialog.getByRole("link").getAttribute("href");
        const text = await page.evaluate(async (link) => (await fetch(link)).text(), link);
        assert.ok(text.split("\n").includes(heading), `${link}: ${heading}`);
        await page.keyboard.press("Escape");
        await dialog.waitFor({ state: "detached" });
    }
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("all columns of Lines have room on a screen of 1280 pixels", async () => {
    const server = await start(recordings.git);
    const { page, problems, close } = await open(`${server.url}#view=lines`);
    const table = page.locator("main .table");
    await table.locator(".body .row").first().waitFor();
    const [content, width] = await table.evaluate((table) => [table.scrollWidth, table.clientWidth]);
    assert.ok(content <= width, `${content} of ${width} pixels`);
    const cutHeads = await table.locator(".head button").evaluateAll((heads) => heads.filter((head) => head.scrollWidth > head.clientWidth + 1).map((head) => head.textContent));
    assert.deepEqual(cutHeads, []);
    // A name that has room is whole, whatever stands behind it.
    const cut = await table.locator(".name").evaluateAll((names) => names.filter((name) => name.firstChild.scrollWidth > name.firstChild.clientWidth && name.firstChild.scrollWidth < name.clientWidth / 2).map((name) => name.textContent));
    assert.deepEqual(cut, []);
    // What is nothing has no column, and is told.
    const heads = (await page.locator('main [role="columnheader"]').allInnerTexts()).join(" ");
    const waited = report(recordings.git).totals.waiting_ns;
    assert.equal(heads.includes("waiting"), waited !== 0, heads);
    assert.equal((await page.locator(".tools").innerText()).includes("waiting"), waited === 0);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("what threads waited carries its error, as the parts of the CPU time do", async () => {
    const server = await start(recordings.waiting);
    const { page, problems, close } = await open(server.url);
    const waiting = page.locator(".parts li", { has: page.locator(".key.waiting") }).first();
    assert.match(await waiting.innerText(), /waiting\s+\S+ (±|to|ms to|µs to) /);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("at 200 % on a screen of 1280 pixels, no page scrolls sideways", async () => {
    const server = await start(recordings.waiting);
    const { page, problems, close } = await open(server.url, { viewport: { width: 640, height: 400 } });
    for (const view of VIEWS) {
        await show(page, `view=${view}`);
        const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(content <= width, `${view}: ${content} of ${width} pixels`);
        const [top, time, nav, main] = await Promise.all([".top", ".time", "nav", "main"].map((part) => page.locator(part).first().boundingBox()));
        assert.ok(time.y >= top.y + top.height - 1 && nav.y >= time.y + time.height - 1 && main.y >= time.y + time.height - 1 && main.x >= nav.x + nav.width - 1, `${view}: parts of the page lie on each other`);
    }
    // Tables keep some rows in sight.
    await show(page, "view=lines");
    assert.ok((await page.locator("main .table").boundingBox()).height > 150);
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("notes are of the selected process, or say that they are of the whole recording", async (t) => {
    const { page, problems } = await viewed(t, "freed-by-child");
    const [parent, child] = report(recordings["freed-by-child"], "--list", "processes").processes;
    const freed = "100 frees in forked processes of blocks from before the fork";
    const lists = () => page.locator("main .notes").evaluate((main) => {
        const heads = [...main.querySelectorAll("h2")].filter((head) => head.textContent.startsWith("Notes"));
        return Object.fromEntries(heads.map((head) => [head.textContent, head.nextElementSibling.innerText]));
    });
    for (const [selection, list] of [["", "Notes"], [`&process=${child.pid}`, "Notes on the selection"], [`&process=${parent.pid}`, ""]]) {
        await show(page, `view=notes${selection}`);
        const all = await lists();
        assert.deepEqual(Object.keys(all).filter((title) => all[title].includes(freed)), list === "" ? [] : [list], selection);
        if (selection !== "") assert.equal(all.Notes, undefined);
    }
    assert.deepEqual(problems, []);
});

test("Processes has all of them under one heading, whichever is selected, as the report has it", async (t) => {
    const { page, problems } = await viewed(t, "freed-by-child");
    const file = recordings["freed-by-child"];
    const [{ pid }] = report(file, "--list", "processes").processes;
    for (const selection of ["", `&process=${pid}`]) {
        await show(page, `view=processes${selection}`);
        await page.locator("main .number.unknown .text", { hasText: "…" }).waitFor({ state: "detached" });
        const heads = await page.locator('main .row.head [role="columnheader"]').allInnerTexts();
        assert.ok(heads.some((head) => head.startsWith("own peaks")), `${selection}: ${heads}`);
    }
    for (const options of [[], ["--group", "process"]]) assert.match(run(MEMTOLL, "report", "--no-debuginfod", file, ...options), /own peaks  live at end/);
    assert.deepEqual(problems, []);
});

test("time in calls, by the clock, has one name here and in the terminal, which is not that of the allocator's own work", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=threads");
    await page.locator("main .legend", { hasText: /^ *in calls$/ }).waitFor();
    assert.ok((await page.locator('main .row.head [role="columnheader"]').allInnerTexts()).includes("allocator"));
    const text = run(MEMTOLL, "report", "--no-debuginfod", recordings.phases, "--lanes");
    assert.match(text, /▒ in calls {2}/);
    assert.match(text, /running {2}in calls faulting/);
    assert.ok(!text.includes("in the allocator"), text.split("\n")[0]);
    assert.deepEqual(problems, []);
});
