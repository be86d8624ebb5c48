// Which rows of the document show which objects of a long list. One that stays in sight keeps its row, and the focus with it; one that
// comes takes the row of one that has gone, which costs less than to make another.

export class Places {
  private keys = new Map<string, number>();
  private next = 0;

  /** The keys of the rows for these objects, which are in sight now. `held` is the row that must not be used for another. */
  keysOf(ids: readonly string[], held: () => number | undefined): number[] {
    const inSight = new Set(ids);
    const gone = [...this.keys].filter(([id]) => !inSight.has(id)).map(([, key]) => key);
    const isHeld = gone.length > 0 ? held() : undefined;
    const free = gone.filter((key) => key !== isHeld);
    this.keys = new Map(ids.map((id): [string, number] => [id, this.keys.get(id) ?? free.pop() ?? this.next++]));
    return ids.map((id) => this.keys.get(id) ?? 0);
  }
}
