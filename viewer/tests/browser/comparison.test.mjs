// Two recordings, or two spans of one.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { afterEarly, diff, htmlOfBoth, recordings, report } from "./recordings.mjs";
import { breaches, open, packOf, show, start } from "./viewer.mjs";

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
    // The sentence above the table says what its first row does, with the error.
    for (const metric of ["cost", "bytes"]) {
        await show(page, `view=compare&metric=${metric}`);
        const whole = page.locator("main .sticky .row:not(.head)");
        await whole.waitFor();
        const sentence = await page.locator("main .tools .soft").first().innerText();
        assert.ok(sentence.includes(` after: ${metric} ${await whole.locator(".number").nth(2).innerText()}`), `${metric}: ${sentence}`);
    }
    if (where === "server") {
        // A branch errs as a row does: by what both sides err.
        const { columns } = await packOf(page, { query: { metric: "cost", view: { tree: { direction: "callees", min_percent: 0 } } }, page: { changes: { path: [] } } });
        const [low, high] = said.totals.cost_ns.interval;
        const margin = Math.hypot(...["before", "after"].map((side) => columns[`tree.${side}_margin`][0]));
        assert.ok(high > low && Math.abs(margin - (high - low) / 2) <= 0.01 * margin, `${margin} ${low} ${high}`);
        // Both curves, on one scale.
        const curves = page.getByRole("figure", { name: "live bytes before and after" });
        await curves.locator("path.before").waitFor();
        const view = { activity: { intervals: 4096 } };
        const [was, is] = await Promise.all([{ changes: {} }, "shown"].map(async (of) => Math.max(...(await packOf(page, { query: { view }, page: of })).columns["activity.live"]) / 2 ** 20));
        const words = await curves.innerText();
        assert.ok(is > was * 1.5 && words.includes(`before, at most ${was.toPrecision(3)} MiB`) && words.includes(`after, at most ${is.toPrecision(3)} MiB`), `${was} ${is} ${words}`);
        const tops = await curves.locator("path.before, path.after").evaluateAll((all) => all.map((one) => one.getBBox().height));
        assert.ok(tops[0] > tops[1] * 1.5, `${tops}`);
    }
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
    // What is found changed by what its call sites did.
    const found = page.locator(".tools .soft", { hasText: "found:" });
    await found.waitFor();
    const [foundBefore, foundAfter] = read(await found.innerText());
    assert.ok(Math.abs(foundBefore - late.bytes.before / mib) < 0.1 && Math.abs(foundAfter - late.bytes.after / mib) < 0.1, await found.innerText());
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("a side has the digits that it has alone, whatever is known of the difference", async () => {
    const server = await start(recordings.phases, recordings.phases);
    const { page, problems, close } = await open(server.url);
    const row = page.locator('main [role="row"]', { has: page.locator(".function", { hasText: /^late$/ }) });
    await show(page, "view=lines&metric=cost");
    const alone = await row.first().locator(".number .text").first().innerText();
    await show(page, "view=compare&metric=cost&small=true");
    const sides = row.first().locator(".number .text");
    assert.deepEqual([await sides.nth(0).innerText(), await sides.nth(1).innerText()], [alone, alone]);
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
    const [, from, to] = title.match(/difference (−?[\d,]+) bytes to (−?[\d,]+) bytes/);
    assert.deepEqual([from, to].map((text) => Number(text.replaceAll(",", "").replace("−", "-"))), [low, high], title);
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
    const middle = afterEarly();
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
    // Peaks of several processes in spans of time are those of each, added up.
    await page.getByRole("columnheader", { name: "Δ own peaks" }).waitFor();
    await page.getByRole("link", { name: "Δ own peaks" }).click();
    await page.locator("main .tools .soft", { hasText: " after: own peaks " }).waitFor();
    await page.goBack();
    for (const name of ["early", "late"]) assert.deepEqual([await bytes(name, 1), await bytes(name, 2)], [site(first, name), site(second, name)], name);
    assert.deepEqual(await breaches(page), []);
    await page.getByRole("button", { name: "flame graph", exact: true }).click();
    await page.locator("main canvas").waitFor();
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("functions of two libraries of one file name change each for itself, also where the program was renamed", async () => {
    const server = await start(recordings.twins, recordings["twins-after"]);
    const { page, close } = await open(server.url);
    const tree = { direction: "callees", min_percent: 0 };
    const { head, columns } = await packOf(page, { query: { metric: "allocations", view: { tree } }, page: { changes: { path: [] } } });
    const of = (side) => columns[`${side}.frames.full`].map((text) => head[`${side}_texts`][text]);
    const names = [of("before"), of("after")];
    const made = columns["tree.frame"].flatMap((frame, at) => (frame > 0 && names[columns["tree.side"][at]][frame - 1] === "made" ? [[columns["tree.before"][at], columns["tree.after"][at]]] : []));
    assert.deepEqual(made.sort(), [[1, 1], [2, 4]]);
    await close();
    server.stop();
});
