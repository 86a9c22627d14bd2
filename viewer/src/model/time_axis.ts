// An axis of time that stays clear from hours down to nanoseconds.

import { count, withDigits } from "./format";

/** Powers of ten of the units, smallest first. */
const UNITS: [ns: number, name: string][] = [
    [1, "ns"],
    [1e3, "µs"],
    [1e6, "ms"],
    [1e9, "s"],
];

/** Digits that a label has at the most. Beyond, labels count from a time that is shown once. */
const DIGITS = 5;

export interface Axis {
    /** Times, ns. */
    ticks: number[];
    labels: string[];
    /** The time from which labels count; empty: from the beginning of the recording. */
    base: string;
}

function unitOf(ns: number): [ns: number, name: string] {
    return UNITS.findLast(([size]) => ns >= size) ?? UNITS[0]!;
}

/** Digits behind the point that tell times apart which are `step` from each other. */
function digitsOf(step: number, unit: number): number {
    return Math.max(0, Math.ceil(Math.log10(unit / step) - 1e-9));
}

/** A time with as many digits as it takes to tell it from one that is `step` away; a span that ends before it begins has no such step. */
export function timeAt(ns: number, distance: number): string {
    const step = distance > 0 ? distance : Math.max(1, ns / 1000);
    if (ns < 0.5 * Math.min(1, step)) return "0 s";
    const [unit, name] = unitOf(Math.max(ns, step));
    return `${withDigits(ns / unit, digitsOf(step, unit))} ${name}`;
}

/** The narrowest of 1, 2, 5, 10, … ns of which at most `most` fit between two times. */
function stepOf(length: number, most: number): number {
    const least = Math.max(1, length / most);
    const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
    return ([1, 2, 5].find((factor) => factor * power >= least * 0.999999) ?? 10) * power;
}

/** The axis between two times, with at most `most` ticks. */
export function axisOf(from: number, to: number, most: number): Axis {
    const step = stepOf(to - from, Math.max(1, most));
    const first = Math.ceil(from / step - 1e-6);
    const last = Math.floor(to / step + 1e-6);
    const ticks = Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => (first + index) * step);
    const [whole] = unitOf(to);
    const isPlain = to / whole < 1000 ? Math.floor(Math.log10(Math.max(1, to / whole))) + 1 + digitsOf(step, whole) <= DIGITS : to / step < 10 ** DIGITS;
    if (isPlain) return { ticks, labels: ticks.map((tick) => (tick < 0.5 ? "0 s" : timeAt(tick, Math.min(step, tick)))), base: "" };
    const [unit, name] = unitOf(step);
    const base = Math.floor(from / (unit * 1000)) * unit * 1000;
    return { ticks, labels: ticks.map((tick) => `+${count((tick - base) / unit)} ${name}`), base: timeAt(base, unit * 1000) };
}
