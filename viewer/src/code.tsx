// Lines of source text, in colors.

import { useMemo } from "preact/hooks";
import { wordsOf, type Word } from "./model/syntax";

/** Lines that are read at once. */
const LINES = 400;

/** The words of lines, as far as they are asked for; of a text, by the number of the line, from 1 on. */
export function useWords(file: string, text: string[] | null): (line: number) => Word[] {
    return useMemo(() => {
        const known = new Map<number, Word[][]>();
        return (line) => {
            if (!text) return [];
            const part = Math.floor((line - 1) / LINES);
            if (!known.has(part)) known.set(part, wordsOf(file, text, part * LINES, Math.min(text.length, (part + 1) * LINES)));
            return known.get(part)![line - 1 - part * LINES] ?? [];
        };
    }, [file, text]);
}

export function Code({ words }: { words: Word[] }) {
    return <bdi>{words.map(({ text, kind }, at) => (kind ? <span key={at} class={`code-${kind}`}>{text}</span> : text))}</bdi>;
}
