// A flame graph: a call tree in which each frame is as wide as its share.

import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { useShown } from "../context";
import { layout } from "../model/flame_layout";
import { heaviestPath, pathTo, type TreeItem } from "../model/tree";
import { FrameCanvas, type Content } from "./frame_canvas";

/** The share of the whole width that the narrowest frame of a wide screen has. */
export const LEAST = 1 / 4000;

interface Props<Item extends TreeItem> extends Content<Item> {
    /** Changes when the tree has more branches. */
    grown: number;
    /** Loads what was too narrow to be seen and may be wide now. */
    load?: (item: Item) => Promise<void>;
}

/** A click or Enter zooms in, Backspace goes back. */
export function FlameGraph<Item extends TreeItem>({ grown, load, ...content }: Props<Item>) {
    const { state, go, say } = useShown();
    const { root } = content;
    const [path, setPath] = useState<TreeItem[]>([]);
    // The frame that the address zooms into may have to be loaded first, and what it calls, too.
    useEffect(() => {
        let isOver = false;
        const zoom = async () => {
            const path = state.zoom === "" ? [root] : await pathTo(root, state.zoom, LEAST);
            if (isOver) return;
            setPath(path);
            if (path.length > 1 && load) await load(path.at(-1) as Item);
        };
        zoom().catch((error: unknown) => say(error instanceof Error ? error.message : String(error)));
        return () => void (isOver = true);
    }, [root, state.zoom]);
    const shown = useMemo(() => (path[0] === root ? path : [root]), [path, root]);
    const place = useCallback((width: number) => layout(shown, width), [shown, grown]);
    return (
        <FrameCanvas
            {...content}
            name="flame graph"
            place={place}
            into={({ key }) => go({ zoom: key, hit: 0 })}
            outOf={() => go({ zoom: shown.length > 2 ? shown.at(-2)!.key : "" })}
            all={{ to: { zoom: "" }, isShown: state.zoom === "" }}
            keys={{ h: () => void heaviestPath(root).then((path) => go({ zoom: path.at(-1)?.key ?? "" })) }}
            within={shown.at(-1)!}
            hint="Click a frame to zoom into it; Backspace zooms to its caller. A right click shows what else can be done with it."
        />
    );
}
