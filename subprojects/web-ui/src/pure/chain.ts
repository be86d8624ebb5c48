// Evaluations that came of each other, as a picture: columns by age, lines from each to what it led to.

export interface Linked {
  ID: string;
  CreateIndex: number;
  PreviousEval: string;
  NextEval: string;
  BlockedEval: string;
}

export interface Placed<Node> {
  node: Node;
  column: number;
  row: number;
}

export interface Chain<Node> {
  placed: Placed<Node>[];
  lines: { from: string; to: string; kind: "next" | "blocked" }[];
  columns: number;
  rows: number;
}

/** Each stands right of what it came of. A ring, which there is not, would not go on for ever. */
export function chainOf<Node extends Linked>(nodes: readonly Node[]): Chain<Node> {
  const ordered = [...nodes].sort((a, b) => a.CreateIndex - b.CreateIndex || (a.ID < b.ID ? -1 : 1));
  const known = new Map(ordered.map((node) => [node.ID, node]));
  const lines = new Map<string, Chain<Node>["lines"][number]>();
  const line = (from: string, to: string, kind: "next" | "blocked"): void => {
    if (known.has(from) && known.has(to) && from !== to && !lines.has(`${from} ${to}`)) lines.set(`${from} ${to}`, { from, to, kind });
  };
  for (const node of ordered) {
    line(node.ID, node.BlockedEval, "blocked");
    line(node.ID, node.NextEval, "next");
    line(node.PreviousEval, node.ID, "next");
  }
  const column = new Map<string, number>();
  for (const node of ordered) {
    const before = [...lines.values()].filter((one) => one.to === node.ID).map((one) => column.get(one.from) ?? -1);
    column.set(node.ID, Math.max(-1, ...before) + 1);
  }
  const used = new Map<number, number>();
  const placed = ordered.map((node) => {
    const at = column.get(node.ID) ?? 0;
    const row = used.get(at) ?? 0;
    used.set(at, row + 1);
    return { node, column: at, row };
  });
  return { placed, lines: [...lines.values()], columns: used.size, rows: Math.max(0, ...used.values()) };
}
