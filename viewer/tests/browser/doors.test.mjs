// Every number leads to what explains it: by a click, by Enter, and as an address that opens in another tab.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { becomes, breaches, settled, show, tableRows, viewed, words } from "./viewer.mjs";

/** The row of a function. */
const named = (page, name) => tableRows(page).filter({ has: page.locator(".function", { hasText: new RegExp(`^${name}$`) }) }).first();

/** Goes where a locator leads by a click, comes back, and goes there by Enter. Returns what the address says there. */
async function enter(page, door) {
    await settled(page);
    const before = page.url();
    await door.click();
    await page.waitForFunction((before) => location.href !== before, before);
    const there = page.url();
    await page.goBack();
    await page.waitForFunction((before) => location.href === before, before);
    await door.locator("xpath=self::a | descendant::a[contains(concat(' ', @class, ' '), ' door ')][not(contains(@class, 'define'))]").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((there) => location.href === there, there);
    await settled(page);
    return words(page);
}

test("tiles, parts of the cost, worst lines and findings lead to lines", async (t) => {
    const { page, problems } = await viewed(t, "wrapped");
    const go = async (locator) => {
        await show(page, "view=overview");
        return enter(page, locator);
    };
    const tiles = page.locator(".facts-of > div");
    assert.ok((await tiles.count()) > 5);
    for (const tile of [0, 1, 2]) {
        await show(page, "view=overview");
        const title = await tiles.nth(tile).locator("dt").evaluate((dt) => dt.firstChild.textContent);
        const there = await go(tiles.nth(tile));
        assert.equal(there.view, "lines", title);
        await page.locator('main [role="columnheader"][aria-sort="descending"]', { hasText: title === "never freed" ? "live" : title }).waitFor();
    }
    // The part is a bar, however narrow, and a word.
    assert.deepEqual(await go(page.locator(".cost .stack .faults")), { view: "lines", metric: "fault-time" });
    assert.deepEqual(await go(page.locator(".cost .parts .door", { hasText: "allocator" })), { view: "lines", metric: "allocator" });
    assert.equal((await go(page.locator(".cost .stack .program"))).define, "program");
    await page.keyboard.press("Escape");
    const worst = await go(page.locator(".worst li").first());
    assert.equal(worst.view, "lines");
    assert.match(worst.focus, /^buffer_again_and_again \(wrapped\.c:\d+\)/);
    await page.locator(".details h2", { hasText: "buffer_again_and_again" }).waitFor();
    assert.deepEqual(problems, []);
});

test("a door opens in another tab, with all that its address says", async (t) => {
    const { page } = await viewed(t, "phases", "view=overview&metric=bytes");
    const door = page.locator(".worst li a.door").first();
    const href = await door.getAttribute("href");
    const other = page.context().waitForEvent("page");
    await page.locator(".worst li").first().click({ modifiers: ["Control"], position: { x: 3, y: 3 } });
    const tab = await other;
    await tab.waitForURL((url) => url.hash === href);
    assert.equal(words(page).view, "overview", "this page stays where it is");
});

test("each row leads on: threads, processes, types, snapshots", async (t) => {
    const { page, problems } = await viewed(t, "phases");
    const { threads, processes } = { threads: report(recordings.phases, "--list", "threads").threads, processes: report(recordings.phases, "--list", "processes").processes };
    const second = threads.find(({ tid, pid }) => tid !== pid);
    await show(page, "view=threads");
    const thread = await enter(page, tableRows(page).filter({ hasText: `${second.tid} of ${second.pid}` }));
    assert.deepEqual([thread.view, thread.process, thread.thread], ["lines", String(second.pid), String(second.tid)]);
    await named(page, "thread").waitFor();
    // 20,000 blocks of 64 bytes, and nothing of what others do.
    const own = report(recordings.phases, "--process", String(second.pid), "--thread", String(second.tid)).sites;
    assert.deepEqual(own.map(({ function: name, allocations }) => [name, allocations]).filter(([name]) => ["early", "late", "thread"].includes(name)), [["thread", 20_000]]);
    assert.equal(await tableRows(page).filter({ hasText: "early" }).count(), 0);
    // Details of a thread and of a process have its call paths.
    for (const [group, name, path] of [["thread", String(second.tid), /thread/], ["process", String(processes[0].pid), /late ← main/]]) {
        await show(page, `view=lines&group=${group}&metric=bytes`);
        await tableRows(page).filter({ hasText: name }).first().click();
        await page.locator(".details .path").first().waitFor();
        assert.match((await page.locator(".details .path").allInnerTexts()).join("\n").replace(/[\u2066-\u2069]/g, ""), path);
    }
    await show(page, "view=snapshots");
    const line = await enter(page, named(page, "late"));
    assert.deepEqual([line.view, line.metric], ["lines", "live"]);
    assert.match(line.focus, /^late \(phases\.c:\d+\)/);
    await page.locator(".details h2", { hasText: "late" }).waitFor();
    assert.deepEqual(problems, []);
});

test("a type's details show its call paths", async (t) => {
    const { page, problems } = await viewed(t, "rows", "view=lines&group=type&metric=bytes");
    await tableRows(page).filter({ hasText: "app::Row" }).first().click();
    await page.locator(".details .path").first().waitFor();
    assert.match((await page.locator(".details .path").first().innerText()).replace(/[\u2066-\u2069]/g, ""), /main/);
    await show(page, "view=layout");
    const type = await enter(page, tableRows(page).filter({ hasText: "app::Row" }).first());
    assert.equal(type.view, "layout");
    assert.match(type.type, /app::Row/);
    assert.deepEqual(problems, []);
});

test("regions beyond the budget lead to a table of regions, whose rows select their spans", async (t) => {
    const { page, problems } = await viewed(t, "marked");
    const runs = report(recordings.marked, "--regions").regions[0].runs;
    const lengths = runs.map((one) => one.duration_ns).sort((a, b) => a - b);
    const limit = (lengths[23] + lengths[24]) / 2;
    await show(page, `view=overview&budget=${Math.round(limit)}`);
    const over = page.locator(".time .over");
    await over.filter({ hasText: "6 of 30 over" }).waitFor();
    assert.equal((await enter(page, over)).view, "regions");
    await tableRows(page, "runs of regions").first().waitFor();
    const [summary] = await tableRows(page, "regions").all();
    const numbers = async () => Promise.all((await summary.locator(".number").all()).map(async (cell) => Number((await cell.getAttribute("title")).replace(/[^\d]/g, ""))));
    const near = (a, b) => Math.abs(a - b) <= 2;
    const [count, median, p99, worst, all] = await numbers();
    assert.equal(count, 30);
    assert.ok(near(median, lengths[14]) && near(p99, lengths[29]) && near(worst, lengths[29]), `${median} ${p99} ${worst}: ${lengths}`);
    assert.ok(Math.abs(all - lengths.reduce((a, b) => a + b)) <= 60);
    // The longest comes first; a click on the head turns that around.
    const table = tableRows(page, "runs of regions");
    const takes = () => table.evaluateAll((all) => all.map((row) => Number(row.children[2].title.replace(/[^\d]/g, ""))));
    const ordered = await takes();
    assert.deepEqual(ordered, ordered.toSorted((a, b) => b - a));
    assert.ok(near(ordered[0], lengths[29]));
    await page.locator('[role="columnheader"] a', { hasText: "takes" }).click();
    await page.locator('[role="columnheader"][aria-sort="ascending"]', { hasText: "takes" }).waitFor();
    assert.ok(near((await takes())[0], lengths[0]));
    const span = await enter(page, table.first());
    const shortest = runs.toSorted((a, b) => a.duration_ns - b.duration_ns)[0];
    assert.ok(near(Number(span.from), shortest.begin_ns) && near(Number(span.to) - Number(span.from), shortest.duration_ns), JSON.stringify(span));
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    assert.deepEqual(await breaches(page), []);
    // A region that is drawn selects itself.
    const longest = runs.toSorted((a, b) => b.duration_ns - a.duration_ns)[0];
    const area = await page.locator(".u-over").boundingBox();
    const end = report(recordings.marked).seconds * 1e9;
    await page.mouse.click(area.x + (area.width * (longest.begin_ns + longest.duration_ns / 2)) / end, area.y - 8);
    await page.waitForFunction((from) => Math.abs(Number(new URLSearchParams(location.hash.slice(1)).get("from")) - from) <= 2, longest.begin_ns);
    // A mark selects what comes until the next one. Around the first region, marks stand apart, however slow the program was.
    const [first] = runs;
    await show(page, `view=overview&left=${Math.max(0, Math.round(first.begin_ns - 10e6))}&right=${Math.round(first.begin_ns + first.duration_ns + 6e6)}`);
    const mark = page.locator('.events .door[aria-label*="until the next mark"]').first();
    const href = new URLSearchParams((await mark.getAttribute("href")).slice(1));
    assert.ok(Number(href.get("to")) - Number(href.get("from")) > 5e6, "from one mark to the next the program sleeps for 5 ms");
    await mark.click();
    await page.waitForFunction((from) => location.hash.includes(`from=${from}&`), href.get("from"));
    assert.deepEqual(problems, []);
});

test("frames of one function are one frame, until its lines are asked for", async (t) => {
    const { page, problems } = await viewed(t, "wrapped", "view=tree&metric=allocations&wrappers=true");
    const mains = page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^main$/ }) });
    await mains.first().waitFor();
    assert.equal(await mains.count(), 1);
    const value = async (row) => Number((await row.locator(".number").first().getAttribute("title")).split(/ |,(?! ?\d)/)[0].replaceAll(",", ""));
    assert.equal(await value(mains.first()), 13 * 60);
    await page.getByLabel("lines", { exact: true }).check();
    await page.waitForFunction(() => location.hash.includes("byLine=true"));
    assert.deepEqual(problems, []);
});

test("what was live at the peak, at the end, and never freed is one click away", async (t) => {
    const { page, problems } = await viewed(t, "phases");
    for (const view of ["lines", "tree", "flame"]) {
        for (const [title, there] of [["at the peak", { metric: "peak" }], ["at the end", { metric: "live", to: /^\d+$/ }], ["never freed", { metric: "live" }]]) {
            await show(page, `view=${view}&metric=bytes`);
            await page.getByRole("group", { name: "live bytes" }).getByText(title, { exact: true }).click();
            await page.waitForFunction((metric) => location.hash.includes(`metric=${metric}`), there.metric);
            const found = words(page);
            assert.equal(found.to !== undefined, there.to !== undefined, `${view} ${title}`);
            await page.locator('[aria-label="live bytes"] [aria-current]', { hasText: title }).waitFor();
        }
    }
    // The child left 100 blocks of 3,000 bytes: they are gone at the end.
    const left = { kept: 300_000, end: 0 };
    for (const [way, hash] of [["kept", "view=lines&metric=live&zeros=true"], ["end", `view=lines&metric=live&zeros=true&to=${Math.floor(report(recordings.phases).seconds * 1e9)}`]]) {
        await show(page, hash);
        const main = tableRows(page).filter({ hasText: "phases.c:14" });
        const column = await page.locator('main [role="columnheader"]').evaluateAll((heads) => heads.findIndex((head) => /^live (at end|then)/.test(head.textContent)));
        await page.waitForFunction(([column, value]) => [...document.querySelectorAll("main .body .row")].some((row) => row.textContent.includes("phases.c:14") && Number(row.children[column].title.split(/ |,(?! ?\d)/)[0].replaceAll(",", "")) === value), [column, left[way]]).catch(async () => assert.fail(`${way}: ${await main.allInnerTexts()}`));
    }
    assert.deepEqual(problems, []);
});

test("what several processes have at most stands in the sums alone", async (t) => {
    const { page, problems } = await viewed(t, "together", "view=overview");
    await page.locator(".events.peak .door").filter({ hasText: /^peak$/ }).waitFor();
    assert.deepEqual(problems, []);
});

test("whatever stands above the curves is there as a whole", async (t) => {
    const { page, problems } = await viewed(t, "marked", "view=overview&filter=main");
    for (const width of [1000, 1150, 1280, 1500]) {
        await page.setViewportSize({ width, height: 800 });
        const beyond = await page.locator(".time .caption > *").evaluateAll((parts) => parts.filter((part) => part.getBoundingClientRect().right > innerWidth).map((part) => part.textContent));
        assert.deepEqual(beyond, [], `${width} pixels`);
    }
    assert.deepEqual(problems, []);
});

test("the peak stands on the time line, and the axis ends with its highest value", async (t) => {
    const { page, problems } = await viewed(t, "single");
    const peak = page.locator(".events.peak .door");
    await peak.filter({ hasText: "peak 7 B" }).waitFor();
    assert.deepEqual(await enter(page, peak), { view: "lines", metric: "peak" });
    const server = await viewed(t, "marked", "view=overview");
    const found = report(recordings.marked).totals;
    await server.page.locator(".events.peak .door", { hasText: `peak ${found.peak_bytes} B` }).waitFor();
    // Each mark is one of the links, or behind one that zooms in to it.
    const links = () => server.page.locator(".events.marks .door").evaluateAll((all) => all.map((one) => Number(/^(\d+) marks: /.exec(one.title)?.[1] ?? 1)));
    const sum = async () => (await links()).reduce((a, b) => a + b, 0);
    await becomes(sum, 30);
    // Their names lie above the curves, none on another one.
    const { boxes, top } = await server.page.locator(".u-over").evaluate((over) => ({
        boxes: [...document.querySelectorAll(".events.marks .door")].map((one) => one.getBoundingClientRect().toJSON()),
        top: over.getBoundingClientRect().top,
    }));
    assert.ok(boxes.length > 3 && boxes.every(({ bottom }) => bottom <= top));
    boxes.sort((a, b) => a.left - b.left).slice(1).forEach((box, index) => assert.ok(box.left >= boxes[index].right - 0.5));
    await server.page.setViewportSize({ width: 500, height: 800 });
    await becomes(async () => (await links()).some((marks) => marks > 1), true);
    assert.equal(await sum(), 30);
    const near = server.page.locator('.events.marks .door[title*=" marks: "]').first();
    const behind = Number(/^\d+/.exec(await near.getAttribute("title"))[0]);
    await near.click();
    await server.page.waitForFunction(() => /left=/.test(location.hash));
    await becomes(async () => (await links()).length > 1, true);
    assert.ok((await sum()) >= behind);
    assert.deepEqual([...problems, ...server.problems], []);
});

test("lines: the smallest first on request, and rows of zeros left out until they are asked for", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines&metric=peak");
    const column = async () => page.locator('main [role="columnheader"]').evaluateAll((heads) => heads.findIndex((head) => head.ariaSort));
    const values = async () => {
        const at = await column();
        return tableRows(page).evaluateAll((all, at) => all.map((row) => Number(row.children[at].title.split(/ |,(?! ?\d)/)[0].replaceAll(",", ""))), at);
    };
    await tableRows(page).first().waitFor();
    const all = report(recordings.phases, "--limit", "100000").sites;
    const zeros = all.filter(({ peak_bytes }) => peak_bytes === 0).length;
    assert.ok(zeros > 0);
    const down = await values();
    assert.deepEqual(down, all.map(({ peak_bytes }) => peak_bytes).filter((value) => value > 0).sort((a, b) => b - a));
    await page.locator('main [role="columnheader"][aria-sort="descending"] a').first().click();
    await page.locator('main [role="columnheader"][aria-sort="ascending"]').waitFor();
    assert.deepEqual(await values(), down.toReversed());
    await page.getByText(`show ${zeros} without any peak`).click();
    await page.getByText(`hide ${zeros} without any peak`).waitFor();
    assert.equal((await values()).length, all.length);
    // The number of the line is never cut, and stands before the type.
    await page.setViewportSize({ width: 800, height: 600 });
    const cut = await page.locator("main .tailed").evaluateAll((all) => all.filter((place) => place.lastElementChild.getBoundingClientRect().right > place.closest('[role="cell"]').getBoundingClientRect().right + 0.5).length);
    assert.equal(cut, 0);
    assert.ok(await page.locator("main .tailed", { hasText: /:\d+$/ }).count() > 0);
    assert.deepEqual(problems, []);
});

test("functions of one class are told apart where their names have no room", async (t) => {
    const { page, problems } = await viewed(t, "namespaces", "view=lines&metric=allocations&stack=function");
    const names = ["::insert_rows", "::remove_rows"];
    for (const width of [800, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const [view, within, of] of [["lines", '[role="cell"]', names], ["tree", '[role="gridcell"]', names], ["compare&base=-1000000&small=true", '[role="cell"]', names], ["lines&stack=function", ".legend", names]]) {
            await show(page, `metric=allocations&view=${view}`);
            const seen = () => page.locator(`${within} .tailed`).evaluateAll((all, within) => all.filter((name) => name.lastElementChild.getBoundingClientRect().right <= name.closest(within).getBoundingClientRect().right + 0.5).map((name) => name.lastElementChild.textContent).filter((text) => text.startsWith("::")).sort(), within);
            await becomes(async () => (await seen()).join(), of.join());
        }
    }
    // Nor is it cut in the details, below the lines and beside them.
    await page.locator("main .body .door", { hasText: "insert_rows" }).first().click();
    await page.keyboard.press("i");
    const panel = page.locator(".panel");
    await panel.getByRole("heading", { name: /insert_rows/ }).waitFor();
    assert.ok(await panel.evaluate((panel) => panel.scrollWidth <= panel.clientWidth), "the panel is as wide as what is in it");
    assert.ok(await page.locator(".details h2 .tailed").evaluate((name) => name.lastElementChild.getBoundingClientRect().right <= name.parentElement.getBoundingClientRect().right + 0.5));
    await page.keyboard.press("i");
    // A call tree through it has its name in one line.
    await page.setViewportSize({ width: 600, height: 800 });
    await show(page, `view=tree&metric=allocations&through=${encodeURIComponent("application::storage::OrderedIndex<unsigned long, unsigned char>::insert_rows(int)")}`);
    const back = page.locator(".tools .selection", { hasText: "insert_rows" });
    await becomes(() => back.evaluate((one) => one.scrollHeight <= one.clientHeight && one.scrollWidth <= one.clientWidth), true);
    // In a flame graph, it gives way to its number.
    await show(page, `view=flame&metric=allocations&search=${encodeURIComponent('"application::storage::OrderedIndex<unsigned long, unsigned char>::insert_rows(int)"')}&hit=1`);
    const [name, number] = [page.locator(".told bdi"), page.locator(".told span")];
    await becomes(() => name.evaluate((one) => one.textContent.includes("insert_rows") && one.scrollWidth > one.clientWidth), true);
    assert.ok(await number.evaluate((one) => one.scrollWidth <= one.clientWidth), await number.innerText());
    assert.deepEqual(problems, []);
});

test("functions without a name keep their address where their file's name is cut", async (t) => {
    const { page, problems } = await viewed(t, "together", "view=functions", { viewport: { width: 1280, height: 800 } });
    await tableRows(page).first().waitFor();
    // Of a loaded file, the beginning is what tells.
    const places = await page.locator("main .place").evaluateAll((all) => all.map((place) => place.className));
    assert.ok(places.length > 0 && places.every((name) => name === "place"), places.join());
    const cells = () => page.locator("main .function.tailed", { hasText: /\+0x[\da-f]+$/ }).evaluateAll((all) => all.map((name) => {
        const [file, address] = name.children;
        return { isCut: file.scrollWidth > file.clientWidth, ends: address.getBoundingClientRect().right, room: name.closest('[role="cell"], [role="rowheader"]').getBoundingClientRect().right };
    }));
    await becomes(async () => (await cells()).some(({ isCut }) => isCut), true);
    assert.deepEqual((await cells()).filter(({ ends, room }) => ends > room + 0.5), []);
    assert.deepEqual(problems, []);
});

test("processes stand below those that started them, with times, exit codes and memory", async (t) => {
    const { page, problems } = await viewed(t, "short-lived");
    const { processes } = report(recordings["short-lived"], "--list", "processes");
    const [parent, ...children] = processes;
    await page.keyboard.press("p");
    const all = tableRows(page, "processes");
    await all.first().waitFor();
    await page.locator("main[aria-busy=false]").waitFor();
    assert.deepEqual(await all.evaluateAll((rows) => rows.slice(0, 10).map((row) => row.ariaLevel)), ["1", ...Array(9).fill("2")]);
    const cells = (row) => row.locator('[role="gridcell"]').evaluateAll((cells) => cells.map((cell) => cell.title || cell.innerText));
    const number = (text) => Number(text.replace(/[^\d]/g, ""));
    const row = all.filter({ hasText: String(children[0].pid) });
    await page.locator('main [title="adding up"]').first().waitFor({ state: "detached" });
    const [, peak, , , , exit, began, ended, threads] = await cells(row);
    assert.ok(Math.abs(number(began) - children[0].began_ns) <= 1 && Math.abs(number(ended) - children[0].ended_ns) <= 1, `${began} ${ended}: ${JSON.stringify(children[0])}`);
    assert.deepEqual([exit, threads], ["exit code 0", "1"]);
    // Each child has the 500 bytes of its parent and 1,000 of its own.
    const own = report(recordings["short-lived"], "--process", String(children[0].pid)).totals.peak_bytes;
    assert.equal(number(peak), own);
    assert.deepEqual(await breaches(page), []);
    const there = await enter(page, row);
    assert.deepEqual([there.view, there.process], ["lines", String(children[0].pid)]);
    assert.ok(parent.pid !== children[0].pid);
    assert.deepEqual(problems, []);
});

test("a thread has the allocator's time that Lines and the report have, in a span and with a filter, too", async (t) => {
    const { page, problems } = await viewed(t, "waiting", "view=threads");
    const { threads } = report(recordings.waiting, "--list", "threads");
    // The last thread has begun, and others may have ended: how soon they do depends on the machine.
    const half = Math.round((Math.max(...threads.map((thread) => thread.began_ns)) + Math.max(...threads.map((thread) => thread.ended_ns))) / 2);
    for (const [way, ...options] of [["", "--flat"], [`&to=${half}`, "--to", `${half}ns`], ["&filter=thread", "--filter", "thread"]]) {
        await show(page, `view=threads${way}`);
        // A thread's number and time. The first thread's number stands twice: for env, and for what it executes.
        const known = report(recordings.waiting, "--group", "thread", ...options).sites.map((site) => `${site.function.split(" ")[0]} ${site.allocator_ns}`);
        const shown = async () => {
            const rows = await tableRows(page).evaluateAll((all) => all.map((row) => [row.children[0].innerText, row.children[2].title]));
            return rows.map(([name, title]) => `${name.match(/(\d+) of/)[1]} ${title.split(" ns")[0].replaceAll(",", "")}`).filter((row) => !row.endsWith(" 0"));
        };
        await becomes(async () => (await shown()).sort().join(), known.filter((row) => !row.endsWith(" 0")).sort().join());
        assert.ok(known.length >= 4, known.join());
    }
    assert.deepEqual(problems, []);
});

test("a process is named after all programs that it executed", async (t) => {
    const { page, problems } = await viewed(t, "executed", "view=threads");
    await page.locator('main [role="row"] b', { hasText: /^\d+ env, then wrapped$/ }).waitFor();
    assert.deepEqual(problems, []);
});

test("threads stand below their processes, and are sorted by what they do", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=threads");
    await tableRows(page).first().waitFor();
    const names = () => tableRows(page).evaluateAll((all) => all.map((row) => row.firstElementChild.innerText.trim().replace(/\s+/g, " ")));
    const [parent, child] = report(recordings.phases, "--list", "processes").processes;
    const shown = await names();
    assert.deepEqual(shown.map((name) => name.split(" ").at(name.includes(" of ") ? -1 : 0)), [parent.pid, parent.pid, parent.pid, child.pid].map(String), shown.join("\n"));
    // The child's only thread has a lane in the row of its process.
    assert.deepEqual(await tableRows(page).evaluateAll((all) => all.map((row) => row.querySelectorAll("canvas").length)), [0, 1, 1, 1]);
    const there = () => tableRows(page).evaluateAll((all) => all.map((row) => Number(row.children[1].title.replace(/[^\d]/g, ""))));
    for (const [way, sign] of [["descending", 1], ["ascending", -1]]) {
        await page.locator('main [role="columnheader"] a', { hasText: "there" }).click();
        await page.locator(`main [role="columnheader"][aria-sort="${way}"]`, { hasText: "there" }).waitFor();
        const [a, b, c, d] = await there();
        const [long, short] = sign > 0 ? [[a, b, c], [d]] : [[b, c, d], [a]];
        // Processes by what their threads have together, and each one's threads by their own.
        assert.ok(long[0] === long[1] + long[2] || Math.abs(long[0] - long[1] - long[2]) <= 2, `${long}`);
        assert.ok(sign * (long[1] - long[2]) > 0 && long[0] > short[0], `${way}: ${long} ${short}`);
    }
    // A lane ends where its thread does: the first one lives until the end.
    const first = report(recordings.phases, "--list", "threads").threads.find(({ tid }) => tid === parent.pid);
    const row = tableRows(page).filter({ hasText: `${parent.pid} of ${parent.pid}` });
    const drawn = await row.locator("canvas").evaluate((canvas) => {
        const { width, height } = canvas;
        const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        const isDrawn = (x) => Array.from({ length: height }, (_, y) => pixels[(y * width + x) * 4 + 3]).some((alpha) => alpha > 0);
        const columns = Array.from({ length: width }, (_, x) => x).filter(isDrawn);
        return { begin: columns[0] / width, end: (columns.at(-1) + 1) / width };
    });
    const end = report(recordings.phases).seconds * 1e9;
    for (const [found, expected] of [[drawn.begin, first.began_ns / end], [drawn.end, first.ended_ns / end]]) assert.ok(Math.abs(found - expected) < 0.012, `${JSON.stringify(drawn)}: ${first.began_ns} to ${first.ended_ns} of ${end}`);
    // It lies below its time on the time line, pixel by pixel, wide and narrow.
    for (const width of [1280, 800]) {
        await page.setViewportSize({ width, height: 800 });
        const edges = () => page.evaluate(() => [".u-over", "main .lane canvas"].map((one) => document.querySelector(one).getBoundingClientRect()).map(({ left, right }) => `${Math.round(left)} ${Math.round(right)}`));
        await becomes(async () => new Set(await edges()).size, 1);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
    // What a thread does in an interval, below the mouse.
    const lane = await tableRows(page).filter({ hasText: " of " }).first().locator("canvas").boundingBox();
    await page.mouse.move(lane.x + lane.width / 2, lane.y + 5);
    await page.waitForFunction(() => [...document.querySelectorAll("main .lane canvas")].some((one) => /^[\d,.]+ m?s: /.test(one.title)));
    assert.deepEqual(problems, []);
});

test("a function that only calls others leads to what it calls, and to no empty table", async (t) => {
    const { page, problems } = await viewed(t, "marked", "view=tree&metric=allocations");
    const items = async (name) => {
        await page.getByRole("treegrid").locator(".function", { hasText: new RegExp(`^${name}$`) }).first().click({ button: "right" });
        const menu = page.getByRole("menu");
        await menu.waitFor();
        const texts = await menu.getByRole("menuitem").allInnerTexts();
        await page.keyboard.press("Escape");
        await menu.waitFor({ state: "hidden" });
        return texts.map((text) => text.replace(/\s+\S$/, "").trim());
    };
    const [caller, leaf] = [await items("main"), await items("frame")];
    assert.ok(caller.includes("callers and callees") && !caller.includes("its lines"), caller.join());
    assert.ok(leaf.includes("its lines"), leaf.join());
    // Who looks for it among lines is led on.
    await show(page, "view=lines&metric=allocations&search=main");
    await page.locator("main .empty").getByRole("link", { name: "functions" }).click();
    await tableRows(page).filter({ hasText: /^main/ }).first().waitFor();
    assert.equal(words(page).view, "functions");
    assert.deepEqual(problems, []);
});
