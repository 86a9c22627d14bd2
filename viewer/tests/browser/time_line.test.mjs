// The time line, regions, and lanes of threads.

import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { MEMTOLL, afterThread, recordings, report, run } from "./recordings.mjs";
import { becomes, breaches, open, packOf, show, start, viewed } from "./viewer.mjs";

test("where the curve of the resident set misses its peak, the time line has the peak beside it", async (t) => {
    const missed = {};
    for (const name of ["phases", "python", "waiting", "rows", "spike"]) {
        const { page, problems } = await viewed(t, name);
        const { columns } = await packOf(page, { query: { view: { activity: { intervals: 4096 } } } });
        const { resident_peak_bytes: peak, resident_peak_error_bytes: error } = report(recordings[name]).totals;
        missed[name] = peak - error > Math.max(...columns["activity.resident"].filter((bytes) => !Number.isNaN(bytes)));
        const legend = await page.locator(".time .legend", { hasText: "resident set" }).innerText();
        assert.equal(/whose peak of [\d.]+ ± [\d.]+ MiB lies between two looks/.test(legend), missed[name], `${name}: ${legend}`);
        assert.deepEqual(problems, []);
    }
    assert.ok(missed.spike, JSON.stringify(missed));
});

test("the curve of one process is its own, with the number of its peak; that of a thread is of all threads", async (t) => {
    const { page, problems } = await viewed(t, "executed", "view=overview");
    const [caption, peak] = [page.locator(".time .caption"), page.locator(".time .events.peak")];
    await becomes(() => peak.innerText(), "peak");
    assert.match(await caption.innerText(), /processes added up/);
    const { processes } = report(recordings.executed);
    const alone = processes.filter(({ pid }) => processes.filter((one) => one.pid === pid).length === 1);
    assert.ok(alone.length > 0, JSON.stringify(processes.map(({ pid }) => pid)));
    await show(page, `view=overview&process=${alone[0].pid}`);
    await peak.getByText(/^peak [\d.]+ [KM]iB/).waitFor();
    assert.doesNotMatch(await caption.innerText(), /processes added up/);
    assert.deepEqual(problems, []);
    const threads = await viewed(t, "waiting", `view=overview&thread=${report(recordings.waiting).threads[0].tid}`);
    await threads.page.locator(".time .caption", { hasText: "live bytes: all threads" }).waitFor();
    assert.deepEqual(threads.problems, []);
});

test("a drag over the time line selects, and Back is undo", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(server.url);
    const area = await page.locator(".u-over").boundingBox();
    await page.mouse.move(area.x + area.width * 0.5, area.y + 20);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.8, area.y + 40, { steps: 5 });
    await page.mouse.up();
    const selection = page.locator("header .selection");
    await page.waitForFunction(() => location.hash.includes("from="));
    const { from, to } = Object.fromEntries(new URLSearchParams(new URL(page.url()).hash.slice(1)));
    const all = report(recordings.phases).seconds * 1e9;
    assert.ok(Math.abs(from / all - 0.5) < 0.02 && Math.abs(to / all - 0.8) < 0.02, `${from} to ${to} of ${all}`);
    await page.goBack();
    await page.waitForFunction(() => document.querySelector("header .selection").textContent === "whole run");
    await page.goForward();
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.keyboard.press("[");
    await page.waitForFunction(() => document.querySelector("header .selection").textContent === "whole run");
    await page.keyboard.press("]");
    await page.waitForFunction(() => document.querySelector("header .selection").textContent !== "whole run");
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => document.querySelector("header .selection").textContent === "whole run");
    assert.equal(await selection.innerText(), "whole run");
    // The time line by keys.
    await page.locator(".plot").focus();
    await page.keyboard.press("Shift+ArrowLeft");
    await page.waitForFunction(() => location.hash.includes("to="));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("the time line zooms to microseconds and shows marks, regions and rates", async () => {
    const server = await start(recordings.marked);
    const asked = [];
    const { page, problems, close } = await open(server.url);
    page.on("request", (request) => request.url().endsWith("/answer") && asked.push(JSON.parse(request.postData())));
    await page.locator(".caption", { hasText: "30 marks and 30 regions" }).waitFor();
    const expected = report(recordings.marked, "--regions");
    const plot = page.locator(".u-over");
    const area = await plot.boundingBox();
    // The curve tells of each instant how many allocations there are: all of them are as many as the report says.
    const { head, columns } = await packOf(page, { query: { view: { activity: { intervals: 4096 } } } });
    const all = { allocations: columns["activity.allocations"].reduce((a, b) => a + b, 0), live: Math.max(...columns["activity.live"]), begin: columns["regions.begin"], end: columns["regions.end"], names: head.regions, marks: head.marks };
    const totals = report(recordings.marked).totals;
    assert.equal(all.allocations, totals.allocations);
    assert.equal(all.live, totals.peak_live_bytes ?? totals.peak_bytes);
    const runs = expected.regions[0].runs;
    assert.deepEqual(all.names, runs.map(() => "frame"));
    assert.equal(all.marks.length, 30);
    runs.forEach((run, index) => assert.ok(Math.abs(all.begin[index] - run.begin_ns) < 2 && Math.abs(all.end[index] - all.begin[index] - run.duration_ns) < 3, `${index}`));
    // Into the last run, by the wheel: what is under the pointer stays there, up to the pixel on which it stands.
    const end = expected.seconds * 1e9;
    const last = runs.at(-1).begin_ns + runs.at(-1).duration_ns / 2;
    const shown = () => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
    let [left, right] = [0, end];
    for (let turn = 0; turn < 100 && right - left > 20_000; turn++) {
        const { x, y, width, height } = await plot.boundingBox();
        const pixel = (right - left) / width;
        // The pixel at the right edge is outside.
        const [at, middle] = [Math.min(Math.round(x + (last - left) / pixel), Math.ceil(x + width) - 1), y + height / 2];
        await page.mouse.move(at, middle);
        await page.mouse.wheel(0, -800);
        await page.waitForFunction((left) => (new URLSearchParams(location.hash.slice(1)).get("left") ?? "0") !== left, String(left)).catch(async () => {
            const there = await page.evaluate(([x, y]) => document.elementFromPoint(x, y)?.outerHTML.slice(0, 200), [at, middle]);
            assert.fail(`turn ${turn} at ${at}, ${middle} does not zoom ${left} to ${right}: ${JSON.stringify(await plot.boundingBox())}, there is ${there}, ${page.url()}`);
        });
        ({ left, right } = await shown());
        [left, right] = [Number(left), Number(right)];
        assert.ok(left - pixel < last && last < right + pixel, `${left} to ${right} around ${last}, a pixel is ${pixel}`);
    }
    assert.ok(right - left <= 20_000, `${left} to ${right}`);
    const spans = () => asked.flatMap(({ query }) => (query?.view?.activity && query.when?.span) || []);
    await becomes(() => spans().slice(-1).some((span) => span.to_ns - span.from_ns < 100_000), true);
    await page.mouse.move(area.x + area.width / 2, area.y + 60);
    await page.mouse.move(area.x + area.width / 2 + 5, area.y + 60);
    await page.waitForFunction(() => /^at \d+\.\d+ ms: .* live · (.* in memory · )?\d+ allocations? · .*in [\d.]+ n?s.*frame.?, [\d.]+ [µm]s$/.test(document.querySelector(".reading").textContent));
    // The region that holds all that is seen has its name on it: dark letters at its left end, above the curves.
    const letters = await page.evaluate(() => {
        const canvas = document.querySelector(".plot canvas");
        const left = document.querySelector(".u-over").offsetLeft;
        const { data } = canvas.getContext("2d").getImageData((left + 2) * devicePixelRatio, 0, 40 * devicePixelRatio, 16 * devicePixelRatio);
        return Array.from({ length: data.length / 4 }, (_, at) => data[at * 4 + 3] > 200 && data[at * 4] < 90).filter(Boolean).length;
    });
    assert.ok(letters > 30, `${letters} dark pixels`);
    // A selection as narrow as what is seen, and every view answers for it.
    await page.mouse.move(area.x + area.width * 0.2, area.y + 60);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.8, area.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.waitForFunction(() => location.hash.includes("from="));
    const { from, to } = await shown();
    assert.ok(to - from < 13_000 && Number(from) >= left && Number(to) <= right, `${from} to ${to}`);
    // Keys: out, aside, to the selection, and back to all of it.
    await page.keyboard.press("-");
    await page.waitForFunction((length) => { const all = new URLSearchParams(location.hash.slice(1)); return all.get("right") - all.get("left") > length * 1.5; }, right - left);
    const before = await shown();
    await page.keyboard.press("<");
    await page.waitForFunction((left) => Number(new URLSearchParams(location.hash.slice(1)).get("left")) < Number(left), before.left);
    await page.keyboard.press("z");
    await page.waitForFunction(([from, to]) => { const all = new URLSearchParams(location.hash.slice(1)); return all.get("left") === from && all.get("right") === to; }, [from, to]);
    await page.keyboard.press("z");
    await page.waitForFunction(() => !location.hash.includes("left="));
    // A drag with Ctrl zooms.
    await page.keyboard.down("Control");
    await page.mouse.move(area.x + area.width * 0.2, area.y + 60);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * 0.4, area.y + 60, { steps: 3 });
    await page.mouse.up();
    await page.keyboard.up("Control");
    await page.waitForFunction(() => location.hash.includes("left="));
    const part = await shown();
    assert.ok(Math.abs(part.left / end - 0.2) < 0.03 && Math.abs(part.right / end - 0.4) < 0.03, JSON.stringify(part));
    assert.equal(part.from, from);
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("a link into a part of the time has that part's narrow intervals", async (t) => {
    const end = report(recordings.phases).seconds * 1e9;
    const [left, right] = [0.5, 0.51].map((share) => Math.round(end * share));
    const { page, problems } = await viewed(t, "phases", `left=${left}&right=${right}`);
    const asked = [];
    page.on("request", (request) => request.url().endsWith("/answer") && asked.push(JSON.parse(request.postData())));
    await page.reload();
    await becomes(() => asked.some(({ query }) => query?.view?.activity && query.when.span?.to_ns - query.when.span?.from_ns < end * 0.03), true);
    assert.deepEqual(problems, []);
});

test("lanes follow the zoom of the time line", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=threads`);
    const [{ pid }] = report(recordings.phases, "--list", "processes").processes;
    const { began_ns, ended_ns } = report(recordings.phases, "--list", "threads").threads.find(({ tid }) => tid === pid);
    const canvas = page.locator("main .body .row", { hasText: `${pid} of ${pid}` }).locator("canvas");
    /** What is drawn of the process's first thread, and whether that is anything, at the left edge or at all. */
    const drawn = () => canvas.evaluate((canvas) => canvas.toDataURL());
    const has = (edge) => canvas.evaluate((canvas, width) => canvas.getContext("2d").getImageData(0, 0, width ?? canvas.width, canvas.height).data.some((value, at) => at % 4 === 3 && value > 0), edge);
    await becomes(() => has(null), true);
    // The left edge is before it begins, and while it is there.
    const middle = Math.round((began_ns + ended_ns) / 2);
    await show(page, `view=threads&left=0&right=${middle}`);
    await becomes(() => has(1), false);
    await show(page, `view=threads&left=${middle}&right=${Math.round(ended_ns)}`);
    await becomes(() => has(1), true);
    // What is selected is shaded, and only that is added up; the lanes are still those of the whole run.
    const there = async () => Number((await page.locator("main .body .row", { hasText: "thread" }).first().locator(".number").first().getAttribute("title")).replace(/[^\d]/g, ""));
    await show(page, "view=threads");
    await page.waitForFunction(() => !document.querySelector(".time .shown"));
    assert.ok((await there()) > 0);
    await page.locator("main[aria-busy=false]").waitFor();
    const whole = await drawn();
    assert.equal(await page.locator(".arrows .selected").count(), 0);
    await show(page, `view=threads&from=${afterThread()}`);
    await page.locator(".arrows .selected").waitFor({ state: "attached" });
    await page.waitForFunction(() => /^0 ns/.test([...document.querySelectorAll("main .body .row")].find((row) => /^thread/.test(row.innerText)).querySelector(".number").title));
    await becomes(drawn, whole);
    await page.locator("main .tools", { hasText: "Lanes are of all that the time line shows, numbers of the selection." }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("a link that follows another one at once is what is shown", async (t) => {
    const { page, problems } = await viewed(t, "phases", "view=threads");
    const end = Math.round(report(recordings.phases).seconds * 1e9);
    await page.evaluate((right) => void (location.hash = `view=threads&left=0&right=${right}`), Math.round(end / 2));
    await page.locator(".time button[title='Show the whole run']").waitFor();
    await page.evaluate((right) => void (location.hash = `view=threads&left=0&right=${right}`), Math.round(end / 3));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50))));
    // The page is busy until what it does when a span rests is due.
    await page.evaluate(() => {
        location.hash = "view=threads";
        for (const begin = performance.now(); performance.now() - begin < 500; );
    });
    await page.waitForTimeout(500);
    assert.equal(await page.evaluate(() => location.hash), "#view=threads");
    assert.deepEqual(problems, []);
});

test("who waited for whom", async () => {
    const server = await start(recordings.waiting);
    const { page, problems, close } = await open(`${server.url}#view=threads`);
    await page.locator(".body .row").first().waitFor();
    await page.locator("main[aria-busy=false]").waitFor();
    const waits = report(recordings.waiting).threads.flatMap((thread) => (thread.waits ?? []).map(({ holder_tid }) => [thread.tid, holder_tid]));
    // On a machine with one processor, nobody may have waited.
    assert.equal((await page.getByRole("main").innerText()).match(/waits? in the allocator/) !== null, waits.length > 0, JSON.stringify(waits));
    assert.equal((await page.locator(".arrows path").count()) > 0, waits.some(([own, holder]) => holder !== null && holder !== own), JSON.stringify(waits));
    for (const [tid, holder] of waits.filter(([, holder]) => holder !== null)) {
        const told = await page.locator(".body .row", { hasText: `${tid} of ` }).locator('[role="cell"]').last().getAttribute("title");
        assert.ok(told.includes(String(holder)), `${tid}: ${told}`);
    }
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("lines between lanes lie behind the numbers that they cross", async (t) => {
    const { page } = await viewed(t, "waiting", "view=threads");
    await page.locator(".body .row").first().waitFor();
    await page.locator("main[aria-busy=false]").waitFor();
    const boxes = await page.locator(".body .number .text").evaluateAll((all) => all.slice(0, 12).map((one) => one.getBoundingClientRect().toJSON()));
    const pictures = async () => {
        const found = [];
        for (const { x, y, width, height } of boxes) found.push((await page.screenshot({ clip: { x: x + 1, y: y + 1, width: width - 2, height: height - 2 } })).toString("base64"));
        return found;
    };
    const style = (words) => page.locator(".arrows").evaluate((one, words) => (one.style.cssText += words), words);
    await style("; display: none");
    const without = await pictures();
    // Lines at every pixel: whether one of the recording crosses a number is chance.
    await style("; display: block; background: red");
    assert.deepEqual((await pictures()).map((one, at) => one === without[at]), without.map(() => true));
});

test("regions that are longer than their budget are counted and stand out", async () => {
    const server = await start(recordings.marked);
    const { page, problems, close } = await open(server.url);
    const budget = page.getByLabel("budget");
    await budget.waitFor();
    const runs = JSON.parse(run(MEMTOLL, "report", "--no-debuginfod", recordings.marked, "--regions", "--format", "json")).regions[0].runs;
    const lengths = runs.map((one) => one.duration_ns).sort((a, b) => a - b);
    const limit = (lengths[9] + lengths[10]) / 2;
    const picture = () => page.locator(".u-wrap canvas").evaluate((canvas) => canvas.toDataURL());
    const without = await picture();
    await budget.fill(String(limit / 1e6));
    await budget.press("Enter");
    await page.locator(".time .over", { hasText: "20 of 30 over" }).waitFor();
    await page.waitForFunction((without) => document.querySelector(".u-wrap canvas").toDataURL() !== without, without);
    assert.match(page.url(), /budget=\d+/);
    await page.reload();
    await page.locator(".time .over", { hasText: "20 of 30 over" }).waitFor();
    assert.deepEqual(await breaches(page), []);
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});

test("lanes show page faults", async () => {
    const server = await start(recordings.phases);
    const { page, problems, close } = await open(`${server.url}#view=threads`);
    await page.locator(".body .row").first().waitFor();
    const lanes = JSON.parse(run(MEMTOLL, "report", "--no-debuginfod", recordings.phases, "--lanes", "--format", "json")).lanes;
    const known = lanes.some((lane) => lane.faulting !== null);
    const heads = await page.locator('main [role="columnheader"]').allInnerTexts();
    const column = heads.findIndex((head) => head.startsWith("faulting"));
    assert.ok(column > 0, heads.join(", "));
    const texts = await page.locator("main .body .row").evaluateAll((rows, column) => rows.map((row) => row.children[column].textContent), column);
    // The second phase touches 10 MB for the first time.
    assert.equal(texts.some((text) => /[1-9]/.test(text)), known, `${texts}`);
    assert.ok(!known || lanes.some((lane) => lane.faulting.some((share) => share > 0)), JSON.stringify(lanes));
    assert.deepEqual(problems, []);
    await close();
    server.stop();
});
