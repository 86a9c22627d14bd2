import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Metric, Profile } from "./model/answer";
import type { Errors } from "./model/errors";
import { isSearched, type Recording, type Source, type TreePart } from "./model/data_source";
import { selectionOf, type Selection, type State } from "./model/state";
import type { TextTable } from "./model/table_text";
import type { TreeItem } from "./model/tree";
import { useLoaded, type Loaded } from "./hooks";
import type { Theme } from "./model/theme";

/** What every view gets. */
export interface Context {
    source: Source;
    recording: Recording;
    profile: Profile;
    /** How far numbers of parts of it are off. */
    errors: Errors;
    /** What the profile is of: its labels follow this. The state is already another while its answer is on the way. */
    answered: Selection;
    /** What cannot be read. */
    damage: string[];
    state: State;
    /** Changes the state, and with it the URL. `joins`: steps of this kind that follow each other are one for Back. */
    go: (change: Partial<State>, joins?: boolean) => void;
    metric: Metric;
    theme: Theme;
    /** Sets what `c` copies, until the returned function is called. The next view may set its own before. */
    setCopy: (copy: () => TextTable) => () => void;
    say: (text: string) => void;
}

export const Shown = createContext<Context | null>(null);

export function useShown(): Context {
    const context = useContext(Shown);
    if (!context) throw new Error("no recording is shown");
    return context;
}

/** A call tree of the selection, or of a part of it; null while nothing is loaded. */
export function useTree(part: TreePart | null, within: Partial<State> = {}): Loaded<TreeItem> {
    const { source, state } = useShown();
    const selection = selectionOf({ ...state, ...within });
    const words = part && [part.metric.name, part.columns.map((one) => one.name), part.reversed, part.through, part.by, part.least, isSearched(part)];
    const key = part && JSON.stringify([selection, words]);
    return useLoaded(key, (signal) => source.tree(selection, part!, signal));
}
