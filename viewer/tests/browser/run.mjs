// Tests of the viewer in a browser, on real recordings.

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, renameSync, statSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { request } from "node:http";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { ATTACK, diff, FOLDER, html, htmlOfBoth, MARKED, MEMTOLL, recordings, report, run, SOURCE, verify } from "./recordings.mjs";
import "./doors.mjs";
import "./exports.mjs";
import "./labels.mjs";
import { breaches, open, show, start, startLive, VIEWS } from "./viewer.mjs";

/** Exact numbers of a line in the table of lines, by the title of their column. */
async function numbersOf(page, name) {
    return page.evaluate((name) => {
        const heads = [...document.querySelectorAll('main [role="columnheader"]')].map((head) => head.textContent.replace(/ ?▾?\s*\?$/, ""));
        const row = [...document.querySelectorAll('main [role="row"]')].find((row) => row.firstElementChild.textContent.includes(name));
        return row && Object.fromEntries([...row.children].slice(1).map((cell, index) => [heads[index + 1], cell.title.split(/ |,(?! ?\d)/)[0].replaceAll(",", "")]));
    }, name);
}

for (const [name, themes] of Object.entries({ phases: ["light", "dark"], git: ["light"], python: ["dark"] })) {
    test(`${name}: every view is there and accessible: ${themes.join(", ")}`, async () => {
        const server = await start(recordings[name]);
        const { page, problems, close } = await open(server.url);
        for (const colorScheme of themes) {
            await page.emulateMedia({ colorScheme });
            for (const view of [...VIEWS, "layout"]) {
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
    const title = await page.locator(".cost h2").innerText();
    assert.match(title, /What memory costs: .* of .* CPU time/);
    // The parts add up to all of the program's own.
    const parts = await page.locator(".parts li > b").evaluateAll((all) => all.map((one) => Number(one.title.replace(/[^\d-]/g, ""))));
    assert.ok(Math.abs(parts.reduce((a, b) => a + b, 0) - totals.program_ns) <= parts.length, `${parts} are ${totals.program_ns}`);
    await show(page, "view=lines");
    const site = (of, name) => of.sites.find((site) => site.function === name);
    for (const name of ["early", "late", "thread"]) {
        const row = await numbersOf(page, name);
        assert.equal(Number(row.allocations), site(expected, name).allocations, name);
        assert.equal(Number(row.bytes), site(expected, name).bytes, name);
    }
    // The second half: without the first phase.
    const from = Math.round(expected.seconds * 0.3e9);
    const part = report(recordings.phases, "--from", `${from}ns`);
    await show(page, `view=lines&from=${from}`);
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.waitForFunction((count) => document.querySelector(".tools").innerText.includes(`${count} rows`), part.sites.length);
    // Both tables can have as many rows: the old one may still be there.
    const early = String(site(part, "early")?.allocations ?? 0);
    const shown = async () => (await numbersOf(page, "early"))?.allocations ?? "0";
    for (let tries = 0; tries < 50 && (await shown()) !== early; tries++) await page.waitForTimeout(100);
    assert.equal(await shown(), early);
    assert.equal((await numbersOf(page, "late")).bytes, String(site(part, "late").bytes));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
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
            const row = page.locator('main [role="row"]').filter({ hasText: "touch_all" }).first();
            const cells = await row.locator(".number").evaluateAll((all) => all.map((cell) => [cell.querySelector(".text")?.textContent, cell.title]));
            const sampled = cells.filter(([, title]) => / ± /.test(title));
            assert.ok(sampled.some(([text]) => text === known), `${view}: ${known}: ${JSON.stringify(cells)}`);
            assert.ok(cells.some(([, title]) => !/ ± /.test(title)), "what was counted is exact");
        }
        assert.deepEqual(problems, []);
        await close();
    }
});

test("a drag over the time line selects, and Back is undo", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const area = await page.locator(".u-over").boundingBox();
    await page.mouse.move(area.x + area.width * 0.5, area.y + 20);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.8, area.y + 40, { steps: 5 });
    await page.mouse.up();
    const selection = page.locator("header .selection");
    await page.waitForFunction(() => location.hash.includes("from="));
    const { from, to } = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
    const all = report(recordings.phases).seconds * 1e9;
    assert.ok(Math.abs(from / all - 0.5) < 0.02 && Math.abs(to / all - 0.8) < 0.02, `${from} to ${to} of ${all}`);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector("header .selection").textContent === "whole run");
    await page.goForward();
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.keyboard.press("[");
    await page.waitForFunction(() => document.querySelector("header .selection").textContent === "whole run");
    await page.keyboard.press("]");
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector("header .selection").textContent === "whole run");
    assert.equal(await selection.innerText(), "whole run");
    // The time line by keys.
    await page.locator(".plot").focus();
    await page.keyboard.press("Shift+ArrowLeft");
    await page.waitForFunction(() => location.hash.includes("to="));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("everything is reachable by key", async () => {
    const server = await start(recordings.git);
    const { page, problems, close } = await open(server.url, { permissions: ["clipboard-read", "clipboard-write"] });
    const numbered = VIEWS.filter((view) => view !== "resident").map((view, index) => [String(index + 1), view]);
    for (const [key, view] of [["w", "resident"], ...numbered]) {
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

for (const where of ["server", "page"]) test(`two recordings side by side say what memtoll diff says: ${where}`, async () => {
    const [before, after] = [recordings.phases, recordings["phases-after"]];
    const server = where === "server" ? await start(before, after) : { url: pathToFileURL(htmlOfBoth("phases", "phases-after")), stop: () => {} };
    const { page, problems, close } = await open(server.url);
    await page.keyboard.press("0");
    await page.getByRole("table").waitFor();
    const said = diff(before, after);
    const late = said.changes.find((change) => change.frame?.function === "late");
    const row = page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^late$/ }) });
    await show(page, "view=compare&metric=bytes");
    await page.waitForFunction(() => document.querySelector("main select").value === "bytes");
    const titles = await row.first().locator(".number").evaluateAll((all) => all.slice(0, 2).map((one) => Number(one.title.replace(/\D/g, ""))));
    assert.deepEqual(titles, [late.bytes.before, late.bytes.after]);
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await breaches(page), [], colorScheme);
    }
    // The same as one flame graph: all of it, and the function that grew.
    await page.getByRole("button", { name: "flame graph", exact: true }).click();
    await page.locator("main canvas").waitFor();
    const total = said.totals.bytes;
    const area = await page.locator("main canvas").boundingBox();
    await page.mouse.move(area.x + 30, area.y + 9);
    await page.waitForFunction(() => document.querySelector(".told").textContent.startsWith("all · "));
    const read = (text) => text.match(/([\d.,]+) MiB before, ([\d.,]+) MiB after: \+([\d.]+) MiB/).slice(1).map(Number);
    const [was, is, more] = read(await page.locator(".told").innerText());
    const mib = 1024 * 1024;
    assert.ok(Math.abs(was - total.before / mib) < 0.1 && Math.abs(is - total.after / mib) < 0.1 && Math.abs(more - (total.after - total.before) / mib) < 0.1, `${was} ${is} ${more}`);
    await page.keyboard.press("t");
    await page.keyboard.press("/");
    await page.keyboard.type("late");
    await page.locator(".tools", { hasText: "found:" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("several recordings a side have the intervals that memtoll diff says", async () => {
    const { phases, "phases-after": changed } = recordings;
    const files = ["--before", phases, changed, "--after", changed, changed];
    const server = await start(...files);
    const { page, problems, close } = await open(server.url);
    await show(page, "view=compare&metric=bytes");
    const [low, high] = diff(...files).totals.bytes.interval.map((bound) => Math.round(bound));
    assert.ok(low < high);
    const all = page.locator('main [role="row"]', { has: page.locator("b", { hasText: /^all$/ }) }).locator(".number").nth(2);
    const title = await all.getAttribute("title");
    const [, from, to] = title.match(/difference (-?[\d,]+) bytes to (-?[\d,]+) bytes/);
    assert.deepEqual([from, to].map((text) => Number(text.replaceAll(",", ""))), [low, high], title);
    assert.match(await all.innerText(), /^([+−].*|0) ± .*B$/);
    // Of so few runs, no call site differs more than chance; each has its interval.
    const late = page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^late$/ }) });
    assert.equal(await late.count(), 0);
    await page.getByText("small changes").click();
    assert.match(await late.first().locator(".number").nth(2).innerText(), / ± /);
    await page.getByText("phases.memtoll and 1 more before").waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("two spans of one recording are compared", async () => {
    const server = await start(recordings.phases);
    const middle = Math.round(report(recordings.phases).seconds * 0.3e9);
    const { page, problems, close } = await open(`${server.url}#to=${middle}`);
    assert.equal(await page.locator('nav a[href*="compare"]').count(), 0);
    await page.keyboard.press("b");
    await page.waitForFunction(() => location.hash.includes("base="));
    await page.evaluate((from) => void (location.hash = `view=compare&metric=bytes&base=-${from}&from=${from}`), middle);
    const bytes = (name, side) => page.evaluate(([name, side]) => {
        const row = [...document.querySelectorAll('main [role="row"]')].find((row) => row.firstElementChild.textContent.includes(name));
        return row && Number(row.children[side].title.replace(/\D/g, ""));
    }, [name, side]);
    await page.getByRole("table").waitFor();
    const site = (of, name) => of.sites.find((site) => site.function === name)?.bytes ?? 0;
    const [first, second] = [report(recordings.phases, "--to", `${middle}ns`), report(recordings.phases, "--from", `${middle}ns`)];
    for (const name of ["early", "late"]) assert.deepEqual([await bytes(name, 1), await bytes(name, 2)], [site(first, name), site(second, name)], name);
    assert.deepEqual(await breaches(page), []);
    await page.getByRole("button", { name: "flame graph", exact: true }).click();
    await page.locator("main canvas").waitFor();
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the time line zooms to microseconds and shows marks, regions and rates", async () => {
    const server = await start(recordings.marked);
    const asked = [];
    const { page, problems, close } = await open(server.url);
    page.on("request", (request) => request.url().endsWith("/answer") && asked.push(JSON.parse(request.postData())));
    await page.locator(".caption", { hasText: "30 marks and 30 regions" }).waitFor();
    const expected = report(recordings.marked, "--regions");
    const plot = page.locator(".u-over");
    const area = await plot.boundingBox();
    // The curve tells of each instant how many allocations there are: all of them are as many as the report says.
    const all = await page.evaluate(async () => {
        const buffer = await (await fetch("/answer", { method: "POST", body: '{"query":{"view":{"activity":{"intervals":4096}}}}' })).arrayBuffer();
        const length = new DataView(buffer).getUint32(0, true);
        const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
        let at = 4 + length;
        const sums = {};
        for (const [name, type, count] of head.columns) {
            const Type = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array }[type];
            const bytes = Type.BYTES_PER_ELEMENT * count;
            sums[name] = [...new Type(buffer.slice(at, at + bytes))];
            at += bytes;
        }
        return { allocations: sums["activity.allocations"].reduce((a, b) => a + b, 0), live: Math.max(...sums["activity.live"]), begin: sums["regions.begin"], end: sums["regions.end"], names: head.regions, marks: head.marks };
    });
    const totals = report(recordings.marked).totals;
    assert.equal(all.allocations, totals.allocations);
    assert.equal(all.live, totals.peak_live_bytes ?? totals.peak_bytes);
    const runs = expected.regions[0].runs;
    assert.deepEqual(all.names, runs.map(() => "frame"));
    assert.equal(all.marks.length, 30);
    runs.forEach((run, index) => assert.ok(Math.abs(all.begin[index] - run.begin_ns) < 2 && Math.abs(all.end[index] - all.begin[index] - run.duration_ns) < 3, `${index}`));
    // Into the last run, by the wheel: what is under the pointer stays there, up to the pixel on which it stands.
    const end = expected.seconds * 1e9;
    const last = runs.at(-1).begin_ns + runs.at(-1).duration_ns / 2;
    const shown = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    let [left, right] = [0, end];
    for (let turn = 0; turn < 100 && right - left > 20_000; turn++) {
        const pixel = (right - left) / area.width;
        await page.mouse.move(Math.round(area.x + (last - left) / pixel), area.y + 60);
        await page.mouse.wheel(0, -800);
        await page.waitForFunction((left) => (new URLSearchParams(location.hash.slice(1)).get("left") ?? "0") !== left, String(left));
        ({ left, right } = await shown());
        [left, right] = [Number(left), Number(right)];
        assert.ok(left - pixel < last && last < right + pixel, `${left} to ${right} around ${last}, a pixel is ${pixel}`);
    }
    assert.ok(right - left <= 20_000, `${left} to ${right}`);
    await page.waitForTimeout(200);
    const finest = asked.filter((one) => one.query?.view?.activity).at(-1).query.when.span;
    assert.ok(finest.to_ns - finest.from_ns < 100_000, JSON.stringify(finest));
    await page.mouse.move(area.x + area.width / 2, area.y + 60);
    await page.mouse.move(area.x + area.width / 2 + 5, area.y + 60);
    await page.waitForFunction(() => /^at \d+\.\d+ ms: .* live · (.* in memory · )?\d+ allocations? · .*in [\d.]+ n?s.*frame.?, [\d.]+ [µm]s$/.test(document.querySelector(".reading").textContent));
    // The region that holds all that is seen has its name on it: dark letters at its left end, above the curves.
    const letters = await page.evaluate(() => {
        const canvas = document.querySelector(".plot canvas");
        const left = document.querySelector(".u-over").offsetLeft;
        const { data } = canvas.getContext("2d").getImageData((left + 2) * devicePixelRatio, 0, 40 * devicePixelRatio, 16 * devicePixelRatio);
        return Array.from({ length: data.length / 4 }, (_, at) => data[at * 4 + 3] > 200 && data[at * 4] < 90).filter(Boolean).length;
    });
    assert.ok(letters > 30, `${letters} dark pixels`);
    // A selection as narrow as what is seen, and every view answers for it.
    await page.mouse.move(area.x + area.width * 0.2, area.y + 60);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.8, area.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("from="));
    const { from, to } = await shown();
    assert.ok(to - from < 13_000 && Number(from) >= left && Number(to) <= right, `${from} to ${to}`);
    // Keys: out, aside, to the selection, and back to all of it.
    await page.keyboard.press("-");
    await page.waitForFunction((length) => { const all = new URLSearchParams(location.hash.slice(1)); return all.get("right") - all.get("left") > length * 1.5; }, right - left);
    const before = await shown();
    await page.keyboard.press("<");
    await page.waitForFunction((left) => Number(new URLSearchParams(location.hash.slice(1)).get("left")) < Number(left), before.left);
    await page.keyboard.press("z");
    await page.waitForFunction(([from, to]) => { const all = new URLSearchParams(location.hash.slice(1)); return all.get("left") === from && all.get("right") === to; }, [from, to]);
    await page.keyboard.press("z");
    await page.waitForFunction(() => !location.hash.includes("left="));
    // A drag with Ctrl zooms.
    await page.keyboard.down("Control");
    await page.mouse.move(area.x + area.width * 0.2, area.y + 60);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.4, area.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.keyboard.up("Control");
    await page.waitForFunction(() => location.hash.includes("left="));
    const part = await shown();
    assert.ok(Math.abs(part.left / end - 0.2) < 0.03 && Math.abs(part.right / end - 0.4) < 0.03, JSON.stringify(part));
    assert.equal(part.from, from);
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

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

test("the heat map has all freed blocks, and each cell its lines", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=lifetimes`);
    const grid = page.getByRole("grid", { name: "freed blocks by size and lifetime" });
    await grid.waitFor();
    const of = (sites) => sites.flatMap((site) => site.pattern?.sizes_and_lifetimes_ns ?? []);
    const sum = (cells) => cells.reduce((all, cell) => all + cell.at(-1), 0);
    const number = (text) => Number(/: ([\d,]+) blocks?/.exec(text)[1].replaceAll(",", ""));
    const drawn = async () => (await grid.getByRole("gridcell").evaluateAll((all) => all.map((one) => one.title))).map(number);
    const expected = report(recordings.phases);
    for (const { pattern } of expected.sites) assert.equal(sum(pattern.sizes_and_lifetimes_ns), pattern.lifetimes_ns.count);
    assert.ok(sum(of(expected.sites)) > 0);
    assert.equal((await drawn()).reduce((a, b) => a + b, 0), sum(of(expected.sites)));
    // The cell with the most blocks, by mouse: its lines, the one with the most of them first.
    const most = Math.max(...(await drawn()));
    const cell = grid.getByRole("gridcell", { name: `: ${most.toLocaleString("en-US")} blocks` }).first();
    await cell.click();
    await page.waitForFunction(() => /cell=\d+x\d+/.test(location.hash));
    assert.equal(await cell.getAttribute("aria-selected"), "true");
    const table = page.getByRole("table", { name: "how lines use memory" });
    await table.getByRole("columnheader", { name: "in the cell" }).waitFor();
    const rows = async () => (await table.locator(".body .row").evaluateAll((all) => all.map((one) => one.children[1].textContent))).map((text) => Number(text.split(" ")[0].replaceAll(",", "")));
    assert.equal((await rows()).reduce((a, b) => a + b, 0), most);
    assert.deepEqual(await rows(), (await rows()).sort((a, b) => b - a));
    assert.deepEqual(await breaches(page), []);
    // A second click clears it, and so does Esc, which leaves the span alone.
    await cell.click();
    await page.waitForFunction(() => !location.hash.includes("cell="));
    const from = Math.round(expected.seconds * 0.6e9);
    const part = report(recordings.phases, "--from", `${from}ns`);
    assert.notEqual(sum(of(part.sites)), sum(of(expected.sites)));
    await show(page, `view=lifetimes&from=${from}`);
    const draws = async (all) => {
        for (let tries = 0; tries < 50 && (await drawn()).reduce((a, b) => a + b, 0) !== all; tries++) await page.waitForTimeout(100);
        assert.equal((await drawn()).reduce((a, b) => a + b, 0), all);
    };
    await draws(sum(of(part.sites)));
    // By keys, in a span of all blocks: from the cell that Tab reaches to the left end of its row and one to the right.
    await show(page, "view=lifetimes&from=1");
    await draws(sum(of(expected.sites)));
    const entry = grid.locator('[tabindex="0"]');
    const reached = await entry.getAttribute("title");
    await entry.focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /cell=\d+x\d+/.test(location.hash));
    await page.keyboard.press("Home");
    const home = await page.evaluate(() => document.activeElement.title);
    await page.keyboard.press("ArrowRight");
    const right = await page.evaluate(() => document.activeElement.title);
    assert.equal(right.split(",")[0], reached.split(",")[0], "the same row");
    assert.notEqual(right, home);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("cell="));
    assert.match(page.url(), /from=/);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the map of memory has all live bytes, and tells what lies where", async () => {
    const server = await start(recordings.phases);
    const expected = report(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=snapshots&map=line&process=${expected.processes[0].pid}`);
    const map = page.getByRole("application");
    await map.waitFor();
    const live = report(recordings.phases, "--process", String(expected.processes[0].pid)).totals;
    const text = await page.locator("main .tools").first().innerText();
    assert.ok(text.includes(`in ${live.live_blocks.toLocaleString("en-US")} blocks`), `${text}: ${live.live_blocks}`);
    assert.ok((await page.locator(".legends").innerText()).includes("late"));
    assert.deepEqual(await breaches(page), []);
    // The first cell of the first area, by mouse; then a range, and by keys.
    const area = await map.boundingBox();
    await page.mouse.click(area.x + 140, area.y + 2);
    const blocks = page.getByRole("table", { name: "blocks in this range" });
    await blocks.locator(".body .row").first().waitFor();
    const first = await blocks.locator(".body .row").first().innerText();
    assert.match(first, /0x[0-9a-f]+/);
    assert.match(page.url(), /range=0x[0-9a-f]+-0x[0-9a-f]+/);
    await page.mouse.move(area.x + 140, area.y + 2);
    await page.mouse.down();
    await page.mouse.move(area.x + 400, area.y + 20, { steps: 3 });
    await page.mouse.up();
    await blocks.locator(".body .row", { hasText: "late" }).first().waitFor();
    assert.deepEqual(await breaches(page), []);
    const before = page.url();
    await map.focus();
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("Enter");
    await page.waitForFunction((before) => location.href !== before, before);
    await page.getByRole("button", { name: "by age" }).click();
    await page.locator(".legends", { hasText: "older" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    // Nothing lives at the very beginning.
    await show(page, "view=snapshots&map=line&to=1");
    await page.locator("main .empty", { hasText: /No block was live|No process/ }).waitFor();
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the view of the resident set has the balance, who pins, and a map of the pages", async () => {
    const server = await start(recordings.survivors);
    const { resident } = report(recordings.survivors, "--resident");
    const { page, problems, close } = await open(`${server.url}#view=resident`);
    const map = page.getByRole("application");
    await map.waitFor();
    // The parts are those of the report, and add up.
    const parts = await page.locator(".held .parts b").evaluateAll((all) => all.map((one) => Number(one.title.replace(/[^\d]/g, ""))));
    assert.equal(parts.reduce((a, b) => a + b, 0), resident.rss);
    assert.ok(["live", "slack", "pinned", "free_pages", "recorder"].every((name) => resident[name] === 0 || parts.includes(resident[name])), `${parts}`);
    const pin = page.getByRole("table", { name: "lines that pin free memory" }).locator(".body .row").first();
    assert.match(await pin.innerText(), /survivor/);
    const shares = await pin.locator(".number").evaluateAll((all) => all.map((cell) => Number(cell.title.replace(/[^\d]/g, ""))));
    assert.equal(shares[0], resident.pins[0].share);
    assert.equal(shares[2], resident.pins[0].blocks);
    const variable = page.getByRole("table", { name: "global variables" }).locator(".body .row").first();
    assert.match(await variable.innerText(), /^all\s+survivors\.c:4 in survivors/);
    const bytes = await variable.locator(".number").evaluateAll((all) => all.map((cell) => Number(cell.title.replace(/[^\d]/g, ""))));
    assert.deepEqual(bytes, [200_000 * 8, 200_000 * 8]);
    // What helps is what the text says, with what it saves.
    const text = run(MEMTOLL, "report", "--no-debuginfod", recordings.survivors, "--resident").replace(/\s+/g, " ");
    const helps = await page.getByRole("table", { name: "what would make it smaller" }).locator("tbody tr").evaluateAll((rows) => rows.map((row) => [row.cells[0].innerText, row.cells[1].querySelector("bdi").innerText]));
    assert.ok(helps.length > 0);
    assert.deepEqual(helps.map(([, remedy]) => remedy), resident.wastes.map((waste) => waste.remedy));
    assert.ok(helps.every(([saves, remedy]) => text.includes(`${saves} ${remedy}`)), `${helps}: ${text}`);
    assert.deepEqual(await breaches(page), []);
    // Cells by mouse: what holds them is told; a click leads to the lines of the function.
    await map.evaluate((canvas) => canvas.scrollIntoView());
    const area = await map.boundingBox();
    const told = page.locator(".told");
    let said = "";
    for (let y = 4; y < 400 && !/pinned.*survivor/.test(said); y += 6) {
        await page.mouse.move(area.x + 300, area.y + y);
        said = await told.innerText();
        if (/pinned.*survivor/.test(said)) await page.mouse.click(area.x + 300, area.y + y);
    }
    assert.match(said, /0x[0-9a-f]+, in .* KiB pinned, .* live.*; most by .?survivor \(survivors\.c:5\)/);
    await page.waitForFunction(() => location.hash.includes("filter=survivor") && location.hash.includes("view=lines"));
    await page.getByRole("table").first().locator(".body .row", { hasText: "survivor" }).first().waitFor();
    // By keys, and at the peak.
    await show(page, "view=resident");
    await map.focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => /^0x/.test(document.querySelector(".told").innerText));
    await page.getByRole("button", { name: "at the peak" }).click();
    await page.waitForFunction(() => location.hash.includes("look=peak"));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("what lies in memory is a metric of lines and of the flame graph, and the resident set a curve", async () => {
    const server = await start(recordings.survivors);
    const { totals, sites } = report(recordings.survivors, "--metric", "pinned", "--group", "site");
    assert.ok(totals.pinned_bytes > 0);
    for (const url of [`${server.url}`, pathToFileURL(html("survivors")).href]) {
        const { page, problems, close } = await open(url);
        await show(page, "view=lines&metric=pinned");
        const site = sites.find((site) => site.function === "survivor");
        let row;
        for (let tries = 0; tries < 50 && row?.pinned !== String(site.pinned_bytes); tries++) {
            row = await numbersOf(page, "survivor");
            await page.waitForTimeout(100);
        }
        assert.equal(row.pinned, String(site.pinned_bytes));
        await show(page, "view=flame&metric=pinned");
        const flame = page.getByRole("application");
        await flame.waitFor();
        await page.locator(".caption", { hasText: "resident set" }).waitFor();
        const plot = await page.locator(".u-over").boundingBox();
        await page.mouse.move(plot.x + plot.width * 0.9, plot.y + 20);
        await page.waitForFunction(() => / in memory/.test(document.querySelector(".reading").innerText));
        assert.deepEqual(problems, []);
        await close();
    }
    server.stop();
    // Too short for a look: it is not offered as if it were 0.
    const short = await start(recordings["hostile-file"]);
    const { page, problems, close } = await open(`${short.url}#view=resident`);
    await page.locator("main .empty", { hasText: "does not tell who holds the resident set" }).waitFor();
    assert.deepEqual(problems, []);
    await close();
    short.stop();
});

test("lanes follow the zoom of the time line", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=threads`);
    // The axis of the lanes begins as the time line does.
    const axis = page.locator("main .lane-axis");
    await axis.locator("span").first().filter({ hasText: /^0 s$/ }).waitFor();
    const length = report(recordings.phases).seconds * 1e9;
    await show(page, `view=threads&left=${Math.round(length * 0.5)}&right=${Math.round(length * 0.6)}`);
    await page.waitForFunction(() => !document.querySelector("main .lane-axis span").innerText.startsWith("0 s"));
    // What is selected is shaded, and only that is added up; the lanes are still those of the whole run.
    const there = async () => Number((await page.locator("main .body .row", { hasText: "thread" }).first().locator(".number").first().getAttribute("title")).replace(/[^\d]/g, ""));
    await show(page, "view=threads");
    await axis.locator("span").first().filter({ hasText: /^0 s$/ }).waitFor();
    assert.ok((await there()) > 0);
    assert.equal(await page.locator(".arrows .selected").count(), 0);
    await show(page, `view=threads&from=${Math.round(length * 0.95)}`);
    await page.locator(".arrows .selected").waitFor({ state: "attached" });
    await page.waitForFunction(() => /^0 ns/.test([...document.querySelectorAll("main .body .row")].find((row) => /^thread/.test(row.innerText)).querySelector(".number").title));
    assert.match(await axis.innerText(), /^0 s/);
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("who waited for whom", async () => {
    const server = await start(recordings.waiting);
    const { page, problems, close } = await open(`${server.url}#view=threads`);
    await page.locator(".body .row").first().waitFor();
    await page.waitForFunction(() => !/adding up …|Reading all events/.test(document.body.innerText));
    const waits = report(recordings.waiting).threads.flatMap((thread) => (thread.waits ?? []).map(({ holder_tid }) => [thread.tid, holder_tid]));
    // On a machine with one processor, nobody may have waited.
    assert.equal((await page.getByRole("main").innerText()).match(/waits? in the allocator/) !== null, waits.length > 0, JSON.stringify(waits));
    assert.equal((await page.locator(".arrows path").count()) > 0, waits.some(([own, holder]) => holder !== null && holder !== own), JSON.stringify(waits));
    for (const [tid, holder] of waits.filter(([, holder]) => holder !== null)) {
        const told = await page.locator(".body .row", { hasText: `${tid} of ` }).locator('[role="cell"]').last().getAttribute("title");
        assert.ok(told.includes(String(holder)), `${tid}: ${told}`);
    }
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("generations add up to what is live, and tell what was born, died and stayed", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const expected = report(recordings.phases, "--limit", "1000");
    const exact = async (name, column) => {
        const title = await page.locator("main .body .row", { hasText: name }).first().locator('[role="cell"]').nth(column).getAttribute("title");
        return Number(title.replace(/[^\d-]/g, ""));
    };
    await show(page, "view=snapshots&map=generations");
    await page.locator("main .body .row", { hasText: "late" }).first().waitFor();
    // Nothing was allocated before the first tenth of the run begins.
    const columns = await page.locator("main .body .row").first().locator('[role="cell"]').count();
    for (const name of ["early", "late"]) {
        const live = expected.sites.find((site) => site.function === name)?.live_bytes ?? 0;
        if (live === 0) continue;
        assert.equal(await exact(name, 1), live, name);
        let sum = 0;
        for (let column = 2; column < columns; column++) sum += await exact(name, column);
        assert.equal(sum, live, name);
    }
    assert.deepEqual(await breaches(page), []);
    // By the middle, the first phase is over; until the end, the second one replaces all of its blocks.
    const instants = Array.from({ length: 19 }, (_, part) => Math.round((expected.seconds * 1e9 * (part + 1)) / 20));
    const early = (at) => report(recordings.phases, "--to", `${at}ns`, "--limit", "1000").sites.find((site) => site.function === "early");
    const middle = instants.find((at) => early(at)?.live_bytes === 2000 * 1000);
    await show(page, `view=snapshots&from=${middle}`);
    await page.waitForFunction(() => [...document.querySelectorAll('main [role="columnheader"]')].some((head) => head.textContent.startsWith("born")));
    await page.waitForFunction(() => ![...document.querySelectorAll("main .unknown")].some((cell) => cell.textContent === "…"));
    const [at, before, after] = [1, 2, 3];
    for (const [name, kept] of [["early", 0], ["late", 5000 * 2000]]) {
        const [was, is, by, born, died, stayed] = await Promise.all([at, before, after, 4, 5, 6].map((column) => exact(name, column)));
        assert.deepEqual({ by, born, died, stayed }, { by: is - was, born: kept, died: was, stayed: 0 }, name);
    }
    // By type: the program's are not known, and all are one row.
    await show(page, `view=snapshots&from=${middle}&group=module`);
    await page.locator("main .body .row", { hasText: "phases" }).first().waitFor();
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

test("the members of a type are those of memtoll layout, times the live instances", async () => {
    const expected = JSON.parse(run(MEMTOLL, "layout", recordings.rows, "app::Row", "--format", "json"));
    assert.ok(expected.instances.at_peak >= 1000 && expected.better.saves > 0 && expected.cache_lines > 1, JSON.stringify(expected));
    const server = await start(recordings.rows);
    const { page, problems, close } = await open(server.url);
    await page.keyboard.press("l");
    await page.getByRole("link", { name: /std::vector<app::Row/ }).first().click();
    await page.waitForFunction(() => location.hash.includes("type=app"));
    const table = page.getByRole("table", { name: "members of app::Row" });
    await table.locator(".body .row").first().waitFor();
    const shown = await table.locator(".body .row").evaluateAll((all) => all.map((row) => [row.children[1].title, ...[2, 0, 3].map((cell) => row.children[cell].textContent)]));
    const size = (bits) => (bits % 8 === 0 ? String(bits / 8) : `${bits} b`);
    const lines = (from, bits) => [...new Set([from, from + bits - 1].map((bit) => Math.floor(bit / 512)))].join("–");
    const parts = [
        ...expected.members.map((one) => [one.bit_offset, size(one.bit_size), `${one.type} ${one.name}`, lines(one.bit_offset, one.bit_size)]),
        ...expected.holes.map((one) => [one.bit_offset, size(one.bits), "(padding)", lines(one.bit_offset, one.bits)]),
    ];
    assert.deepEqual(shown, parts.sort((a, b) => a[0] - b[0]).map(([at, ...rest]) => [`${at} bits from the begin`, ...rest]));
    assert.equal(expected.holes.reduce((sum, one) => sum + one.bits, 0), expected.padding_bits);
    assert.ok(shown.some((row) => row.at(-1) === "0–2") && shown.at(-1).at(-1) === "2", shown.join("\n"));
    const text = await page.getByRole("main").innerText();
    for (const one of [`${expected.size} bytes`, `${expected.instances.at_peak.toLocaleString("en-US")} instances live at the peak`, `This order takes ${expected.better.size} bytes`]) assert.ok(text.includes(one), `${one}: ${text}`);
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await breaches(page), [], colorScheme);
    }
    // Before anything was allocated, there were none.
    await show(page, "view=layout&type=app::Row&to=1");
    await page.locator(".layout-head", { hasText: "no instance" }).waitFor();
    // A name is typed; what there is not is told, with what is similar.
    await page.getByLabel("type").fill("app::Rows");
    await page.keyboard.press("Enter");
    await page.locator("main .empty", { hasText: 'no type is called "app::Rows"' }).waitFor();
    assert.deepEqual(problems, []);
    await close();
    server.stop();
    const saved = await open(`${pathToFileURL(html("rows"))}#view=layout`);
    await saved.page.locator("main .empty", { hasText: "memtoll layout FILE TYPE" }).waitFor();
    assert.deepEqual(saved.problems, []);
    await saved.close();
});

test("what to change is what memtoll advise says, and leads to what is there", async () => {
    for (const name of ["wrapped", "python"]) {
        const server = await start(recordings[name]);
        const { page, problems, close } = await open(server.url);
        const { findings } = JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", recordings[name], "--format", "json"));
        if (name === "wrapped") assert.ok(findings.length > 0);
        await page.waitForFunction(() => !document.body.innerText.includes("Looking for what to change"));
        const advice = page.locator("section", { has: page.locator("h2", { hasText: "What to change" }) });
        const functions = await advice.locator("li > p .code").allInnerTexts();
        if (findings.length > 0) assert.deepEqual(functions, findings.slice(0, 12).map((one) => one.function), name);
        if (name === "wrapped") {
            // The line that calls the wrapper leads; where wrappers are shown, it is none that allocates.
            await advice.getByRole("link", { name: "lines", exact: true }).first().click();
            await page.locator('main [role="row"] .function', { hasText: findings[0].function }).first().waitFor();
            await show(page, "view=overview&wrappers=true");
            await advice.getByRole("link", { name: "callers and callees" }).first().click();
            await page.locator('main [role="treegrid"] .body .row', { hasText: findings[0].function }).first().waitFor();
        }
        assert.deepEqual(problems, []);
        await close();
        server.stop();
    }
});

test("a card shows what the change saved when it was verified, and so does a page", async () => {
    const file = join(FOLDER, "verified.memtoll");
    copyFileSync(recordings.growing, file);
    const advice = () => JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", file, "--format", "json")).findings;
    const [{ id }] = advice();
    verify(file, id);
    const [{ verified }] = advice();
    assert.equal(verified.finding, id);
    const saved = join(FOLDER, "verified.html");
    run(MEMTOLL, "html", "--no-debuginfod", file, "-o", saved);
    const server = await start(file);
    for (const url of [server.url, pathToFileURL(saved)]) {
        const { page, problems, close } = await open(url);
        const card = page.locator(".findings li", { hasText: "verified" });
        await card.waitFor();
        const text = await card.innerText();
        assert.ok(/^saves [\d.,]+ ?k?.* page faults$/m.test(text), text);
        assert.ok(text.includes(verified.as_predicted === null ? "verified" : verified.as_predicted ? "verified, as predicted" : "verified, not as predicted"), text);
        assert.ok(text.includes("in 3 rounds without the recorder"), text);
        assert.deepEqual(await breaches(page), []);
        assert.deepEqual(problems, []);
        await close();
    }
    server.stop();
});

test("a card says what a change saves of the resident set at the end", async () => {
    const { findings } = JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", recordings.lingering, "--format", "json"));
    const ends = findings.filter((one) => one.saves.resident_end_bytes.high > 0);
    assert.ok(ends.length > 0, JSON.stringify(findings));
    const server = await start(recordings.lingering);
    const { page, problems, close } = await open(server.url);
    for (const { change } of ends) {
        const text = await page.locator(".findings li", { hasText: change }).first().innerText();
        assert.match(text, /saves [\d.]+ [KM]iB( to [\d.]+ [KM]iB)? resident at the end/);
    }
    assert.deepEqual(problems, []);
    await close();
    server.stop();
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

test("regions that are longer than their budget are counted and stand out", async () => {
    const server = await start(recordings.marked);
    const { page, problems, close } = await open(server.url);
    const budget = page.getByLabel("budget");
    await budget.waitFor();
    const runs = JSON.parse(run(MEMTOLL, "report", "--no-debuginfod", recordings.marked, "--regions", "--format", "json")).regions[0].runs;
    const lengths = runs.map((one) => one.duration_ns).sort((a, b) => a - b);
    const limit = (lengths[9] + lengths[10]) / 2;
    const picture = () => page.locator(".u-wrap canvas").evaluate((canvas) => canvas.toDataURL());
    const without = await picture();
    await budget.fill(String(limit / 1e6));
    await budget.press("Enter");
    await page.locator(".time .over", { hasText: "20 of 30 over" }).waitFor();
    await page.waitForFunction((without) => document.querySelector(".u-wrap canvas").toDataURL() !== without, without);
    assert.match(page.url(), /budget=\d+/);
    await page.reload();
    await page.locator(".time .over", { hasText: "20 of 30 over" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("lanes show page faults", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=threads`);
    await page.locator(".body .row").first().waitFor();
    const lanes = JSON.parse(run(MEMTOLL, "report", "--no-debuginfod", recordings.phases, "--lanes", "--format", "json")).lanes;
    const known = lanes.some((lane) => lane.faulting !== null);
    const heads = await page.locator('main [role="columnheader"]').allInnerTexts();
    const column = heads.findIndex((head) => head.startsWith("faulting"));
    assert.ok(column > 0, heads.join(", "));
    const texts = await page.locator("main .body .row").evaluateAll((rows, column) => rows.map((row) => row.children[column].textContent), column);
    // The second phase touches 10 MB for the first time.
    assert.equal(texts.some((text) => /[1-9]/.test(text)), known, `${texts}`);
    assert.ok(!known || lanes.some((lane) => lane.faulting.some((share) => share > 0)), JSON.stringify(lanes));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("a recording is shown while it is made", async () => {
    const live = await startLive();
    const { page, problems, close } = await open(live.url);
    const header = page.locator("header .live");
    await header.filter({ hasText: "recording" }).waitFor();
    await page.getByRole("button", { name: "mark", exact: true }).click();
    await page.locator(".said", { hasText: "mark 1" }).waitFor();
    await page.locator(".caption", { hasText: /1 mark(?!s)/ }).waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "snapshot" }).click();
    await page.locator('nav a[aria-current][href*="view=snapshots"]').waitFor();
    const shownAt = Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("to"));
    await page.locator("main .body .row", { hasText: "kept" }).first().waitFor({ timeout: 60_000 });
    assert.deepEqual(await breaches(page), []);
    // A look at its pages, as memtoll snapshot makes one.
    await page.getByRole("button", { name: "look at pages now" }).click();
    const said = page.locator(".said", { hasText: "Looked at the pages of process" });
    await said.waitFor();
    const pid = Number(/process (\d+)/.exec(await said.innerText())[1]);
    await page.locator("main .tools", { hasText: `patient ${pid}` }).waitFor({ timeout: 60_000 });
    assert.deepEqual(await breaches(page), []);
    // The rest of the program's work is in the complete recording.
    await live.goOn();
    await header.waitFor({ state: "detached", timeout: 60_000 });
    await show(page, "view=lines&metric=allocations");
    await page.locator("main .body .row", { hasText: "later" }).first().waitFor({ timeout: 60_000 });
    assert.deepEqual(problems, []);
    await close();
    assert.equal(await live.end(), 7, "the exit code is the program's");
    assert.ok(report(live.file).sites.some((site) => site.function === "later"));
    // The snapshot is of the instant of its mark, up to the clock's last correction.
    const snapshot = report(live.file, "--list", "marks").marks.find((mark) => mark.name.startsWith("snapshot "));
    assert.ok(Math.abs(shownAt - snapshot.first_ns) < 100_000, `${shownAt}: ${JSON.stringify(snapshot)}`);
    const { looks } = report(live.file, "--list", "looks");
    assert.deepEqual(looks.filter((look) => look.cause === "asked").map((look) => look.pid), [pid], JSON.stringify(looks));
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
    await page.keyboard.press("/");
    await page.keyboard.type("git");
    await page.locator(".tools", { hasText: "found:" }).waitFor();
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

for (const name of ["hostile", "hostile-file"]) {
    test(`${name}: names are texts, whatever they are`, async () => {
        const server = await start(recordings[name]);
        const page = await open(server.url);
        const saved = await open(pathToFileURL(html(name)));
        for (const { page: of, problems, close } of [page, saved]) {
            for (const view of VIEWS) {
                await show(of, `view=${view}&unfold=true`);
                await of.evaluate(() => document.querySelector('main [role="row"]:not(.head)')?.click());
            }
            await show(of, "view=lines&metric=allocations");
            const text = await of.getByRole("main").innerText();
            assert.ok(text.includes("window.attacked=1") || text.includes("onerror"), text.slice(0, 500));
            assert.equal(await of.evaluate(() => window.attacked), undefined);
            assert.equal(await of.locator("img").count(), 0);
            assert.equal(await of.locator("script:not([type])").count(), 0);
            assert.deepEqual(problems, []);
            await close();
        }
        server.stop();
    });
}

test("a hostile command line and a formula stay texts", async () => {
    const server = await start(recordings.hostile);
    const { page, close } = await open(server.url);
    assert.ok((await page.locator("header .command").innerText()).includes(ATTACK.slice(0, 20)));
    await show(page, "view=notes");
    assert.ok((await page.getByRole("main").innerText()).includes(ATTACK));
    await close();
    server.stop();
});

for (const name of ["phases", "git"]) {
    test(`${name}: one page holds it all`, async () => {
        const file = html(name);
        const size = statSync(file).size;
        assert.ok(size < 5_000_000, `${size}`);
        const text = readFileSync(file, "utf8");
        assert.ok(!/https?:\/\/(?!www\.w3\.org)/.test(text.replace(/<script type="application.*?<\/script>/gs, "")), "the page names no other place");
        const { page, problems, close } = await open(pathToFileURL(file));
        const expected = report(recordings[name]);
        for (const view of VIEWS) {
            await show(page, `view=${view}`);
            assert.deepEqual(await breaches(page), [], view);
        }
        await show(page, "view=overview");
        const bytes = () => page.evaluate(() => [...document.querySelectorAll(".facts-of div")].find((one) => one.firstChild.firstChild.textContent === "bytes").lastChild.title);
        const exact = (number) => `${number.toLocaleString("en-US")} bytes`;
        assert.equal(await bytes(), exact(expected.totals.bytes));
        // Both halves together are the whole.
        const middle = Math.round(expected.seconds * 0.5e9);
        const numbers = [];
        for (const part of [`to=${middle}`, `from=${middle}`]) {
            await show(page, part);
            await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
            await page.waitForTimeout(300);
            numbers.push(Number((await bytes()).replace(/\D/g, "")));
        }
        assert.equal(numbers[0] + numbers[1], expected.totals.bytes);
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
    await page.getByRole("button", { name: "callers and callees" }).click();
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
    const middle = Math.round(expected.seconds * 0.5e9);
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
    await page.mouse.move(graph.x + 30, graph.y + 9);
    await page.waitForFunction(() => /^all · .* before, .* after: /.test(document.querySelector(".told").textContent));
    await page.mouse.click(graph.x + 30, graph.y + 18 * 1.5);
    await page.getByRole("link", { name: "all", exact: true }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
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

test("a page says nothing of home folders, unless asked", () => {
    const packs = (file) => [...readFileSync(file, "utf8").matchAll(/<script type="application\/x-memtoll">(.*?)<\/script>/g)].map(([, pack]) => gunzipSync(Buffer.from(pack, "base64")).toString("latin1")).join("");
    assert.match(packs(html("phases", "--keep-paths")), /\/home\/ann\/phases\.c/);
    const text = packs(html("phases"));
    assert.match(text, /~\/phases\.c/);
    assert.doesNotMatch(text, /\/home\/ann/);
});

/** A request as any program on this machine could make it: its status. */
function ask(url, { method = "GET", headers = {}, body = "" } = {}) {
    return new Promise((resolve, reject) => {
        const made = request(url, { method, headers }, (reply) => {
            let text = "";
            reply.on("data", (data) => (text += data));
            reply.on("end", () => resolve({ status: reply.statusCode, headers: reply.headers, text }));
        });
        made.on("error", reject);
        made.end(body);
    });
}

test("the server lets in who has the link, once, and nobody else's page", async () => {
    const { url, stop } = await start(recordings.phases);
    const root = url.origin;
    assert.equal(url.hostname, "127.0.0.1");
    assert.equal((await ask(root)).status, 403);
    assert.equal((await ask(url, { headers: { Host: "evil.example" } })).status, 403);
    const first = await ask(url);
    assert.equal(first.status, 303);
    const [given] = first.headers["set-cookie"];
    assert.match(given, /; HttpOnly; SameSite=Strict$/);
    const Cookie = given.split(";")[0];
    assert.equal((await ask(url)).status, 403, "the link works once");
    const page = await ask(root, { headers: { Cookie } });
    assert.equal(page.status, 200);
    const policy = page.headers["content-security-policy"];
    assert.match(policy, /default-src 'none'; script-src 'self'/);
    assert.ok(!policy.includes("unsafe"));
    const post = (headers, body = '{"page":"about"}') => ask(`${root}/answer`, { method: "POST", headers: { Cookie, ...headers }, body });
    assert.equal((await post({ Origin: root })).status, 200);
    assert.equal((await post({ Origin: "http://evil.example" })).status, 403);
    assert.equal((await post({ Origin: "null" })).status, 403);
    assert.equal((await post({ Host: "evil.example" })).status, 403);
    assert.equal((await post({ Cookie: "" })).status, 403);
    assert.equal((await post({}, "{")).status, 400);
    assert.equal((await post({}, '{"query":{"filters":"x"}}')).status, 400, "a query has no such key");
    assert.equal((await post({}, '{"query":{"filter":"(","view":{"table":{"group":"site"}}}}')).status, 422);
    for (const path of ["/etc/passwd", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/src/main.tsx"])
        assert.equal((await ask(root + path, { headers: { Cookie } })).status, 404, path);
    stop();
});

test("no file is read that is not a source which the recording names", async () => {
    const secret = join(FOLDER, "secret.c");
    writeFileSync(secret, "int secret_key;\n");
    for (const allowed of [true, false]) {
        const { url, stop } = await start(...(allowed ? ["--sources"] : []), recordings.marked);
        const Cookie = (await ask(url)).headers["set-cookie"][0].split(";")[0];
        const source = (file) => ask(`${url.origin}/answer`, { method: "POST", headers: { Cookie }, body: JSON.stringify({ page: { source: { file } } }) });
        const folder = MARKED.slice(0, MARKED.lastIndexOf("/"));
        for (const file of ["/etc/passwd", secret, "", ".", "marked.c", `${folder}/../ann/marked.c`, `${folder}/./marked.c`, `${MARKED}/../../../secret.c`, `${MARKED}\0.c`, `file://${MARKED}`]) {
            const reply = await source(file);
            assert.equal(reply.status, 422, file);
            assert.equal(reply.text, "The recording names no such file.", file);
        }
        const named = await source(MARKED);
        assert.equal(named.status, 200);
        assert.equal(named.text.includes("usleep(5000)"), allowed);
        // In its place there is now a link to another file.
        renameSync(MARKED, `${MARKED}.kept`);
        symlinkSync(secret, MARKED);
        const linked = await source(MARKED);
        unlinkSync(MARKED);
        renameSync(`${MARKED}.kept`, MARKED);
        assert.ok(!linked.text.includes("secret_key"));
        assert.equal(linked.text.includes("symbolic link"), allowed);
        assert.equal((await ask(`${url.origin}/docs/metrics.md`, { headers: { Cookie } })).status, 200);
        for (const path of ["/docs/../Cargo.toml", "/docs/speed.md", "/docs/"]) assert.equal((await ask(url.origin + path, { headers: { Cookie } })).status, 404, path);
        assert.equal((await ask(`${url.origin}/docs/metrics.md`)).status, 403);
        stop();
    }
});
