import { useMemo, useRef, useState } from "preact/hooks";
import { useSize } from "./hooks";
import { cellAt, layoutOf, type MemoryArea } from "./model/memory_map";

/** A map of cells on a canvas: the cells' places, right of labels of `label` pixels, and the cell under the mouse or chosen by keys. */
export function useCells(areas: MemoryArea[], label: number) {
    const holder = useRef<HTMLDivElement>(null);
    const canvas = useRef<HTMLCanvasElement>(null);
    const { width } = useSize(holder);
    const layout = useMemo(() => layoutOf(areas, width - 2, label), [areas, width]);
    const [at, setAt] = useState<number | null>(null);
    /** The cell below the mouse. */
    const hit = (event: MouseEvent) => {
        const area = canvas.current!.getBoundingClientRect();
        return cellAt(layout, event.clientX - area.left - label, event.clientY - area.top);
    };
    /** Arrows go from cell to cell; Enter chooses one. */
    const keys = (choose: (cell: number) => void) => (event: KeyboardEvent) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const all = areas.reduce((sum, area) => sum + area.cells, 0);
        const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -layout.columns, ArrowDown: layout.columns };
        const step = steps[event.key];
        if (step !== undefined) setAt(Math.min(all - 1, Math.max(0, (at ?? 0) + step)));
        else if (event.key === "Enter") choose(at ?? 0);
        else return;
        event.preventDefault();
        event.stopPropagation();
    };
    return { holder, canvas, width, layout, at, setAt, hit, keys };
}
