// A JSON object and columns of numbers in one piece; crates/view/src/pack.rs writes it, packs.ts says what is in which.

export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

type Head = Record<string, unknown> & { columns: [name: string, type: string, length: number][] };

const TYPES: Record<string, { bytes: number; of: (buffer: ArrayBuffer) => Column }> = {
    u8: { bytes: 1, of: (buffer) => new Uint8Array(buffer) },
    u16: { bytes: 2, of: (buffer) => new Uint16Array(buffer) },
    u32: { bytes: 4, of: (buffer) => new Uint32Array(buffer) },
    f64: { bytes: 8, of: (buffer) => new Float64Array(buffer) },
};

/** What crates/view/src/packs declares of a pack; packs.ts has it for each. */
export interface Declared {
    head: object;
    column: string;
    family: string;
}

/** A pack that has these columns, and maybe others. */
export interface With<Name extends string, Head = object> {
    readonly head: Head;
    readonly column: (name: Name) => Column;
}

export class Pack<D extends Declared> {
    private constructor(
        readonly head: D["head"],
        private readonly columns: Map<string, Column>,
    ) {}

    static read<D extends Declared>(buffer: ArrayBuffer): Pack<D> {
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
        return new Pack<D>(head as D["head"], columns);
    }

    private find(name: string): Column {
        const column = this.columns.get(name);
        if (!column) throw new Error(`expected a column ${name}`);
        return column;
    }

    column(name: D["column"]): Column {
        return this.find(name);
    }

    all<const Names extends readonly D["column"][]>(...names: Names): { [At in keyof Names]: Column } {
        return names.map((name) => this.find(name)) as { [At in keyof Names]: Column };
    }

    /** A column of a family, of which there is one for each metric or the like. */
    member(family: D["family"], name: string | number): Column {
        return this.find(`${family}.${name}`);
    }

    has(name: D["column"]): boolean {
        return this.columns.has(name);
    }

    hasMember(family: D["family"], name: string | number): boolean {
        return this.columns.has(`${family}.${name}`);
    }
}
