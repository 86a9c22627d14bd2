import { expect, test } from "vitest";
import { byChance, bytes, counted, csvCell, estimate, exact, inRow, known, markdownCell, percent, share, shortCount, signed, signedEstimate, spelledOut, time } from "../../src/model/format";

test("numbers have three digits and a unit", () => {
    expect([0, 0.4, 999, 1234, 999_600, 1.5e6, 2.345e9, 1.2e12].map(time)).toEqual(["0 s", "0 s", "999 ns", "1.23 µs", "1.00 ms", "1.50 ms", "2.35 s", "1,200 s"]);
    expect([0, 1, 999, 1000, 1536, 200 * 2 ** 20, 3 * 2 ** 40].map(bytes)).toEqual(["0 B", "1 B", "999 B", "0.98 KiB", "1.50 KiB", "200 MiB", "3.00 TiB"]);
    expect([0, 7, 29461, 123_456, 1_234_567, 2.5e9].map(shortCount)).toEqual(["0", "7", "29,461", "123 k", "1.23 M", "2.50 G"]);
});

test("a percentage says when it is less than it can show", () => {
    expect([percent(0, 7), percent(1, 3), percent(1, 1e6), percent(7, 7), percent(1, 0)]).toEqual(["0 %", "33.3 %", "< 0.1 %", "100 %", ""]);
    expect(percent(614_207, 123)).toBe("499,355 %");
});

test("errors are told, and exact values have none", () => {
    // The cases of crates/text/src/format/estimate.rs.
    const ms = (value: number, low: number, high: number) => estimate(value * 1e6, low * 1e6, high * 1e6);
    expect(ms(12.3, 9.1, 15.5)).toBe("12 ± 3 ms");
    expect(ms(163, 151, 175)).toBe("163 ± 12 ms");
    expect(ms(834, 500, 900)).toBe("500 to 900 ms");
    expect(ms(1.5, -1, 4.1)).toBe("under 5 ms");
    expect(ms(1.28, 0.049, 2.95)).toBe("under 3.0 ms");
    expect(ms(-3, -9, 3)).toBe("−3 ± 6 ms");
    expect(ms(12.3, 12.3, 12.3)).toBe("12.3 ms");
    expect(estimate(4.2, 3.1, 5.3)).toBe("4.2 ± 1.1 ns");
    expect(estimate(3 * 2 ** 20, 2 * 2 ** 20, 4 * 2 ** 20, "bytes")).toBe("3.0 ± 1.0 MiB");
    expect(estimate(16_384, 16_300, 16_468, "count")).toBe("16,380 ± 80");
    expect(signedEstimate(1.23e6, 0.31e6, "ns")).toBe("+1.2 ± 0.3 ms");
    expect(signedEstimate(-1200, 4000, "count")).toBe("−1,000 ± 4,000");
    expect(signedEstimate(-5, 0, "bytes")).toBe("−5 B");
});

test("of what is sampled, a row has the digits that are known", () => {
    // The cases of crates/analysis/src/sampling_error.rs and crates/metrics/src: one of 17 faults was seen.
    const of = (value: number, variance: number) => { const [low, high] = byChance(value, variance); return { value, low, high }; };
    expect(inRow(of(357, 357 * 16), "count")).toBe("360");
    expect(spelledOut(of(357, 357 * 16), "count")).toBe("357 (360 ± 180)");
    expect(inRow(of(417, 0), "count")).toBe("417");
    expect(spelledOut(of(417, 0), "count")).toBe("417");
    expect(inRow(of(17 * 4096, 17 * 16 * 4096 ** 2), "bytes")).toBe("100 KiB");
    expect(inRow(of(0, 4e6), "count")).toBe("< 4,000");
    expect(known(12.3e6, 9.1e6, 15.5e6, "ns")).toBe("12 ms");
    expect([share(357, ...byChance(357, 357 * 16), 1000), share(357, 357, 357, 1000)]).toEqual(["36 %", "35.7 %"]);
    // However well it is known: three digits.
    expect([0.0016141, 0.016141, 0.16141, 1.6141].map((of) => share(of, of - 1e-5, of + 1e-5, 1))).toEqual(["0.16 %", "1.61 %", "16.1 %", "161 %"]);
    // One notation for what is hardly anything, whatever is known of it.
    expect([0.04, 0.004, 0].map((of) => share(of, of * 0.9, of * 1.1, 100))).toEqual(["< 0.1 %", "< 0.1 %", "0 %"]);
    const [low, high] = byChance(1000 * 7, 1000 * 49);
    expect([low / 7, high / 7].map(Math.round)).toEqual([939, 1064]);
    expect(byChance(3, 0)).toEqual([3, 3]);
});

test("nouns agree with their number, and no bound is nothing", () => {
    expect([0, 1, 2003].map((n) => counted(n, "block"))).toEqual(["0 blocks", "1 block", "2,003 blocks"]);
    expect([1, 2].map((n) => counted(n, "process"))).toEqual(["1 process", "2 processes"]);
    expect([exact(1, "bytes"), exact(1024, "bytes")]).toEqual(["1 byte", "1,024 bytes"]);
    expect([exact(-1234, "ns"), bytes(-2048), time(-1.5e6)]).toEqual(["−1,234 ns", "−2.00 KiB", "−1.50 ms"]);
    expect(estimate(0.2, -5000, 0.3)).toBe("under 1 µs");
    for (let power = -12; power < 18; power++)
        for (const value of [1, -1, 9.995, 999.4, 999.96].map((digits) => digits * 10 ** power))
            for (const text of [time(value), bytes(value), signed(value, "ns"), signed(value, "bytes")])
                expect(text).not.toMatch(/[-−]0(\.0*)? |NaN|Infinity|undefined/);
});

test("cells cannot leave their table", () => {
    expect(csvCell('a "b", c')).toBe('"a ""b"", c"');
    expect(csvCell("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
    expect(csvCell("-12")).toBe("-12");
    expect(markdownCell("a|b\n<img>")).toBe("a\\|b \\<img\\>");
});
