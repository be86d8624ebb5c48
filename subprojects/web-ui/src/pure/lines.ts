// The lines of a log that grows: bounded, numbered for ever, searched as they come.
import { plain } from "./ansi.ts";

export interface Hit {
  line: number;  // its number since the beginning
}

export class LogLines {
  private lines: string[] = [];
  private first = 0;  // number of the first line that is kept
  private rest = "";
  private hits: number[] = [];
  private wanted: RegExp | null = null;

  constructor(private readonly most = 100_000) {}

  get begin(): number {
    return this.first;
  }

  get end(): number {
    return this.first + this.lines.length + (this.rest === "" ? 0 : 1);
  }

  line(number: number): string {
    const at = number - this.first;
    return at === this.lines.length ? this.rest : this.lines[at] ?? "";
  }

  /** Numbers of the lines that the search has found, ascending. */
  get found(): readonly number[] {
    return this.hits;
  }

  add(text: string): void {
    const parts = (this.rest + text).split("\n");
    this.rest = parts.pop() ?? "";
    // A line without end is cut, so that it does not grow for ever.
    if (this.rest.length > 1_000_000) { parts.push(this.rest); this.rest = ""; }
    for (const line of parts) {
      this.lines.push(line.endsWith("\r") ? line.slice(0, -1) : line);
      this.check(this.first + this.lines.length - 1);
    }
    const over = this.lines.length - this.most;
    if (over <= this.most / 10) return;
    this.lines.splice(0, over);
    this.first += over;
    this.hits = this.hits.filter((hit) => hit >= this.first);
  }

  /** Forgets all of them; the search stays. */
  clear(): void {
    this.lines = [];
    this.first = 0;
    this.rest = "";
    this.hits = [];
  }

  private check(number: number): void {
    if (this.wanted?.test(plain(this.line(number)))) this.hits.push(number);
  }

  search(text: string): void {
    this.wanted = searchOf(text);
    this.hits = [];
    if (this.wanted) for (let number = this.first; number < this.first + this.lines.length; number += 1) this.check(number);
  }

  text(): string {
    return [...this.lines, ...(this.rest === "" ? [] : [this.rest])].join("\n");
  }
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
