// Actors below their owners.

export interface Actor {
  ID: number;
  Owner: number;
  Name: string;
  About: string;
  Policy: string;
  Waiting: number;
  WaitingUrgent: number;
  Handled: number;
  Restarts: number;
  LongestHandler: number;
}

export interface Branch {
  actor: Actor;
  depth: number;
}

/** Each below its owner, in the order of their ids; one whose owner is not there stands at the top. */
export function inTree(actors: readonly Actor[]): Branch[] {
  const known = new Set(actors.map((actor) => actor.ID));
  const below = new Map<number, Actor[]>();
  for (const actor of [...actors].sort((a, b) => a.ID - b.ID)) {
    const owner = known.has(actor.Owner) && actor.Owner !== actor.ID ? actor.Owner : 0;
    below.set(owner, [...(below.get(owner) ?? []), actor]);
  }
  const branches: Branch[] = [];
  const add = (owner: number, depth: number): void => {
    for (const actor of below.get(owner) ?? []) {
      branches.push({ actor, depth });
      if (branches.length <= actors.length) add(actor.ID, depth + 1);
    }
  };
  add(0, 0);
  return branches;
}
