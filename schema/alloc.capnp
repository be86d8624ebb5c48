# Allocations: one task group of a job, placed on a node.
@0xd5a1c1e3f5b2a904;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".time;
using import "annotations.capnp".hidden;
using import "annotations.capnp".always;
using import "annotations.capnp".omitEmpty;
using import "annotations.capnp".omitZero;
using Common = import "common.capnp";
using Job = import "job.capnp";

enum DesiredStatus { run @0; stop @1; evict @2; }

enum ClientStatus { pending @0; running @1; complete @2; failed @3; lost @4; unknown @5; }

enum TaskRunState { pending @0; running @1; dead @2; }

# Whether a task with a schedule runs, and by whose will.
enum TaskScheduleState {
  run @0 $json("");                    # it has no schedule, or is within it
  forceRun @1 $json("force_run");
  scheduledPause @2 $json("scheduled_pause");
  forcePause @3 $json("force_pause");
}

# What a user wants in place of a task's schedule.
enum TaskScheduleOrder { scheduled @0; run @1; pause @2; }

struct TaskEvent {
  type @0 :Text;
  time @1 :Int64;                      # Unix nanoseconds
  message @2 :Text;
  displayMessage @3 :Text;
  details @4 :List(Common.TextEntry) $map;
  failsTask @5 :Bool;
  restartReason @6 :Text;
  setupError @7 :Text;
  driverError @8 :Text;
  exitCode @9 :Int64;
  signal @10 :Int64;
  killTimeout @11 :Int64;
  killError @12 :Text;
  killReason @13 :Text;
  startDelay @14 :Int64;
  downloadError @15 :Text;
  validationError @16 :Text;
  diskLimit @17 :Int64;
  failedSibling @18 :Text;
  vaultError @19 :Text;
  taskSignalReason @20 :Text;
  taskSignal @21 :Text;
  driverMessage @22 :Text;
  genericSource @23 :Text;
}

struct TaskHandle {
  version @0 :Int64;
  driverState @1 :Data;
}

struct TaskState {
  state @0 :TaskRunState;
  failed @1 :Bool;
  restarts @2 :UInt64;
  lastRestart @3 :Int64 $time;
  startedAt @4 :Int64 $time;
  finishedAt @5 :Int64 $time;
  events @6 :List(TaskEvent);          # newest last, at most 10
  taskHandle @7 :TaskHandle;
  paused @8 :TaskScheduleState $omitEmpty;  # of later releases
}

struct AllocatedDevice {
  vendor @0 :Text;
  type @1 :Text;
  name @2 :Text;
  deviceIds @3 :List(Text) $json("DeviceIDs");
}

struct AllocatedTaskResources {
  struct Cpu {
    cpuShares @0 :Int64;               # MHz
    reservedCores @1 :List(UInt16);
  }
  struct Memory {
    memoryMb @0 :Int64 $json("MemoryMB");
    memoryMaxMb @1 :Int64 $json("MemoryMaxMB");
  }
  cpu @0 :Cpu $always;
  memory @1 :Memory $always;
  networks @2 :List(Common.NetworkResource);
  devices @3 :List(AllocatedDevice);
}

struct PortMapping {
  label @0 :Text;
  value @1 :Int32;
  to @2 :Int32;
  hostIp @3 :Text $json("HostIP");
}

struct AllocatedSharedResources {
  networks @0 :List(Common.NetworkResource);
  diskMb @1 :Int64 $json("DiskMB");
  ports @2 :List(PortMapping);
}

struct AllocatedResources {
  struct TaskEntry { key @0 :Text; value @1 :AllocatedTaskResources; }
  struct LifecycleEntry { key @0 :Text; value @1 :Job.Lifecycle; }
  tasks @0 :List(TaskEntry) $map;
  taskLifecycles @1 :List(LifecycleEntry) $map;
  shared @2 :AllocatedSharedResources $always;
}

struct ScoreMeta {
  nodeId @0 :Text $json("NodeID");
  scores @1 :List(Common.FloatEntry) $map;
  normScore @2 :Float64;
}

struct AllocMetric {
  struct ResourcesEntry { key @0 :Text; value @1 :Common.Resources; }
  nodesEvaluated @0 :Int64;
  nodesFiltered @1 :Int64;
  nodesInPool @2 :Int64;
  nodesAvailable @3 :List(Common.IntEntry) $map;
  classFiltered @4 :List(Common.IntEntry) $map;
  constraintFiltered @5 :List(Common.IntEntry) $map;
  nodesExhausted @6 :Int64;
  classExhausted @7 :List(Common.IntEntry) $map;
  dimensionExhausted @8 :List(Common.IntEntry) $map;
  quotaExhausted @9 :List(Text);
  resourcesExhausted @10 :List(ResourcesEntry) $map;
  scores @11 :List(Common.FloatEntry) $map;
  scoreMetaData @12 :List(ScoreMeta);
  allocationTime @13 :Int64;
  coalescedFailures @14 :Int64;
}

struct DesiredTransition {
  migrate :union $json("Migrate") { unset @0 :Void; value @1 :Bool; }
  reschedule :union $json("Reschedule") { unset @2 :Void; value @3 :Bool; }
  forceReschedule :union $json("ForceReschedule") { unset @4 :Void; value @5 :Bool; }
  noShutdownDelay :union $json("NoShutdownDelay") { unset @6 :Void; value @7 :Bool; }
}

struct DeploymentStatus {
  healthy :union $json("Healthy") { unset @0 :Void; value @1 :Bool; }
  timestamp @2 :Int64 $time;
  canary @3 :Bool;
  modifyIndex @4 :UInt64;
}

struct RescheduleEvent {
  rescheduleTime @0 :Int64;
  prevAllocId @1 :Text $json("PrevAllocID");
  prevNodeId @2 :Text $json("PrevNodeID");
  delay @3 :Int64;
}

struct RescheduleTracker { events @0 :List(RescheduleEvent); }

struct AllocNetworkStatus {
  interfaceName @0 :Text;
  address @1 :Text;
  dns @2 :Common.DnsConfig $json("DNS");
}

struct AllocState {
  field @0 :Text;
  value @1 :Text;
  time @2 :Int64 $time;
}

struct TaskStateEntry { key @0 :Text; value @1 :TaskState; }

# A stored allocation embeds neither its job nor its placement metrics: the store joins them by
# (namespace, jobId, jobCreateIndex, jobVersion) and by (evalId, taskGroup, metricNumber).
struct Allocation $omitZero {
  id @0 :Text $json("ID");
  namespace @1 :Text;
  evalId @2 :Text $json("EvalID");
  name @3 :Text;
  nodeId @4 :Text $json("NodeID");
  nodeName @5 :Text;
  jobId @6 :Text $json("JobID");
  jobVersion @7 :UInt64 $hidden;
  jobCreateIndex @8 :UInt64 $hidden;
  metricNumber @9 :UInt32 $hidden;
  taskGroup @10 :Text;
  allocatedResources @11 :AllocatedResources;
  desiredStatus @12 :DesiredStatus;
  desiredDescription @13 :Text;
  desiredTransition @14 :DesiredTransition;  # null until one is asked for
  clientStatus @15 :ClientStatus;
  clientDescription @16 :Text;
  taskStates @17 :List(TaskStateEntry) $map;
  allocStates @18 :List(AllocState);
  previousAllocation @19 :Text;
  nextAllocation @20 :Text;
  deploymentId @21 :Text $json("DeploymentID");
  deploymentStatus @22 :DeploymentStatus;
  rescheduleTracker @23 :RescheduleTracker;
  networkStatus @24 :AllocNetworkStatus;
  followupEvalId @25 :Text $json("FollowupEvalID");
  preemptedAllocations @26 :List(Text);
  preemptedByAllocation @27 :Text;
  signingKeyId @28 :Text $json("SigningKeyID");
  createIndex @29 :UInt64;
  modifyIndex @30 :UInt64;
  allocModifyIndex @31 :UInt64;
  createTime @32 :Int64;
  modifyTime @33 :Int64;
  reportNumber @34 :UInt64 $hidden;    # of its node's last report: grows with each; 0: without
  identityKey @35 :UInt64 $hidden;     # CreateIndex of the root key that signs for it; 0: none yet
  identityTime @36 :Int64 $hidden;     # from when on: Unix seconds
}
