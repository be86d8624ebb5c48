// What pages need of an event: which object it is about, and what lists show of it. Made where events are read, so that no whole
// object comes to a page.
import type { Allocation, AllocStub, Deployment, Evaluation, Metrics } from "../pages/job_types.ts";
import type { Node, NodeStub } from "../pages/node_types.ts";

/** As the agent tells it. */
export interface RawEvent {
  Topic: string;
  Type: string;
  Key: string;
  Namespace: string;
  FilterKeys: string[] | null;
  Index: number;
  Payload: Record<string, unknown> | null;
}

/** An allocation of a list, with what it has reserved. */
export interface AllocRow extends AllocStub {
  cpu: number;     // MHz
  memory: number;  // MiB
}

export type DeploymentRow = Pick<Deployment, "ID" | "JobID" | "JobVersion" | "Status" | "StatusDescription">;

export interface Happened {
  topic: string;
  type: string;
  key: string;
  ns: string;
  index: number;
  job: string;   // that it is about; empty if about none
  node: string;
  row: AllocRow | NodeStub | Evaluation | DeploymentRow | null;  // null: the event did not show the object
}

type Resources = Allocation["AllocatedResources"];

export function reservedOf(resources: Resources | undefined): { cpu: number; memory: number } {
  let cpu = 0;
  let memory = 0;
  for (const task of Object.values(resources?.Tasks ?? {})) {
    cpu += task.Cpu.CpuShares;
    memory += task.Memory.MemoryMB;
  }
  return { cpu, memory };
}

/** An allocation of a list, from the whole one. */
export function allocRowOf(alloc: Allocation): AllocRow {
  return { ID: alloc.ID, Name: alloc.Name, Namespace: alloc.Namespace, NodeID: alloc.NodeID, NodeName: alloc.NodeName, JobID: alloc.JobID,
    JobVersion: alloc.JobVersion ?? alloc.Job?.Version, TaskGroup: alloc.TaskGroup, DesiredStatus: alloc.DesiredStatus, ClientStatus: alloc.ClientStatus,
    CreateTime: alloc.CreateTime, ModifyTime: alloc.ModifyTime, CreateIndex: alloc.CreateIndex, NextAllocation: alloc.NextAllocation ?? "", ...reservedOf(alloc.AllocatedResources) };
}

/** A client of a list, from the whole one. */
export function nodeRowOf(node: Node): NodeStub {
  return { ID: node.ID, Name: node.Name, Address: (node.HTTPAddr ?? "").replace(/:\d+$/, ""), Datacenter: node.Datacenter, NodeClass: node.NodeClass ?? "",
    NodePool: node.NodePool ?? "", Version: node.Attributes?.["nomad.version"] ?? "", Status: node.Status, StatusDescription: node.StatusDescription ?? "",
    SchedulingEligibility: node.SchedulingEligibility, Drain: node.Drain ?? node.DrainStrategy != null, Drivers: node.Drivers, NodeResources: node.NodeResources ?? null };
}

/** The members of an evaluation that lists show. */
export const eval_fields = "ID,Namespace,Type,Priority,TriggeredBy,JobID,NodeID,Status,StatusDescription,BlockedEval,PreviousEval,NextEval,FailedTGAllocs,CreateTime,ModifyTime,CreateIndex";

function evalRowOf(one: Evaluation): Evaluation {
  const failed = one.FailedTGAllocs ? Object.fromEntries(Object.entries(one.FailedTGAllocs).map(([group, metrics]): [string, Metrics] => [group, { ...metrics, ScoreMetaData: [] }])) : null;
  return { ID: one.ID, Namespace: one.Namespace, Type: one.Type, Priority: one.Priority, TriggeredBy: one.TriggeredBy, JobID: one.JobID, NodeID: one.NodeID ?? "", Status: one.Status,
    StatusDescription: one.StatusDescription, BlockedEval: one.BlockedEval, PreviousEval: one.PreviousEval, NextEval: one.NextEval, FailedTGAllocs: failed,
    CreateTime: one.CreateTime, ModifyTime: one.ModifyTime, CreateIndex: one.CreateIndex };
}

function deploymentRowOf({ ID, JobID, JobVersion, Status, StatusDescription }: Deployment): DeploymentRow {
  return { ID, JobID, JobVersion, Status, StatusDescription };
}

export function happenedOf(event: RawEvent): Happened {
  const object = (event.Payload?.[event.Topic] ?? null) as Record<string, unknown> | null;
  const row = object === null ? null : event.Topic === "Allocation" ? allocRowOf(object as unknown as Allocation)
    : event.Topic === "Node" ? nodeRowOf(object as unknown as Node) : event.Topic === "Evaluation" ? evalRowOf(object as unknown as Evaluation)
    : event.Topic === "Deployment" ? deploymentRowOf(object as unknown as Deployment) : null;
  const named = (member: string): string => (typeof object?.[member] === "string" ? (object[member] as string) : "");
  return { topic: event.Topic, type: event.Type, key: event.Key, ns: event.Namespace, index: event.Index,
    job: event.Topic === "Job" ? event.Key : named("JobID"), node: event.Topic === "Node" ? event.Key : named("NodeID"), row };
}

/** Of each object the newest, in the order in which they last changed. */
export class Newest {
  private readonly kept = new Map<string, Happened>();

  get size(): number {
    return this.kept.size;
  }

  add(event: Happened): void {
    const key = `${event.topic}\0${event.ns}\0${event.key}`;
    this.kept.delete(key);
    this.kept.set(key, event);
  }

  take(): Happened[] {
    const all = [...this.kept.values()];
    this.kept.clear();
    return all;
  }
}
