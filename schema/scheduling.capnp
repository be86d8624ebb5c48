# What a plugin's scheduler is asked when a job of its type is evaluated, and what it answers. It
# chooses nodes and says what is to end. All else is the agent's: rows and names, ports and cores,
# whether a group may and can run on a node, ends that follow from the job or from a node's, updates
# in place, and whether all of it still fits when it is written.
@0x8051c6ab858003db;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::plugin");
using Alloc = import "alloc.capnp";
using Job = import "job.capnp";

struct Scheduling {
  type @0 :Text;                        # the job's
  evalId @1 :Text;
  attempt @2 :UInt32;                   # 0, and more after a plan of which not all could be written
  now @3 :Int64;                        # Unix
  seed @4 :UInt64;                      # what is chosen by chance is drawn from it: so that it can be chosen again
  job @5 :Job.Job;                      # never a stopped one: its allocations end without a question
  allocs @6 :List(PlacedAlloc);         # of the job: all that the servers have not told to end
  nodes @7 :List(CandidateNode);        # of the job's datacenters and pool that take allocations; not all fit all groups
  dryRun @8 :Bool;                      # somebody plans the job: nothing of the decision is carried out
}

struct PlacedAlloc {
  id @0 :Text;
  name @1 :Text;
  group @2 :Text;
  nodeId @3 :Text;
  status @4 :Alloc.ClientStatus;        # complete and failed ones do not run any more
  outdated @5 :Bool;                    # of an older version, which the job's can't replace in place
  createTime @6 :Int64;                 # Unix
}

struct CandidateNode {
  id @0 :Text;
  name @1 :Text;
  datacenter @2 :Text;
  nodeClass @3 :Text;
  values @4 :List(Text);                # what the scheduler reads of nodes, in its order; empty: the node has none
  cpuMhz @5 :Int64;                     # that are free, other plans under way counted; below zero: overcommitted
  memoryMb @6 :Int64;
  diskMb @7 :Int64;
}

struct Decision {
  stops @0 :List(Stop);
  placements @1 :List(Placement);
  unplaced @2 :List(Unplaced);          # the job is evaluated again when a node has room or comes

  struct Stop {
    allocId @0 :Text;
    description @1 :Text;               # empty: "stopped by its scheduler"
  }

  struct Placement {
    group @0 :Text;
    nodeId @1 :Text;                    # where it does not fit, it counts as unplaced
    replaces @2 :Text;                  # an allocation that has ended, or is stopped by this decision
  }

  struct Unplaced {
    group @0 :Text;
    count @1 :UInt32;
    reason @2 :Text;
  }
}
