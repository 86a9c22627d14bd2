// By which column a table is sorted, as the address has it.

export interface Order {
    column: string;
    /** Whether the smallest comes first. */
    isUp: boolean;
}

const UP = "-up";

/** The order that an address has; one of another table counts as none. */
export function orderOf(text: string, columns: readonly string[], first: string): Order {
    const isUp = text.endsWith(UP);
    const column = isUp ? text.slice(0, -UP.length) : text;
    return columns.includes(column) ? { column, isUp } : { column: first, isUp: false };
}

/** What a click on the head of a column makes of it: the largest first, and the smallest first where it is sorted by that. */
export function clicked(order: Order, column: string): string {
    return order.column === column && !order.isUp ? `${column}${UP}` : column;
}

/** Sorts by a value of each row. What is not known comes last. */
export function sorted<Row>(rows: readonly Row[], { isUp }: Order, value: (row: Row) => number | string | null): Row[] {
    const by = (a: Row, b: Row) => {
        const [x, y] = [value(a), value(b)];
        if (x === null || y === null) return Number(x === null) - Number(y === null);
        const difference = typeof x === "string" || typeof y === "string" ? String(x).localeCompare(String(y)) : y - x;
        return isUp ? -difference : difference;
    };
    return rows.toSorted(by);
}
