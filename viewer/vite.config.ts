import { defineConfig } from "vite";

// One script and one style sheet: the HTML export holds both inline, and its policy names their hashes.
export default defineConfig({
    esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
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
