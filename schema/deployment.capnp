# Deployments: bringing out one version of a service job.
@0xd5a1c1e3f5b2a907;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".time;

enum DeploymentState {
  initializing @0; pending @1; running @2; paused @3; blocked @4; unblocking @5;
  successful @6; failed @7; cancelled @8;
}

struct DeploymentGroup {
  autoRevert @0 :Bool;
  autoPromote @1 :Bool;
  progressDeadline @2 :Int64;
  requireProgressBy @3 :Int64 $time;
  promoted @4 :Bool;
  placedCanaries @5 :List(Text);
  desiredCanaries @6 :Int64;
  desiredTotal @7 :Int64;
  placedAllocs @8 :Int64;
  healthyAllocs @9 :Int64;
  unhealthyAllocs @10 :Int64;
}

struct DeploymentGroupEntry { key @0 :Text; value @1 :DeploymentGroup; }

struct Deployment {
  id @0 :Text $json("ID");
  namespace @1 :Text;
  jobId @2 :Text $json("JobID");
  jobVersion @3 :UInt64;
  jobModifyIndex @4 :UInt64;
  jobSpecModifyIndex @5 :UInt64;
  jobCreateIndex @6 :UInt64;
  isMultiregion @7 :Bool;
  taskGroups @8 :List(DeploymentGroupEntry) $map;
  status @9 :DeploymentState;
  statusDescription @10 :Text;
  evalPriority @11 :Int64;
  createIndex @12 :UInt64;
  modifyIndex @13 :UInt64;
}
