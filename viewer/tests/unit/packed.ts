// Packs as a server sends them.

import { Pack, type Declared } from "../../src/model/pack";

export interface Anything extends Declared {
    head: Record<string, unknown>;
}

export function packed<D extends Declared = Anything>(head: object, columns: [string, "u8" | "f64", number[]][]): Pack<D> {
    const text = new TextEncoder().encode(JSON.stringify({ ...head, columns: columns.map(([name, type, values]) => [name, type, values.length]) }));
    const data = columns.flatMap(([, type, values]) => (type === "u8" ? values : [...new Uint8Array(Float64Array.from(values).buffer)]));
    const bytes = new Uint8Array(4 + text.length + data.length);
    new DataView(bytes.buffer).setUint32(0, text.length, true);
    bytes.set(text, 4);
    bytes.set(data, 4 + text.length);
    return Pack.read<D>(bytes.buffer);
}
