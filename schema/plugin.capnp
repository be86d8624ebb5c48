# The contract of plugins: what an agent says to hooks and drivers, and what they may ask of it.
# Hooks and drivers of the agent itself keep it too, so that one of them can be moved into a process
# of its own: within a process these objects are handed over by reference, between processes they
# are the bytes of a socket. That is why there are ids here and no handles, and descriptors (passed
# beside a message) where bytes flow.
#
# Times are nanoseconds. Fields are only ever added, at the end of a struct. A union member that a
# receiver does not know is answered by an error.
@0xd5a1c1e3f5b2a913;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::plugin");
using import "annotations.capnp".json;
using import "annotations.capnp".secret;
using Common = import "common.capnp";
using Alloc = import "alloc.capnp";
using Node = import "node.capnp";
using Service = import "service.capnp";

# -- hooks -----------------------------------------------------------------------------------------

# A moment in the life of an allocation or of a task. A hook is asked in those that it names, and
# only if it is wanted.
enum Phase {
  prerun @0;       # of an allocation that may run: before its tasks, one hook after the other
  update @1;       # the servers changed the allocation in place; before prerun, too
  taskRestart @2;  # all tasks are about to be restarted
  preKill @3;      # tasks, or a task, are about to be ended; not before this is answered; repeatedly
  postrun @4;      # all tasks have ended; without prerun, too
  destroy @5;      # the allocation is forgotten; without prerun, too
  shutdown @6;     # the agent ends, tasks go on
  prestart @7;     # of a task: before each start, also of one that was found running
  poststart @8;    # the task runs
  exited @9;       # its process has ended; it may start again
  stop @10;        # it will never run again; once, without prestart, too
}

# What a driver can do; it never changes.
struct Capabilities {
  fsIsolation @0 :Text;       # "none", "chroot" or "image"
  sendSignals @1 :Bool;
  secretsInMemory @2 :Bool;   # its tasks' secrets directories are small tmpfs mounts
  exec @3 :Bool;              # it can run commands beside its tasks
  mounts @4 :Bool;            # it can show a task volumes of the host at other paths
}

# Whom a hook is made for.
struct HookTarget {
  allocId @0 :Text;
  allocRoot @1 :Text;         # "<alloc_dir>/<alloc id>"
  task @2 :Text;              # empty: the hook is the allocation's
  driver @3 :Capabilities;    # the task's; of an allocation only `mounts`: one of its drivers can
  healthKnown @4 :Bool;       # the allocation has its verdict
  begun @5 :Bool;             # an earlier agent has started tasks of it
  hostVolumes @6 :List(Node.HostVolumeEntry);  # of the node, if the group has volumes
}

# The environment of a task and what `${…}` means in its job; see runtime/workload/task_env.hpp.
struct TaskEnvironment {
  variables @0 :List(Common.TextEntry);        # as the task sees them
  clientVariables @1 :List(Common.TextEntry);  # with directories as the agent sees them
  node @2 :List(Common.TextEntry);             # what `${…}` may name of the node
  taskDirectory @3 :Text;                      # as the agent sees it
  allocDirectory @4 :Text;
}

struct TaskEnvironmentEntry {
  key @0 :Text;               # the task
  value @1 :TaskEnvironment;
}

struct ExitResult {
  code @0 :Int32;
  signal @1 :Int32;
  oomKilled @2 :Bool;
  error @3 :Text;             # why it failed beyond code and signal
}

struct DriverNetwork {
  ports @0 :List(Common.IntEntry);
  ip @1 :Text;
  autoAdvertise @2 :Bool;
}

struct HookRequest {
  phase @0 :Phase;
  deadline @1 :Int64;                 # how long the answer is waited for
  data @2 :List(Common.TextEntry);    # prestart, stop: what the hook left at its last prestart
  environment @3 :TaskEnvironment;    # of a hook that asks for it; of no task for an allocation's
  running @4 :Bool;                   # update: the task runs; of an allocation's hook: an earlier
                                      # agent has started tasks of it
  network @5 :DriverNetwork;          # poststart, update: of the running task, if its driver made one
  exit @6 :ExitResult;                # exited
  tasks @7 :List(TaskEnvironmentEntry);  # of an allocation's hook that asks for environments
  again @8 :Bool;                     # update: the servers may have forgotten what they were told
}

# A directory or file of the host as the task is to see it.
struct Mount {
  taskPath @0 :Text;
  hostPath @1 :Text;
  readOnly @2 :Bool;
  propagation @3 :Text;               # "private", "host-to-task" or "bidirectional"
}

struct Device {
  taskPath @0 :Text;
  hostPath @1 :Text;
  permissions @2 :Text;               # of cgroups: "rwm"
}

# Null is an answer, too: nothing to say.
struct HookAnswer {
  done @0 :Bool;                      # prestart: not to be run again for this task
  data @1 :List(Common.TextEntry);    # kept for the next prestart and for stop, over restarts too
  environment @2 :List(Common.TextEntry);  # added to the task's environment
  mounts @3 :List(Mount);
  devices @4 :List(Device);
  # Of templates: above all other variables, as it is, and never written down by the agent.
  secretEnvironment @5 :List(Common.TextEntry) $secret;
}

struct TaskSummary {
  name @0 :Text;
  state @1 :Alloc.TaskRunState;
  failed @2 :Bool;
  restarts @3 :UInt64;
  startedAt @4 :Int64;                # Unix
  finishedAt @5 :Int64;
  paused @6 :Alloc.TaskScheduleState;
}

# Where a check stands that the job says has to pass.
struct CheckStanding {
  task @0 :Text;                      # whose service it is of; empty: of the group
  service @1 :Text;
  kind @2 :Kind;

  enum Kind {
    missing @0;                       # nobody runs it (yet)
    failing @1;                       # pending, or it fails
    passing @2;
  }
}

# The states of an allocation's tasks, in the group's order. Told at every change to those who
# watch; the newest is all that counts.
struct TaskStates {
  tasks @0 :List(TaskSummary);
  allocFailed @1 :Bool;               # something beyond its tasks failed
  checks @2 :List(CheckStanding);
}

# -- what hooks and drivers tell and ask the agent ------------------------------------------------------

struct Event {
  type @0 :Text;                      # as users read it: "Driver", "Task hook message"
  time @1 :Int64;                     # Unix
  message @2 :Text;
  details @3 :List(Common.TextEntry);
  failsTask @4 :Bool;
}

struct Health {
  healthy @0 :Bool;
  reasons @1 :List(Common.TextEntry); # by task, when it is not
}

# Told, and not answered.
struct Notice {
  allocId @0 :Text;
  task @1 :Text;                      # empty: all of the allocation's
  union {
    event @2 :Event;                  # for the task's history
    health @3 :Health;                # the allocation's verdict; the first one counts
    exited @4 :Exited;                # by drivers: a run is over
    network @5 :Alloc.AllocNetworkStatus;
    checks @6 :List(CheckStanding);   # the allocation's, all of them
    fingerprint @7 :Fingerprint;      # by drivers, of themselves: something has changed
    usage @8 :TaskUsage;              # by drivers, at the interval that was asked for
    usageFailed @10 :Failure;         # in place of one usage or, if not recoverable, of all that were to come
  }
  driver @9 :Text;                    # fingerprint: the name of who tells it
  runId @11 :Text;                    # usage, usageFailed: the run that it is of
}

struct Exited {
  runId @0 :Text;
  result @1 :ExitResult;
}

struct Restart {
  reason @0 :Text;
  failure @1 :Bool;                   # the restart policy counts it
}

# Something that one hook of an allocation leaves for others. `version` grows with each change; 0 is
# that of a resource that is not there.
struct Resource {
  name @0 :Text;
  version @1 :UInt64;
  value @2 :Data;
}

struct Command {
  program @0 :Text;
  arguments @1 :List(Text);
  timeout @2 :Int64;                  # it is killed then
}

struct Signal {
  signal @0 :Text;                    # "SIGHUP"
  reason @1 :Text;                    # what users read of it
}

struct CommandEnded {
  exitCode @0 :Int32;
  output @1 :Data;                    # the beginning of it, of both streams
}

struct AgentRequest {
  allocId @0 :Text;
  task @1 :Text;                      # empty: all of the allocation's
  union {
    restart @2 :Restart;              # answered when the processes have ended
    kill @3 :Event;                   # of the task alone, if one is named; answered when the order
                                      # is taken
    getResource @4 :Text;
    putResource @5 :Resource;         # `conflict` unless `version` is the present one
    readAlloc @6 :Void;               # the allocation that `allocId` names, as the servers know it
    register @7 :List(Service.ServiceRegistration);
    deregister @8 :List(Text);        # ids of registrations
    run @9 :Command;                  # beside the task; answered when it has ended
    awaitEnd @10 :Text;               # the allocation that this one replaces, or one that it has
                                      # preempted; answered when it has ended, or to ask again
    signal @11 :Signal;               # to the task's process; `rejected` while it does not run
  }
}

# How an allocation stands that another one waits for.
struct PreviousAlloc {
  ended @0 :Bool;                     # nothing of it runs; false: ask again
  here @1 :Bool;                      # this node ran it, and keeps its directory while it is asked
  address @2 :Text;                   # elsewhere: whose API gives out its data, "10.0.0.7:4646"; or none
  tls @3 :Bool;
  token @4 :Text;                     # for that
}

struct AgentAnswer {
  union {
    done @0 :Void;
    resource @1 :Resource;
    alloc @2 :Alloc.Allocation;
    commandEnded @3 :CommandEnded;
    previousAlloc @4 :PreviousAlloc;
  }
}

# -- drivers -----------------------------------------------------------------------------------------
#
# One driver serves all tasks of a node. It is asked by DriverRequest, answers each request once with
# a DriverAnswer, and tells the agent of ends and events by the names that it was given. It is asked
# to describe itself before anything else.
#
# A task is known by its allocation and its name; one run of it by `runId` besides. startTask with
# the runId of a run that exists attaches to it, so that a start repeated after a crash starts
# nothing twice. The end of a run is told once to an agent (Notice.exited), and kept until
# destroyTask: who recovers the task later hears of it, too.
#
# A driver that streams usage answers taskStats with what the task uses now, and tells its agent
# (Notice.usage) again and again: until the run ends, until it is asked with the interval 0, or until
# it has said that it can't (Notice.usageFailed, not recoverable; once, and then nothing more). What
# fails and may pass is told in place of that reading, and the next is tried at the next tick.

struct TaskId {
  allocId @0 :Text;
  task @1 :Text;
}

# What a task's `config` may hold. What it does not name is refused before the driver hears of it.
struct ConfigField {
  name @0 :Text;
  kind @1 :Kind;
  required @2 :Bool;
  fields @3 :List(ConfigField);       # of a block, or of each of several

  enum Kind {
    text @0;
    number @1;                        # whole
    boolean @2;
    duration @3;                      # "10s"; the driver gets nanoseconds
    texts @4;
    block @5;                         # the driver gets an object
    map @6;                           # texts under free names; the driver gets an object of texts
    blocks @7;                        # the driver gets a list of objects
    any @8;                           # the driver gets it as it stands, and checks it itself
  }
}

# What a driver is. It never changes while the driver lives.
struct DriverDescription {
  capabilities @0 :Capabilities;
  config @1 :List(ConfigField);
}

# Whether a driver works here.
struct Fingerprint {
  detected @0 :Bool;
  healthy @1 :Bool;
  description @2 :Text;
  attributes @3 :List(Common.TextEntry);  # of the node
  devices @4 :List(DeviceGroup);      # by fingerprinters
}

# Devices of a node that are alike. Jobs ask for them by vendor, type and name, and get instances.
struct DeviceGroup {
  vendor @0 :Text;
  type @1 :Text;
  name @2 :Text;
  attributes @3 :List(Common.TextEntry);  # as constraints read them: "11 GiB", "true", "1.5"
  instances @4 :List(DeviceInstance);
}

struct DeviceInstance {
  id @0 :Text;
  healthy @1 :Bool;                   # only such are given out
  healthDescription @2 :Text;
}

struct TaskLogs {
  disabled @0 :Bool;
  maxFiles @1 :UInt32;
  maxFileBytes @2 :UInt64;
}

struct TaskResources {
  memoryBytes @0 :UInt64;
  memoryMaxBytes @1 :UInt64;          # 0: no more than memoryBytes
  cpuShares @2 :UInt64;
  cpuset @3 :Text;                    # "0-3,7"; empty: those that tasks share
  nodeCpuShares @4 :UInt64;           # of the whole node; 0: unknown
}

# Whose task it is, for drivers that label what they make.
struct TaskOrigin {
  namespace @0 :Text;
  jobId @1 :Text;
  jobName @2 :Text;
  parentJobId @3 :Text;               # empty: the job has none
  group @4 :Text;
  nodeId @5 :Text;
  nodeName @6 :Text;
}

# All that a start needs, interpolated.
struct TaskConfig {
  id @0 :TaskId;
  runId @1 :Text;
  config @2 :Text;                    # a JSON object as the description says: typed, nothing else in it
  environment @3 :List(Text);         # "NAME=value"
  user @4 :Text;                      # empty: the driver's default
  allocRoot @5 :Text;                 # "<alloc_dir>/<alloc id>"
  taskDirectory @6 :Text;
  logs @7 :TaskLogs;
  resources @8 :TaskResources;
  ports @9 :List(Alloc.PortMapping);  # the allocation's, as they were placed
  mounts @10 :List(Mount);
  devices @11 :List(Device);
  networkNamespace @12 :Text;         # path; empty: the host's
  dns @13 :Common.DnsConfig;          # null: the host's
  hostname @14 :Text;                 # in the group's network; empty: the job names none
  origin @15 :TaskOrigin;
  taskPorts @16 :List(Alloc.PortMapping);  # of the task's own `resources.network`, the old kind
}

# What a driver needs to find a run again in another process: its own bytes, and which form of them
# it is. 0 are the texts of agents that knew no forms.
struct DriverHandle {
  version @0 :UInt32;
  data @1 :Data;
}

struct Started {
  handle @0 :DriverHandle;
  network @1 :DriverNetwork;          # null: it made none
}

struct RecoverTask {
  id @0 :TaskId;
  runId @1 :Text;                     # empty: whatever runs as `id`, for its record is lost
  handle @2 :DriverHandle;            # null when nobody lived to record it
}

struct StopTask {
  id @0 :TaskId;
  signal @1 :Text;                    # empty: the driver's own
  grace @2 :Int64;                    # it is killed then
}

struct SignalTask {
  id @0 :TaskId;
  signal @1 :Text;
}

struct TaskStats {
  id @0 :TaskId;
  interval @1 :Int64;                 # > 0: drivers that stream do so at it, but from 0.5 s to 1 h; 0: they end it
}

# What a task uses, in the order of Nomad's API. `measured` names what its driver measures; the others
# are unknown, and 0.
struct MemoryUsage {
  cache @1 :UInt64;                   # all in bytes
  kernelMaxUsage @7 :UInt64;
  kernelUsage @6 :UInt64;
  mappedFile @3 :UInt64;
  maxUsage @5 :UInt64;
  measured @8 :List(Text);            # "RSS", "Cache", …
  rss @0 :UInt64 $json("RSS");
  swap @2 :UInt64;
  usage @4 :UInt64;
}

struct CpuUsage {
  measured @6 :List(Text);
  percent @3 :Float64;                # of one core, as the modes are
  systemMode @0 :Float64;
  throttledPeriods @4 :UInt64;
  throttledTime @5 :UInt64;
  totalTicks @2 :Float64;             # MHz
  userMode @1 :Float64;
}

struct ProcessUsage {
  pid @0 :Int32;
  memory @1 :MemoryUsage;
  cpu @2 :CpuUsage;
}

struct TaskUsage {
  memory @0 :MemoryUsage;
  cpu @1 :CpuUsage;
  timestamp @2 :Int64;                # Unix, of the sample
  processes @3 :List(ProcessUsage);
  network @4 :UInt64;                 # bytes, in and out, that its own network has moved until now
  hasNetwork @5 :Bool;                # false: it has none of its own, or nobody knows
}

# A command beside a task. The answer brings descriptors: a stream socket, which tells the end
# (`exited` of executor.capnp) and whose closing kills the command; then the terminal's master, or the
# ends of standard input, output and errors.
struct ExecTask {
  id @0 :TaskId;
  command @1 :List(Text);             # the program, and its arguments
  tty @2 :Bool;
  inTaskDirectory @3 :Bool;           # else in "/", as Nomad's `alloc exec`; a task with a root of its own has that
}

struct DriverRequest {
  union {
    describe @0 :Void;
    fingerprint @1 :Void;             # answered with how it is now
    startTask @2 :TaskConfig;
    recoverTask @3 :RecoverTask;      # `notFound`: it was never started; other failures: it is lost
    stopTask @4 :StopTask;            # answered when the order is taken; `notFound` without a task
    destroyTask @5 :TaskId;           # the end is recorded: forgets the run, kills what is left of it
    endOthers @6 :List(TaskId);       # whatever earlier agents left beside these, and nobody recovered, is killed
    signalTask @7 :SignalTask;
    taskStats @8 :TaskStats;
    execTask @9 :ExecTask;
  }
}

# Why something was not done. Nothing but `recoverable` says whether it is worth another try.
struct Failure {
  code @0 :UInt8;                     # Errc of runtime/base/result.hpp
  message @1 :Text;
  recoverable @2 :Bool;
}

struct DriverAnswer {
  union {
    done @0 :Void;
    failed @1 :Failure;
    description @2 :DriverDescription;
    fingerprint @3 :Fingerprint;
    started @4 :Started;
    recovered @5 :Text;               # the run's id
    usage @6 :TaskUsage;
    exec @7 :Void;                    # it runs; descriptors come beside
  }
}
