// What to change, as `memtoll advise --format json` has it.

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
