// Where blocks and pages lie, how long blocks live, and how types are laid out.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { MEMTOLL, afterEarly, afterThread, html, recordings, report, run } from "./recordings.mjs";
import { becomes, breaches, numbersOf, open, settled, show, start, words } from "./viewer.mjs";

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
    const from = afterThread();
    const part = report(recordings.phases, "--from", `${from}ns`);
    assert.notEqual(sum(of(part.sites)), sum(of(expected.sites)));
    await show(page, `view=lifetimes&from=${from}`);
    const draws = (all) => becomes(async () => (await drawn()).reduce((a, b) => a + b, 0), all);
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
    await page.waitForFunction(() => new URLSearchParams(location.hash.slice(1)).get("cuts") === "focus function:survivor" && location.hash.includes("view=lines"));
    await page.getByRole("table").first().locator(".body .row", { hasText: "survivor" }).first().waitFor();
    // By keys, and at the peak.
    await show(page, "view=resident");
    await map.focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => /^0x/.test(document.querySelector(".told").innerText));
    // Where the last look has most in memory, it is the peak's, too.
    const sizes = report(recordings.survivors, "--list", "looks").looks.map(({ rss }) => rss);
    assert.ok(sizes.length > 0 && sizes.every((bytes) => bytes > 0), `${sizes}`);
    const peak = page.getByRole("button", { name: "highest look" });
    assert.equal(await peak.isDisabled(), sizes.at(-1) === Math.max(...sizes), `${sizes}`);
    await show(page, "view=resident&look=peak");
    await page.locator('button[aria-pressed="true"]', { hasText: "highest look" }).waitFor();
    await map.waitFor();
    // What holds memory at a look leads to lines at that look; Esc leaves it.
    for (const { at_ns } of report(recordings.survivors, "--list", "looks").looks) {
        await show(page, `view=resident&look=${at_ns}`);
        await map.waitFor();
        await page.locator(".held .parts .door", { hasText: /^live blocks/ }).click();
        await page.locator("header .selection", { hasText: "until the look at" }).waitFor();
        await settled(page);
        const { sites } = report(recordings.survivors, "--metric", "resident", "--group", "site", "--at", `${at_ns}ns`);
        const [most] = sites.toSorted((a, b) => b.resident_bytes - a.resident_bytes);
        assert.ok(most.resident_bytes > 0);
        assert.equal((await numbersOf(page, most.function)).resident, String(most.resident_bytes), `${at_ns}`);
    }
    await page.keyboard.press("Escape");
    await page.locator("header .selection", { hasText: "whole run" }).waitFor();
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
        await becomes(async () => (await numbersOf(page, "survivor"))?.pinned, String(site.pinned_bytes));
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
    assert.equal(await page.getByRole("button", { name: /look/ }).count(), 0);
    assert.deepEqual(problems, []);
    await close();
    short.stop();
});

test("generations add up to what is live, and tell what was born, died and stayed", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const expected = report(recordings.phases, "--limit", "1000");
    const exact = async (name, column) => {
        const title = await page.locator("main .body .row", { hasText: name }).first().locator('[role="cell"]').nth(column).getAttribute("title");
        return Number(title.replace("−", "-").replace(/[^\d-]/g, ""));
    };
    await show(page, "view=snapshots&map=generations");
    await page.locator("main .body .row", { hasText: "late" }).first().waitFor();
    // Nothing was allocated before the first tenth of the run begins.
    const columns = () => page.locator("main .body .row").first().locator('[role="cell"]').count();
    for (const name of ["early", "late"]) {
        const live = expected.sites.find((site) => site.function === name)?.live_bytes ?? 0;
        if (live === 0) continue;
        assert.equal(await exact(name, 1), live, name);
        await becomes(async () => {
            let sum = 0;
            for (let column = 2, all = await columns(); column < all; column++) sum += await exact(name, column);
            return sum;
        }, live);
    }
    assert.deepEqual(await breaches(page), []);
    // The first phase is over; until the end, the second one replaces all of its blocks.
    const middle = afterEarly();
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
    // The better order stands below the last member, or beside the first one where there is room.
    const better = page.getByRole("region", { name: "a better order" });
    for (const [width, height] of [[1280, 1800], [3840, 2160]]) {
        await page.setViewportSize({ width, height });
        const [order, first, last] = await Promise.all([better, table, table.locator(".body .row").last()].map((one) => one.boundingBox()));
        const gap = order.x > first.x + 100 ? order.y - first.y : order.y - last.y - last.height;
        assert.ok(gap >= 0 && gap < 30 && order.height < 600, `${width}: ${JSON.stringify([order, first, last])}`);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
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
    await page.getByRole("list", { name: "similar types" }).getByRole("link", { name: "app::Row", exact: true }).click();
    await table.locator(".body .row").first().waitFor();
    assert.equal(words(page).type, "app::Row");
    assert.deepEqual(problems, []);
    await close();
    server.stop();
    const saved = await open(`${pathToFileURL(html("rows"))}#view=layout`);
    await saved.page.locator("main .empty", { hasText: "memtoll layout FILE TYPE" }).waitFor();
    assert.deepEqual(saved.problems, []);
    await saved.close();
});
