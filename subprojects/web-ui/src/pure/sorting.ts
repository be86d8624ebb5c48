// What a list is sorted by, as its address says it: "Name" from the least, "-Name" from the most, "" as it comes.

export type Direction = "ascending" | "descending" | "none";

export const arrows: Record<Direction, string> = { ascending: " ↑", descending: " ↓", none: "" };

export function directionOf(sort: string, column: string): Direction {
  return sort === column ? "ascending" : sort === `-${column}` ? "descending" : "none";
}

/** After a click on the head of a column. */
export function nextSort(sort: string, column: string): string {
  return { ascending: `-${column}`, descending: "", none: column }[directionOf(sort, column)];
}

/** The rows as they come, where it is not known what by. Numbers go by their size; equal ones stay in their order. */
export function sortedBy<Row>(rows: readonly Row[], by: ((row: Row) => string | number) | undefined, isDown: boolean): Row[] {
  if (!by) return rows as Row[];
  const keyed = rows.map((row) => ({ row, key: by(row) }));
  const compare = (a: string | number, b: string | number): number => (typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0);
  keyed.sort((a, b) => (isDown ? compare(b.key, a.key) : compare(a.key, b.key)));
  return keyed.map(({ row }) => row);
}
