// Every number leads to what explains it: by a click, by Enter, and as an address that opens in another tab.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { breaches, open, show, start } from "./viewer.mjs";

/** What the address says. */
const words = (page) => Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
const rows = (page, label = "") => page.locator(`main .table${label && `[aria-label="${label}"]`} .body [role="row"]`);

/** The row of a function. */
const named = (page, name) => rows(page).filter({ has: page.locator(".function", { hasText: new RegExp(`^${name}$`) }) }).first();

/** A page of a recording, which ends with the test. */
async function viewed(t, name, hash = "", options = {}) {
    const server = await start(...(options.sources ? ["--sources"] : []), recordings[name]);
    const opened = await open(`${server.url}#${hash}`, options);
    t.after(async () => {
        server.stop();
        await opened.close();
    });
    return opened;
}

/** Goes where a locator leads by a click, comes back, and goes there by Enter. Returns what the address says there. */
async function enter(page, door) {
    const before = page.url();
    await door.click();
    await page.waitForFunction((before) => location.href !== before, before);
    const there = page.url();
    await page.goBack();
    await page.waitForFunction((before) => location.href === before, before);
    await door.locator("xpath=self::a | descendant::a[contains(concat(' ', @class, ' '), ' door ')][not(contains(@class, 'define'))]").first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction((there) => location.href === there, there);
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
    const thread = await enter(page, rows(page).filter({ hasText: `${second.tid} of ${second.pid}` }));
    assert.deepEqual([thread.view, thread.process, thread.thread], ["lines", String(second.pid), String(second.tid)]);
    await named(page, "thread").waitFor();
    // 20,000 blocks of 64 bytes, and nothing of what others do.
    const own = report(recordings.phases, "--process", String(second.pid), "--thread", String(second.tid)).sites;
    assert.deepEqual(own.map(({ function: name, allocations }) => [name, allocations]).filter(([name]) => ["early", "late", "thread"].includes(name)), [["thread", 20_000]]);
    assert.equal(await rows(page).filter({ hasText: "early" }).count(), 0);
    // Details of a thread and of a process have its call paths.
    for (const [group, name, path] of [["thread", String(second.tid), /thread/], ["process", String(processes[0].pid), /late ← main/]]) {
        await show(page, `view=lines&group=${group}&metric=bytes`);
        await rows(page).filter({ hasText: name }).first().click();
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
    await rows(page).filter({ hasText: "app::Row" }).first().click();
    await page.locator(".details .path").first().waitFor();
    assert.match((await page.locator(".details .path").first().innerText()).replace(/[\u2066-\u2069]/g, ""), /main/);
    await show(page, "view=layout");
    const type = await enter(page, rows(page).filter({ hasText: "app::Row" }).first());
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
    await rows(page, "runs of regions").first().waitFor();
    const [summary] = await rows(page, "regions").all();
    const numbers = async () => Promise.all((await summary.locator(".number").all()).map(async (cell) => Number((await cell.getAttribute("title")).replace(/[^\d]/g, ""))));
    const near = (a, b) => Math.abs(a - b) <= 2;
    const [count, median, p99, worst, all] = await numbers();
    assert.equal(count, 30);
    assert.ok(near(median, lengths[14]) && near(p99, lengths[29]) && near(worst, lengths[29]), `${median} ${p99} ${worst}: ${lengths}`);
    assert.ok(Math.abs(all - lengths.reduce((a, b) => a + b)) <= 60);
    // The longest comes first; a click on the head turns that around.
    const table = rows(page, "runs of regions");
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
    // A mark selects what comes until the next one; a region that is drawn, itself.
    const mark = page.locator('.events .door[aria-label*="between"]').first();
    const href = new URLSearchParams((await mark.getAttribute("href")).slice(1));
    const marks = Number(href.get("to")) - Number(href.get("from"));
    assert.ok(marks > 5e6, "from one mark to the next the program sleeps for 5 ms");
    await mark.click();
    await page.waitForFunction((from) => location.hash.includes(`from=${from}&`), href.get("from"));
    const longest = runs.toSorted((a, b) => b.duration_ns - a.duration_ns)[0];
    const area = await page.locator(".u-over").boundingBox();
    const end = report(recordings.marked).seconds * 1e9;
    await page.mouse.click(area.x + (area.width * (longest.begin_ns + longest.duration_ns / 2)) / end, area.y - 8);
    await page.waitForFunction((from) => Math.abs(Number(new URLSearchParams(location.hash.slice(1)).get("from")) - from) <= 2, longest.begin_ns);
    assert.deepEqual(problems, []);
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
    await again.waitForFunction(() => document.querySelector("main canvas")?.height > 60);
    await again.mouse.move(x + width * 0.02, y + line * 18 + 9);
    await again.waitForFunction((text) => document.querySelector(".told").innerText.startsWith(text), text);
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
        const main = rows(page).filter({ hasText: "phases.c:14" });
        const column = await page.locator('main [role="columnheader"]').evaluateAll((heads) => heads.findIndex((head) => head.textContent.startsWith("live at end")));
        await page.waitForFunction(([column, value]) => [...document.querySelectorAll("main .body .row")].some((row) => row.textContent.includes("phases.c:14") && Number(row.children[column].title.split(/ |,(?! ?\d)/)[0].replaceAll(",", "")) === value), [column, left[way]]).catch(async () => assert.fail(`${way}: ${await main.allInnerTexts()}`));
    }
    assert.deepEqual(problems, []);
});

test("the peak stands on the time line, and the axis ends with its highest value", async (t) => {
    const { page, problems } = await viewed(t, "single");
    const peak = page.locator(".events .peak");
    await peak.filter({ hasText: "peak 7 B" }).waitFor();
    assert.deepEqual(await enter(page, peak), { view: "lines", metric: "peak" });
    const server = await viewed(t, "marked", "view=overview");
    const found = report(recordings.marked).totals;
    await server.page.locator(".events .peak", { hasText: `peak ${found.peak_bytes} B` }).waitFor();
    // Names of marks lie above the curves, none on another one.
    const boxes = await server.page.locator(".events .door").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    const top = await server.page.locator(".u-over").evaluate((over) => over.getBoundingClientRect().top);
    assert.ok(boxes.length > 10 && boxes.every(({ bottom }) => bottom <= top));
    boxes.sort((a, b) => a.left - b.left).slice(1).forEach((box, index) => assert.ok(box.left >= boxes[index].right - 0.5));
    assert.deepEqual([...problems, ...server.problems], []);
});

test("lines: the smallest first on request, and rows of zeros left out until they are asked for", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines&metric=peak");
    const column = async () => page.locator('main [role="columnheader"]').evaluateAll((heads) => heads.findIndex((head) => head.ariaSort));
    const values = async () => {
        const at = await column();
        return rows(page).evaluateAll((all, at) => all.map((row) => Number(row.children[at].title.split(/ |,(?! ?\d)/)[0].replaceAll(",", ""))), at);
    };
    await rows(page).first().waitFor();
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
    const cut = await page.locator("main .place").evaluateAll((all) => all.filter((place) => place.lastElementChild.textContent !== "" && place.lastElementChild.getBoundingClientRect().right > place.closest('[role="cell"]').getBoundingClientRect().right + 0.5).length);
    assert.equal(cut, 0);
    assert.deepEqual(problems, []);
});

/** Width, and what a screen of 1,280 pixels at 200 % has. */
const WIDTHS = [640, 800, 1280, 1920, 3840];

test("on screens of 800 to 3,840 pixels, and at 200 %, the header is low and nothing large is empty", async (t) => {
    const { page, problems } = await viewed(t, "python");
    const processes = report(recordings.python, "--list", "processes").processes;
    for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: Math.round(width * 0.6) });
        for (const hash of ["view=overview", "view=lines", "view=tree", "view=flame", "view=snapshots", "view=threads", "view=processes", `view=lines&from=1000000&to=900000000&process=${processes[0].pid}`, "view=threads&from=100000000&to=400000000"]) {
            await show(page, hash);
            const { header, sideways } = await page.evaluate(() => {
                const ends = [...document.querySelectorAll("header.top > *")].map((one) => one.getBoundingClientRect().right - innerWidth);
                return { header: document.querySelector("header.top").getBoundingClientRect().height, sideways: Math.max(document.documentElement.scrollWidth - innerWidth, ...ends) };
            });
            assert.ok(header <= 64, `${hash} at ${width}: the header has ${header} pixels`);
            assert.ok(sideways <= 0, `${hash} at ${width}: the page is too wide by ${sideways}`);
            // How far to the right there is something.
            const reached = await page.evaluate(() => {
                const main = document.querySelector("main").getBoundingClientRect();
                const right = [...document.querySelectorAll("main .text, main canvas, main .worst b, main .worst .soft, main .findings p, main .bar")].map((one) => one.getBoundingClientRect()).filter(({ width }) => width > 0).map(({ right }) => right);
                return (Math.max(...right) - main.left) / main.width;
            });
            assert.ok(reached > 0.6, `${hash} at ${width}: the right ${Math.round(100 - reached * 100)} % are empty`);
        }
    }
    assert.deepEqual(problems, []);
});

test("page faults, mapping and allocator are told apart in grey", async (t) => {
    const { page } = await viewed(t, "wrapped");
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
        const luminances = await page.evaluate(() => {
            const probe = document.body.appendChild(document.createElement("span"));
            const of = (name) => {
                probe.className = `bar ${name}`;
                const channels = getComputedStyle(probe).backgroundColor.match(/[\d.]+/g).slice(0, 3).map((value) => value / 255);
                const [r, g, b] = channels.map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            };
            return Object.fromEntries(["faults", "zeroing", "mapping", "allocator", "other", "program"].map((name) => [name, of(name)]));
        });
        const contrast = (a, b) => (Math.max(luminances[a], luminances[b]) + 0.05) / (Math.min(luminances[a], luminances[b]) + 0.05);
        for (const [a, b] of [["faults", "zeroing"], ["zeroing", "mapping"], ["faults", "mapping"], ["mapping", "allocator"], ["faults", "allocator"], ["allocator", "other"], ["other", "program"]])
            assert.ok(contrast(a, b) >= 1.5, `${a} beside ${b}, ${colorScheme}: ${contrast(a, b).toFixed(2)}`);
    }
});

test("a long wait says how far it is, moves nothing, and can be cancelled", async (t) => {
    const { page } = await viewed(t, "phases", "view=lines&metric=bytes");
    await rows(page).first().waitFor();
    let number, cancelled;
    const ended = new Promise((resolve) => (cancelled = resolve));
    await page.route("**/answer", async (route) => {
        if (!route.request().postData().includes('"lanes"')) return route.continue();
        number = route.request().headers()["x-question"];
        await ended;
        await route.fulfill({ status: 422, body: "Cancelled. Back shows what was there before." });
    });
    await page.route("**/reading/*", (route) => route.fulfill({ json: { events: new URL(route.request().url()).pathname === `/reading/${number}` ? 1234 : null } }));
    await page.route("**/cancel/*", async (route) => {
        assert.equal(new URL(route.request().url()).pathname, `/cancel/${number}`);
        cancelled();
        await route.fulfill({ body: "" });
    });
    const place = () => page.locator("main").evaluate((main) => JSON.stringify(main.getBoundingClientRect()));
    await page.keyboard.press("7");
    const before = await place();
    const waiting = page.locator(".waiting-for");
    await waiting.filter({ hasText: /^1,234 of at most [\d,.]+ k? ?events read/ }).waitFor();
    assert.equal(await place(), before);
    assert.deepEqual(await breaches(page), []);
    await waiting.getByRole("button", { name: "cancel" }).click();
    await page.locator('main [role="alert"]', { hasText: "Cancelled. Back shows what was there before." }).waitFor();
    await waiting.waitFor({ state: "detached" });
    await page.goBack();
    await rows(page).first().waitFor();
});

test("advice that comes late moves nothing", async (t) => {
    const { page } = await viewed(t, "wrapped", "view=notes");
    let come;
    const held = new Promise((resolve) => (come = resolve));
    await page.route("**/answer", async (route) => {
        if (route.request().postData().includes('"advice"')) await held;
        await route.continue();
    });
    await show(page, "view=overview");
    await page.getByText("Looking for what to change").waitFor();
    const places = () => page.locator(".worst li, .facts-of > div, section > h2").evaluateAll((all) => all.map((one) => [one.textContent.slice(0, 20), Math.round(one.getBoundingClientRect().left), Math.round(one.getBoundingClientRect().top)]).filter(([text]) => !text.startsWith("What to change")));
    const before = await places();
    come();
    await page.getByText("What to change").waitFor();
    assert.deepEqual(await places(), before);
});

test("processes stand below those that started them, with times, exit codes and memory", async (t) => {
    const { page, problems } = await viewed(t, "short-lived");
    const { processes } = report(recordings["short-lived"], "--list", "processes");
    const [parent, ...children] = processes;
    await page.keyboard.press("p");
    const all = rows(page, "processes");
    await all.first().waitFor();
    await page.waitForFunction(() => !/adding up …/.test(document.body.innerText));
    assert.deepEqual(await all.evaluateAll((rows) => rows.slice(0, 10).map((row) => row.ariaLevel)), ["1", ...Array(9).fill("2")]);
    const cells = (row) => row.locator('[role="gridcell"]').evaluateAll((cells) => cells.map((cell) => cell.title || cell.innerText));
    const number = (text) => Number(text.replace(/[^\d]/g, ""));
    const row = all.filter({ hasText: String(children[0].pid) });
    const [, began, ended, , exit, threads, peak] = await cells(row);
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

test("threads stand below their processes, and are sorted by what they do", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=threads");
    await rows(page).first().waitFor();
    const names = () => rows(page).evaluateAll((all) => all.map((row) => row.firstElementChild.innerText.trim().replace(/\s+/g, " ")));
    const [parent, child] = report(recordings.phases, "--list", "processes").processes;
    const shown = await names();
    assert.deepEqual(shown.map((name) => name.split(" ").at(name.includes(" of ") ? -1 : 0)), [parent.pid, parent.pid, parent.pid, child.pid, child.pid].map(String), shown.join("\n"));
    const there = () => rows(page).evaluateAll((all) => all.map((row) => Number(row.children[2].title.replace(/[^\d]/g, ""))));
    for (const [way, sign] of [["descending", 1], ["ascending", -1]]) {
        await page.locator('main [role="columnheader"] a', { hasText: "there" }).click();
        await page.locator(`main [role="columnheader"][aria-sort="${way}"]`, { hasText: "there" }).waitFor();
        const [a, b, c, d, e] = await there();
        const [long, short] = sign > 0 ? [[a, b, c], [d, e]] : [[c, d, e], [a, b]];
        // Processes by what their threads have together, and each one's threads by their own.
        assert.ok(long[0] === long[1] + long[2] || Math.abs(long[0] - long[1] - long[2]) <= 2, `${long}`);
        assert.ok(sign * (long[1] - long[2]) > 0 && long[0] > short[0], `${way}: ${long} ${short}`);
    }
    // A lane ends where its thread does: the first one lives until the end.
    const first = report(recordings.phases, "--list", "threads").threads.find(({ tid }) => tid === parent.pid);
    const row = rows(page).filter({ hasText: `${parent.pid} of ${parent.pid}` });
    const drawn = await row.locator("canvas").evaluate((canvas) => {
        const { width, height } = canvas;
        const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
        const isDrawn = (x) => Array.from({ length: height }, (_, y) => pixels[(y * width + x) * 4 + 3]).some((alpha) => alpha > 0);
        const columns = Array.from({ length: width }, (_, x) => x).filter(isDrawn);
        return { begin: columns[0] / width, end: (columns.at(-1) + 1) / width };
    });
    const end = report(recordings.phases).seconds * 1e9;
    for (const [found, expected] of [[drawn.begin, first.began_ns / end], [drawn.end, first.ended_ns / end]]) assert.ok(Math.abs(found - expected) < 0.012, `${JSON.stringify(drawn)}: ${first.began_ns} to ${first.ended_ns} of ${end}`);
    // What a thread does in an interval, below the mouse.
    const lane = await rows(page).filter({ hasText: " of " }).first().locator("canvas").boundingBox();
    await page.mouse.move(lane.x + lane.width / 2, lane.y + 5);
    await page.waitForFunction(() => [...document.querySelectorAll("main .lane canvas")].some((one) => /^[\d,.]+ m?s: /.test(one.title)));
    assert.deepEqual(problems, []);
});
