// Clients, as the API writes them: the members that pages read.
import type { Happened } from "../store/messages.ts";

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
  LastDrain: { Status: string; UpdatedAt: string } | null;
}

/** One word for how a client stands. */
export function stateOf(node: Pick<NodeStub, "Status" | "Drain" | "SchedulingEligibility">): string {
  if (node.Status !== "ready") return node.Status;
  if (node.Drain) return "draining";
  return node.SchedulingEligibility === "ineligible" ? "ineligible" : "ready";
}

/** A row of a list after an event: undefined if the client is gone, null if the event does not show it. An address and a version that
    events do not say stay as they were. */
export function nodeOf(event: Happened, before: NodeStub | undefined): NodeStub | undefined | null {
  if (event.type === "NodeDeregistration") return undefined;
  const row = event.row as NodeStub | null;
  return row && before ? { ...row, Address: before.Address || row.Address, Version: before.Version || row.Version } : row;
}
