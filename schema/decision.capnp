# What a scheduler's decision was made from, as the server that made it keeps it, so that it can be
# made again (runtime/scheduler/kept_decision). Of jobs there is only what their allocations take.
@0xd5a1c1e3f5b2a919;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".time;
using import "annotations.capnp".omitEmpty;
using Alloc = import "alloc.capnp";
using Eval = import "eval.capnp";
using Scheduling = import "scheduling.capnp";

struct KeptDecision {
  number @0 :UInt64;                   # a server counts its decisions from 1
  # What it was made from.
  evaluation @1 :Eval.Evaluation;
  snapshotIndex @2 :UInt64;
  time @3 :Int64 $time;
  attempts @4 :UInt32;                 # that were made before
  fruitless @5 :UInt32;                # of these, the last ones in a row that came to nothing
  blockedEval @6 :Text;                # that an attempt before has written
  salt @7 :UInt64;
  underWay @8 :List(UInt64);           # decisions whose plans were; 0 is one that nobody kept
  answer @9 :Scheduling.Decision $omitEmpty;   # of the plugin that schedules jobs of this type

  # What it led to.
  hasPlan @10 :Bool;
  placements @11 :UInt32;              # new allocations
  updates @12 :UInt32;                 # changed rows of others
  stops @13 :UInt32;
  preemptions @14 :UInt32;
  lacksRoom @15 :Bool;                 # something could not be placed
  failure @16 :Text $omitEmpty;        # the decision could not be made
  reserves @17 :List(NodeReserve) $omitEmpty;  # what others that see the plan under way count as taken
  resources @18 :List(Alloc.AllocatedResources) $omitEmpty;  # of these; equal ones once
  region @19 :Text;                    # the server's

  struct NodeReserve {
    nodeId @0 :Text $json("NodeID");
    allocs @1 :List(AllocReserve);
  }

  struct AllocReserve {
    id @0 :Text $json("ID");
    resources @1 :UInt32;              # position
  }
}

# What became of a decision's plan.
struct PlanEnd {
  index @0 :UInt64;                    # of what was written last of it; 0: nothing was
  refused @1 :UInt32;                  # nodes whose part was
  refusals @2 :List(Refusal);          # the first of them
  failure @3 :Text;                    # it was not judged: why

  struct Refusal {
    nodeId @0 :Text $json("NodeID");
    reason @1 :Text;
  }
}
