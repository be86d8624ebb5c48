# What a client node keeps of its own, in its local database.
@0xd5a1c1e3f5b2a90b;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using Common = import "common.capnp";
using Alloc = import "alloc.capnp";
using Plugin = import "plugin.capnp";

# What a hook of a task left for its next run.
struct LocalHook {
  name @0 :Text;
  done @1 :Bool;                       # it need not run again
  data @2 :List(Common.TextEntry);
  env @3 :List(Common.TextEntry);
  mounts @4 :List(Plugin.Mount);
  devices @5 :List(Plugin.Device);
}

# A task as its runner knows it. The stages of a start: `runId` is set before the driver is asked
# to start (so that a crash in between is noticed), `handle` once it has, both are cleared once the
# end of the process has been recorded here.
struct LocalTask {
  state @0 :Alloc.TaskState;
  runId @1 :Text;
  hasHandle @2 :Bool;
  handle @3 :Text;                     # the driver's own, of agents that knew no versions of it
  runComplete @4 :Bool;                # nothing of the task will ever run again
  hooks @5 :List(LocalHook);
  networkIp @6 :Text;
  networkAdvertise @7 :Bool;
  networkPorts @8 :List(Common.IntEntry);
  handleVersion @9 :UInt32;            # 0: it is `handle`
  handleData @10 :Data;                # the driver's own, opaque
  scheduleOrder @11 :Alloc.TaskScheduleOrder;
}
