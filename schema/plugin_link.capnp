# What an agent and the process of a plugin say to each other over their socket. docs/plugin-protocol.md
# is the contract in words; the objects within are those of plugin.capnp, which hooks and drivers of the
# agent itself speak, too.
#
# Each message is a Frame behind its length (4 bytes, little endian), in Cap'n Proto's stream form.
# The plugin begins with `declaration`; whatever else it says before `configure` is refused.
# Fields are only ever added, at the end of a struct. A union member that a receiver does not know is
# answered by `failed`, if it is a question, and passed over otherwise.
@0xd5a1c1e3f5b2a9f1;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::plugin");
using Common = import "common.capnp";
using Alloc = import "alloc.capnp";
using Job = import "job.capnp";
using Plugin = import "plugin.capnp";
using Scheduling = import "scheduling.capnp";
using Service = import "service.capnp";

struct Frame {
  # Of a question: counted up by who asks it, from 1. Of an answer: its question's. Else 0.
  number @0 :UInt64;
  union {
    # -- answers, of either side
    done @1 :Void;
    failed @2 :Plugin.Failure;
    hookAnswer @3 :Plugin.HookAnswer;
    agentAnswer @4 :Plugin.AgentAnswer;
    driverAnswer @5 :Plugin.DriverAnswer;
    facts @6 :Plugin.Fingerprint;       # attributes and devices; what else is in it is not shown
    apiAnswer @7 :ApiAnswer;

    # -- the agent's questions
    configure @8 :Configure;            # first; `done`, or what is wrong with the configuration
    runHook @9 :RunHook;                # hookAnswer
    cancelHook @10 :UInt64;             # an instance: answer what is open; `done` when nothing is
    askDriver @11 :AskDriver;           # driverAnswer
    gatherFacts @12 :Text;              # a fingerprinter; facts
    startActors @13 :Void;              # the API answers from now on; `done`
    ping @14 :Void;                     # `done`
    shutdown @15 :Void;                 # the agent ends; `done`, and the process ends

    # -- what the agent tells
    closeHook @16 :UInt64;              # this instance is asked nothing any more
    tasksChanged @17 :TasksChanged;
    streamPart @18 :StreamPart;

    # -- the plugin's questions
    askAgent @19 :AskAgent;               # agentAnswer, done
    request @20 :ApiRequest;            # apiAnswer
    subscribe @21 :ApiRequest;          # apiAnswer with the head, then streamPart

    # -- what the plugin tells
    declaration @22 :Declaration;
    hookNotice @23 :HookNotice;
    driverNotice @24 :Plugin.Notice;
    log @25 :LogLine;
    metric @26 :Metric;
    nodeEvent @27 :NodeEvent;
    streamTaken @28 :StreamTaken;
    unsubscribe @29 :UInt64;            # the subscription's number

    # -- schedulers
    decide @30 :Scheduling.Scheduling;  # the agent asks; decision
    decision @31 :Scheduling.Decision;

    # -- commands beside a task: what flows under the number of the askDriver that began it
    execBytes @32 :ExecBytes;           # either side; no more than was taken, and `window` before that
    execTaken @33 :StreamTaken;         # either side, of what the other has sent; of all streams together
    execSize @34 :ExecSize;             # the agent tells
    execEnded @35 :ExecEnded;           # the plugin tells, behind the last of its bytes; nothing follows
    closeExec @36 :UInt64;              # the agent tells: nobody waits for it, kill it; nothing follows

    # -- providers of services: the agent asks, and tells of checks
    registerServices @37 :RegisterServices;      # `done`
    deregisterServices @38 :DeregisterServices;  # `done`
    checksChanged @39 :ChecksChanged;
  }
}

# -- what a plugin is ------------------------------------------------------------------------------

struct Declaration {
  linkVersion @0 :UInt32;               # of this file: 1
  name @1 :Text;
  version @2 :Text;
  config @3 :List(Plugin.ConfigField);  # what `plugin "name" { config { … } }` may hold
  hooks @4 :List(Hook);
  drivers @5 :List(Text);               # names
  fingerprinters @6 :List(Fingerprinter);
  actors @7 :List(Text);
  sdk @8 :Text;                         # "C++ 1.0": shown
  schedulers @9 :List(Scheduler);
  serviceProviders @10 :List(ServiceProvider);

  struct Hook {
    name @0 :Text;
    ofAllocation @1 :Bool;              # else of tasks
    after @2 :Text;                     # the hook that it comes right behind; empty: behind all
    phases @3 :List(Plugin.Phase);
    watchesTasks @4 :Bool;
    readsEnvironment @5 :Bool;
    announcement @6 :Text;              # the event before its first prestart; empty: none
    patience @7 :Int64;                 # of prerun and prestart; 0: ten minutes
    meta @8 :Text;                      # wanted only if the task's meta has this key (of an
                                        # allocation's: the group's); empty: always
    devices @9 :Text;                   # of tasks: wanted only if the task has got devices of this kind,
                                        # "vendor/type"; empty: always
  }

  struct Fingerprinter {
    name @0 :Text;
    interval @1 :Int64;                 # asked again so often; 0: once
  }

  struct Scheduler {
    type @0 :Text;                      # of jobs
    reads @1 :List(Text);               # what it is to know of nodes: "${meta.rack}"
  }

  struct ServiceProvider {
    name @0 :Text;                      # as `service { provider = "…" }` has it
    hearsChecks @1 :Bool;               # it wants `checksChanged`
  }
}

struct Configure {
  config @0 :Text;                      # a JSON object as `Declaration.config` says
  agentVersion @1 :Text;
  dataDir @2 :Text;                     # the plugin's own directory; it is there
  node @3 :Text;                        # the agent's name
  client @4 :Bool;                      # the agent runs a client
  server @5 :Bool;
}

# -- hooks -----------------------------------------------------------------------------------------

# An instance of a hook is one for one task, or for one allocation. It begins with its first phase.
struct RunHook {
  instance @0 :UInt64;
  hook @1 :Text;
  request @2 :Plugin.HookRequest;
  alloc @3 :Alloc.Allocation;           # null: as at the last phase
  job @4 :Job.Job;                      # null: as at the last phase
  target @5 :Plugin.HookTarget;         # null: as at the last phase
}

struct TasksChanged {
  instance @0 :UInt64;
  tasks @1 :Plugin.TaskStates;
}

struct HookNotice {
  instance @0 :UInt64;
  notice @1 :Plugin.Notice;             # ids are the instance's, whatever they say
}

struct AskAgent {
  instance @0 :UInt64;
  request @1 :Plugin.AgentRequest;       # as above
}

# -- drivers ---------------------------------------------------------------------------------------

struct AskDriver {
  driver @0 :Text;
  request @1 :Plugin.DriverRequest;
}

# Of a command that a driver runs beside a task (`execTask`).
struct ExecBytes {
  number @0 :UInt64;
  stream @1 :UInt8;                     # 0: input; 1: output, and a terminal's; 2: errors
  bytes @2 :Data;
  last @3 :Bool;                        # nothing follows on this stream
}

struct ExecSize {
  number @0 :UInt64;
  rows @1 :UInt16;
  columns @2 :UInt16;
}

struct ExecEnded {
  number @0 :UInt64;
  result @1 :Plugin.ExitResult;
}

# -- providers of services ---------------------------------------------------------------------------
#
# What is registered under an id takes the place of what was there before. To deregister what is not there is
# done, too: the agent asks again when it does not know what became of a question. The next process of a plugin
# is told everything again.

# Services of an allocation's group, or of one of its tasks: all that are new or have changed.
struct RegisterServices {
  provider @0 :Text;
  allocId @1 :Text;
  task @2 :Text;                        # empty: they are the group's
  services @3 :List(Service.ServiceRegistration);
}

struct DeregisterServices {
  provider @0 :Text;
  allocId @1 :Text;
  ids @2 :List(Text);                   # of registrations
}

# All checks of an allocation, whenever one of them has another status. The agent runs them.
struct ChecksChanged {
  provider @0 :Text;
  allocId @1 :Text;
  checks @2 :List(Check);

  struct Check {
    task @0 :Text;                      # whose service it is of; empty: the group's
    service @1 :Text;
    name @2 :Text;
    status @3 :Status;
    output @4 :Text;                    # the beginning of what its last run has said

    enum Status {
      pending @0;                       # it has not run yet
      passing @1;
      failing @2;
    }
  }
}

# -- the agent's API -------------------------------------------------------------------------------

struct ApiRequest {
  method @0 :Text;
  path @1 :Text;                        # with its query: "/v1/jobs?prefix=a"
  body @2 :Data;
}

struct ApiAnswer {
  status @0 :UInt16;
  index @1 :UInt64;                     # X-Nomad-Index; 0: none
  body @2 :Data;
}

# A piece of what was subscribed to. The agent sends no more than it was told to have been taken, and
# `window` bytes before that.
struct StreamPart {
  number @0 :UInt64;                    # the subscription's
  bytes @1 :Data;
  last @2 :Bool;                        # it has ended; nothing more comes

  const window :UInt32 = 262144;
}

struct StreamTaken {
  number @0 :UInt64;
  bytes @1 :UInt32;
}

# -- what is told ----------------------------------------------------------------------------------

struct LogLine {
  level @0 :Level;
  text @1 :Text;

  enum Level {
    trace @0;
    debug @1;
    info @2;
    warn @3;
    error @4;
  }
}

# Shown as `nomad.plugin.<name>`, with the label `plugin`.
struct Metric {
  name @0 :Text;                        # [a-z0-9_.]
  value @1 :Float64;
  kind @2 :Kind;

  enum Kind {
    count @0;                           # adds
    sample @1;                          # a measurement
  }
}

struct NodeEvent {
  message @0 :Text;
  details @1 :List(Common.TextEntry);
}
