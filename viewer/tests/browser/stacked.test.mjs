// The time line, divided among functions or types.

import assert from "node:assert/strict";
import { test } from "node:test";
import { afterSteps, betweenSteps, recordings, report } from "./recordings.mjs";
import { becomes, breaches, packOf, show, viewed, words } from "./viewer.mjs";

const stacked = (page, metric, query = {}) => packOf(page, { query: { metric, view: { table: { group: "function", limit: 7 } }, ...query }, page: { stacked: { intervals: 4096 } } });
const layersOf = ({ head, columns }) => Object.fromEntries(head.groups.map(({ name, others }, index) => [others === null ? name : "others", columns[`groups.${index}`]]));
const sum = (values) => values.reduce((a, b) => a + b, 0);
const together = (layers) => Object.values(layers)[0].map((_, at) => sum(Object.values(layers).map((values) => values[at])));
const legend = (page) => page.getByRole("list", { name: "layers of the time line" }).getByRole("listitem");

test("layers are what functions have, and add up to the time line", async (t) => {
    const { page } = await viewed(t, "staircase");
    const { columns: line } = await packOf(page, { query: { view: { activity: { intervals: 4096 } } } });
    const live = layersOf(await stacked(page, "live"));
    assert.deepEqual(together(live), line["activity.live"]);
    // What is allocated stays: each step is its function's, and the other one's stands as it was.
    assert.deepEqual([live.small, live.large].map((values) => [values[0], values.at(-1)]), [[0, 1_000_000], [0, 2_000_000]]);
    const before = live.large.findIndex((value) => value > 0) - 1;
    assert.deepEqual([live.small[before], live.large[before]], [1_000_000, 0]);
    const allocations = layersOf(await stacked(page, "allocations"));
    assert.deepEqual([allocations.small, allocations.large].map(sum), [1_000, 500]);
    assert.deepEqual(together(allocations), line["activity.allocations"]);
    // A filter and a span leave out the rest.
    const filtered = layersOf(await stacked(page, "bytes", { filter: "^small$" }));
    assert.deepEqual(Object.entries(filtered).map(([name, values]) => [name, sum(values)]), [["small", 1_000_000]]);
    const from_ns = betweenSteps();
    const half = layersOf(await stacked(page, "live", { when: { span: { from_ns, to_ns: null } } }));
    assert.deepEqual([half.small[0], half.small.at(-1), half.large.at(-1)], [1_000_000, 1_000_000, 2_000_000]);
});

test("a wait counts while it lasts, in the whole run and in a part of it", async (t) => {
    const { page } = await viewed(t, "locked");
    const all = await stacked(page, "waiting");
    // Where the kernel shows no switches.
    if (all.head.why !== "") return;
    const { waits } = layersOf(all);
    assert.ok(waits.every((ns) => ns <= all.head.interval_ns * 1.05), `${Math.max(...waits)} in ${all.head.interval_ns}`);
    const lasted = sum(waits);
    assert.ok(lasted > 160e6, `${lasted}`);
    assert.ok(Math.abs(lasted - report(recordings.locked).sites.find((site) => site.function === "waits").waiting_ns) < 1e6);
    // It goes on when the part ends.
    const began = (waits.findIndex((ns) => ns > 0) + 1) * all.head.interval_ns;
    const span = { from_ns: Math.round(began + 100e6), to_ns: Math.round(began + 150e6) };
    const part = layersOf(await stacked(page, "waiting", { when: { span } }));
    const inPart = sum(Object.values(part).flat());
    assert.ok(Math.abs(inPart - 50e6) < 2e6, JSON.stringify(part).slice(0, 300));
    // The table of the part has the same.
    const { totals } = report(recordings.locked, "--from", `${span.from_ns}ns`, "--to", `${span.to_ns}ns`);
    assert.ok(Math.abs(totals.waiting_ns - inPart) < 2e6, `${totals.waiting_ns}, not ${inPart}`);
});

test("layers of several processes and threads add up to the totals of each function", async (t) => {
    const { page } = await viewed(t, "phases");
    const { sites } = report(recordings.phases, "--limit", "1000");
    for (const [metric, key] of [["allocations", "allocations"], ["bytes", "bytes"], ["frees", "frees"]]) {
        const layers = layersOf(await stacked(page, metric));
        const expected = (name) => sum(sites.filter((site) => site.function === name).map((site) => site[key]));
        for (const name of ["early", "late", "thread"]) assert.equal(sum(layers[name] ?? [0]), expected(name), `${metric} of ${name}`);
        assert.equal(sum(together(layers)), sum(sites.map((site) => site[key])), metric);
    }
    const { columns: line } = await packOf(page, { query: { view: { activity: { intervals: 4096 } } } });
    assert.deepEqual(together(layersOf(await stacked(page, "live"))), line["activity.live"]);
});

test("a switch divides the time line, and a layer leads to what it is made of", async (t) => {
    const { page, problems } = await viewed(t, "staircase", "metric=live");
    await page.getByRole("group", { name: "time line" }).getByRole("button", { name: "by function" }).click();
    await becomes(() => words(page).stack, "function");
    await legend(page).nth(1).waitFor();
    assert.deepEqual((await legend(page).allInnerTexts()).slice(0, 2).map((text) => text.trim()), ["large", "small"]);
    const [all, end] = [afterSteps(), Math.round(report(recordings.staircase).seconds * 1e9)];
    await show(page, `metric=live&stack=function&left=${all}&right=${end}`);
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await breaches(page), [], colorScheme);
    }
    // At the end, the lower two thirds are large's.
    const area = await page.locator(".u-over").boundingBox();
    const point = [area.x + area.width * 0.5, area.y + area.height * 0.4];
    await page.mouse.move(...point);
    await page.waitForFunction(() => /: 1\.91 MiB .large., 2\.\d+ MiB live in all/.test(document.querySelector(".reading").textContent));
    await page.mouse.click(...point);
    await becomes(() => [words(page).view, words(page).group, words(page).focus?.split(" ")[0]].join(), "lines,function,large");
    await page.getByRole("region", { name: "details" }).getByRole("heading", { name: "large" }).waitFor();
    await page.goBack();
    await becomes(() => words(page).focus, undefined);
    await legend(page).filter({ hasText: "small" }).getByRole("link").click();
    await becomes(() => words(page).focus?.split(" ")[0], "small");
    await page.goBack();
    await page.getByRole("group", { name: "time line" }).getByRole("button", { name: "live bytes" }).click();
    await becomes(() => words(page).stack, undefined);
    assert.deepEqual(problems, []);
});

test("narrower intervals come with the zoom, and a metric without parts says so", async (t) => {
    const { page, problems } = await viewed(t, "phases", "metric=bytes&stack=type");
    await legend(page).first().waitFor();
    const asked = [];
    page.on("request", (request) => request.url().endsWith("/answer") && asked.push(JSON.parse(request.postData())));
    const end = report(recordings.phases).seconds * 1e9;
    await page.evaluate(([from, to]) => void (location.hash = `metric=bytes&stack=type&left=${from}&right=${to}`), [Math.round(end * 0.5), Math.round(end * 0.51)]);
    await becomes(() => asked.filter(({ page, query }) => page?.stacked && query.metric === "bytes" && query.view.table.group === "type").some(({ query }) => query.when.span && query.when.span.to_ns - query.when.span.from_ns < end * 0.03), true);
    await show(page, "view=lines&metric=lifetime&stack=type");
    await page.getByText("The lifetime has no parts that add up over time.").waitFor();
    assert.deepEqual(problems, []);
});

test("what is as narrow as it gets is not asked for again and again", async (t) => {
    const { page } = await viewed(t, "staircase", "metric=live&stack=function", { viewport: { width: 3840, height: 1200 } });
    let asked = 0;
    page.on("request", (request) => (asked += Number(request.url().endsWith("/answer") && (request.postData() ?? "").includes("stacked"))));
    await legend(page).first().waitFor();
    await page.waitForTimeout(1500);
    assert.ok(asked <= 3, `${asked} questions`);
});

test("layers beside each other are told apart in grey", async (t) => {
    const { page } = await viewed(t, "staircase");
    for (const theme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme: theme });
        await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, theme);
        const luminances = await page.evaluate(() => {
            const probe = document.body.appendChild(document.createElement("span"));
            return ["1", "2", "3", "4", "5", "6", "7", "rest"].map((name) => {
                probe.style.background = `var(--stack-${name})`;
                const [r, g, b] = getComputedStyle(probe).backgroundColor.match(/[\d.]+/g).slice(0, 3).map((value) => value / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
            });
        });
        for (let at = 1; at < luminances.length; at++) {
            const [low, high] = [luminances[at - 1], luminances[at]].sort((a, b) => a - b);
            assert.ok((high + 0.05) / (low + 0.05) >= 1.5, `layers ${at} and ${at + 1}, ${theme}`);
        }
    }
});
