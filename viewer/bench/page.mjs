// What a user does in the page, and when the answer is on the screen.

/** How long a view may take, ms. One that takes longer does not answer. */
const PATIENCE = 180_000;

/** What the page finds out, at most so late. */
async function inTime(what, told) {
    const late = new Promise((_, reject) => setTimeout(() => reject(new Error(`no answer after ${PATIENCE / 1000} s`)), PATIENCE).unref());
    return Promise.race([told, late]).catch((why) => Promise.reject(new Error(`${what}: ${why.message}`)));
}

/** Whether the page loads something: that ends with "…". A view that has nothing to show says so in the same place. It runs in the page. */
const loads = () => [...document.querySelectorAll("main .empty")].some((one) => one.textContent.endsWith("…"));

/** Milliseconds until a condition of the page holds. Fails where the page says why there is no answer. */
export async function until(page, what, act, holds) {
    const from = performance.now();
    await act();
    const look = () => new Promise((resolve, reject) => {
        const frame = () => {
            const alert = document.querySelector("main [role=alert]");
            if (alert) return reject(new Error(alert.textContent));
            return holds() ? resolve() : requestAnimationFrame(frame);
        };
        frame();
    });
    await inTime(what, page.evaluate(`{ const holds = ${holds}; (${look})(); }`));
    return performance.now() - from;
}

/** Milliseconds from an event of the page until the numbers of another selection are on the screen. */
export async function reselected(page, what, event, act) {
    const listen = (event, loads) => void (window.told = new Promise((resolve, reject) => {
        addEventListener(event, () => {
            const from = performance.now();
            const main = document.querySelector("main");
            const done = () => {
                const alert = main.querySelector("[role=alert]");
                if (alert) return reject(new Error(alert.textContent));
                if (main.ariaBusy === "true" || loads()) return requestAnimationFrame(done);
                resolve(performance.now() - from);
            };
            // An answer may be there before the next frame is drawn.
            const begun = new MutationObserver(() => (begun.disconnect(), requestAnimationFrame(done)));
            begun.observe(main, { attributeFilter: ["aria-busy"] });
        }, { once: true, capture: true });
    }));
    await page.evaluate(`(${listen})(${JSON.stringify(event)}, ${loads})`);
    await act();
    return inTime(what, page.evaluate(() => window.told));
}

/** Drags over the time line, between shares of its width. */
export async function drag(page, what, from, to) {
    const area = await page.locator(".u-over").boundingBox();
    await page.mouse.move(area.x + area.width * from, area.y + 30);
    await page.mouse.down();
    await page.mouse.move(area.x + area.width * to, area.y + 30, { steps: 4 });
    return reselected(page, what, "mouseup", () => page.mouse.up());
}

/** The whole run, in a view. */
export async function reset(page, hash = "") {
    await page.evaluate((hash) => void (location.hash = hash), hash);
    await until(page, "the whole run", async () => {}, `() => document.querySelector("main")?.ariaBusy === "false" && !(${loads})()`);
}
