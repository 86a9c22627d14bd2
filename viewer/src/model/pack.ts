// A JSON object and columns of numbers in one piece; crates/view/src/pack.rs writes it.

export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

type Head = Record<string, unknown> & { columns: [name: string, type: string, length: number][] };

const TYPES: Record<string, { bytes: number; of: (buffer: ArrayBuffer) => Column }> = {
    u8: { bytes: 1, of: (buffer) => new Uint8Array(buffer) },
    u16: { bytes: 2, of: (buffer) => new Uint16Array(buffer) },
    u32: { bytes: 4, of: (buffer) => new Uint32Array(buffer) },
    f64: { bytes: 8, of: (buffer) => new Float64Array(buffer) },
};

export class Pack {
    private constructor(
        readonly head: Record<string, unknown>,
        private readonly columns: Map<string, Column>,
    ) {}

    static read(buffer: ArrayBuffer): Pack {
        const length = new DataView(buffer).getUint32(0, true);
        const head = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Head;
        const columns = new Map<string, Column>();
        let at = 4 + length;
        for (const [name, type, count] of head.columns) {
            const known = TYPES[type];
            if (!known) throw new Error(`column ${name}: expected u8, u16, u32 or f64, found ${type}`);
            // A copy begins at a multiple of its numbers' size, as arrays of them must.
            columns.set(name, known.of(buffer.slice(at, at + known.bytes * count)));
            at += known.bytes * count;
        }
        return new Pack(head, columns);
    }

    get<T>(name: string): T {
        return this.head[name] as T;
    }

    column(name: string): Column {
        const column = this.columns.get(name);
        if (!column) throw new Error(`expected a column ${name}`);
        return column;
    }

    has(name: string): boolean {
        return this.columns.has(name);
    }
}
