import { defineConfig } from "vite";

/** A library's warnings have links; the page names no other place. */
const withoutLinks = { name: "without-links", renderChunk: (code: string) => code.replaceAll("https://github.com/highlightjs/highlight.js", "highlight.js") };

/** uPlot loads the browser's languages to write numbers and dates; the page writes them itself, and that takes longer than all else when it is opened. */
const withoutLanguages = {
    name: "without-languages",
    transform(code: string, id: string) {
        if (!id.includes("/uplot/dist/") || id.endsWith(".css")) return;
        const own = code.replace(/= new Intl\.NumberFormat\(.*\);/, "= { format: String };").replace(/= new Intl\.DateTimeFormat\(\)\.resolvedOptions\(\)\.timeZone;/, '= "";');
        if (/= new Intl/.test(own)) throw new Error("expected a number format and a time zone in uPlot");
        return { code: own, map: null };
    },
};

// One script and one style sheet: the HTML export holds both inline, and its policy names their hashes.
export default defineConfig({
    esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
    plugins: [withoutLinks, withoutLanguages],
    build: {
        target: "es2023",
        outDir: "../target/viewer",
        emptyOutDir: true,
        cssCodeSplit: false,
        modulePreload: false,
        reportCompressedSize: false,
        rollupOptions: {
            input: "src/main.tsx",
            output: {
                format: "es",
                entryFileNames: "app.js",
                assetFileNames: "app.[ext]",
                inlineDynamicImports: true,
            },
        },
    },
    test: { include: ["tests/unit/**/*.test.ts"], environment: "node" },
} as Parameters<typeof defineConfig>[0]);
