// Numbers as people read them: three digits and a unit.

import type { Estimated } from "./packs";

export type Unit = "ns" | "bytes" | "count";

/** Digits behind the point of a number that is less than 1,000, so that it has three in all. */
const placesOf = (size: number): number => (size < 9.995 ? 2 : size < 99.95 ? 1 : 0);

const three = (value: number): string => withDigits(value, placesOf(Math.abs(value)));

/** By digits behind the point, each made once: a formatter of its own for each number takes most of the time of a table. */
const FORMATS: Intl.NumberFormat[] = [];

/** With this many digits behind the point, commas before it, and a minus sign as differences have it. */
export function withDigits(value: number, digits: number): string {
    const format = (FORMATS[digits] ??= new Intl.NumberFormat("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
    return format.format(value).replace("-", "−");
}

export function count(value: number): string {
    return withDigits(Math.round(value) + 0, 0); // + 0: not -0
}

/** `1 block`, `29,461 blocks`, `2 processes`. */
export function counted(value: number, thing: string): string {
    return `${count(value)} ${thing}${value === 1 ? "" : thing.endsWith("s") ? "es" : "s"}`;
}

export function blocks(value: number): string {
    return counted(value, "block");
}

/** `29,461`, and beyond a hundred thousand `1.23 M`. */
export function shortCount(value: number): string {
    const size = Math.abs(value);
    if (size < 99_999.5) return Number.isInteger(value) || size >= 1000 ? count(value) : three(value);
    for (const [limit, factor, unit] of [[999.5e3, 1e3, "k"], [999.5e6, 1e6, "M"], [999.5e9, 1e9, "G"]] as const)
        if (size < limit) return `${three(value / factor)} ${unit}`;
    return `${three(value / 1e12)} T`;
}

export function bytes(value: number): string {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (Math.abs(value) >= 999.5 && unit + 1 < units.length) {
        value /= 1024;
        unit++;
    }
    return `${unit === 0 ? count(value) : three(value)} ${units[unit]}`;
}

export function time(ns: number): string {
    const size = Math.abs(ns);
    if (size < 0.5) return "0 s";
    for (const [limit, factor, unit] of [[999.5, 1, "ns"], [999.5e3, 1e3, "µs"], [999.5e6, 1e6, "ms"]] as const)
        if (size < limit) return unit === "ns" ? `${Math.round(ns)} ns` : `${three(ns / factor)} ${unit}`;
    return size < 999.5e9 ? `${three(ns / 1e9)} s` : `${count(ns / 1e9)} s`;
}

export function number(value: number, unit: Unit): string {
    return unit === "ns" ? time(value) : unit === "bytes" ? bytes(value) : shortCount(value);
}

/** Whether all digits that are shown are zeros. */
const isZero = (text: string) => /^0(\.0*)?( |$)/.test(text);

/** A difference with its sign. */
export function signed(value: number, unit: Unit): string {
    const text = number(Math.abs(value), unit);
    if (value === 0 || isZero(text)) return value === 0 ? "0" : text;
    return `${value > 0 ? "+" : "−"}${text}`;
}

/** An instant in the middle of an interval: `12.4 ± 0.2 ms`. */
export function timeOf(middle: number, interval: number): string {
    return estimate(middle, middle - interval / 2, middle + interval / 2, "ns", false);
}

/** All digits, for hovering and copying. */
export function exact(value: number, unit: Unit): string {
    if (unit === "ns") return `${count(value)} ns`;
    return unit === "bytes" ? counted(value, "byte") : count(value);
}

/** What is less is less than 0.1 %. */
const SMALLEST_SHARE = 0.0005;

/** A part of a whole: never more digits than three. */
export function percent(part: number, whole: number): string {
    if (!(whole > 0)) return "";
    const value = (part / whole) * 100;
    if (value === 0) return "0 %";
    const size = Math.abs(value);
    return size < SMALLEST_SHARE * 100 ? `${value < 0 ? "−" : ""}< 0.1 %` : `${withDigits(value, size < 99.95 ? 1 : 0)} %`;
}

/** A number between `low` and `high`, cut to the digits that are known: `12 ± 3 ms`, or `8 to 19 ms` where the error is not the
 * same on both sides; if `boundsNoise`, `under 4 ms` where zero is possible or what is shown of the lower end. The command line
 * writes it the same way. */
export function estimate(value: number, low: number, high: number, unit: Unit = "ns", boundsNoise = true): string {
    const cut = cutOf(value, low, high, unit);
    if (!cut) return number(value, unit);
    const { name, shown, up } = cut;
    const [below, above] = [value - low, high - value];
    const isNoise = high > 0 && (low <= 0 || isZero(shown(low)));
    if (boundsNoise && isNoise && value >= 0) return `under ${up(high)} ${name}`.trim();
    if (below > 1.5 * above || above > 1.5 * below) return `${shown(low)} to ${shown(high)} ${name}`.trim();
    return `${shown(value)} ± ${shown(Math.max(below, above))} ${name}`.trim();
}

/** The same for tables, without the error: `12 ms`, `< 4 ms`. */
export function known(value: number, low: number, high: number, unit: Unit): string {
    const cut = cutOf(value, low, high, unit);
    if (!cut) return number(value, unit);
    return `${low <= 0 && high > 0 ? `< ${cut.up(high)}` : cut.shown(value)} ${cut.name}`.trim();
}

/** The 95 % interval of a sum of random events with this variance; crates/metrics/src/estimate.rs has the same. */
export function byChance(value: number, variance: number): [low: number, high: number] {
    const half = 1.96 / 2;
    if (!(variance > 0)) return [value, value];
    if (value <= 0) return [value - 2 * half * Math.sqrt(variance), value + 2 * half * Math.sqrt(variance)];
    const each = variance / value;
    const events = value / each;
    return [Math.max(0, Math.sqrt(events) - half) ** 2 * each, (Math.sqrt(events + 1) + half) ** 2 * each];
}

/** A number of a row, with the digits that are known. */
export function inRow({ value, low, high }: Estimated, unit: Unit): string {
    return known(value, low, high, unit);
}

/** The same for hovering, with all digits and its error. */
export function spelledOut({ value, low, high }: Estimated, unit: Unit): string {
    return low < high ? `${exact(value, unit)} (${estimate(value, low, high, unit)})` : exact(value, unit);
}

/** A part of a whole in percent, as far as the part is known: between `low` and `high`. */
export function share(value: number, low: number, high: number, whole: number): string {
    const isTiny = Math.abs(value) < SMALLEST_SHARE * whole && high < 2 * SMALLEST_SHARE * whole;
    const cut = whole > 0 && !isTiny ? cutOf(value / whole, low / whole, high / whole, "share") : null;
    if (!cut) return percent(value, whole);
    return `${low <= 0 && high > 0 ? `< ${cut.up(high / whole)}` : cut.shown(value / whole)} ${cut.name}`;
}

/** How many digits are known, and in which unit they are written; `null`: all. */
function cutOf(value: number, low: number, high: number, unit: Unit | "share"): { name: string; shown: (value: number) => string; up: (value: number) => string } | null {
    const margin = Math.max(value - low, high - value);
    const largest = Math.max(Math.abs(value), Math.abs(low), Math.abs(high));
    if (margin / stepOf(largest, unit).factor < 0.0005) return null;
    const cut = (largest: number) => {
        const { factor, name } = stepOf(largest, unit);
        // An error has one digit, two if the first is a 1.
        const first = Math.floor(Math.log10(margin / factor));
        const digits = margin / factor / 10 ** first < 2 ? 1 - first : -first;
        const most = unit === "share" ? placesOf(largest / factor) : factor === 1 && unit !== "ns" ? 1 : 3;
        return { factor, name, digits: Math.max(-12, Math.min(digits, most)) };
    };
    // What is rounded up to 1,000 of a step is 1 of the next.
    const { factor: before, digits: known } = cut(largest);
    const { factor, name, digits } = cut(Math.ceil((largest / before) * 10 ** known) / 10 ** known * before);
    const steps = (value: number) => (value / factor) * 10 ** digits;
    const text = (steps: number) => withDigits(steps / 10 ** digits + 0, Math.max(0, digits));
    // A bound is rounded up, so that it stays true.
    return { name, shown: (value) => text(Math.round(steps(value)) + 0), up: (value) => text(Math.max(1, Math.ceil(steps(value) - 1e-9))) };
}

/** The unit in which a number of this size is less than 1,000. */
function stepOf(size: number, unit: Unit | "share"): { factor: number; name: string } {
    const steps = STEPS[unit];
    return steps.find((step) => size < 999.5 * step.factor) ?? steps[steps.length - 1]!;
}

const COUNTS = [{ name: "", factor: 1 }];
const TIMES = ["ns", "µs", "ms", "s"].map((name, at) => ({ name, factor: 1000 ** at }));
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"].map((name, at) => ({ name, factor: 1024 ** at }));
const STEPS: Record<Unit | "share", { name: string; factor: number }[]> = { count: COUNTS, ns: TIMES, bytes: SIZES, share: [{ name: "%", factor: 0.01 }] };

/** A difference with its sign and half of its interval: `+1.2 ± 0.3 ms`. */
export function signedEstimate(value: number, margin: number, unit: Unit): string {
    if (!(margin > 0)) return signed(value, unit);
    const text = estimate(Math.abs(value), Math.abs(value) - margin, Math.abs(value) + margin, unit, false);
    return /^0(\.0*)? /.test(text) ? text : `${value < 0 ? "−" : "+"}${text}`;
}

/** A name inside a text: one that is written from right to left turns no number beside it around. */
export function isolated(name: string): string {
    return `\u2068${name}\u2069`;
}

/** A text as one cell of CSV (RFC 4180). What a table calculator would take for a formula is kept a text. */
export function csvCell(text: string): string {
    const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A text as one cell of a Markdown table. */
export function markdownCell(text: string): string {
    return text.replace(/[\\|`*_<>[\]]/g, "\\$&").replace(/[\r\n]+/g, " ");
}
