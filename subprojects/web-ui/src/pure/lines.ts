// The lines of a log that grows: bounded, numbered for ever, searched as they come.
import { plain } from "./ansi.ts";

export interface Hit {
  line: number;  // its number since the beginning
}

export class LogLines {
  private lines: string[] = [];
  private labels: string[] = [];  // beside each: whose it is
  private first = 0;              // number of the first line that is kept
  private rests = new Map<string, string>();  // lines that have not ended, by label
  private hits: number[] = [];
  private wanted: RegExp | null = null;

  private size = 0;                    // characters of the lines

  constructor(private readonly most = 100_000, private readonly mostCharacters = 50_000_000) {}

  get begin(): number {
    return this.first;
  }

  get end(): number {
    return this.first + this.lines.length + this.rests.size;
  }

  line(number: number): string {
    const at = number - this.first;
    return this.lines[at] ?? [...this.rests.values()][at - this.lines.length] ?? "";
  }

  label(number: number): string {
    const at = number - this.first;
    return this.labels[at] ?? [...this.rests.keys()][at - this.lines.length] ?? "";
  }

  /** Numbers of the lines that the search has found, ascending. */
  get found(): readonly number[] {
    return this.hits;
  }

  /** What was found, and so many lines before and after each. */
  around(context: number): number[] {
    const numbers: number[] = [];
    const end = this.first + this.lines.length;
    for (const hit of this.hits) {
      const from = Math.max(this.first, hit - context, (numbers.at(-1) ?? -1) + 1);
      for (let number = from; number <= Math.min(end - 1, hit + context); number += 1) numbers.push(number);
    }
    return numbers;
  }

  /** Text as it comes from one place; several places, each with its label, are one log in the order in which it comes. */
  add(text: string, label = ""): void {
    const parts = ((this.rests.get(label) ?? "") + text).split("\n");
    let rest = parts.pop() ?? "";
    // A line without end is cut, so that it does not grow for ever.
    if (rest.length > 1_000_000) { parts.push(rest); rest = ""; }
    if (rest === "") this.rests.delete(label);
    else this.rests.set(label, rest);
    for (const line of parts) {
      this.lines.push(line.endsWith("\r") ? line.slice(0, -1) : line);
      this.labels.push(label);
      this.size += line.length;
      this.check(this.first + this.lines.length - 1);
    }
    this.bound();
  }

  /** Lets the oldest go, a tenth at once, where there are too many, or where they are too long. */
  private bound(): void {
    const isOver = this.lines.length > this.most * 1.1 || this.size > this.mostCharacters * 1.1;
    if (!isOver) return;
    let over = 0;
    for (; over < this.lines.length - 1 && (this.lines.length - over > this.most || this.size > this.mostCharacters); over += 1) this.size -= this.lines[over]?.length ?? 0;
    this.lines.splice(0, over);
    this.labels.splice(0, over);
    this.first += over;
    this.hits = this.hits.filter((hit) => hit >= this.first);
  }

  /** Forgets all of them, or those whose label is of one place; the search stays. Lines that are left may get other numbers. */
  clear(isOf: (label: string) => boolean = () => true): void {
    const left = this.lines.map((_, at) => at).filter((at) => !isOf(this.labels[at] ?? ""));
    this.lines = left.map((at) => this.lines[at] ?? "");
    this.labels = left.map((at) => this.labels[at] ?? "");
    this.size = this.lines.reduce((sum, line) => sum + line.length, 0);
    for (const label of [...this.rests.keys()]) if (isOf(label)) this.rests.delete(label);
    if (left.length === 0) this.first = 0;
    this.findAll();
  }

  private check(number: number): void {
    if (this.wanted?.test(plain(this.line(number)))) this.hits.push(number);
  }

  search(text: string): void {
    this.wanted = searchOf(text);
    this.findAll();
  }

  private findAll(): void {
    this.hits = [];
    if (this.wanted) for (let number = this.first; number < this.first + this.lines.length; number += 1) this.check(number);
  }

  text(): string {
    const said = (line: string, label: string): string => (label === "" ? line : `${label} ${line}`);
    return [...this.lines.map((line, at) => said(line, this.labels[at] ?? "")), ...[...this.rests].map(([label, rest]) => said(rest, label))].join("\n");
  }
}

/** Of a line's text, for a link to it: short, and another one for another line. */
export function markOf(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

/** What a search box means: "/…/" is a regular expression, anything else the text itself; null for nothing. */
export function searchOf(text: string): RegExp | null {
  if (text === "") return null;
  const expression = /^\/(.+)\/$/.exec(text);
  try {
    if (expression?.[1]) return new RegExp(expression[1], "i");
  } catch {
    // Not finished yet, perhaps: as a text.
  }
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
}
