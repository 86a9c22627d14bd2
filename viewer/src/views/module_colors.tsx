import { useMemo } from "preact/hooks";
import { useShown } from "../context";
import type { Metric } from "../model/answer";
import type { Box } from "../model/flame_layout";
import { modulesOf, namesOf } from "../model/modules";
import type { TreeItem } from "../model/tree";
import type { Colors } from "./frame_canvas";

/** Modules with a color of their own. */
const COLORED = 6;

const MODULES = Object.fromEntries(Array.from({ length: COLORED }, (_, index) => [`module-${index}`, `--module-${index}`]));

/** A color for each of the modules that have most, or for the metric. */
export function useModuleColors(root: TreeItem, metric: Metric) {
    const { state } = useShown();
    const modules = useMemo(() => modulesOf(root).slice(0, COLORED), [root]);
    const isByMetric = state.color === "metric";
    const paint = useMemo(() => {
        const numbers = new Map(modules.map((module, index) => [module, index]));
        return ({ frame }: TreeItem, colors: Colors) => {
            const number = frame && numbers.get(frame.module);
            return colors[isByMetric || number == null ? "box" : `module-${number}`]!;
        };
    }, [modules, isByMetric]);
    const legend = (boxes: Box[]) => {
        const seen = namesOf(boxes.map(({ item }) => item));
        const isOther = boxes.some(({ item }) => item.frame && !modules.includes(item.frame.module));
        return (
            <p class="legends" aria-label="colors">
                {modules.map((module, index) => seen.has(module) && <span key={module} class="legend" title={module}><span class={`key module-${index}`} /><bdi>{seen.get(module)}</bdi></span>)}
                {isOther && <span class="legend"><span class="key module-rest" />other modules</span>}
            </p>
        );
    };
    return { isByMetric, paint, legend, colors: { box: isByMetric && metric.color ? `--flame-${metric.color}` : "--flame", ...MODULES } };
}

export function ColorChoice() {
    const { state, go } = useShown();
    return (
        <label class="choice">
            color
            <select value={state.color} onChange={(event) => go({ color: event.currentTarget.value })}>
                <option value="">module</option>
                <option value="metric">metric</option>
            </select>
        </label>
    );
}
