// Columns of tables: which are shown, and how wide they are.

import assert from "node:assert/strict";
import { test } from "node:test";
import { becomes, breaches, show, viewed, words } from "./viewer.mjs";

const headsOf = (page) => page.locator('main .row.head [role="columnheader"]').evaluateAll((all) => all.map((one) => one.textContent.replace(/ ?[▾▴]?\s*\??$/, "")));
const edgeOf = (page, title) => page.locator("main").getByRole("separator", { name: `width of ${title}`, exact: true });
const widthOf = async (page, title) => Math.round((await edgeOf(page, title).locator("..").boundingBox()).width);

for (const [view, parts] of [["lines", 1], ["functions", 2]])
    test(`${view}: columns are chosen and copied, and Back undoes it`, async (t) => {
        const { page, problems } = await viewed(t, "phases", `view=${view}&metric=bytes`, { permissions: ["clipboard-read", "clipboard-write"] });
        await page.locator("main .body .row").first().waitFor();
        const all = await headsOf(page);
        assert.ok(all.includes("own peaks") && all.includes("bytes"), `${all}`);
        const cells = () => page.locator("main .body .row").first().getByRole("cell").count();
        assert.equal(await cells(), 1 + parts * (all.length - 1));
        await page.getByRole("button", { name: "columns" }).click();
        const boxes = page.getByRole("group", { name: "columns" });
        assert.ok(await boxes.getByRole("checkbox", { name: "bytes" }).isDisabled(), "the table is sorted by it");
        await boxes.getByRole("checkbox", { name: "own peaks", exact: true }).uncheck();
        await becomes(() => words(page).columns, "peak_0");
        const left = all.filter((one) => one !== "own peaks");
        assert.deepEqual(await headsOf(page), left);
        assert.equal(await cells(), 1 + parts * (left.length - 1));
        assert.deepEqual(await breaches(page), []);
        await page.keyboard.press("Escape");
        assert.equal(words(page).columns, "peak_0", "Escape closed the boxes only");
        await page.getByRole("button", { name: "columns (1 hidden)" }).waitFor();

        await page.keyboard.press("c");
        await page.getByText(/^Copied/).waitFor();
        const head = (await page.evaluate(() => navigator.clipboard.readText())).split("\n").find((line) => line.startsWith("|"));
        assert.ok(head.includes("bytes") && !head.includes("peak"), head);

        // A link shows the same.
        await page.reload();
        await page.locator("main .body .row").first().waitFor();
        assert.deepEqual(await headsOf(page), left);
        await page.goBack();
        await becomes(async () => (await headsOf(page)).join(), all.join());
        assert.deepEqual(problems, []);
    });

test("a column without room comes back by the columns' menu", async (t) => {
    const { page, problems } = await viewed(t, "together", "", { viewport: { width: 800, height: 800 } });
    for (const [view, title] of [["lines", "own peaks"], ["tree", "own peaks"], ["compare&base=-", "Δ own peaks"], ["processes", "threads"]]) {
        await show(page, `view=${view}&metric=cost`);
        await page.locator("main .row.head").waitFor();
        const has = async () => (await headsOf(page)).includes(title);
        await becomes(has, false);
        await page.getByRole("button", { name: /^columns \(\d+ hidden\)$/ }).click();
        const box = page.getByRole("group", { name: "columns" }).getByRole("checkbox", { name: title, exact: true });
        assert.ok(!(await box.isChecked()), view);
        await box.check();
        await becomes(has, true);
        assert.equal(await page.evaluate(() => document.querySelector("main .table").scrollWidth - document.querySelector("main .table").clientWidth), 0, view);
    }
    assert.deepEqual(problems, []);
});

test("the edge of a column is dragged, moved by keys, and let go", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines&metric=bytes");
    await page.locator("main .body .row").first().waitFor();
    const before = await widthOf(page, "bytes");
    const { x, y, width, height } = await edgeOf(page, "bytes").boundingBox();
    const [middle, down] = [x + width / 2, y + height / 2];
    const steps = await page.evaluate(() => history.length);
    await page.mouse.move(middle, down);
    await page.mouse.down();
    await page.mouse.move(middle + 20, down);
    await page.mouse.move(middle + 60, down);
    await becomes(() => widthOf(page, "bytes"), before + 60);
    assert.equal(words(page).columns, undefined, "it is held where it is let go");
    await page.mouse.up();
    await becomes(() => words(page).columns, `bytes_${before + 60}`);
    assert.equal(await page.evaluate(() => history.length), steps + 1);
    assert.equal(await edgeOf(page, "bytes").getAttribute("aria-valuenow"), String(before + 60));
    const cell = await page.locator("main .body .row").first().getByRole("cell").nth(1 + (await headsOf(page)).slice(1).indexOf("bytes")).boundingBox();
    assert.equal(Math.round(cell.width), before + 60, "rows have the width of the heading");
    assert.equal(words(page).metric, "bytes", "no click on the heading");

    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await becomes(() => words(page).columns, `bytes_${before + 40}`);
    await page.goBack();
    await becomes(() => words(page).columns, `bytes_${before + 60}`);
    await becomes(() => widthOf(page, "bytes"), before + 60);
    await edgeOf(page, "bytes").focus();
    await page.keyboard.press("Enter");
    await becomes(() => words(page).columns, undefined);
    await becomes(() => widthOf(page, "bytes"), before);

    // A pair of columns shares the width, and a metric is the same column in both tables.
    await show(page, "view=functions&metric=bytes&columns=bytes_300.name_250");
    await page.locator("main .body .row").first().waitFor();
    assert.deepEqual([await widthOf(page, "bytes"), await widthOf(page, "function")], [300, 250]);
    const cells = await page.locator("main .body .row").first().getByRole("cell").evaluateAll((all) => all.slice(1, 3).map((one) => Math.round(one.getBoundingClientRect().width)));
    assert.deepEqual(cells, [150, 150]);
    assert.deepEqual(problems, []);
});

test("in narrow columns, a heading has its definition when it is pointed at", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=lines");
    const head = page.locator('main .row.head [role="columnheader"]', { hasText: "bytes" });
    const opacity = () => head.locator(".define").evaluate((one) => getComputedStyle(one).opacity);
    await head.waitFor();
    assert.equal(await opacity(), "0");
    await head.hover();
    await becomes(opacity, "1");
    await head.locator(".define").click();
    await page.waitForFunction(() => location.hash.includes("define=bytes"));
    assert.deepEqual(problems, []);
});

for (const [title, file, part, names] of [
    ["peaks of several processes are their own", "together", "", "live at end,own peaks"],
    ["the peak of one process is the peak", "together", "&process=", "live at end,peak"],
    ["what is live where a selection ends is live then", "phases", "&to=200000000", "live then,own peaks"],
])
    test(`${title}, as in reports`, async (t) => {
        const { page, problems } = await viewed(t, file);
        const one = await page.locator("select[aria-label=process] option").nth(1).getAttribute("value");
        for (const view of ["lines", "tree", "functions"]) {
            await show(page, `view=${view}&metric=live${part}${part.endsWith("=") ? one : ""}`);
            await becomes(async () => (await headsOf(page)).filter((one) => /peak|live/.test(one)).sort().join(), names);
        }
        assert.deepEqual(problems, []);
    });
