import { readFileSync, writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import type { Metric } from "../../src/model/answer";
import { Server } from "../../src/model/server";
import { START, type Selection, type Wanted } from "../../src/model/state";

// A test of crates/view/src/ask.rs reads the same file: what is sent is what the server understands.
const FILE = new URL("../questions.json", import.meta.url);

const metric = (name: string): Metric => ({ name, title: name, unit: "ns", help: "", origin: "", known: true, join: "sum", color: "", over: null, compared: false, resolves: null, lists: ["lines"] });

test("each question is one that the server understands", async () => {
    const asked: unknown[] = [];
    vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
        asked.push(JSON.parse(init.body as string));
        throw new Error("nobody answers");
    });
    const server = new Server();
    const { signal } = new AbortController();
    const part = { metric: metric("cost"), columns: [metric("peak")], reversed: true, through: "app::run(int)", by: "", least: 0.25 };
    const all: Selection = START;
    const some: Selection = { from: 1.5, to: 2e9, filter: "app::", sizes: "768-1023", cuts: "fold function:app::get<int*>\nfocus function:main\ndrop module:libz.so.1\ncollapse function:app::walk\nfold module:libz.so.1", unfold: true, wrappers: true, paid: true, process: "4711", thread: "io" };
    const atLook: Wanted = { ...START, pages: true, look: "5000000" };
    const base = { from: null, to: 100 };
    const questions: Promise<unknown>[] = [
        server.open(),
        server.profile(all, signal),
        server.profile(some, signal),
        server.groups(some, "thread", signal),
        server.functions(some, signal),
        server.patterns(some, signal),
        server.lanes(some, signal),
        server.activity({ from: 5, to: 7.75 }, { process: "", thread: "io" }),
        server.advice(signal),
        server.findings(some, signal),
        server.tree(some, part, signal),
        server.tree(all, { ...part, reversed: false, through: "", by: "module" }, signal),
        server.compare(all, null, signal),
        server.compare(some, base, signal),
        server.difference(some, base, part, signal),
        server.tree(all, { ...part, search: "sort" }, signal),
        server.difference(some, base, { ...part, search: "sort" }, signal),
        server.memory(some, signal),
        server.blocks(some, { from: 0x1000, to: 0x2000 }, signal),
        server.generations(some, "marks", signal),
        server.generations(some, "selection", signal),
        server.layout(some, "", signal),
        server.layout(some, "app::Row", signal),
        server.file(some, "/src/app.cpp", signal),
        server.residentSet(some, "peak", signal),
        server.residentSet(some, { near: 5_000_000 }, signal),
        server.profile({ ...some, at: 5.5 }, signal),
        server.profile({ ...atLook, look: "peak" }, signal),
        server.functions(atLook, signal),
        server.stacked(atLook, "function", metric("cost"), null, signal),
        server.activityBefore(base, { process: "4711", thread: "io" }, signal),
        server.stacked(some, "type", metric("live"), { from: 5, to: 7.75 }),
        server.stacked(all, "function", metric("cost"), null, signal, "app::run"),
        server.stackChart(some, metric("bytes"), true, signal),
    ];
    await Promise.allSettled(questions);
    const text = `${JSON.stringify(asked, null, 2)}\n`;
    if (process.env["UPDATE_QUESTIONS"]) writeFileSync(FILE, text);
    expect(readFileSync(FILE, "utf8")).toBe(text);
});
