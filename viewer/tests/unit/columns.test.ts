import { expect, test } from "vitest";
import { fitting, isHidden, switched, templateOf, toggled, withWidth } from "../../src/model/columns";

const COLUMNS = [
    { key: "name", title: "line", width: "5fr", least: 100, stays: true },
    { key: "fault-time", title: "page faults", width: "1fr", least: 80, parts: 2 },
    { key: "peak", title: "peak", width: "1fr", least: 60 },
];

test("hidden columns and widths come back from the address", () => {
    const hidden = toggled("", "fault-time");
    expect(hidden).toBe("fault-time_0");
    expect(isHidden(hidden, "fault-time")).toBe(true);
    expect(isHidden(hidden, "peak")).toBe(false);
    const wide = withWidth(hidden, "peak", 120.4);
    expect(wide).toBe("fault-time_0.peak_120");
    expect(toggled(wide, "fault-time")).toBe("peak_120");
    expect(withWidth(wide, "peak", null)).toBe("fault-time_0");
    expect(new URLSearchParams({ columns: wide }).toString()).toBe("columns=fault-time_0.peak_120");
});

test("columns have the width that was chosen, shared by their parts", () => {
    expect(templateOf(COLUMNS, "")).toBe("5fr 1fr 1fr 1fr");
    expect(templateOf(COLUMNS, "fault-time_120.name_300")).toBe("300px 60px 60px 1fr");
});

test("no address makes a column invisible or endless, or breaks a table", () => {
    expect(templateOf(COLUMNS, "peak_1.name_99999")).toBe("2000px 1fr 1fr 40px");
    expect(templateOf(COLUMNS, "peak_x.._5.peak.peak_-3")).toBe("5fr 1fr 1fr 1fr");
});

test("a narrow table shows its first columns, and those that the reader asked for", () => {
    const shown = (text: string, room: number) => fitting(COLUMNS, text, room).map(({ key }) => key);
    expect(shown("", 240)).toEqual(["name", "fault-time", "peak"]);
    expect(shown("", 239)).toEqual(["name", "fault-time"]);
    expect(shown("name_170", 239)).toEqual(["name"]);
    expect(shown("fault-time_0", 239)).toEqual(["name", "peak"]);
    expect(shown("peak_90.name_0", 239)).toEqual(["name", "peak"]);
    const peak = COLUMNS[2]!;
    expect(switched(COLUMNS, "", 240, peak)).toBe("peak_0");
    expect(switched(COLUMNS, "peak_0", 240, peak)).toBe("");
    expect(switched(COLUMNS, "", 239, peak)).toBe("peak_60");
    expect(switched(COLUMNS, "peak_0", 239, peak)).toBe("peak_60");
});
