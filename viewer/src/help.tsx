import { useShown } from "./context";
import { Dialog } from "./parts";

const KEYS: [string, string][] = [
    ["1 – 9", "views"],
    ["/", "search"],
    ["m  M", "next metric, previous metric"],
    ["r", "call tree and flame graph from the other end"],
    ["↑ ↓ ← →", "move in a tree; open and close a branch"],
    ["Enter", "open the details of a line; zoom into a frame"],
    ["h", "heaviest path"],
    ["s", "callers and callees of the chosen function"],
    ["[  ]", "previous and next selection of time"],
    ["Esc", "select the whole run"],
    ["c  t  C", "copy the table as Markdown, as text; save it as CSV"],
    ["d", "dark or light"],
    ["?", "this help"],
];

export function Help({ close }: { close: () => void }) {
    const { recording } = useShown();
    return (
        <Dialog title="Help" close={close}>
            <h3>Keys</h3>
            <dl class="keys">
                {KEYS.map(([key, what]) => (
                    <div key={key}>
                        <dt>
                            <kbd>{key}</kbd>
                        </dt>
                        <dd>{what}</dd>
                    </div>
                ))}
            </dl>
            <p>Drag over the time line to select a span of time. The address of the page holds all that you see; Back is undo.</p>
            <h3>Metrics</h3>
            <dl class="metrics">
                {recording.metrics.map((metric) => (
                    <div key={metric.name}>
                        <dt>{metric.title}</dt>
                        <dd>{metric.help}</dd>
                    </div>
                ))}
            </dl>
        </Dialog>
    );
}
