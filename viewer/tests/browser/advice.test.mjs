// What to change, and what that saves.

import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { FOLDER, MEMTOLL, recordings, run, verify } from "./recordings.mjs";
import { becomes, breaches, open, show, start, words } from "./viewer.mjs";

test("what to change is what memtoll advise says, and leads to what is there", async () => {
    for (const name of ["wrapped", "python"]) {
        const server = await start(recordings[name]);
        const { page, problems, close } = await open(server.url);
        const { findings } = JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", recordings[name], "--format", "json"));
        if (name === "wrapped") assert.ok(findings.length > 0);
        await page.waitForFunction(() => !document.body.innerText.includes("Looking for what to change"));
        const advice = page.locator("section", { has: page.locator("h2", { hasText: "What to change" }) });
        const functions = await advice.locator("li > p .code").allInnerTexts();
        if (findings.length > 0) assert.deepEqual(functions, findings.slice(0, 12).map((one) => one.function), name);
        if (name === "wrapped") {
            // The line that calls the wrapper leads; where wrappers are shown, it is none that allocates.
            await advice.getByRole("link", { name: "lines", exact: true }).first().click();
            await page.locator('main [role="row"] .function', { hasText: findings[0].function }).first().waitFor();
            await show(page, "view=overview&wrappers=true");
            await advice.getByRole("link", { name: "callers and callees" }).first().click();
            await page.locator('main [role="treegrid"] .body .row', { hasText: findings[0].function }).first().waitFor();
        }
        assert.deepEqual(problems, []);
        await close();
        server.stop();
    }
});

test("a card shows what the change saved when it was verified, and so does a page", async () => {
    const file = join(FOLDER, "verified.memtoll");
    copyFileSync(recordings.growing, file);
    const advice = () => JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", file, "--format", "json")).findings;
    const [{ id }] = advice();
    verify(file, id);
    const [{ verified }] = advice();
    assert.equal(verified.finding, id);
    const saved = join(FOLDER, "verified.html");
    run(MEMTOLL, "html", "--no-debuginfod", file, "-o", saved);
    const server = await start(file);
    for (const url of [server.url, pathToFileURL(saved)]) {
        const { page, problems, close } = await open(url);
        const card = page.locator(".findings li", { hasText: "verified" });
        await card.waitFor();
        // The address says which card is open.
        await card.getByText("why, and how").click();
        await becomes(() => words(page).explained, id);
        await page.reload();
        await card.locator("details[open]").waitFor();
        await page.goBack();
        await becomes(() => card.locator("details[open]").count(), 0);
        assert.equal(words(page).explained, undefined);
        const text = await card.innerText();
        assert.ok(/^saves [\d.,]+ ?k?.* page faults$/m.test(text), text);
        assert.ok(text.includes(verified.as_predicted === null ? "verified" : verified.as_predicted ? "verified, as predicted" : "verified, not as predicted"), text);
        assert.ok(text.includes("in 3 rounds without the recorder"), text);
        assert.deepEqual(await breaches(page), []);
        assert.deepEqual(problems, []);
        await close();
    }
    server.stop();
});

test("a card says what a change saves of the resident set at the end", async () => {
    const { findings } = JSON.parse(run(MEMTOLL, "advise", "--no-debuginfod", recordings.lingering, "--format", "json"));
    const ends = findings.filter((one) => one.saves.resident_end_bytes.high > 0);
    assert.ok(ends.length > 0, JSON.stringify(findings));
    const server = await start(recordings.lingering);
    const { page, problems, close } = await open(server.url);
    for (const { change } of ends) {
        const text = await page.locator(".findings li", { hasText: change }).first().innerText();
        assert.match(text, /saves [\d.]+ [KM]iB( to [\d.]+ [KM]iB)? resident at the end/);
    }
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});
