// The server: whom it lets in, what it reads, and a recording that is being made.

import assert from "node:assert/strict";
import { renameSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { FOLDER, MARKED, recordings, report } from "./recordings.mjs";
import { breaches, holdAnswers, open, show, start, startLive } from "./viewer.mjs";

test("a recording is shown while it is made", async () => {
    const live = await startLive();
    const { page, problems, close } = await open(live.url);
    const header = page.locator("header .live");
    await header.filter({ hasText: "recording" }).waitFor();
    await page.getByRole("button", { name: "mark", exact: true }).click();
    await page.locator(".said", { hasText: "mark 1" }).waitFor();
    await page.locator(".caption", { hasText: /1 mark(?!s)/ }).waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "snapshot" }).click();
    await page.locator('nav a[aria-current][href*="view=snapshots"]').waitFor({ timeout: 60_000 });
    const shownAt = Number(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("to"));
    await page.locator("main .body .row", { hasText: "kept" }).first().waitFor({ timeout: 60_000 });
    assert.deepEqual(await breaches(page), []);
    // A look at its pages, as memtoll snapshot makes one.
    await page.getByRole("button", { name: "look at pages now" }).click();
    const said = page.locator(".said", { hasText: "Looked at the pages of process" });
    await said.waitFor();
    const pid = Number(/process (\d+)/.exec(await said.innerText())[1]);
    await page.locator("main .tools", { hasText: `patient ${pid}` }).waitFor({ timeout: 60_000 });
    assert.deepEqual(await breaches(page), []);
    // The rest of the program's work is in the complete recording.
    await live.goOn();
    await header.waitFor({ state: "detached", timeout: 60_000 });
    await show(page, "view=lines&metric=allocations");
    await page.locator("main .body .row", { hasText: "later" }).first().waitFor({ timeout: 60_000 });
    assert.deepEqual(problems, []);
    await close();
    assert.equal(await live.end(), 7, "the exit code is the program's");
    assert.ok(report(live.file).sites.some((site) => site.function === "later"));
    // The snapshot is of the instant of its mark, up to the clock's last correction.
    const snapshot = report(live.file, "--list", "marks").marks.find((mark) => mark.name.startsWith("snapshot "));
    assert.ok(Math.abs(shownAt - snapshot.first_ns) < 100_000, `${shownAt}: ${JSON.stringify(snapshot)}`);
    const { looks } = report(live.file, "--list", "looks");
    assert.deepEqual(looks.filter((look) => look.cause === "asked").map((look) => look.pid), [pid], JSON.stringify(looks));
});

test("a page says so when the recording that it shows is no more", async () => {
    const live = await startLive("vanishing.memtoll");
    const { page, close } = await open(live.url);
    await page.locator("header .live").filter({ hasText: "recording" }).waitFor();
    // Only what was answered can stay.
    const costs = page.getByRole("heading", { name: /^What memory costs/ });
    await costs.waitFor();
    // It goes while the page asks what a mark has added.
    const answer = await holdAnswers(page);
    const asked = page.waitForRequest("**/answer", { timeout: 60_000 });
    await page.getByRole("button", { name: "mark", exact: true }).click();
    await asked;
    live.vanish();
    answer();
    await page.locator("header [role=alert]", { hasText: "memtoll does not answer any more: the page shows the recording as it was." }).waitFor({ timeout: 60_000 });
    assert.ok(await costs.isVisible());
    await close();
});

/** A request as any program on this machine could make it: its status. */
function ask(url, { method = "GET", headers = {}, body = "" } = {}) {
    return new Promise((resolve, reject) => {
        const made = request(url, { method, headers }, (reply) => {
            let text = "";
            reply.on("data", (data) => (text += data));
            reply.on("end", () => resolve({ status: reply.statusCode, headers: reply.headers, text }));
        });
        made.on("error", reject);
        made.end(body);
    });
}

test("the server lets in who has the link, once, and nobody else's page", async () => {
    const { url, stop } = await start(recordings.phases);
    const root = url.origin;
    assert.equal(url.hostname, "127.0.0.1");
    assert.equal((await ask(root)).status, 403);
    assert.equal((await ask(url, { headers: { Host: "evil.example" } })).status, 403);
    const first = await ask(url);
    assert.equal(first.status, 303);
    const [given] = first.headers["set-cookie"];
    assert.match(given, /; HttpOnly; SameSite=Strict$/);
    const Cookie = given.split(";")[0];
    assert.equal((await ask(url)).status, 403, "the link works once");
    const page = await ask(root, { headers: { Cookie } });
    assert.equal(page.status, 200);
    const policy = page.headers["content-security-policy"];
    assert.match(policy, /default-src 'none'; script-src 'self'/);
    assert.ok(!policy.includes("unsafe"));
    const post = (headers, body = '{"page":"about"}') => ask(`${root}/answer`, { method: "POST", headers: { Cookie, ...headers }, body });
    assert.equal((await post({ Origin: root })).status, 200);
    assert.equal((await post({ Origin: "http://evil.example" })).status, 403);
    assert.equal((await post({ Origin: "null" })).status, 403);
    assert.equal((await post({ Host: "evil.example" })).status, 403);
    assert.equal((await post({ Cookie: "" })).status, 403);
    // Only this page may ask how far a question is, or end it.
    assert.equal((await ask(`${root}/reading/1`)).status, 403);
    assert.equal((await ask(`${root}/reading/1`, { headers: { Cookie } })).text, '{"events":null}');
    for (const [Origin, status] of [[root, 200], ["http://evil.example", 403]]) assert.equal((await ask(`${root}/cancel/1`, { method: "POST", headers: { Cookie, Origin } })).status, status);
    assert.equal((await post({}, "{")).status, 400);
    assert.equal((await post({}, '{"query":{"filters":"x"}}')).status, 400, "a query has no such key");
    assert.equal((await post({}, '{"query":{"filter":"(","view":{"table":{"group":"site"}}}}')).status, 422);
    for (const path of ["/etc/passwd", "/../../etc/passwd", "/%2e%2e/etc/passwd", "/src/main.tsx"])
        assert.equal((await ask(root + path, { headers: { Cookie } })).status, 404, path);
    stop();
});

test("no file is read that is not a source which the recording names", async () => {
    const secret = join(FOLDER, "secret.c");
    writeFileSync(secret, "int secret_key;\n");
    for (const allowed of [true, false]) {
        const { url, stop } = await start(...(allowed ? ["--sources"] : []), recordings.marked);
        const Cookie = (await ask(url)).headers["set-cookie"][0].split(";")[0];
        const source = (file) => ask(`${url.origin}/answer`, { method: "POST", headers: { Cookie }, body: JSON.stringify({ page: { source: { file } } }) });
        const folder = MARKED.slice(0, MARKED.lastIndexOf("/"));
        for (const file of ["/etc/passwd", secret, "", ".", "marked.c", `${folder}/../ann/marked.c`, `${folder}/./marked.c`, `${MARKED}/../../../secret.c`, `${MARKED}\0.c`, `file://${MARKED}`]) {
            const reply = await source(file);
            assert.equal(reply.status, 422, file);
            assert.equal(reply.text, "The recording names no such file.", file);
        }
        const named = await source(MARKED);
        assert.equal(named.status, 200);
        assert.equal(named.text.includes("usleep(5000)"), allowed);
        // In its place there is now a link to another file.
        renameSync(MARKED, `${MARKED}.kept`);
        symlinkSync(secret, MARKED);
        const linked = await source(MARKED);
        unlinkSync(MARKED);
        renameSync(`${MARKED}.kept`, MARKED);
        assert.ok(!linked.text.includes("secret_key"));
        assert.equal(linked.text.includes("symbolic link"), allowed);
        assert.equal((await ask(`${url.origin}/docs/metrics.md`, { headers: { Cookie } })).status, 200);
        for (const path of ["/docs/../Cargo.toml", "/docs/speed.md", "/docs/"]) assert.equal((await ask(url.origin + path, { headers: { Cookie } })).status, 404, path);
        assert.equal((await ask(`${url.origin}/docs/metrics.md`)).status, 403);
        stop();
    }
});
