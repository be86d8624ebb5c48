// Clients, as the API writes them: the members that pages read.

export interface NodeStub {
  ID: string;
  Name: string;
  Address: string;
  Datacenter: string;
  NodeClass: string;
  NodePool: string;
  Version: string;
  Status: string;
  StatusDescription: string;
  SchedulingEligibility: string;
  Drain: boolean;
  Drivers: Record<string, Driver> | null;
  NodeResources?: Resources | null;
}

export interface Driver {
  Detected: boolean;
  Healthy: boolean;
  HealthDescription: string;
}

export interface Resources {
  Cpu: { CpuShares: number };
  Memory: { MemoryMB: number };
  Disk: { DiskMB: number };
}

export interface Node extends NodeStub {
  HTTPAddr: string;
  Attributes: Record<string, string> | null;
  Meta: Record<string, string> | null;
  Events: { Message: string; Subsystem: string; Timestamp: string; Details: Record<string, string> | null }[] | null;
  DrainStrategy: { Deadline: number; IgnoreSystemJobs: boolean } | null;
}

/** One word for how a client stands. */
export function stateOf(node: Pick<NodeStub, "Status" | "Drain" | "SchedulingEligibility">): string {
  if (node.Status !== "ready") return node.Status;
  if (node.Drain) return "draining";
  return node.SchedulingEligibility === "ineligible" ? "ineligible" : "ready";
}

/** A row of the list, from the whole client that an event shows. */
export function nodeStubOf(payload: unknown, before: NodeStub | undefined): NodeStub {
  const node = payload as Node;
  return { ID: node.ID, Name: node.Name, Address: before?.Address ?? (node.HTTPAddr ?? "").replace(/:\d+$/, ""), Datacenter: node.Datacenter, NodeClass: node.NodeClass ?? "",
    NodePool: node.NodePool ?? "", Version: before?.Version ?? node.Attributes?.["nomad.version"] ?? "", Status: node.Status, StatusDescription: node.StatusDescription ?? "",
    SchedulingEligibility: node.SchedulingEligibility, Drain: node.Drain ?? node.DrainStrategy != null, Drivers: node.Drivers, NodeResources: node.NodeResources ?? null };
}
