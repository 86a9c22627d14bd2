// Packs what vite built into the one file that memtoll embeds: `node tools/pack.mjs`. With --check, compares instead.
// Two compressors may write different bytes of the same contents, so contents are compared.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";

const viewer = join(dirname(fileURLToPath(import.meta.url)), "..");
const built = join(viewer, "../target/viewer");
const file = join(viewer, "../crates/view/bundle.json.gz");
const read = (...parts) => readFileSync(join(...parts), "utf8");

/** Licenses of the packages that are in the script. */
function licenses() {
    const names = Object.keys(JSON.parse(read(viewer, "package.json")).dependencies).sort();
    return names
        .map((name) => {
            const folder = join(viewer, "node_modules", name);
            const { version, license } = JSON.parse(read(folder, "package.json"));
            return `${name} ${version} (${license})\n\n${read(folder, "LICENSE").trim()}\n`;
        })
        .join(`\n${"-".repeat(80)}\n\n`);
}

// The end of an element must not stand in a page that holds script and style inline.
const script = read(built, "app.js").replaceAll("</script", "<\\/script");
const contents = JSON.stringify({ script, style: read(built, "app.css"), licenses: licenses() });
if (process.argv.includes("--check")) {
    let committed = "";
    try {
        committed = gunzipSync(readFileSync(file)).toString("utf8");
    } catch (error) {
        console.error(`cannot read ${file}: ${error.message}`);
    }
    if (committed !== contents) {
        console.error("crates/view/bundle.json.gz is not what the sources give: run make viewer and commit it");
        process.exit(1);
    }
    console.log("crates/view/bundle.json.gz is what the sources give");
} else {
    const packed = gzipSync(contents, { level: 9 });
    writeFileSync(file, packed);
    console.log(`crates/view/bundle.json.gz: ${packed.length} bytes, ${contents.length} unpacked`);
}
