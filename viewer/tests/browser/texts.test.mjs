// Names that are no texts elsewhere.

import assert from "node:assert/strict";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { ATTACK, html, recordings } from "./recordings.mjs";
import { PAGE_VIEWS, VIEWS, open, show, start } from "./viewer.mjs";

for (const name of ["hostile", "hostile-file"]) {
    test(`${name}: names are texts, whatever they are`, async () => {
        const server = await start(recordings[name]);
        const page = await open(server.url);
        const saved = await open(pathToFileURL(html(name)));
        for (const [views, { page: of, problems, close }] of [[VIEWS, page], [PAGE_VIEWS, saved]]) {
            for (const view of views) {
                await show(of, `view=${view}&unfold=true`);
                await of.evaluate(() => document.querySelector('main [role="row"]:not(.head)')?.click());
            }
            await show(of, "view=lines&metric=allocations");
            const text = await of.getByRole("main").innerText();
            assert.ok(text.includes("window.attacked=1") || text.includes("onerror"), text.slice(0, 500));
            assert.equal(await of.evaluate(() => window.attacked), undefined);
            assert.equal(await of.locator("img").count(), 0);
            assert.equal(await of.locator("script:not([type])").count(), 0);
            assert.deepEqual(problems, []);
            await close();
        }
        server.stop();
    });
}

test("a hostile command line and a formula stay texts", async () => {
    const server = await start(recordings.hostile);
    const { page, close } = await open(server.url);
    assert.ok((await page.locator("header .command").innerText()).includes(ATTACK.slice(0, 20)));
    await show(page, "view=notes");
    assert.ok((await page.getByRole("main").innerText()).includes(ATTACK));
    await close();
    server.stop();
});
