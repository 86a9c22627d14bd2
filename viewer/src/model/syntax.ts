// Source text in colors: what the words of a line are.

import core from "highlight.js/lib/core";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import rust from "highlight.js/lib/languages/rust";

core.registerLanguage("c", c);
core.registerLanguage("cpp", cpp);
core.registerLanguage("rust", rust);

const LANGUAGES: Record<string, string> = { c: "c", h: "cpp", cc: "cpp", cpp: "cpp", cxx: "cpp", C: "cpp", hh: "cpp", hpp: "cpp", hxx: "cpp", inl: "cpp", ipp: "cpp", tcc: "cpp", rs: "rust" };

/** A part of a line; `kind`: its class of colors, empty for plain text. */
export interface Word {
    text: string;
    kind: string;
}

/** The class of each of the library's that has a color. */
const KINDS: Record<string, string> = { keyword: "keyword", literal: "keyword", built_in: "type", type: "type", class: "type", string: "string", char: "string", number: "number", comment: "comment", doctag: "comment", meta: "meta" };

/** Lines before the first one that are read, too: a comment may have begun there. */
const BEFORE = 100;

function wordsIn(node: Node, kind: string, lines: Word[][]): void {
    for (const child of node.childNodes) {
        if (child instanceof Element) {
            const of = [...child.classList].map((name) => KINDS[name.replace(/^hljs-/, "")]).find(Boolean);
            wordsIn(child, of ?? kind, lines);
            continue;
        }
        for (const [at, text] of (child.textContent ?? "").split("\n").entries()) {
            if (at > 0) lines.push([]);
            if (text !== "") lines.at(-1)!.push({ text, kind });
        }
    }
}

/** The words of some lines of a file, from the line with index `from` on. */
export function wordsOf(file: string, text: string[], from: number, to: number): Word[][] {
    const language = LANGUAGES[file.slice(file.lastIndexOf(".") + 1)];
    if (!language) return text.slice(from, to).map((line) => [{ text: line, kind: "" }]);
    const begin = Math.max(0, from - BEFORE);
    const { value } = core.highlight(text.slice(begin, to).join("\n"), { language, ignoreIllegals: true });
    // Nothing of it becomes a part of the page but its texts.
    const parsed = new DOMParser().parseFromString(`<pre>\n${value}</pre>`, "text/html");
    const lines: Word[][] = [[]];
    wordsIn(parsed.querySelector("pre")!, "", lines);
    return lines.slice(from - begin);
}
