// Addresses of Nomad's UI that have another name here, so that bookmarks and runbooks go on working.

export interface Alias {
  path: string[];
  query: Record<string, string>;
}

const to = (path: string[], query: Record<string, string> = {}): Alias => ({ path, query });

/** Access control and administration have had several names. */
const kept: Record<string, string> = { "access-control": "", administration: "", policies: "policies" };
const kinds = new Set(["namespaces", "tokens", "policies", "roles", "quotas", "auth-methods", "binding-rules", "node-pools"]);

function ofAllocation(path: string[]): Alias | null {
  const [, id = "", third, fourth, ...rest] = path;
  if (third === "fs") return to(["allocations", id, "files"], { path: `/${[fourth, ...rest].filter((one) => one !== undefined).join("/")}` });
  if (third !== undefined && fourth === "fs") return to(["allocations", id, third, "files"], { path: `/${[third, ...rest].join("/")}` });
  return null;
}

/** The words behind /ui/ as they are here; null if they are. */
export function aliasOf(path: string[]): Alias | null {
  const [first = "", second, third] = path;
  if (first === "allocations") return ofAllocation(path);
  if (first === "jobs" && second === "run" && third !== undefined) return to(["jobs", "run"]);
  if (first === "jobs" && second !== undefined && third === "dispatch") return to(["jobs", second], { dispatch: "true" });
  if (first === "jobs" && second !== undefined && third === "clients") return to(["jobs", second, "allocations"]);
  if (first === "jobs" && second !== undefined && third === "services" && path.length > 3) return to(["jobs", second, "services"]);
  if (first === "clients" && second !== undefined && third === "monitor") return to(["clients", second]);
  if (first === "servers" && second !== undefined) return to(["servers"], { monitor: second });
  if (first === "variables" && second === "path") return to(["variables"], { path: path.slice(2).join("/") });
  if (first === "exec" && second !== undefined && path.length < 4) return to(["jobs", second]);
  if (first === "settings" && second === "user-settings") return to(["settings"]);
  const kind = kept[first] ?? null;
  if (kind === null) return null;
  return to(["access", kinds.has(second ?? "") ? second ?? "" : kind || "namespaces"]);
}
