// Questions that read many events to answer: how long they take, and the server's CPU time for each.

import { drag, reselected, reset, until } from "./page.mjs";

/** Each begins with the whole run. `prepare` is not measured; `ask` gives the time until the answer is on the screen, ms. */
const QUESTIONS = [
    {
        name: "map of memory",
        goal: 1000,
        prepare: (page) => until(page, "Snapshots", () => page.keyboard.press("5"), () => document.querySelector("[aria-label='live blocks at two instants']")),
        ask: (page, name) => until(page, name, () => page.getByRole("button", { name: "map of memory" }).click(), () => document.querySelector("canvas[aria-label^='map of memory']")),
    },
    {
        name: "map of memory at another instant",
        goal: 1000,
        prepare: (page) => drag(page, "drag", 0.2, 0.6).then(() => until(page, "Snapshots", () => page.keyboard.press("5"), () => document.querySelector("[aria-label='live blocks at two instants']"))),
        ask: (page, name) => until(page, name, () => page.getByRole("button", { name: "map of memory" }).click(), () => document.querySelector("canvas[aria-label^='map of memory']")),
    },
    {
        name: "born, died and stayed of a span",
        goal: 1000,
        prepare: (page) => drag(page, "drag", 0.3, 0.7),
        ask: (page, name) => until(page, name, () => page.keyboard.press("5"), () => document.querySelector("[aria-label='live blocks at two instants'] [role=columnheader][title^='acquired since']") && !document.querySelector("main .unknown[title='reading all events']")),
    },
    {
        name: "generations",
        goal: 1000,
        prepare: (page) => until(page, "Snapshots", () => page.keyboard.press("5"), () => document.querySelector("[aria-label='live blocks at two instants']")),
        ask: (page, name) => until(page, name, () => page.getByRole("button", { name: "generations", exact: true }).click(), () => document.querySelector("[aria-label='live blocks by generation']")),
    },
    {
        name: "thread filter",
        goal: 500,
        has: (page) => page.locator("select[aria-label=thread]").count(),
        prepare: async () => {},
        ask: (page, name) => reselected(page, name, "change", () => page.locator("select[aria-label=thread]").selectOption({ index: 1 })),
    },
    {
        name: "thread filter, a span",
        goal: 500,
        has: (page) => page.locator("select[aria-label=thread]").count(),
        prepare: (page) => drag(page, "drag", 0.35, 0.65),
        ask: (page, name) => reselected(page, name, "change", () => page.locator("select[aria-label=thread]").selectOption({ index: 1 })),
    },
    {
        name: "Lifetimes",
        goal: 300,
        prepare: async () => {},
        ask: (page, name) => until(page, name, () => page.keyboard.press("6"), () => document.querySelector("[aria-label='how lines use memory']")),
    },
    {
        name: "Lifetimes of a span",
        goal: 300,
        prepare: (page) => drag(page, "drag", 0.25, 0.75),
        ask: (page, name) => until(page, name, () => page.keyboard.press("6"), () => document.querySelector("[aria-label='how lines use memory']")),
    },
    {
        name: "Threads",
        goal: 1000,
        prepare: async () => {},
        ask: (page, name) => until(page, name, () => page.keyboard.press("7"), () => document.querySelector("main .lane, main canvas")),
    },
    {
        name: "stack chart in time order",
        goal: 1000,
        prepare: (page) => until(page, "Flame graph", () => page.keyboard.press("4"), () => document.querySelector("canvas[aria-label^='flame graph']")),
        ask: (page, name) => until(page, name, () => page.getByRole("button", { name: "in time order" }).click(), () => document.querySelector("canvas[aria-label^='stack chart']")),
    },
];

export async function questions(page, server) {
    const found = [];
    for (const { name, goal, has, prepare, ask } of QUESTIONS) {
        await reset(page);
        if (has && !(await has(page))) continue;
        await prepare(page);
        await server.settled();
        const used = server.used();
        const wall = await ask(page, name);
        found.push({ name, wall, cpu: server.used() - used, goal });
    }
    return found;
}
