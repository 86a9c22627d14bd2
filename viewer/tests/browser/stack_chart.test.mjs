// The flame graph's frames in the order of time.

import assert from "node:assert/strict";
import { test } from "node:test";
import { afterEarly, afterThread, betweenSteps, html, recordings, report } from "./recordings.mjs";
import { pathToFileURL } from "node:url";
import { becomes, breaches, open, packOf, show, viewed, words } from "./viewer.mjs";

const chart = (page, metric, query = {}) => packOf(page, { query: { metric, ...query }, page: { "stack-chart": { columns: 1024, lines: false } } });
const sum = (values) => values.reduce((a, b) => a + b, 0);

/** The bars by the names of their functions: callers, times and values. */
function barsOf({ head, columns }) {
    const name = (bar) => head.texts[columns["frames.function"][columns["bars.frame"][bar]]];
    return columns["bars.caller"].map((caller, bar) => ({
        name: name(bar),
        caller: caller > 0 ? name(caller - 1) : null,
        from: columns["columns.begin"][columns["bars.first"][bar]],
        to: columns["columns.end"][columns["bars.behind"][bar] - 1],
        value: columns["bars.value"][bar],
    }));
}

test("bars are what functions have, one after the other", async (t) => {
    const { page } = await viewed(t, "staircase");
    const pack = await chart(page, "bytes");
    const bars = barsOf(pack).filter(({ name }) => ["main", "small", "large"].includes(name));
    assert.deepEqual(bars.map(({ name, caller, value }) => [name, caller, value]), [["main", null, 3_000_000], ["small", "main", 1_000_000], ["large", "main", 2_000_000]]);
    const [main, small, large] = bars;
    const between = betweenSteps();
    assert.ok(main.from <= small.from && small.to <= between && between <= large.from && large.to <= main.to, JSON.stringify(bars));
    const { sites } = report(recordings.staircase, "--limit", "1000");
    assert.equal(sum(pack.columns["columns.value"]), sum(sites.map(({ bytes }) => bytes)));
    // Cuts and the filter hold here, too.
    const rest = barsOf(await chart(page, "bytes", { drop: "^small$" }));
    assert.deepEqual(rest.filter(({ name }) => ["small", "large"].includes(name)).map(({ name, value }) => [name, value]), [["large", 2_000_000]]);
});

test("a cost has the parts that the report says", async (t) => {
    const { page } = await viewed(t, "storm");
    const metrics = ["cost", "fault-time", "mapping", "allocator", "waiting", "reading"];
    const { columns } = await packOf(page, { query: { metric: "cost" }, page: { "stack-chart": { columns: 1024, lines: false, metrics } } });
    const { sites } = report(recordings.storm, "--limit", "1000");
    // First the thread.
    for (const [name, key] of [["cost", "cost_ns"], ["fault-time", "fault_time_ns"], ["allocator", "allocator_ns"]]) {
        const [found, expected] = [columns[`bars.${name}`][0], sum(sites.map((site) => site[key]))];
        assert.ok(Math.abs(found - expected) <= 1 + expected / 1e4, `${name}: ${found}, ${expected}`);
    }
    // One of 17 faults is sampled, so chance has a part in the error.
    assert.ok(columns["bars.fault-time.variance"][0] > 0);
});

test("of several threads, it is of the one that has most, or of the one that is chosen", async (t) => {
    const { page } = await viewed(t, "phases", "view=flame&metric=allocations&inOrder=true");
    const most = await chart(page, "allocations");
    assert.equal(most.head.others, 2);
    assert.deepEqual(barsOf(most).filter(({ name }) => name === "thread").map(({ value }) => value), [20_000]);
    const first = report(recordings.phases, "--list", "threads").threads.find(({ tid, pid }) => tid === pid);
    const bars = barsOf(await chart(page, "allocations", { processes: [String(first.pid)], threads: [String(first.tid)] }));
    const early = bars.find(({ name }) => name === "early");
    const late = bars.find(({ name }) => name === "late");
    assert.deepEqual([early.value, late.value], [2_000, 2_000]);
    assert.ok(early.to <= afterEarly() && afterThread() <= late.from, JSON.stringify([early, late]));
    await page.getByRole("link", { name: "2 other threads" }).click();
    await becomes(() => words(page).view, "threads");
});

test("a click selects the time of a frame, and Back shows all again", async (t) => {
    const { page, problems } = await viewed(t, "staircase", "view=flame&metric=bytes");
    await page.getByRole("group", { name: "order" }).getByRole("button", { name: "in time order" }).click();
    await becomes(() => words(page).inOrder, "true");
    const canvas = page.getByRole("application");
    await canvas.waitFor();
    for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await breaches(page), [], colorScheme);
    }
    // The arrows choose: the thread, main, small, and large beside it.
    await canvas.focus();
    const told = page.locator("p.told");
    const until = async (name) => {
        for (let step = 0; step < 8 && !(await told.textContent()).startsWith(name); step++) await page.keyboard.press("ArrowDown");
    };
    await until("small");
    assert.match(await told.textContent(), /^small \(staircase\.c:\d+\) · 977 KiB, 33\.3 % of 2\.86 MiB bytes, /);
    await page.keyboard.press("ArrowRight");
    assert.match(await told.textContent(), /^large /);
    await page.keyboard.press("Enter");
    await becomes(() => Number(words(page).from) > betweenSteps(), true);
    await page.getByText("Adding up").waitFor({ state: "detached" });
    await page.goBack();
    await becomes(() => words(page).from, undefined);
    await show(page, "view=flame&metric=live&inOrder=true");
    await page.getByText("is not what happens at an instant, so it has no order in time").waitFor();
    await page.getByRole("link", { name: "bytes", exact: true }).last().click();
    await becomes(() => words(page).metric, "bytes");
    assert.deepEqual(problems, []);
});

test("a page says that it has no order of calls", async () => {
    const { page, close } = await open(`${pathToFileURL(html("staircase"))}#view=flame&inOrder=true`);
    await page.getByText("This page does not hold call stacks in the order of time.").waitFor();
    await page.getByRole("button", { name: "merged" }).click();
    await page.getByRole("application").waitFor();
    await close();
});
