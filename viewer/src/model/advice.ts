// What to change, as `memtoll advise --format json` has it.

import { number, type Unit } from "./format";

export interface Range {
    low: number;
    likely: number;
    /** null where there is no known upper bound. */
    high: number | null;
}

export interface Change {
    rule: string;
    id: string;
    function: string;
    file: string | null;
    line: number | null;
    type: string | null;
    evidence: { text: string[] };
    change: string;
    snippet: string;
    saves: Record<string, Range>;
    verified: Verified | null;
    assumptions: string[];
    conflicts: string[];
    confidence: string;
}

export interface Saved {
    median: number;
    low: number;
    high: number;
}

/** What the change saved when `memtoll verify` measured it. */
export interface Verified {
    rounds: number;
    confidence: number;
    measured: number;
    commands: [before: string, after: string];
    as_predicted: boolean | null;
    cpu_ns: Saved | null;
    wall_ns: Saved | null;
    faults: Saved | null;
    resident_peak_bytes: Saved | null;
    resident_end_bytes: Saved | null;
}

export interface Advised {
    findings: Change[];
    processor_ns: number | null;
    below_threshold: number;
    threshold: number;
}

/** `saves 1.70 s to 2.00 s CPU time`; a loss is called a loss. Without an upper bound, it says what is likely, as `memtoll advise` does. */
export function saving({ low, likely, high }: Range, title: string, unit: Unit): string {
    const show = (value: number) => (value < 0 ? "−" : "") + number(Math.abs(value), unit);
    const range = (a: number, b: number) => [...new Set([show(a), show(b)])].join(" to ");
    if (high === null) return low > 0 ? `saves at least ${show(low)}, likely ${show(likely)} ${title}` : `saves likely ${show(likely)} ${title}, perhaps much more`;
    if (low < 0 && high <= 0) return `costs ${range(-high, -low)} ${title}`;
    return `saves ${range(low, high)} ${title}`;
}
