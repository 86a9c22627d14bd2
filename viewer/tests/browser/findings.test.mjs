// Findings come later than the numbers that they are found in.

import assert from "node:assert/strict";
import { test } from "node:test";
import { becomes, holdAnswers, packOf, settled, show, viewed } from "./viewer.mjs";

const isOfFindings = ({ page }) => page === "findings";
const texts = (page) => page.locator(".found .findings > li").allInnerTexts();

test("numbers are shown while findings are looked for, and findings move nothing when they come", async (t) => {
    const { page, problems } = await viewed(t, "wrapped", "view=lines");
    await settled(page);
    const answer = await holdAnswers(page, isOfFindings);
    await page.keyboard.press("1");
    await page.locator(".found .empty", { hasText: "Looking for findings …" }).waitFor();
    await page.locator(".worst li").first().waitFor();
    assert.match(await page.locator(".cost h2").innerText(), /What memory costs: .*\d/);
    assert.equal(await page.locator("main").getAttribute("aria-busy"), "false");
    const places = () => page.evaluate(() => ["main .cost", "main .facts-of", "main .found h2", "main .worst"].map((of) => JSON.stringify(document.querySelector(of).getBoundingClientRect())));
    const before = await places();
    assert.equal(await page.getByText("What to change", { exact: true }).count(), 0, "the advice would be moved");
    answer();
    await page.locator(".found .findings > li").first().waitFor();
    const height = (rectangle) => ({ ...JSON.parse(rectangle), bottom: 0, height: 0 });
    assert.deepEqual((await places()).map(height), before.map(height));
    await page.getByRole("heading", { name: "What to change" }).waitFor();
    assert.deepEqual(problems, []);
});

test("findings of another selection are faint until those of this one come", async (t) => {
    const { page } = await viewed(t, "wrapped");
    await settled(page);
    const whole = await texts(page);
    const { head } = await packOf(page, { page: "about" });
    assert.ok(whole.length > 0);
    const answer = await holdAnswers(page, isOfFindings);
    await page.evaluate((hash) => void (location.hash = hash), `to=${Math.round(head.timeline.end_ns / 2)}`);
    await page.locator("main[aria-busy=false] .found[aria-busy=true]").waitFor();
    assert.deepEqual(await texts(page), whole);
    await becomes(() => page.locator(".found .findings").evaluate((list) => getComputedStyle(list).opacity), "0.5");
    answer();
    await page.locator(".found[aria-busy=false]").waitFor();
    assert.notDeepEqual(await texts(page), whole);
});

test("where findings fail, the numbers stay and their place says why", async (t) => {
    const { page } = await viewed(t, "wrapped", "view=lines");
    await settled(page);
    await page.route("**/answer", (route) => (isOfFindings(route.request().postDataJSON()) ? route.fulfill({ status: 422, body: "The question was cancelled." }) : route.continue()));
    await show(page, "view=overview");
    await page.locator(".found [role=alert]", { hasText: "The question was cancelled." }).waitFor();
    assert.match(await page.locator(".cost h2").innerText(), /What memory costs: .*\d/);
    assert.ok((await page.locator(".worst li").count()) > 0);
});
