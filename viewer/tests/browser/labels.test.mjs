// Numbers belong to what stands beside them: of harmed recordings, of questions without an answer, of filters, of processes
// that have ended, beside names of all scripts, and in tables that are copied.

import assert from "node:assert/strict";
import { copyFileSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { FOLDER, afterThread, harmed, html, recordings, report } from "./recordings.mjs";
import { VIEWS, becomes, breaches, holdAnswers, open, openPage, packOf, settled, show, start, tableRows, viewed } from "./viewer.mjs";

const alert = (page) => page.locator('main [role="alert"]');
const rows = (page) => page.locator('main [role="row"]:not(.head)');
const facts = (page) => page.locator(".facts-of div").evaluateAll((all) => Object.fromEntries(all.map((one) => [one.firstChild.firstChild.textContent, one.lastChild.title])));
const number = (text) => Number(text.split(/ |,(?! ?\d)/)[0].replaceAll(",", ""));

for (const how of ["flipped", "cut"])
    test(`a recording that is harmed says so in every view: ${how}`, async () => {
        const file = harmed("python", how);
        const expected = report(file);
        assert.ok(expected.missing.length > 0, JSON.stringify(expected.missing));
        assert.ok(expected.totals.allocations < report(recordings.python).totals.allocations);
        const server = await start(file);
        const { page, problems, close } = await open(server.url);
        for (const view of VIEWS) {
            await show(page, `view=${view}`);
            const banner = page.getByRole("complementary", { name: "what is missing" });
            assert.match(await banner.innerText(), /The recording is incomplete: all numbers are of what can be read\./, view);
            assert.equal(await page.locator("header .selection").innerText(), "what can be read", view);
            assert.deepEqual(await breaches(page), [], view);
        }
        const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1).replaceAll(" from this report", "")}.`;
        await show(page, "view=notes");
        const notes = await page.locator(".notes li").allInnerTexts();
        for (const text of expected.missing) assert.ok(notes.includes(sentence(text)) || notes.includes(text), `${text}: ${notes.join(" | ")}`);
        await show(page, "view=overview");
        await page.getByText("Of what can be read:").waitFor();
        assert.equal((await facts(page)).allocations, expected.totals.allocations.toLocaleString("en-US"));
        assert.match(await page.locator(".cost h2").innerText(), /, as far as it can be read: /);
        if (how === "cut") {
            assert.equal(expected.totals.fault_time_ns, null);
            // The price of a page fault is measured at the end: without it, what they took is not known.
            const faults = page.locator(".parts > li", { hasText: "fault time" }).locator(":scope > b");
            assert.equal(await faults.innerText(), "–");
            assert.match(await page.locator(".cost h2").innerText(), /at least/);
        }
        assert.deepEqual(problems, []);
        await close();
        server.stop();
    });

test("a page of a recording that is harmed says so, too, and a comparison with one names it", async () => {
    recordings["python-cut"] = harmed("python", "cut");
    const server = await start(recordings["python-cut"], recordings.phases);
    for (const [url, words] of [[pathToFileURL(html("python-cut")), "The file is cut off"], [server.url, "In python-cut.memtoll, the file is cut off"]]) {
        const { page, problems, close } = await open(url);
        const banner = page.getByRole("complementary", { name: "what is missing" });
        await banner.getByText(words).waitFor();
        await banner.getByText("The recording is incomplete").waitFor();
        assert.deepEqual(problems, []);
        await close();
    }
    server.stop();
});

test("a page without events has no filter, whatever its address says", async () => {
    const { page, problems, close } = await open(`${pathToFileURL(html("phases"))}#view=overview&filter=late`);
    assert.equal(number((await facts(page)).allocations), report(recordings.phases).totals.allocations);
    assert.equal(await page.getByText("call stacks that match").count(), 0);
    assert.deepEqual(problems, []);
    await close();
});

test("a whole recording has no banner", async () => {
    const server = await start(recordings.phases);
    const { page, close } = await open(server.url);
    assert.equal(await page.getByText("The recording is incomplete").count(), 0);
    assert.equal(await page.locator("header .selection").innerText(), "whole run");
    await close();
    server.stop();
});

test("a file that is cut off while it is open is an error", async () => {
    const file = join(FOLDER, "shrinks.memtoll");
    copyFileSync(recordings.phases, file);
    const server = await start(file);
    const { page, close } = await open(server.url);
    await page.locator(".facts-of").waitFor();
    truncateSync(file, 3000);
    for (const view of ["lifetimes", "tree", "threads"]) {
        await page.evaluate((view) => void (location.hash = `view=${view}`), view);
        await alert(page).filter({ hasText: "was cut off while it was open: it has 3,000 bytes now" }).waitFor();
        assert.doesNotMatch(await page.getByRole("main").innerText(), /No block in this selection/);
    }
    await page.evaluate(() => void (location.hash = "view=lines&from=1000"));
    await alert(page).filter({ hasText: "was cut off while it was open" }).waitFor();
    assert.equal(await rows(page).count(), 0);
    await close();
    server.stop();
});

/** Selections without an answer: what the address has, what is said, and the button that leads back. */
const REFUSED = [
    ["filter=zzz", /^No call stack matches the filter "zzz" in this selection\. Functions that allocate most are .*late/, "empty the filter"],
    ["filter=(", /^The filter "\(" is not a regular expression: unclosed group\./, "empty the filter"],
    ["from=900000000000", /^The recording ends after .*: this selection begins at .*whole run/, "whole run"],
    ["process=99999999", /^No process of this recording is called "99999999"\./, "all processes and threads"],
    [`filter=${"x".repeat(100_000)}`, /^The filter is too long, or there are too many cuts: this question has 100,\d{3} bytes, and at most 65,536 bytes are read\./, "empty the filter"],
];

test("a page that opens with a question without an answer shows what one shows that comes to it", async (t) => {
    const { page } = await viewed(t, "phases");
    await show(page, "view=lines");
    await page.evaluate(() => void (location.hash = "view=lines&filter=zzz"));
    await alert(page).waitFor();
    const again = await page.context().newPage();
    await again.goto(page.url());
    await again.getByRole("navigation", { name: "views" }).waitFor();
    await alert(again).waitFor();
    const words = (one) => one.evaluate(() => document.body.innerText);
    await becomes(() => words(again), await words(page));
});

test("where a question has no answer, the old rows leave, and the page says why in its own words", async () => {
    const server = await start(recordings.phases);
    const { page, close } = await open(server.url);
    for (const [selection, words, way] of REFUSED)
        for (const view of VIEWS.filter((view) => view !== "notes")) {
            await show(page, `view=${view}`);
            await page.evaluate((hash) => void (location.hash = hash), `view=${view}&${selection}`);
            await alert(page).waitFor().catch(() => assert.fail(`no alert: ${view}&${selection.slice(0, 40)}`));
            const text = (await alert(page).locator("p").innerText()).replace(/[\u2066-\u2069]/g, "");
            assert.match(text, words, view);
            assert.ok(!text.includes("--") && text.length < 500, text);
            assert.equal(await rows(page).count(), 0, view);
            assert.equal(await page.locator(".facts-of").count(), 0, view);
            if (view === "lines") assert.deepEqual(await breaches(page), [], selection.slice(0, 40));
            await page.getByRole("main").getByRole("button", { name: way }).click();
            await alert(page).waitFor({ state: "detached" });
            assert.equal(new URL(page.url()).hash.includes(selection), false);
        }
    // While the next answer is on its way, what stands there is of the last question.
    await page.evaluate(() => void (location.hash = "view=lines&filter=zzz"));
    await alert(page).waitFor();
    const letThrough = await holdAnswers(page);
    await page.evaluate(() => void (location.hash = "view=lines&from=1000"));
    await page.locator("main[aria-busy=true]").waitFor();
    letThrough();
    await page.locator("main[aria-busy=false] .body .row").first().waitFor();
    await close();
    // A link that has no answer leads to one.
    const again = await start(recordings.phases);
    const opened = await openPage(`${again.url}#view=lines&filter=zzz`);
    await opened.page.getByRole("button", { name: "empty the filter" }).click();
    await rows(opened.page).filter({ hasText: "late" }).first().waitFor();
    // The server goes: the next selection has no rows, and says why.
    again.stop();
    await opened.page.evaluate(() => void (location.hash = "view=lines&from=1000"));
    await alert(opened.page).filter({ hasText: "memtoll view does not answer any more. Start it again." }).waitFor();
    assert.equal(await rows(opened.page).count(), 0);
    await opened.close();
    server.stop();
});

/** What the cells of a column say exactly, of the rows that match. */
async function exactly(page, selector, column) {
    const titles = await page.locator(selector).evaluateAll((rows, column) => rows.map((row) => row.children[column].title || row.children[column].textContent), column);
    return titles.map(number);
}

/** What selects call stacks in the address, and in a report. */
const SELECTIONS = [
    ["", []],
    ["&filter=late", ["--filter", "late"]],
    ["&filter=phases.c", ["--filter", "phases.c"]],
    [`&cuts=${encodeURIComponent("drop function:late")}`, ["--drop", "function:^late$"]],
    [`&cuts=${encodeURIComponent("focus function:thread\nfold function:main")}`, ["--focus", "function:^thread$", "--fold", "function:^main$"]],
];

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

test("shares of the peak are of what the rows have together", async (t) => {
    const { page, problems } = await viewed(t, "short-lived", "view=lines&metric=peak");
    const own = sum(report(recordings["short-lived"], "--limit", "100000").sites.map((site) => site.peak_bytes));
    assert.ok(own > report(recordings["short-lived"]).totals.peak_bytes, "processes have their peaks one after the other");
    for (const view of ["lines", "tree", "flame"]) {
        await show(page, `view=${view}&metric=peak`);
        await page.locator("main .shares", { hasText: "the peaks of all processes added up" }).waitFor();
    }
    await show(page, "view=overview&metric=peak");
    const shares = await page.locator(".worst .amount .soft:nth-of-type(2)").allInnerTexts();
    assert.ok(shares.length > 0 && shares.every((text) => /^[\d.]+ % of .*, the peaks of all processes added up$/.test(text) && parseFloat(text) <= 100), shares.join());
    // What lies live beside them is counted in blocks that are live.
    await show(page, "view=overview&metric=live");
    const [kept] = await page.locator(".worst li", { hasText: "left_by_child" }).allInnerTexts();
    assert.match(kept, /20 blocks/);
    // Processes that have ended have nothing on the time line.
    const { columns } = await packOf(page, { query: { view: { activity: { intervals: 4096 } } } });
    assert.equal(columns["activity.live"].at(-1), 500);
    assert.deepEqual(problems, []);
});

test("rows add up to the totals, with each filter in each view", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const column = (title) => page.locator('main [role="columnheader"]').evaluateAll((heads, title) => heads.findIndex((head) => head.textContent.replace(/ ?▾?\s*\?$/, "") === title), title);
    const all = report(recordings.phases).sites;
    const first = String(report(recordings.phases, "--list", "processes").processes[0].pid);
    for (const [part, options] of SELECTIONS) {
        const expected = report(recordings.phases, ...options, "--limit", "100000").sites;
        const totals = Object.fromEntries(["allocations", "bytes"].map((name) => [name, sum(expected.map((site) => site[name]))]));
        if (/late|thread/.test(part)) assert.ok(totals.bytes < sum(all.map((site) => site.bytes)) && totals.bytes > 0, part);
        await show(page, `view=overview&metric=bytes${part}`);
        await page.waitForFunction((bytes) => document.querySelector(".facts-of")?.textContent && [...document.querySelectorAll(".facts-of dd")].some((one) => one.title === bytes), `${totals.bytes.toLocaleString("en-US")} bytes`);
        assert.equal(number((await facts(page)).allocations), totals.allocations, part);
        // The worst lines are shares of the same total.
        const shares = await page.locator(".worst .amount .soft:nth-of-type(2)").allInnerTexts();
        const named = await page.locator(".facts-of div", { hasText: /^bytes/ }).locator("dd").innerText();
        assert.ok(shares.length > 0 && shares.every((text) => text.endsWith(`% of ${named}`)), `${shares}: ${named}`);
        for (const group of ["line", "function", "module", "type", "thread", "process"]) {
            await show(page, `view=lines&metric=bytes&group=${group}${part}`);
            await rows(page).first().waitFor();
            assert.ok((await page.locator("main .shares").innerText()).startsWith(`shares are of ${named}`), group);
            for (const [name, total] of Object.entries(totals)) assert.equal(sum(await exactly(page, "main .body .row", await column(name))), total, `${group} ${name} ${part}`);
        }
        for (const reversed of [false, true]) {
            await show(page, `view=tree&metric=bytes&reversed=${reversed}${part}`);
            await rows(page).first().waitFor();
            assert.equal(sum(await exactly(page, 'main [aria-level="1"]', 1)), totals.bytes, `tree ${reversed} ${part}`);
        }
        await show(page, `view=flame&metric=bytes${part}`);
        const graph = await page.locator("main canvas").boundingBox();
        await page.mouse.move(graph.x + 30, graph.y + 9);
        await page.waitForFunction((named) => document.querySelector(".told").textContent.includes(`, 100 % of ${named} bytes`), named);
        /** The sums of some columns of a view, as soon as all is there. */
        const addsUp = async (view, columns, expected) => {
            await show(page, `view=${view}${part}`);
            await becomes(async () => (await Promise.all(columns.map(async (at) => sum(await exactly(page, "main .body .row", at))))).join(), expected.join());
        };
        await addsUp("functions&metric=bytes", [1], [totals.bytes]);
        await addsUp("lifetimes", [1], [totals.allocations]);
        await addsUp("source&metric=bytes", [1, 3], [totals.bytes, totals.allocations]);
        // The blocks of the second process went with it.
        const kept = report(recordings.phases, ...options, "--process", first, "--limit", "100000").sites;
        await addsUp("snapshots", [2], [sum(kept.map((site) => site.live_bytes))]);
        await addsUp("processes", [3], [totals.allocations]);
        // What does not match has a row of its own.
        await show(page, `view=compare&metric=bytes&small=true&base=0-200000000&from=200000001${part}`);
        await rows(page).first().waitFor();
        const compared = await page.locator("main .body .row").evaluateAll((all) => all.map((row) => [row.children[0].innerText, row.children[1].title, row.children[2].title]));
        const both = (of) => sum(of.flatMap(([, before, after]) => [number(before), number(after)]));
        const elsewhere = compared.filter(([name]) => name.startsWith(/late|thread/.test(part) ? "in no row: call stacks that do not match, peaks at other times" : "in no row:"));
        assert.equal(both(compared), sum(all.map((site) => site.bytes)), `compare ${part}`);
        assert.equal(both(compared) - both(elsewhere), totals.bytes, `compare ${part}`);
    }
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("parts of the cost have the names of metrics, and shares one denominator", async () => {
    const server = await start(recordings.wrapped);
    const { page, problems, close } = await open(server.url);
    const { totals } = report(recordings.wrapped);
    for (const filter of ["", "buffer_again"]) {
        await show(page, `view=overview&metric=cost${filter && `&filter=${filter}`}`);
        await page.locator(".cost h2", { hasText: filter ? "of the call stacks that match" : /^What memory costs: / }).waitFor();
        const parts = await page.locator(".parts > li[title]").evaluateAll((all) => all.map((one) => one.childNodes[1].textContent));
        const expected = filter ? ["fault time", "mapping", "allocator"] : ["fault time", "mapping", "allocator", "other faults", "program"];
        assert.deepEqual(parts.slice(0, expected.length), expected);
        assert.ok(parts.slice(expected.length).every((name) => ["waiting", "reading"].includes(name)), parts.join());
        const whole = await page.locator(".parts > li", { hasText: /^shares are of / }).innerText();
        const [, processor] = /^shares are of (.*) CPU time$/.exec(whole);
        assert.ok((await page.locator(".cost h2").innerText()).includes(` of ${processor} CPU time`), whole);
        const shares = await page.locator(".worst .amount .soft:nth-of-type(2)").allInnerTexts();
        assert.ok(shares.length > 0 && shares.every((text) => text.endsWith("% of CPU time")), shares.join());
        const advised = await page.locator(".saves .soft", { hasText: ", likely" }).allInnerTexts();
        assert.ok(advised.every((text) => / of CPU time, likely$/.test(text)), advised.join());
    }
    // Numbers keep their label until the answer of the next filter is there.
    const answer = await holdAnswers(page);
    await page.evaluate(() => void (location.hash = "view=overview"));
    await page.locator("main[aria-busy=true]").waitFor();
    assert.match(await page.locator(".cost h2").innerText(), /of the call stacks that match/);
    answer();
    // The fault time has zeroing in it, as in Lines and in the report.
    await show(page, "view=overview");
    await page.locator(".cost h2", { hasText: /^What memory costs: / }).waitFor();
    const titles = await page.locator(".parts > li", { hasText: "fault time" }).locator("b").evaluateAll((all) => all.map((one) => one.title));
    const [faults, zeroing] = titles.map(number);
    assert.ok(Math.abs(faults - totals.fault_time_ns) <= 1 && Math.abs(zeroing - totals.zeroing_ns) <= 2, `${faults} ${zeroing}: ${totals.fault_time_ns} ${totals.zeroing_ns}`);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("blocks of processes that have ended are gone", async () => {
    const server = await start(recordings["short-lived"]);
    const { page, problems, close } = await open(server.url);
    const { totals } = report(recordings["short-lived"]);
    const site = (name) => report(recordings["short-lived"]).sites.find((site) => site.function === name);
    assert.deepEqual([site("left_by_child").live_bytes, site("kept_by_parent").live_bytes], [20_000, 500]);
    assert.equal(number((await facts(page))["never freed"] ?? ""), totals.live_bytes);
    const parentHasAll = async (page, map) => {
        await show(page, `view=snapshots&map=${map}`);
        const kept = rows(page).filter({ hasText: "kept_by_parent" });
        await kept.waitFor();
        assert.equal(number(await kept.locator('[role="cell"]').nth(map ? 1 : 2).getAttribute("title")), 500);
        assert.equal(await rows(page).filter({ hasText: "left_by_child" }).count(), 0, map);
    };
    for (const map of ["", "generations"]) await parentHasAll(page, map);
    const alone = await open(pathToFileURL(html("short-lived")));
    assert.equal(number((await facts(alone.page))["never freed"] ?? ""), totals.live_bytes);
    await parentHasAll(alone.page, "");
    assert.deepEqual(alone.problems, []);
    await alone.close();
    // Of one process, the end is its own.
    const child = report(recordings["short-lived"], "--list", "processes").processes.at(-1).pid;
    await show(page, `view=snapshots&process=${child}`);
    const left = rows(page).filter({ hasText: "left_by_child" });
    await left.waitFor();
    assert.equal(number(await left.locator('[role="cell"]').nth(2).getAttribute("title")), 1000);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the resident set and the list of regions say which part of a selection they leave out", async (t) => {
    const { pid, tid } = report(recordings.marked).threads[0];
    const { page, problems } = await viewed(t, "marked");
    const tools = async (hash) => (await show(page, hash), page.locator("main .tools").innerText());
    const span = "&from=1000000&to=2000000";
    assert.doesNotMatch(await tools("view=resident"), /whatever|whole process/);
    assert.match(await tools(`view=resident${span}`), /A look is of one instant, whatever span is selected\./);
    assert.match(await tools(`view=resident&process=${pid}&thread=${tid}`), /The pages are those of the whole process, not only of the thread\./);
    assert.doesNotMatch(await tools("view=regions"), /whatever/);
    assert.match(await tools(`view=regions${span}`), /All are listed, whatever span is selected\./);
    assert.deepEqual(problems, []);
});

test("names from right to left turn no number around", async () => {
    const server = await start("--sources", recordings["right-to-left"]);
    const { page, problems, close } = await open(server.url);
    let seen = 0;
    for (const view of [...VIEWS, "snapshots&map=line", "snapshots&map=generations", "threads", "layout", "functions"]) {
        await show(page, `view=${view}`);
        await page.evaluate(() => document.querySelector('main [role="row"]:not(.head)')?.click());
        const texts = await page.evaluate(() => {
            const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
            const all = [];
            while (walker.nextNode()) {
                const { textContent: text, parentElement: parent } = walker.currentNode;
                if (/[\u0590-\u05ff]/.test(text)) all.push([text, !!parent.closest("bdi")]);
            }
            return all;
        });
        seen += texts.length;
        const bare = texts.filter(([text, isIsolated]) => !isIsolated && /[\u0590-\u05ff]/.test(text.replace(/\u2068[^\u2069]*\u2069/g, "")));
        assert.deepEqual(bare, [], view);
    }
    assert.ok(seen > 20, `${seen}`);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("nouns agree with their numbers", async () => {
    for (const name of ["single", "short-lived"]) {
        const server = await start(recordings[name]);
        const { page, close } = await open(server.url);
        for (const view of [...VIEWS, "snapshots&map=line", "snapshots&map=generations", "layout", "functions"]) {
            await show(page, `view=${view}`);
            const text = await page.locator("body").innerText();
            assert.doesNotMatch(text, /(?<![\d.,])1 (rows|blocks|lines|marks|regions|processes|threads|waits|events|call paths|call sites|areas|others|allocations|page faults|files|bytes|CPUs|frames)\b/, `${name} ${view}`);
        }
        await close();
        server.stop();
    }
});

test("a table that is saved has plain numbers, and units in its head", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=lines&metric=bytes`);
    await rows(page).first().waitFor();
    const download = page.waitForEvent("download");
    await page.keyboard.press("C");
    const [head, ...lines] = readFileSync(await (await download).path(), "utf8").trimEnd().split("\r\n").map((line) => line.split(","));
    for (const title of ["cost [ns]", "bytes [bytes]", "allocations", "lifetime [ns]"]) assert.ok(head.includes(title), head.join());
    const sites = report(recordings.phases).sites;
    const [late] = lines.filter(([line]) => line.startsWith("late "));
    assert.equal(late[head.indexOf("bytes [bytes]")], String(sites.find((site) => site.function === "late").bytes));
    assert.equal(late[head.indexOf("allocations")], String(sites.find((site) => site.function === "late").allocations));
    for (const line of lines) for (const [at, cell] of line.entries()) if (at > 1) assert.match(cell, /^(\d+(\.\d+)?)?$/, `${head[at]}: ${cell}`);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the theme is remembered, also by the next server", async () => {
    const [first, second] = [await start(recordings.single), await start(recordings.single)];
    const { page, problems, close } = await open(first.url, { colorScheme: "light" });
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
    assert.equal(await theme(), "light");
    await page.keyboard.press("d");
    await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
    await page.reload();
    await page.getByRole("navigation", { name: "views" }).waitFor();
    assert.equal(await theme(), "dark");
    await page.goto(String(second.url));
    await page.getByRole("navigation", { name: "views" }).waitFor();
    assert.equal(await theme(), "dark");
    assert.deepEqual(problems, []);
    await close();
    first.stop();
    second.stop();
});

test("what Snapshots and the map are of is said of the numbers that are shown, not of those on their way", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const to = afterThread();
    for (const [view, live] of [["view=snapshots", /to [\d.]+ MiB at the end\./], ["view=snapshots&map=line", /live at the end; a cell is/]]) {
        await show(page, view);
        const tools = page.locator("main .tools").last();
        await tools.filter({ hasText: live }).waitFor();
        const before = (await page.locator("main .tools").allInnerTexts()).join("\n");
        let answer;
        const held = new Promise((resolve) => (answer = resolve));
        await page.route("**/answer", async (route) => {
            await held;
            await route.continue();
        });
        await page.evaluate((hash) => void (location.hash = hash), `${view}&to=${to}`);
        await page.locator("main[aria-busy=true]").waitFor();
        assert.match((await page.locator("main .tools").allInnerTexts()).join("\n"), live, `${view}: ${before}`);
        answer();
        await page.waitForFunction(() => !/ at the end/.test([...document.querySelectorAll("main .tools")].map((one) => one.innerText).join("\n").replace("at the end, what", "")));
        await page.unroute("**/answer");
    }
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("what a process had in memory is not called unknown while it is on its way", async (t) => {
    const { page, problems } = await viewed(t, "short-lived", "view=lines");
    await settled(page);
    const answer = await holdAnswers(page);
    await page.evaluate(() => void (location.hash = "view=processes"));
    const memory = tableRows(page, "processes").first().locator('[role="gridcell"]').nth(1);
    assert.deepEqual([await memory.innerText(), await memory.getAttribute("title")], ["…", "adding up"]);
    answer();
    await becomes(async () => /^[\d,]+ bytes$/.test(await memory.getAttribute("title")), true);
    assert.deepEqual(problems, []);
});

test("a thread's waits, and their shares, have the digits that are known", async (t) => {
    const { page } = await viewed(t, "locked", "view=threads");
    const waits = () => tableRows(page, "threads over time").evaluateAll((all) => all.map((row) => [row.children[4].title, row.children[6]?.title ?? ""]).filter(([, whom]) => whom !== ""));
    await becomes(async () => (await waits()).length, 1);
    const [[waiting, whom]] = await waits();
    // Another run waits half as long, or half as much more: on a slow machine, tenths of a second.
    assert.match(waiting, /^[\d,]+ ns \((\d+ ± \d+ ms|\d\.\d ± \d\.\d s)\), \d+ % of /);
    assert.match(whom, /^(\d+ ± \d+ ms|\d\.\d ± \d\.\d s) /);
});

test("threads do not stand in the table of processes while these are on their way", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines&metric=bytes&group=thread");
    await rows(page).first().waitFor();
    const answer = await holdAnswers(page);
    await page.evaluate(() => void (location.hash = "view=lines&metric=bytes&group=process"));
    await page.getByText("Reading all events").waitFor();
    assert.equal(await rows(page).count(), 0);
    answer();
    await becomes(() => rows(page).count(), 2);
    assert.deepEqual(problems, []);
});
