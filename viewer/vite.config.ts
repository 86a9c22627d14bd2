import { defineConfig } from "vite";

/** A library's warnings have links; the page names no other place. */
const withoutLinks = { name: "without-links", renderChunk: (code: string) => code.replaceAll("https://github.com/highlightjs/highlight.js", "highlight.js") };

// One script and one style sheet: the HTML export holds both inline, and its policy names their hashes.
export default defineConfig({
    esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
    plugins: [withoutLinks],
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
