import { expect, test } from "vitest";
import { sizesIn, sizesOf, toSizes } from "../../src/model/sizes";
import { queryOf } from "../../src/model/query";
import { fromHash, START } from "../../src/model/state";

test("a bin's sizes are whole numbers below its upper end", () => {
    expect(sizesIn({ low: 768, high: 1024 })).toEqual({ least: 768, most: 1023 });
    expect(sizesIn({ low: 1.5, high: 2 })).toEqual({ least: 2, most: 2 });
    expect(sizesIn({ low: 0, high: 1 })).toEqual({ least: 0, most: 0 });
    expect(toSizes({ low: 768, high: 1024 }, "")).toEqual({ sizes: "768-1023" });
    expect(toSizes({ low: 768, high: 1024 }, "768-1023")).toEqual({ sizes: "" });
});

test("sizes of the address are those of the query", () => {
    const { min_size, max_size } = queryOf(fromHash("#sizes=768-1023"));
    expect([min_size, max_size]).toEqual([768, 1023]);
    expect(queryOf(START)).not.toHaveProperty("min_size");
    for (const text of ["", "9-8", "-5", "1-", "a-b", "1-1e9"]) expect(sizesOf(text)).toBeNull();
    expect(fromHash("#sizes=9-8").sizes).toBe("");
});
