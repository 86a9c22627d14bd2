import { useShown } from "./context";
import { CUTS, type CutChoice } from "./model/cuts";
import { Dialog } from "./widgets";

const KEYS = (cuts: CutChoice[]): [string, string][] => [
    ["1 – 9  w  l  0", "views"],
    ["f  g  p", "functions, regions, processes"],
    ["/", "search, with quotes for the whole name of a function; Enter and Shift+Enter in the field: the next place and the previous one"],
    ["m  M", "next metric, previous metric"],
    ["r", "call tree and flame graph from the other end"],
    ["↑ ↓ ← →", "move in a tree; open and close a branch"],
    ["Enter", "go where a number, a bar or a row leads; zoom into a frame; lines of a cell of the heat map"],
    ["h", "heaviest path"],
    ["i", "details of the chosen function, beside the view"],
    ["s", "callers and callees of the chosen function"],
    ...cuts.map(({ key, text }): [string, string] => [key, `in all views, of the chosen function: ${text}`]),
    ["[  ]", "previous and next selection of time"],
    ["Esc", "leave the innermost: details, zoom, search, selection, thread or process, the last cut, filter"],
    ["+  −", "zoom the time line in and out"],
    ["<  >", "move what the time line shows"],
    ["z", "zoom into the selection, and back to the whole run"],
    ["b", "the selection becomes the one before, for Compare"],
    ["c  t  C", "copy the table as Markdown, as text; save it as CSV"],
    ["d", "dark or light"],
    ["?", "this help"],
];

export function Help({ close }: { close: () => void }) {
    const { recording, source } = useShown();
    return (
        <Dialog title="Help" close={close}>
            <h3>Keys</h3>
            <dl class="keys">
                {KEYS(source.asks ? CUTS : []).map(([key, what]) => (
                    <div key={key}>
                        <dt>
                            <kbd>{key}</kbd>
                        </dt>
                        <dd>{what}</dd>
                    </div>
                ))}
            </dl>
            <p>Drag over the time line to select a span of time; with Ctrl or Alt, the drag zooms, with Shift, it moves what is shown. The wheel zooms. The address of the page holds all that you see; Back is undo.</p>
            <h3>Metrics</h3>
            <dl class="metrics">
                {recording.metrics.map((metric) => (
                    <div key={metric.name}>
                        <dt>{metric.title}</dt>
                        <dd>{metric.help} {metric.origin}</dd>
                    </div>
                ))}
            </dl>
        </Dialog>
    );
}
