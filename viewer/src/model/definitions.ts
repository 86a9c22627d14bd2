// What numbers mean, and which page of the docs defines them.

import type { Metric } from "./answer";

export interface Definition {
    title: string;
    /** Sentences. */
    text: string[];
    /** The page, and the heading in it. */
    page: string;
    heading: string;
}

/** Numbers that are no metrics. */
const OTHERS: Record<string, Definition> = {
    "cpu-time": {
        title: "CPU time",
        text: ["The time that the program's threads have a processor, as the kernel counts it, less the recorder's own work. What memory costs and the program's own work add up to it."],
        page: "report.md",
        heading: "What memory costs",
    },
    "other-faults": {
        title: "other faults",
        text: ["Page faults of code, files and stacks, and those that the kernel only counted.", "They belong to no line that allocates."],
        page: "report.md",
        heading: "What memory costs",
    },
    program: {
        title: "program",
        text: ["The program's own work: the CPU time that nothing else here explains."],
        page: "report.md",
        heading: "What memory costs",
    },
    recorder: {
        title: "recorder",
        text: ["What memtoll itself takes while it records. A plain run of the program does not have it."],
        page: "report.md",
        heading: "The recorder's own work",
    },
    threads: {
        title: "threads over time",
        text: [
            "A lane shows of each interval how much of it the thread spends in calls of the allocator (by the clock, with the mappings that they make), in page faults, waiting in the allocator, and off the CPU; the rest is the program's own work, and the recorder's.",
            "Calls are those that the thread makes, by the clock. The metric “allocator” is measured otherwise, and charges what frees take to the lines and threads that allocated.",
            "Page faults are as long as faults of their kind are on average in this recording, wherever the thread is.",
            "Beside it stand the sums: how long the thread is there, and how long it does each of these.",
        ],
        page: "report.md",
        heading: "Threads over time",
    },
    waits: {
        title: "waited for",
        text: ["While a thread waits inside the allocator, another one is usually in it. This is the thread that was in it for the longest time meanwhile, and for how long it was waited for."],
        page: "report.md",
        heading: "Threads over time",
    },
    fates: {
        title: "born, died, stayed",
        text: [
            "Bytes of blocks that were acquired since the first instant and are live at the second one; that were live at the first one and are no more; and that are live at both. What is born less what died is the difference.",
            "A dash: it is not known, because blocks of the program's own pools are among them.",
        ],
        page: "viewer.md",
        heading: "Generations",
    },
    generations: {
        title: "generations",
        text: [
            "What is live at the end of the selection, by when it was acquired. What is older than the selection is the oldest generation; each mark in it begins another one. Without marks, each tenth of the time is one.",
            "A leak leaves something behind in every generation; a cache or a table fills in the first ones and stays.",
        ],
        page: "viewer.md",
        heading: "Generations",
    },
    "resident-set": {
        title: "who holds the resident set",
        text: [
            "memtoll looks at the pages of a process when it ends, and whenever it has more than before. It knows where every live block lies, so it can say of each page what holds it. All parts together are the pages that the kernel says are there.",
            "Of a selected span of time, it is still the whole process at that look.",
        ],
        page: "resident.md",
        heading: "Who holds the memory",
    },
    pins: {
        title: "share and alone",
        text: [
            "The free memory of a page is divided among the lines that have blocks on it: that is their share. Shares add up to what is pinned.",
            "Alone is what comes back if only this line's blocks go. Two lines that always have blocks side by side have large shares and nothing alone.",
        ],
        page: "resident.md",
        heading: "Who holds the memory",
    },
    "resident-curve": {
        title: "resident set over time",
        text: [
            "What the kernel keeps in memory for the program, without the recorder. memtoll looks every few milliseconds; between two looks, the line is straight. The kernel keeps the largest value, but not its time. Where the line misses it, the value stands beside the line's name.",
            "What it has more than live bytes are headers, free memory, code, stacks and the like: the view Resident says which.",
        ],
        page: "resident.md",
        heading: "Who holds the memory",
    },
    "memory-map": {
        title: "map of memory",
        text: [
            "Where the blocks of one process lie that are live at the end of the selection. A cell has the color of the line whose block has most of it, and is the paler the less of it is live.",
            "Areas are addresses without a gap of more than 1 MiB between blocks. What lies between blocks is free in the allocator, its own, or no memory at all: the recorder sees blocks, not the allocator's books.",
        ],
        page: "viewer.md",
        heading: "The map of memory",
    },
};

/** What a number means; `null`: there is no such number. */
export function definitionOf(name: string, metrics: Metric[]): Definition | null {
    const metric = metrics.find((one) => one.name === name);
    if (metric) {
        const missing = metric.known ? [] : ["It is not known in this recording: the notes say why."];
        return { title: metric.title, text: [metric.help, metric.origin, ...missing], page: "metrics.md", heading: metric.name };
    }
    return Object.hasOwn(OTHERS, name) ? OTHERS[name]! : null;
}

export const OTHER_NAMES = Object.keys(OTHERS);
