// Jobs, allocations and what belongs to them, as the API writes them: the members that pages read.

export interface GroupCounts {
  Queued: number;
  Complete: number;
  Failed: number;
  Running: number;
  Starting: number;
  Lost: number;
  Unknown: number;
}

export interface JobSummary {
  Summary: Record<string, GroupCounts> | null;
  Children?: { Pending: number; Running: number; Dead: number } | null;
}

export interface JobStub {
  ID: string;
  Name: string;
  Namespace: string;
  ParentID: string;
  Type: string;
  Priority: number;
  Periodic: boolean;
  ParameterizedJob: boolean;
  Stop: boolean;
  Status: string;
  StatusDescription: string;
  JobSummary: JobSummary | null;
  SubmitTime: number;
  ModifyIndex: number;
  NodePool?: string;
}

/** Of a job what its row shows besides: /v1/jobs/statuses. */
export interface JobStatus {
  ID: string;
  Namespace: string;
  Version: number;
  NodePool: string;
  GroupCountSum: number;
  Allocs: { ID: string; ClientStatus: string; JobVersion: number }[] | null;
  ChildStatuses: string[] | null;
  LatestDeployment: { IsActive: boolean; RequiresPromotion: boolean; Status: string } | null;
}

export interface Task {
  Name: string;
  Driver: string;
  Lifecycle?: { Hook: string; Sidecar: boolean } | null;
  Resources?: { CPU: number; MemoryMB: number } | null;
}

export interface Group {
  Name: string;
  Count: number;
  EphemeralDisk?: { SizeMB: number } | null;
  Networks?: { DynamicPorts: { Label: string }[] | null; ReservedPorts: { Label: string; Value: number }[] | null }[] | null;
  Tasks: Task[] | null;
}

export interface Job {
  ID: string;
  Name: string;
  Namespace: string;
  Type: string;
  Priority: number;
  Datacenters: string[] | null;
  NodePool?: string;
  Status: string;
  StatusDescription: string;
  Stop: boolean;
  Stable: boolean;
  Version: number;
  SubmitTime: number;
  TaskGroups: Group[] | null;
  Meta: Record<string, string> | null;
  Periodic?: { Spec: string; Specs?: string[] | null; TimeZone: string; Enabled: boolean } | null;
  ParameterizedJob?: { Payload: string; MetaRequired: string[] | null; MetaOptional: string[] | null } | null;
  ParentID?: string;
  Dispatched?: boolean;
  JobModifyIndex: number;
  UI?: { Description: string; Links: { Label: string; Url: string }[] | null } | null;
  VersionTag?: { Name: string; Description: string } | null;
}

/** Whether others are launched of it. What was launched has the same blocks as its parent. */
export function hasChildren(job: Job): boolean {
  return (job.Periodic != null || job.ParameterizedJob != null) && !job.ParentID && !job.Dispatched;
}

export interface TaskEvent {
  Type: string;
  Time: number;
  DisplayMessage: string;
}

export interface TaskState {
  State: string;
  Failed: boolean;
  Restarts: number;
  StartedAt: string | null;
  FinishedAt: string | null;
  Events: TaskEvent[] | null;
  /** Of a task with a schedule; absent where it runs by that. */
  Paused?: string;
}

export interface ScheduledTask extends Task {
  Schedule: { Cron: { Start: string; End: string; Timezone: string } };
}

export interface AllocStub {
  ID: string;
  Name: string;
  Namespace: string;
  NodeID: string;
  NodeName: string;
  JobID: string;
  JobVersion: number | undefined;  // events do not say it
  TaskGroup: string;
  DesiredStatus: string;
  ClientStatus: string;
  CreateTime: number;
  ModifyTime: number;
  CreateIndex: number;
  NextAllocation: string;
}

/** One that is replaced, or not wanted any more. */
export function isPast(alloc: AllocStub): boolean {
  return alloc.ClientStatus === "failed" && (alloc.DesiredStatus !== "run" || alloc.NextAllocation !== "");
}

export interface Metrics {
  NodesEvaluated: number;
  NodesFiltered: number;
  NodesExhausted: number;
  NodesAvailable: Record<string, number> | null;
  ClassFiltered: Record<string, number> | null;
  ConstraintFiltered: Record<string, number> | null;
  DimensionExhausted: Record<string, number> | null;
  QuotaExhausted: string[] | null;
  CoalescedFailures: number;
  ScoreMetaData?: { NodeID: string; Scores: Record<string, number> | null; NormScore: number }[] | null;
}

export interface Allocation extends AllocStub {
  EvalID: string;
  Job: Job | null;
  TaskStates: Record<string, TaskState> | null;
  Metrics: Metrics | null;
  AllocatedResources: {
    Tasks: Record<string, { Cpu: { CpuShares: number }; Memory: { MemoryMB: number } }> | null;
    Shared: { DiskMB: number; Ports: { Label: string; Value: number; To: number; HostIP: string }[] | null };
  } | null;
  DeploymentStatus: { Healthy: boolean | null; Canary: boolean } | null;
  FollowupEvalID: string;
  PreviousAllocation: string;
}

export interface Evaluation {
  ID: string;
  Namespace: string;
  Type: string;
  Priority: number;
  TriggeredBy: string;
  JobID: string;
  NodeID?: string;
  Status: string;
  StatusDescription: string;
  BlockedEval: string;
  PreviousEval: string;
  NextEval: string;
  FailedTGAllocs: Record<string, Metrics> | null;
  CreateTime: number;
  ModifyTime: number;
  CreateIndex: number;
  RelatedEvals?: Evaluation[] | null;
}

export interface DeploymentState {
  DesiredTotal: number;
  DesiredCanaries: number;
  PlacedAllocs: number;
  HealthyAllocs: number;
  UnhealthyAllocs: number;
  Promoted: boolean;
  RequireProgressBy?: string;
}

export interface Deployment {
  ID: string;
  Namespace: string;
  JobID: string;
  JobVersion: number;
  Status: string;
  StatusDescription: string;
  TaskGroups: Record<string, DeploymentState> | null;
  CreateIndex: number;
}

const none: GroupCounts = { Queued: 0, Complete: 0, Failed: 0, Running: 0, Starting: 0, Lost: 0, Unknown: 0 };

/** Of all groups together. */
export function countsOf(summary: JobSummary | null | undefined): GroupCounts {
  const sum = { ...none };
  for (const counts of Object.values(summary?.Summary ?? {}))
    for (const name of Object.keys(none) as (keyof GroupCounts)[]) sum[name] += counts[name] ?? 0;
  return sum;
}

/** Why a group found no place, in words, the most frequent reason first. */
export function reasonsOf(metrics: Metrics): string[] {
  const reasons: string[] = [];
  const each = (counts: Record<string, number> | null, text: (name: string) => string): void => {
    for (const [name, count] of Object.entries(counts ?? {}).sort(([, a], [, b]) => b - a)) reasons.push(`${text(name)} (${count} ${count === 1 ? "node" : "nodes"})`);
  };
  if (metrics.NodesEvaluated === 0) reasons.push("No nodes were eligible for evaluation");
  each(metrics.ConstraintFiltered, (name) => `Constraint ${name} filtered`);
  each(metrics.ClassFiltered, (name) => `Class ${name} filtered`);
  each(metrics.DimensionExhausted, (name) => `Resources exhausted: ${name}`);
  for (const [dc, count] of Object.entries(metrics.NodesAvailable ?? {})) if (count === 0) reasons.push(`No nodes are available in datacenter ${dc}`);
  for (const quota of metrics.QuotaExhausted ?? []) reasons.push(`Quota limit reached: ${quota}`);
  return reasons;
}
