import { expect, test } from "vitest";
import { partsOf, sizeText, type Layout, type Member } from "../../src/model/type_layout";

const member = (name: string, bit_offset: number, bit_size: number | null, role: Member["role"] = "field"): Member => ({ name, type: "int", role, bit_offset, bit_size });

const layout = (members: Member[], holes: Layout["holes"]) => ({ members, holes }) as Layout;

test("padding stands between the members, and each part says in which cache lines it lies", () => {
    const parts = partsOf(layout([member("a", 0, 8), member("b", 32, 800), member("c", 1024, null, "virtual_base")], [{ bit_offset: 8, bits: 24 }, { bit_offset: 832, bits: 192 }]));
    expect(parts.map(({ what, at, lines }) => [what, at, lines])).toEqual([
        ["int a", 0, [0, 0]],
        ["(padding)", 8, [0, 0]],
        ["int b", 32, [0, 1]],
        ["(padding)", 832, [1, 1]],
        ["(virtual base, placed by the most derived class) int", 1024, [2, 2]],
    ]);
});

test("members of a union keep their order, and where holes are not known there are none", () => {
    expect(partsOf(layout([member("first", 0, 64), member("second", 0, 8)], null)).map(({ what }) => what)).toEqual(["int first", "int second"]);
});

test("sizes are bytes, of bit-fields bits", () => {
    expect([64, 3, null, 8 * 4096].map(sizeText)).toEqual(["8", "3 b", "?", "4,096"]);
});
