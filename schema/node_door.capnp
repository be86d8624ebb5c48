# What client nodes and servers ask of each other: one question, one answer. Within a process both
# are handed over by reference, between processes they are a Parcel each. Objects of the state go
# beside them as rows, each in its own bytes, which are neither copied nor encoded anew on the way.
# Who may ask what, and who answers it, stands in actors/roles/node_door.cpp. Ask and Reply are of
# nodes to servers, NodeAsk and NodeReply of servers to nodes.
#
# Fields and members of the unions are only ever added. A question that a receiver does not know is
# answered by `not_found`. Times are milliseconds where the name says so.
@0xd5a1c1e3f5b2a91a;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::door");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".omitEmpty;
using import "annotations.capnp".raw;
using import "annotations.capnp".secret;
using Alloc = import "alloc.capnp";
using Common = import "common.capnp";
using Csi = import "csi.capnp";
using Job = import "job.capnp";
using Plugin = import "plugin.capnp";
using Rpc = import "rpc.capnp";

struct Ask {
  subject @0 :Text;                # id of the node that it is of
  maxWaitMs @1 :UInt64;            # it is held until there is something to say, so long at most
  mayWait @2 :Bool;                # it is not urgent, even if its kind is
  union {
    # Puts the node's record: at the start, and whenever the client finds that it changed. A node that
    # the servers know keeps its status, drain, eligibility and events; a new one is `initializing`
    # until its first heartbeat. Rows: the node. Answer: lease.
    register @3 :Void;

    # The node lives. Answer: lease; `not_found`: it is not registered.
    heartbeat @4 :Void;

    # What servers changed after the index; held. What the client itself reported is no change: only
    # AllocModifyIndex counts. 0 is answered at once, with a complete set, from a state that has
    # every write acknowledged so far. Answer: allocs.
    watchAllocs @5 :UInt64;

    # What the client says of its allocations, at least one. Of each only these fields count: id,
    # nodeId, clientStatus, clientDescription, taskStates, deploymentStatus, networkStatus,
    # modifyTime (Unix nanoseconds). The number grows with each report of the node, and what is not
    # above an allocation's last one is passed over, as are allocations that the servers do not know.
    # `conflict`: the node is down or disconnected for the servers; a heartbeat has to come first.
    # Rows: the allocations. Answer: done.
    updateAllocs @6 :UInt64;

    # Services of the node's allocations, as Nomad's own service discovery shows them; all of them
    # are taken or none. What is registered already, and differs, is replaced. Of each only these
    # fields count: id (it begins with "_nomad-task-<allocation>-"), serviceName, allocId, tags,
    # address, port. At most 10,000 and 4 MiB. `conflict`: as of updateAllocs, or an allocation is to
    # stop. `not_found`: an allocation is not known (any more). The servers forget what a node
    # registered when they give it up as down, and may have an older set after a restore: whoever
    # gets a lease that awaits reports registers again, which changes nothing without need.
    # Rows: the registrations. Answer: done.
    registerServices @7 :Void;

    # Services that are no more. The servers do it by themselves when an allocation has ended, is
    # collected, or its node is down. What is not there is passed over. Answer: done.
    deregisterServices @8 :Deregistration;

    # What happened on the node, the oldest first: subsystem, message, details and timestamp (Unix
    # nanoseconds) count. What the servers have is passed over, so it may be sent again. Rows: the
    # events, of which ten are kept. Answer: done; `not_found`: the node is not registered.
    emitEvents @9 :Void;

    # The node is about to leave. Answer: drain; `not_found`: it is not registered.
    drain @10 :Drain;

    # How the allocation stands that this one, of the node, replaces; held until that has ended, is
    # unknown or not known any more. Answer: previous; `not_found`, `permission_denied`: this one is
    # not known, or another node's.
    awaitPrevious @11 :Text;

    # What a template of a task follows; held until it is something else than `known`. The newest
    # question of a node about the same thing counts: an older one is answered as if its time were
    # over. Answer: data; `overloaded`: the node asks too much.
    watchData @12 :DataQuery;

    # Identities of the node's tasks and services, signed now. The default one of a task is the same
    # bytes each time, so asking again harms nothing. At most 10,000. Answer: identities, one for each,
    # in the same order; `unavailable`: no key can sign yet.
    signIdentities @13 :List(IdentityQuery);

    # A CSI volume for an allocation of the node, and what its node plugin has to know of it. Its
    # controller attaches it first, if it has one that does; held so long. May be repeated: who has the
    # claim already gets the same answer. Answer: claimedVolume; `conflict`: others have it, or the plugin
    # asks to try again: later it may do, as after `unavailable` and `timeout`; `not_found`: no such
    # allocation, volume or plugin; `rejected`: it will not do.
    claimVolume @14 :VolumeClaim;

    # An allocation of the node does not use a volume any more. The servers do the steps that are left
    # and free the claim; what is free already is passed over, so it may be repeated, and is, with
    # `detached`, when the node's steps are done at last. Answer: done.
    unpublishVolume @15 :VolumeUnpublish;
  }
}

struct VolumeClaim {
  allocId @0 :Text;                # its namespace is the volume's
  volumeId @1 :Text;               # with "[index]" of the allocation, if it has one for each
  mode @2 :Csi.CsiClaimMode;       # read: the group's `volume` is read_only
  accessMode @3 :Csi.CsiAccessMode;
  attachmentMode @4 :Csi.CsiAttachmentMode;
}

struct VolumeUnpublish {
  allocId @0 :Text;
  volumeId @1 :Text;
  # Nothing of it is published for this allocation, or staged for the last one, on the node. Otherwise
  # the servers ask the node to see to that (csiNode, detach).
  detached @2 :Bool;
  namespace @3 :Text;              # of the volume; the allocation may have been forgotten
}

# Which identity, of an allocation on the node that has not ended.
struct IdentityQuery {
  allocId @0 :Text;
  task @1 :Text;                   # its name; of a service: that of the job's block
  service @2 :Bool;
  name @3 :Text;                   # of the identity; none: the default one of a task
}

struct Deregistration {
  allocId @0 :Text;
  ids @1 :List(Text);              # none: all of the allocation
}

struct Drain {
  start @0 :Bool;                  # its allocations are to be moved away; otherwise only asks
  deadline @1 :Int64;              # ns; negative: at once, 0: none
  ignoreSystemJobs @2 :Bool;
}

struct DataQuery {
  kind @0 :UInt8;                  # ClusterQuery::Kind of runtime/template/cluster_query.hpp
  namespace @1 :Text;
  name @2 :Text;                   # of a service; the path, or its beginning, of variables
  tag @3 :Text;
  choose @4 :Text;                 # "<number>|<key>"
  known @5 :UInt64;                # the digest of the last answer; 0: none
  allocId @6 :Text;                # for which task of the node: its rights count; none: nobody's
  task @7 :Text;
}

struct Reply {
  index @0 :UInt64;                # of the state that it speaks of
  union {
    done @1 :Void;                 # what was said is durable
    lease @2 :Lease;
    allocs @3 :Allocs;
    drain @4 :DrainState;
    previous @5 :Previous;
    data @6 :NodeData;
    identities @7 :List(Identity);
    claimedVolume @8 :ClaimedVolume;
  }
}

# Rows: the volume (CsiVolume), without secrets and claims. Its secrets are the secret beside the answer:
# the bytes of a CsiSecrets (Object<CsiSecrets>::from_bytes); none: it has none.
struct ClaimedVolume {
  publishContext @0 :List(Common.TextEntry);  # of the attach; may be private: never logged
}

# The client may stay silent for `ttlMs` from now on.
struct Lease {
  ttlMs @0 :UInt64;
  serverTime @1 :Int64;            # Unix nanoseconds, to notice skewed clocks; 0: not given
  # The servers had given the node up and it is not ready yet: they wait for a report of all its
  # allocations, and then for a heartbeat.
  awaitsReports @2 :Bool;
  servers @3 :List(Rpc.ServerAddress);  # where the node can turn to from now on
}

struct Identity {
  token @0 :Text $secret;          # none: it was refused
  issuedAt @1 :Int64;              # Unix nanoseconds
  expiresAt @2 :Int64;             # likewise; 0: it lasts as long as the allocation
  refused @3 :Text;                # why: "allocation not found", "task not found", …
}

# What changed for the node. The index is the one to ask with next; not above the one asked with:
# nothing is new. Rows: the allocations as the servers see them, then the versions of jobs that
# these run.
struct Allocs {
  # They are all the allocations of the node, and those not among them are forgotten by the servers
  # (collected). Otherwise they are those whose AllocModifyIndex is above the index asked with, and
  # nothing was forgotten.
  complete @0 :Bool;
  jobs @1 :List(UInt32);           # of each allocation: the position of its job among the jobs
}

struct DrainState { draining @0 :Bool; }

struct Previous {
  ended @0 :Bool;                  # false: the wait is over
  httpAddress @1 :Text;            # of the node whose API gives out its ephemeral disk, if it is wanted
  tls @2 :Bool;
  migrateToken @3 :Text $secret;   # what that node gives it out for
}

# Rows: services, then variables without what they hold, at most one where one was asked for; what
# that one holds, as runtime/security encodes it, is the secret beside the answer.
struct NodeData {
  digest @0 :UInt64;               # `known`: the wait is over, and nothing follows
  services @1 :UInt32;             # how many of the rows are services
}

# What servers ask of a client node, for a user or for themselves. Of an allocation that the node
# does not have: `not_found`. Who asks is judged by the node.
struct NodeAsk {
  subject @0 :Text;                # id of the node that is asked
  allocId @1 :Text;                # which of its allocations it is about; none: the node
  union {
    # Restarts one task, every running one (neither named) or every one, ended ones included, in
    # lifecycle order. Both is `invalid_argument`. Answer: done.
    restartTasks @2 :RestartTasks;

    # Sends a signal to one task, or to every running one. Answer: done.
    signalTasks @3 :SignalTasks;

    # Removes what is left of the allocation. Answer: done, when it is gone; `rejected`: it has not
    # ended.
    collectAlloc @4 :Void;

    # Removes what is left of all that have ended. Answer: done.
    collectGarbage @5 :Void;

    # Answer: meta; `unavailable`: the client is starting.
    readMeta @6 :Void;

    # Sets keys of the node's metadata, and unsets those without a value. Answered when it is saved;
    # the node is registered with it shortly after. Answer: meta; `invalid_argument`; `unavailable`.
    applyMeta @7 :List(MetaChange);

    # What the allocation's running tasks use, or the one that is named. Answer: allocUsage;
    # `not_found`: it has no such task.
    readAllocUsage @8 :Text;

    # How the checks of the allocation's services stand. Answer: checks.
    readChecks @9 :Void;

    # What the machine uses. Answer: hostUsage; `unavailable`: the client is starting.
    readHostUsage @10 :Void;

    # Who the allocation's tasks and services can say they are. Answer: identities.
    readIdentities @11 :Void;

    # What the allocation's tasks have used, or the one that is named, also of those that have ended.
    # Answer: usageHistory; `not_found`: it has no such task.
    readUsageHistory @12 :Text;

    # What the machine has used. Answer: usageHistory, of one without a name; `unavailable`: the client
    # is starting.
    readHostUsageHistory @13 :Void;

    # Overrides the schedule of one task, or has it obeyed again. Answered when it is saved. Answer: done;
    # `not_found`: there is no such task; `rejected`: it has no schedule, or does not run any more.
    pauseTask @14 :PauseTask;

    # What the schedule of the named task, or an order, says now. Answer: scheduleState; errors as above.
    readPause @15 :Text;

    # What a controller plugin on the node does. All of it may be repeated, as CSI demands. Only servers
    # ask it. Answer: csiController, of the same kind. A NotFound of the plugin is success for deleting
    # and detaching. Errors: `not_found`: there is no such healthy controller here, and nothing was done:
    # another one may do it; `unavailable`, `timeout`, `overloaded`: the plugin does not answer, or says
    # Unavailable, DeadlineExceeded or ResourceExhausted (of `create` and `expand`: `too_large`);
    # `conflict`: FailedPrecondition, Aborted; `invalid_argument`: InvalidArgument, OutOfRange;
    # `rejected`: whatever else it says. The text is the plugin's, without secrets.
    csiController @16 :CsiControllerCall;

    # What the node does with a volume by its node plugin. As above. Answer: csiNode.
    csiNode @17 :CsiNodeCall;
  }
}

struct CsiControllerCall {
  pluginId @0 :Text;
  secrets @1 :List(Csi.SecretEntry);
  union {
    validate @2 :CsiValidate;
    create @3 :CsiCreate;
    delete @4 :Text;               # the external id
    attach @5 :CsiAttach;
    detach @6 :CsiDetach;
    expand @7 :CsiExpand;
    listVolumes @8 :CsiPage;
    createSnapshot @9 :CsiCreateSnapshot;
    deleteSnapshot @10 :Text;      # its id
    listSnapshots @11 :CsiPage;
  }
}

# ValidateVolumeCapabilities: each of the capabilities is confirmed, or it is `rejected`.
struct CsiValidate {
  externalId @0 :Text;
  capabilities @1 :List(Csi.CsiCapability);
  mountOptions @2 :Job.MountOptions;
  parameters @3 :List(Common.TextEntry);
  context @4 :List(Common.TextEntry);
}

struct CsiCreate {
  name @0 :Text;
  capacityMin @1 :Int64;           # bytes; 0: none given
  capacityMax @2 :Int64;
  capabilities @3 :List(Csi.CsiCapability);
  mountOptions @4 :Job.MountOptions;
  parameters @5 :List(Common.TextEntry);
  snapshotId @6 :Text;             # at most one of the two
  cloneId @7 :Text;
  topologies @8 :Csi.CsiTopologyRequest;
}

struct CsiAttach {
  externalId @0 :Text;
  externalNodeId @1 :Text;
  capability @2 :Csi.CsiCapability;
  mountOptions @3 :Job.MountOptions;  # the volume's own
  readOnly @4 :Bool;
  context @5 :List(Common.TextEntry);
}

struct CsiDetach {
  externalId @0 :Text;
  externalNodeId @1 :Text;
}

struct CsiExpand {
  externalId @0 :Text;
  capacityMin @1 :Int64;
  capacityMax @2 :Int64;
  capability @3 :Csi.CsiCapability;
  mountOptions @4 :Job.MountOptions;
}

struct CsiPage {
  maxEntries @0 :Int32;            # 0: as the plugin likes
  startingToken @1 :Text;
}

struct CsiCreateSnapshot {
  externalId @0 :Text;             # of the volume
  name @1 :Text;
  parameters @2 :List(Common.TextEntry);
}

struct CsiNodeCall {
  pluginId @0 :Text;
  volumeId @1 :Text;
  externalId @2 :Text;
  namespace @3 :Text;
  claim @4 :Csi.CsiClaim;          # without an allocation: of all that are no more, or do not run here
  union {
    # Unpublishes it for the claim's allocation, and unstages it after the last one that uses it. What is
    # not published is done. `conflict`: the allocation lives here and uses it.
    detach @5 :Void;
    expand @6 :CsiExpand;          # NodeExpandVolume where the claim's allocation has it
  }
  secrets @7 :List(Csi.SecretEntry);
}

struct RestartTasks {
  task @0 :Text;
  all @1 :Bool;
}

struct SignalTasks {
  task @0 :Text;                   # none: all
  signal @1 :Text;                 # "SIGHUP"
}

struct PauseTask {
  task @0 :Text;
  order @1 :Alloc.TaskScheduleOrder;
}

struct MetaChange {
  key @0 :Text;
  value @1 :Text;
  unset @2 :Bool;
}

struct NodeReply {
  union {
    done @0 :Void;
    meta @1 :NodeMeta;
    allocUsage @2 :AllocUsage;
    checks @3 :List(CheckReport);  # in the job's order; none: it has no checks, or has ended
    hostUsage @4 :HostUsage;
    identities @5 :List(IdentityReport);  # by task, service and name; none: it has none, or has ended
    usageHistory @6 :List(UsageHistory);  # in the group's order
    scheduleState @7 :Alloc.TaskScheduleState;
    csiController @8 :CsiControllerResult;
    csiNode @9 :CsiNodeResult;
  }
}

struct CsiControllerResult {
  union {
    done @0 :Void;                 # validate, delete, detach, deleteSnapshot
    created @1 :CsiCreated;
    publishContext @2 :List(Common.TextEntry);  # attach
    expanded @3 :CsiExpanded;
    volumes @4 :CsiVolumesPage;
    snapshots @5 :CsiSnapshotsPage;  # createSnapshot: the one
  }
}

struct CsiCreated {
  externalId @0 :Text;
  capacity @1 :Int64;
  context @2 :List(Common.TextEntry);
  topologies @3 :List(Csi.CsiTopology);
  snapshotId @4 :Text;
  cloneId @5 :Text;
}

struct CsiExpanded {
  capacity @0 :Int64;
  onNodes @1 :Bool;                # NodeExpandVolume has to follow
}

struct CsiVolumesPage {
  volumes @0 :List(Csi.CsiExternalVolume);
  nextToken @1 :Text;
}

struct CsiSnapshotsPage {
  snapshots @0 :List(Csi.CsiSnapshot);  # without sourceVolumeId, pluginId
  nextToken @1 :Text;
}

struct CsiNodeResult { capacity @0 :Int64; }  # of expand

struct NodeMeta {
  merged @0 :List(Common.TextEntry);  # as the node is registered
  dynamic @1 :List(MetaChange);    # what was changed since the configuration
  fixed @2 :List(Common.TextEntry);   # of the configuration
}

# What follows looks as Nomad's API shows it. Timestamps are Unix nanoseconds where nothing else is said.

struct ResourceUsage {
  cpuStats @0 :Plugin.CpuUsage;
  deviceStats @1 :Text $raw;       # no device is measured: none of a task, [] of an allocation
  memoryStats @2 :Plugin.MemoryUsage;
}

struct ProcessEntry { key @0 :Text; value @1 :ResourceUsage; }

struct TaskUsage {
  pids @0 :List(ProcessEntry) $map;
  resourceUsage @1 :ResourceUsage;
  timestamp @2 :Int64;
}

struct TaskUsageEntry { key @0 :Text; value @1 :TaskUsage; }

struct AllocUsage {
  resourceUsage @0 :ResourceUsage;  # of its tasks together
  tasks @1 :List(TaskUsageEntry) $map;
  timestamp @2 :Int64;             # the newest of theirs
}

struct CheckReport {
  check @0 :Text;
  group @1 :Text;                  # the allocation's name: "web.front[0]"
  id @2 :Text $json("ID");
  mode @3 :Text;                   # "healthiness" or "readiness"
  output @4 :Text;
  service @5 :Text;
  status @6 :Text;                 # "pending", "success" or "failure"
  statusCode @7 :Int32 $omitEmpty;
  task @8 :Text $omitEmpty;        # none: the service is the group's
  timestamp @9 :Int64;             # Unix seconds
}

# Nothing of the token.
struct IdentityReport {
  audience @0 :List(Text);
  expiresAt @1 :Int64;             # by the node's clock; 0: it lasts as long as its allocation
  issuedAt @2 :Int64;              # likewise: when it came
  name @3 :Text;                   # "default" is the default one
  service @4 :Text;                # as the job's block names it; none: the task's own
  task @5 :Text;                   # none: of the group's services
}

# What is kept of the past (runtime/workload/usage). A task that never ran has no series.
struct UsageHistory {
  task @0 :Text;
  series @1 :List(UsageSeries);    # the last hour, and the last day
  p95Cpu @2 :Float64;              # MHz
  p95Memory @3 :Float64;           # bytes
  p95Seconds @4 :UInt32;           # of how much time the two are
  restarts @5 :UInt32;             # since the agent keeps it
  restartTimes @6 :List(Int64);    # Unix nanoseconds, of the last ones
  advice @7 :List(UsageAdvice);
  reservedCpu @8 :UInt64;          # MHz; 0: nothing, or processors of its own
  reservedMemory @9 :UInt64;       # MiB
}

# A slot of which nothing is known is a negative number in each list.
struct UsageSeries {
  interval @0 :UInt32;             # seconds
  end @1 :Int64;                   # Unix seconds, by the node's clock: of the last slot
  cpu @2 :List(Float32);           # MHz, oldest first, as the others
  memory @3 :List(Float32);        # bytes
  network @4 :List(Float32);       # bytes a second
}

struct UsageAdvice {
  resource @0 :Text;               # "memory" or "cpu"
  unit @1 :Text;                   # "MiB" or "MHz", of the three:
  reserved @2 :UInt64;
  used @3 :UInt64;                 # the percentile
  suggested @4 :UInt64;
  text @5 :Text;                   # the sentence for people
}

struct HostUsage {
  allocDirStats @0 :DiskUsage;     # without device and mountpoint
  cpu @1 :List(CoreUsage) $json("CPU");
  cpuTicksConsumed @2 :Float64 $json("CPUTicksConsumed");  # MHz
  deviceStats @3 :Text $raw;
  diskStats @4 :List(DiskUsage);
  memory @5 :HostMemory;
  timestamp @6 :Int64;
  uptime @7 :UInt64;               # seconds
}

struct DiskUsage {
  available @0 :UInt64;            # bytes, as all but the percentages
  device @1 :Text;
  inodesUsedPercent @2 :Float64;
  mountpoint @3 :Text;
  size @4 :UInt64;
  used @5 :UInt64;
  usedPercent @6 :Float64;
}

struct CoreUsage {
  cpu @0 :Text $json("CPU");       # "cpu0"
  idle @1 :Float64;                # percent of its time, as system, totalPercent and user
  system @2 :Float64;
  totalPercent @3 :Float64;
  totalTicks @4 :Float64;          # MHz
  user @5 :Float64;
}

struct HostMemory {
  available @0 :UInt64;            # all in bytes
  free @1 :UInt64;
  total @2 :UInt64;
  used @3 :UInt64;
}

# A question or an answer between processes, with what goes beside it.
struct Parcel {
  message @0 :Data;
  rows @1 :List(Data);
  secret @2 :Data $secret;
}
