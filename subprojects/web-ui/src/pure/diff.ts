// The differences of two versions of a job, as the API writes them, as lines.

export interface FieldDiff {
  Type: string;
  Name: string;
  Old: string;
  New: string;
  Annotations?: string[] | null;
}

export interface ObjectDiff {
  Type: string;
  Name: string;
  Fields: FieldDiff[] | null;
  Objects: ObjectDiff[] | null;
  TaskGroups?: (ObjectDiff & { Updates?: Record<string, number> | null })[] | null;
  Tasks?: (ObjectDiff & { Annotations?: string[] | null })[] | null;
}

export type JobDiff = ObjectDiff;

export interface DiffLine {
  depth: number;
  mark: "+" | "-" | "~" | " ";
  text: string;
  before?: string;
  after?: string;
}

const marks: Record<string, DiffLine["mark"]> = { Added: "+", Deleted: "-", Edited: "~" };

function fieldLine(field: FieldDiff, depth: number): DiffLine {
  const mark = marks[field.Type] ?? " ";
  const line: DiffLine = { depth, mark, text: field.Name };
  if (mark !== "+") line.before = field.Old;
  if (mark !== "-") line.after = field.New;
  return line;
}

/** What changed, block by block; what is as before is left out. */
export function diffLines(diff: ObjectDiff, depth = 0): DiffLine[] {
  const lines: DiffLine[] = [];
  for (const field of diff.Fields ?? []) if (field.Type !== "None") lines.push(fieldLine(field, depth));
  const kinds: [string, ObjectDiff[]][] = [["group", diff.TaskGroups ?? []], ["task", diff.Tasks ?? []], ["", diff.Objects ?? []]];
  for (const [kind, objects] of kinds) {
    for (const object of objects) {
      const inside = diffLines(object, depth + 1);
      if (object.Type === "None" && inside.length === 0) continue;
      lines.push({ depth, mark: marks[object.Type] ?? " ", text: `${kind} ${object.Name}`.trim() }, ...inside);
    }
  }
  return lines;
}
