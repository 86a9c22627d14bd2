// Exports in a page that others made for them: Valgrind's dh_view.

import assert from "node:assert/strict";
import { test } from "node:test";
import { exportTo, recordings, report } from "./recordings.mjs";
import { openPage } from "./viewer.mjs";

const DH_VIEW = "file:///usr/libexec/valgrind/dh_view.html";

for (const name of ["git", "python", "phases"]) {
    test(`${name}: dh_view shows the sums of the report`, async () => {
        const recording = recordings[name];
        const { page, problems, close } = await openPage(DH_VIEW);
        await page.locator("input[type=file]").setInputFiles(exportTo("dhat", recording));
        const sums = page.getByText(/Total: +[\d,]+ bytes .* in [\d,]+ blocks/).first();
        await sums.waitFor();
        const [, bytes, blocks] = /Total: +([\d,]+) bytes .* in ([\d,]+) blocks/.exec(await sums.innerText()).map((number) => Number(number.replaceAll(",", "")));
        const { totals } = report(recording);
        assert.deepEqual({ bytes, blocks }, { bytes: totals.bytes, blocks: totals.allocations });
        assert.deepEqual(problems, []);
        await close();
    });
}
