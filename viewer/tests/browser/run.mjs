// Tests of the viewer in a browser, on real recordings.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { request } from "node:http";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";
import { ATTACK, diff, html, recordings, report } from "./recordings.mjs";
import { end, open, start } from "./viewer.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const VIEWS = ["overview", "lines", "tree", "flame", "snapshots", "lifetimes", "threads", "notes"];

after(end);

/** Goes to a view and waits until it is there. */
async function show(page, hash) {
    await page.evaluate((hash) => void (location.hash = hash), hash);
    const view = new URLSearchParams(hash).get("view") ?? "overview";
    await page.locator(`nav a[aria-current][href*="${view === "overview" ? "#" : `view=${view}`}"]`).waitFor();
    await page.waitForFunction(() => !/adding up …|Reading all events|Adding up (what|sizes)/.test(document.body.innerText));
}

/** Breaches of the rules of accessibility. */
async function breaches(page) {
    await page.evaluate(AXE);
    const { violations } = await page.evaluate(() => window.axe.run(document));
    return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}

/** Exact numbers of a line in the table of lines, by the title of their column. */
async function numbersOf(page, name) {
    return page.evaluate((name) => {
        const heads = [...document.querySelectorAll('main [role="columnheader"]')].map((head) => head.textContent.replace(" ▾", ""));
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
            for (const view of VIEWS) {
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
    const facts = await page.locator(".facts-of div").evaluateAll((all) => all.map((one) => [one.firstChild.textContent, one.lastChild.title]));
    const known = Object.fromEntries(facts);
    const totals = expected.totals;
    assert.equal(known["allocations"], (totals.allocations + totals.reallocations).toLocaleString("en-US"));
    assert.equal(known["bytes"], `${totals.bytes_allocated.toLocaleString("en-US")} bytes`);
    assert.equal(known["never freed"], `${totals.live_bytes_at_end.toLocaleString("en-US")} bytes`);
    const title = await page.locator(".cost h2").innerText();
    assert.match(title, /What memory costs: .* of .* CPU time/);
    // The parts add up to all of it.
    const parts = await page.locator(".parts b").evaluateAll((all) => all.map((one) => Number(one.title.replace(/[^\d-]/g, ""))));
    assert.ok(Math.abs(parts.reduce((a, b) => a + b, 0) - totals.cpu_ns) <= parts.length, `${parts} are ${totals.cpu_ns}`);
    await show(page, "view=lines");
    const site = (of, name) => of.sites.find((site) => site.function === name);
    for (const name of ["early", "late", "thread"]) {
        const row = await numbersOf(page, name);
        assert.equal(Number(row.allocations), site(expected, name).allocations, name);
        assert.equal(Number(row.bytes), site(expected, name).bytes_allocated, name);
    }
    // The second half: without the first phase.
    const from = Math.round(expected.seconds * 0.3e9);
    const part = report(recordings.phases, "--from", `${from}ns`);
    await show(page, `view=lines&from=${from}`);
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.waitForFunction((count) => document.querySelector(".tools").innerText.includes(`${count} rows`), part.sites.length);
    assert.equal((await numbersOf(page, "late")).bytes, String(site(part, "late").bytes_allocated));
    assert.equal((await numbersOf(page, "early"))?.allocations ?? "0", String(site(part, "early")?.allocations ?? 0));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
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
    for (const [index, view] of VIEWS.entries()) {
        await page.keyboard.press(String(index + 1));
        await page.waitForFunction((view) => (new URLSearchParams(location.hash.slice(1)).get("view") ?? "overview") === view, view);
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await breaches(page), []);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("3");
    const tree = page.getByRole("treegrid");
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

test("two recordings side by side say what memtoll diff says", async () => {
    const [before, after] = [recordings.phases, recordings["phases-after"]];
    const server = await start(before, after);
    const { page, problems, close } = await open(server.url);
    await page.keyboard.press("9");
    await page.getByRole("table").waitFor();
    const said = diff(before, after);
    const late = said.changes.find((change) => change.frame?.function === "late");
    const row = page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^late$/ }) });
    await show(page, "view=compare&metric=bytes");
    await page.waitForFunction(() => document.querySelector("main select").value === "bytes");
    const titles = await row.first().locator(".number").evaluateAll((all) => all.slice(0, 2).map((one) => Number(one.title.replace(/\D/g, ""))));
    assert.deepEqual(titles, [late.bytes_allocated.before, late.bytes_allocated.after]);
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await breaches(page), [], colorScheme);
    }
    assert.deepEqual(problems, []);
    await close();
    server.stop();
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
    await page.getByRole("button", { name: "all", exact: true }).waitFor();
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
        const bytes = () => page.evaluate(() => [...document.querySelectorAll(".facts-of div")].find((one) => one.firstChild.textContent === "bytes").lastChild.title);
        const exact = (number) => `${number.toLocaleString("en-US")} bytes`;
        assert.equal(await bytes(), exact(expected.totals.bytes_allocated));
        // Both halves together are the whole.
        const middle = Math.round(expected.seconds * 0.5e9);
        const numbers = [];
        for (const part of [`to=${middle}`, `from=${middle}`]) {
            await show(page, part);
            await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
            await page.waitForTimeout(300);
            numbers.push(Number((await bytes()).replace(/\D/g, "")));
        }
        assert.equal(numbers[0] + numbers[1], expected.totals.bytes_allocated);
        assert.ok(numbers.every((number) => number > 0), numbers.join());
        assert.deepEqual(problems, []);
        await close();
    });
}

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
    const post = (headers, body = "{}") => ask(`${root}/answer`, { method: "POST", headers: { Cookie, ...headers }, body });
    assert.equal((await post({ Origin: root })).status, 200);
    assert.equal((await post({ Origin: "http://evil.example" })).status, 403);
    assert.equal((await post({ Origin: "null" })).status, 403);
    assert.equal((await post({ Host: "evil.example" })).status, 403);
    assert.equal((await post({ Cookie: "" })).status, 403);
    assert.equal((await post({}, "{")).status, 400);
    assert.equal((await post({}, '{"filter":"("}')).status, 422);
    for (const path of ["/etc/passwd", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/src/main.tsx"])
        assert.equal((await ask(root + path, { headers: { Cookie } })).status, 404, path);
    stop();
});
