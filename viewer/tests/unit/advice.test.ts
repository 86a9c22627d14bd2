import { expect, test } from "vitest";
import { saving } from "../../src/model/advice";

test("a saving without an upper bound says what is likely, as the command does", () => {
    const of = (low: number, likely: number, high: number | null) => saving({ low, likely, high }, "wall time", "ns");
    expect(of(0, 2.4e6, null)).toBe("saves likely 2.40 ms wall time, perhaps much more");
    expect(of(1e6, 2.4e6, null)).toBe("saves at least 1.00 ms, likely 2.40 ms wall time");
    expect(of(1e6, 2.4e6, 3e6)).toBe("saves 1.00 ms to 3.00 ms wall time");
    expect(saving({ low: 104_100, likely: 104_150, high: 104_200 }, "allocations", "count")).toBe("saves 104 k allocations");
    expect(of(-3e6, -2e6, -1e6)).toBe("costs 1.00 ms to 3.00 ms wall time");
});
