// Why a client would not take a group of a job: what can be told from what both say of themselves. The scheduler decides; this explains.

export interface Constraint {
  LTarget: string;
  RTarget: string;
  Operand: string;
}

export interface WantedBy {
  Datacenters: string[] | null;
  NodePool?: string;
  Constraints?: Constraint[] | null;
  TaskGroups: { Name: string; Constraints?: Constraint[] | null; Tasks: { Driver: string; Constraints?: Constraint[] | null }[] | null }[] | null;
}

export interface Offered {
  ID: string;
  Name: string;
  Datacenter: string;
  NodePool: string;
  NodeClass: string;
  Status: string;
  Drain: boolean;
  SchedulingEligibility: string;
  Drivers: Record<string, { Detected: boolean; Healthy: boolean }> | null;
  Attributes?: Record<string, string> | null;
  Meta?: Record<string, string> | null;
}

function matchesGlob(pattern: string, text: string): boolean {
  return new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`).test(text);
}

/** What a target stands for on the client; undefined if the client does not say. */
function valueOf(target: string, node: Offered): string | undefined {
  const name = /^\$\{(.+)\}$/.exec(target)?.[1];
  if (name === undefined) return target;
  const own: Record<string, string> = { "node.unique.id": node.ID, "node.unique.name": node.Name, "node.datacenter": node.Datacenter, "node.class": node.NodeClass, "node.pool": node.NodePool };
  if (name in own) return own[name];
  if (name.startsWith("attr.")) return node.Attributes?.[name.slice(5)];
  if (name.startsWith("meta.")) return node.Meta?.[name.slice(5)];
  return undefined;
}

/** Whether a target is of what is only known of a client that was read. */
function isUnknown(target: string, node: Offered): boolean {
  return (/^\$\{attr\./.test(target) && !node.Attributes) || (/^\$\{meta\./.test(target) && !node.Meta);
}

/** Whether it holds; null where this can't be told here. */
function holds(constraint: Constraint, node: Offered): boolean | null {
  if (isUnknown(constraint.LTarget, node) || isUnknown(constraint.RTarget, node)) return null;
  const left = valueOf(constraint.LTarget, node);
  const right = valueOf(constraint.RTarget, node);
  switch (constraint.Operand) {
    case "": case "=": case "==": case "is": return left !== undefined && left === right;
    case "!=": case "not": return left !== right;
    case "is_set": return left !== undefined;
    case "is_not_set": return left === undefined;
    case "set_contains": case "set_contains_all": return left !== undefined && (right ?? "").split(",").every((one) => left.split(",").map((part) => part.trim()).includes(one.trim()));
    default: return null;
  }
}

function shown(constraint: Constraint, node: Offered): string {
  const left = valueOf(constraint.LTarget, node);
  return `${constraint.LTarget} ${constraint.Operand || "="} ${constraint.RTarget}${left === undefined ? "; it is not set here" : `; here it is ${left}`}`;
}

/** The reasons against this client, the plainest first; none if it would do. */
export function reasonsAgainst(job: WantedBy, group: string, node: Offered): string[] {
  const reasons: string[] = [];
  if (node.Status !== "ready") reasons.push(`it is ${node.Status}`);
  if (node.Drain) reasons.push("it drains");
  else if (node.SchedulingEligibility === "ineligible") reasons.push("it is ineligible");
  const pool = job.NodePool || "default";
  if (pool !== "all" && node.NodePool !== pool) reasons.push(`it is of node pool ${node.NodePool}, not ${pool}`);
  const datacenters = job.Datacenters ?? [];
  if (datacenters.length > 0 && !datacenters.some((one) => matchesGlob(one, node.Datacenter))) reasons.push(`it is in datacenter ${node.Datacenter}, not ${datacenters.join(", ")}`);
  for (const one of job.TaskGroups ?? []) {
    if (group !== "" && one.Name !== group) continue;
    for (const task of one.Tasks ?? []) {
      const driver = node.Drivers?.[task.Driver];
      if (!driver?.Detected) reasons.push(`it has no driver ${task.Driver}`);
      else if (!driver.Healthy) reasons.push(`its driver ${task.Driver} is unhealthy`);
    }
    const constraints = [...(job.Constraints ?? []), ...(one.Constraints ?? []), ...(one.Tasks ?? []).flatMap((task) => task.Constraints ?? [])];
    for (const constraint of constraints) if (holds(constraint, node) === false) reasons.push(`constraint: ${shown(constraint, node)}`);
  }
  return [...new Set(reasons)];
}

export interface Room {
  cpu: number;     // MHz
  memory: number;  // MiB
  disk: number;    // MiB
}

const units: readonly (readonly [keyof Room, string, string])[] = [["cpu", "CPU", "MHz"], ["memory", "memory", "MiB"], ["disk", "disk", "MiB"]];

/** What a client has too little of for one more, with the figures; `used` where that is known. */
export function lacks(asked: Room, whole: Room, used: Room | undefined): string[] {
  return units.flatMap(([key, name, unit]) => {
    if (asked[key] > whole[key]) return [`${name}: ${asked[key]} ${unit} asked for, it has ${whole[key]}`];
    const free = whole[key] - (used?.[key] ?? 0);
    return used && asked[key] > free ? [`${name}: ${asked[key]} ${unit} asked for, ${Math.max(0, free)} of ${whole[key]} are free`] : [];
  });
}
