// The pages of `memtoll view --store`.

import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { FOLDER, MEMTOLL, recordings, report, run } from "./recordings.mjs";
import { breaches, openPage, start } from "./viewer.mjs";

/** A store of two versions, of which the one that came first is last in the alphabet. */
function store() {
    const file = join(FOLDER, "fleet.db");
    for (const [name, version] of [["staircase", "beta"], ["phases", "alpha"]]) run(MEMTOLL, "fleet", "add", "--no-debuginfod", recordings[name], "--store", file, "--label", `version=${version}`, "--label", "service=app");
    return file;
}

test("a fleet's pages lead from a version to its recordings, by mouse and keys, with the viewer's colors", async (t) => {
    const server = await start("--store", store());
    const { page, problems, close } = await openPage(server.url, { colorScheme: "light" });
    t.after(async () => {
        server.stop();
        await close();
    });
    const asked = new Set();
    page.on("request", (request) => asked.add(new URL(request.url()).host));
    const rows = () => page.locator("tbody tr th").allInnerTexts();
    const sortedBy = () => page.evaluate(() => [...document.querySelectorAll("[aria-sort]")].map((head) => [head.innerText.replace(/ .$/, ""), head.ariaSort]));

    await page.goto(new URL("/trend?metric=allocations", server.url).href);
    const of = (name) => report(recordings[name]).totals.allocations;
    const points = await page.locator("figure a").evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")));
    assert.deepEqual(points, [`beta: ${of("staircase").toLocaleString("en")}`, `alpha: ${of("phases").toLocaleString("en")}`], "in the order of their runs");
    const places = await page.locator("figure circle").evaluateAll((all) => all.map((one) => one.getBoundingClientRect()).map(({ x, y }) => [x, y]));
    assert.ok(places[0][0] < places[1][0] && (places[0][1] > places[1][1]) === (of("staircase") < of("phases")), `${places}`);
    assert.deepEqual([await rows(), await sortedBy()], [["beta", "alpha"], [["version", "ascending"]]]);

    // By key: the heading is a link.
    await page.getByRole("columnheader", { name: "allocations" }).getByRole("link").focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(/sort=-allocations/);
    assert.deepEqual([(await rows()).sort(), await sortedBy()], [["alpha", "beta"], [["allocations", "descending"]]]);
    assert.equal((await rows())[0], of("staircase") > of("phases") ? "beta" : "alpha");
    await page.getByRole("columnheader", { name: "allocations" }).getByRole("link").click();
    await page.waitForURL(/sort=allocations/);
    assert.deepEqual(await sortedBy(), [["allocations", "ascending"]]);
    const right = await page.locator("td.number").evaluateAll((all) => all.map((one) => getComputedStyle(one).textAlign));
    assert.deepEqual([...new Set(right)], ["right"]);

    // The number of runs leads to these, and each says how its recording is opened.
    await page.getByRole("row", { name: "beta" }).getByRole("link", { name: "1", exact: true }).click();
    await page.waitForURL(/\/runs\?/);
    assert.deepEqual(await rows(), [`memtoll view ${recordings.staircase}`]);
    assert.deepEqual(await sortedBy(), [["allocations", "descending"]]);
    await page.locator("tbody code").click();
    assert.equal(await page.evaluate(() => getSelection().toString()), `memtoll view ${recordings.staircase}`);

    const grounds = { light: "rgb(255, 255, 255)", dark: "rgb(21, 24, 28)" };
    for (const address of ["/top", "/trend?metric=zeroing", "/compare", "/runs", "/top?where=version%3D9"])
        for (const [colorScheme, ground] of Object.entries(grounds)) {
            await page.emulateMedia({ colorScheme });
            await page.goto(new URL(address, server.url).href);
            assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), ground);
            assert.deepEqual(await breaches(page), [], `${address}, ${colorScheme}`);
            for (const width of [800, 1280, 3840]) {
                await page.setViewportSize({ width, height: Math.round(width * 0.6) });
                const sideways = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
                assert.ok(sideways <= 0, `${address} at ${width}: too wide by ${sideways}`);
            }
        }
    assert.deepEqual([...asked], [new URL(server.url).host]);
    assert.deepEqual(problems.filter((text) => !text.includes("422")), []);
});
