// Values by key, the newest so many. Each belongs to an owner: those of another one are forgotten, and what comes late for one is not kept.

export class Memory<Value> {
  private values = new Map<string, Value>();
  private owner = "";

  constructor(private readonly most: number) {}

  /** From now on values are this one's; others' are gone. */
  become(owner: string): void {
    if (owner === this.owner) return;
    this.owner = owner;
    this.values.clear();
  }

  get size(): number {
    return this.values.size;
  }

  get(key: string): Value | undefined {
    return this.values.get(key);
  }

  /** Keeps it, if `owner` is whose values are kept now. */
  set(owner: string, key: string, value: Value): void {
    if (owner !== this.owner) return;
    this.values.delete(key);
    this.values.set(key, value);
    if (this.values.size > this.most) for (const oldest of this.values.keys()) { this.values.delete(oldest); break; }
  }

  forget(key: string): void {
    this.values.delete(key);
  }
}
