// How a type lies in memory, as rows of a table.

/** What `memtoll layout --format json` says of a type. */
export interface Layout {
    name: string;
    kind: string;
    size: number;
    alignment: number;
    is_packed: boolean;
    file: string | null;
    line: number | null;
    members: Member[];
    holes: { bit_offset: number; bits: number }[] | null;
    padding_bits: number | null;
    cache_lines: number;
    better: { order: number[]; size: number; saves: number; saves_at_peak: number | null } | null;
    instances: { at_peak: number; bytes_at_peak: number; at_end: number; bytes_at_end: number; is_least: boolean } | null;
}

export interface Member {
    name: string | null;
    type: string;
    role: "field" | "bit_field" | "base" | "virtual_base" | "virtual_table" | "variant";
    bit_offset: number;
    bit_size: number | null;
}

const CACHE_LINE = 64;

export interface Part {
    /** Bits from the begin of the type. */
    at: number;
    bits: number | null;
    what: string;
    kind: "member" | "padding";
    /** The first and the last cache line in which it lies, of an object that begins with one. */
    lines: [first: number, last: number];
}

export function memberText({ name, type, role }: Member): string {
    const own = name ?? "";
    if (role === "base") return `(base) ${type}`;
    if (role === "virtual_base") return `(virtual base, placed by the most derived class) ${type}`;
    if (role === "virtual_table") return "(pointer to virtual functions)";
    if (role === "variant") return `(variant) ${own} ${type}`.trim();
    return `${type} ${own}`.trim();
}

/** Members and padding by their offsets. */
export function partsOf({ members, holes }: Layout): Part[] {
    const all: Omit<Part, "lines">[] = [
        ...members.map((member) => ({ at: member.bit_offset, bits: member.bit_size, what: memberText(member), kind: "member" as const })),
        ...(holes ?? []).map((hole) => ({ at: hole.bit_offset, bits: hole.bits, what: "(padding)", kind: "padding" as const })),
    ];
    // Members of one offset keep their order: the sort is stable.
    all.sort((a, b) => a.at - b.at);
    const line = (bit: number) => Math.floor(bit / 8 / CACHE_LINE);
    return all.map((part) => ({ ...part, lines: [line(part.at), line(part.at + Math.max(1, part.bits ?? 1) - 1)] }));
}

/** `8`, `3 b` of a bit-field. */
export function sizeText(bits: number | null): string {
    if (bits === null) return "?";
    return bits % 8 === 0 ? (bits / 8).toLocaleString("en-US") : `${bits} b`;
}
