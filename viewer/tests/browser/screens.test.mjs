// What a page looks like: on all screens, in grey, and while it waits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { recordings, report } from "./recordings.mjs";
import { breaches, show, tableRows, viewed } from "./viewer.mjs";

/** Widths of screens, pixels: one of 1,280 has 640 at 200 %. */
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
            const parts = "main .text, main canvas, main .worst b, main .worst .soft, main .findings p, main .bar";
            await page.waitForFunction((parts) => [...document.querySelectorAll(parts)].some((one) => one.getBoundingClientRect().width > 0), parts);
            const reached = await page.evaluate((parts) => {
                const main = document.querySelector("main").getBoundingClientRect();
                const right = [...document.querySelectorAll(parts)].map((one) => one.getBoundingClientRect()).filter(({ width }) => width > 0).map(({ right }) => right);
                return (Math.max(...right) - main.left) / main.width;
            }, parts);
            assert.ok(reached > 0.6, `${hash} at ${width}: the right ${Math.round(100 - reached * 100)} % are empty`);
        }
    }
    assert.deepEqual(problems, []);
});

test("with a selection and all choices, the header of a screen of 1,280 pixels shows a short command whole", async (t) => {
    const { page, problems } = await viewed(t, "short-command", "view=overview&from=1000000&to=100000000");
    await page.locator("header .selection", { hasText: " to " }).waitFor();
    for (const name of ["process", "thread"]) await page.getByLabel(name, { exact: true }).waitFor();
    await page.locator("header .folded", { hasText: "xmalloc" }).waitFor();
    const command = page.locator("header .command");
    assert.equal(await command.innerText(), "./two-programs.sh --all");
    // Three dots come with a part of a pixel that is lacking.
    const { text, room } = await command.evaluate((of) => {
        const range = document.createRange();
        range.selectNodeContents(of);
        return { text: range.getBoundingClientRect().width, room: of.getBoundingClientRect().width };
    });
    assert.ok(text <= room + 0.02, `${text} of ${room} pixels`);
    assert.deepEqual(problems, []);
});

test("on a narrow screen, what changed stands beside the names", async (t) => {
    const { page } = await viewed(t, "phases");
    for (const width of [640, 800]) {
        await page.setViewportSize({ width, height: 800 });
        await show(page, "view=compare&base=-&metric=cost");
        const { x, width: wide } = await page.getByRole("columnheader", { name: "Δ cost" }).boundingBox();
        assert.ok(x + wide <= width, `it ends at ${x + wide} of ${width}`);
    }
});

for (const name of ["together", "marked", "resized"])
    test(`${name}: nothing is wider than its container, at 800 pixels and beside the panel`, async (t) => {
        const { page, problems } = await viewed(t, name);
        const { seconds } = report(recordings[name]);
        const [quarter, half] = [4, 2].map((part) => Math.round((seconds * 1e9) / part));
        const listed = await page.locator('nav[aria-label="views"] a').evaluateAll((all) => all.map((one) => new URLSearchParams(one.hash.slice(1)).get("view") ?? "overview"));
        const parts = { lines: ["&group=process"], tree: ["&reversed=true", "&by=module"], flame: ["&inOrder=true"], snapshots: [`&from=${quarter}&to=${half}`, "&map=line", "&map=generations"], compare: [`&from=${half}&base=-${quarter}`, `&from=${half}&base=-${quarter}&graph=true`] };
        const views = listed.flatMap((view) => ["", ...(parts[view] ?? [])].map((part) => view + part));
        assert.ok(views.length > 18, `${views}`);
        for (const [width, panel] of [[800, ""], [1280, "&panel=true"]]) {
            await page.setViewportSize({ width, height: 800 });
            for (const view of views) {
                await show(page, `view=${view}${panel}`);
                await page.waitForFunction(() => !/(Adding up|Reading) .*…/.test(document.querySelector("main").innerText));
                const wide = () => page.evaluate(() => {
                    // Code is as long as its lines.
                    const isWide = (one) => one.scrollWidth > one.clientWidth && one.clientWidth > 0 && getComputedStyle(one).overflowX !== "visible" && getComputedStyle(one).textOverflow !== "ellipsis" && !one.closest(".around, .source, .menu, .unseen");
                    return [document.documentElement, ...document.querySelectorAll("main, main *")].filter((one) => isWide(one)).map((one) => `${one.tagName}.${one.className} ${one.scrollWidth} of ${one.clientWidth}`).join("; ");
                });
                for (let tries = 0; tries < 20 && (await wide()) !== ""; tries++) await page.waitForTimeout(50);
                assert.equal(await wide(), "", `${view} at ${width}`);
            }
        }
        assert.deepEqual(problems, []);
    });

test("the heat map of sizes and lifetimes has the width of a wide screen", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lifetimes", { viewport: { width: 3840, height: 1200 } });
    const right = (selector) => page.locator(selector).last().evaluate((one) => one.getBoundingClientRect().right);
    assert.ok((await right("main")) - (await right(".heat-cell")) < 24);
    assert.deepEqual(problems, []);
});

test("in the header nothing lies over something else, and a choice can be read", async (t) => {
    const { page, problems } = await viewed(t, "together");
    for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        for (const hash of ["view=overview", "view=lines&from=1000000&to=2000000"]) {
            await show(page, hash);
            await page.locator("header .folded").waitFor();
            const parts = await page.evaluate(() => {
                const all = [...document.querySelectorAll("header.top > :not(form), header.top label > *")].filter((one) => one.tagName !== "LABEL");
                return all.map((one) => ({ name: one.getAttribute("aria-label") ?? one.textContent, box: one.getBoundingClientRect().toJSON() })).filter(({ box }) => box.width > 0);
            });
            for (const [index, a] of parts.entries())
                for (const b of parts.slice(index + 1)) {
                    const over = Math.min(a.box.right, b.box.right) - Math.max(a.box.left, b.box.left);
                    const down = Math.min(a.box.bottom, b.box.bottom) - Math.max(a.box.top, b.box.top);
                    assert.ok(over <= 0.5 || down <= 0.5, `${hash} at ${width}: ${a.name} and ${b.name} share ${over} by ${down} pixels`);
                }
            // "all 3" and the arrow.
            for (const { name, box } of parts.filter(({ name }) => name === "process" || name === "thread")) if (box.height > 20) assert.ok(box.width >= 64, `${hash} at ${width}: ${name} has ${box.width}`);
        }
    }
    assert.deepEqual(problems, []);
});

test("a number of a table is whole, or compact, on all screens", async (t) => {
    const { page, problems } = await viewed(t, "resized");
    for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        for (const view of ["lines", "tree", "lifetimes", "threads", "functions"]) {
            await show(page, `view=${view}`);
            const numbers = page.locator("main .number .text");
            await numbers.first().waitFor();
            const cut = await numbers.evaluateAll((all) => all.filter((text) => text.scrollWidth > text.clientWidth).map((text) => text.textContent));
            assert.deepEqual(cut, [], `${view} at ${width}`);
        }
    }
    await show(page, "view=lifetimes");
    await page.getByRole("cell", { name: "123 k", exact: true }).first().waitFor();
    await page.locator('main [role="cell"][title="123,456 steps"]').waitFor();
    await page.locator('main [role="cell"][title="123,456"]').waitFor();
    assert.deepEqual(problems, []);
});

test("headings have room for their words, and names have what numbers leave", async (t) => {
    const { page, problems } = await viewed(t, "together");
    for (const width of [1280, 1920, 2560, 3840])
        for (const view of ["lines", "functions", "lifetimes"])
            for (const metric of view === "lifetimes" ? ["cost"] : ["cost", "allocations", "live"]) {
                await page.setViewportSize({ width, height: 800 });
                await show(page, `view=${view}&metric=${metric}`);
                await page.locator("main .number .text").first().waitFor();
                const { over, cut, share, sideways } = await page.evaluate(() => {
                    const boxOf = (one) => one.getBoundingClientRect();
                    const over = [...document.querySelectorAll("main .row.head [role=columnheader]")].filter((head) => {
                        const parts = [...head.children].filter((one) => !one.matches(".edge") && getComputedStyle(one).opacity !== "0").map(boxOf);
                        return parts.some(({ left, right }, at) => left < boxOf(head).left - 0.5 || right > boxOf(head).right + 0.5 || (at > 0 && left < parts[at - 1].right - 0.5));
                    });
                    const cut = [...document.querySelectorAll("main .number .text")].filter((text) => text.scrollWidth > text.clientWidth);
                    const table = document.querySelector("main .table");
                    return { over: over.map((one) => one.textContent), cut: cut.map((one) => one.textContent), sideways: table.scrollWidth - table.clientWidth, share: boxOf(document.querySelector("main .row.head > :first-child")).width / boxOf(table).width };
                });
                assert.deepEqual([over, cut, sideways], [[], [], 0], `${view} by ${metric} at ${width}`);
                assert.ok(share >= (width === 1280 ? 0.16 : 0.35), `${view} by ${metric} at ${width}: names have ${share} of the table`);
            }
    assert.deepEqual(problems, []);
});

test("a name without room ends in three dots", async (t) => {
    const { page, problems } = await viewed(t, "together");
    let shortened = 0;
    for (const width of [640, 800, 1280]) {
        await page.setViewportSize({ width, height: 800 });
        for (const view of ["lines", "processes", "functions", "lifetimes", "threads"]) {
            await show(page, `view=${view}`);
            const names = page.locator("main .body .what");
            await names.first().waitFor();
            const found = await names.evaluateAll((cells) =>
                cells.flatMap((cell) => {
                    const texts = [...cell.querySelectorAll("*")].filter((one) => one.childElementCount === 0 && one.textContent !== "");
                    const right = cell.getBoundingClientRect().right;
                    return texts.map((one) => ({ text: one.textContent, isCut: one.getBoundingClientRect().right > right + 1, isShort: one.scrollWidth > one.clientWidth && getComputedStyle(one).textOverflow === "ellipsis" }));
                }),
            );
            assert.deepEqual(found.filter(({ isCut }) => isCut).map(({ text }) => text), [], `${view} at ${width}`);
            shortened += found.filter(({ isShort }) => isShort).length;
        }
    }
    assert.ok(shortened > 0, "some name has no room");
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
    await tableRows(page).first().waitFor();
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
    await tableRows(page).first().waitFor();
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
