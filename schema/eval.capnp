# Evaluations: the work items of the schedulers.
@0xd5a1c1e3f5b2a906;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".hidden;
using import "annotations.capnp".time;
using import "annotations.capnp".omitZero;
using Common = import "common.capnp";
using Alloc = import "alloc.capnp";

enum EvalStatus { blocked @0; pending @1; complete @2; failed @3; canceled @4; }

enum EvalTrigger {
  none @0 $json("");
  jobRegister @1 $json("job-register");
  jobDeregister @2 $json("job-deregister");
  periodicJob @3 $json("periodic-job");
  nodeDrain @4 $json("node-drain");
  nodeUpdate @5 $json("node-update");
  allocStop @6 $json("alloc-stop");
  scheduled @7;
  rollingUpdate @8 $json("rolling-update");
  deploymentWatcher @9 $json("deployment-watcher");
  failedFollowUp @10 $json("failed-follow-up");
  maxPlanAttempts @11 $json("max-plan-attempts");
  allocFailure @12 $json("alloc-failure");
  queuedAllocs @13 $json("queued-allocs");
  preemption @14;
  jobScaling @15 $json("job-scaling");
  maxDisconnectTimeout @16 $json("max-disconnect-timeout");
  reconnect @17;
}

struct MetricEntry { key @0 :Text; value @1 :Alloc.AllocMetric; }

struct Evaluation $omitZero {
  id @0 :Text $json("ID");
  namespace @1 :Text;
  priority @2 :Int64;
  type @3 :Text;
  triggeredBy @4 :EvalTrigger;
  jobId @5 :Text $json("JobID");
  jobModifyIndex @6 :UInt64;
  nodeId @7 :Text $json("NodeID");
  nodeModifyIndex @8 :UInt64;
  deploymentId @9 :Text $json("DeploymentID");
  status @10 :EvalStatus;
  statusDescription @11 :Text;
  wait @12 :Int64;
  waitUntil @13 :Int64 $time;
  nextEval @14 :Text;
  previousEval @15 :Text;
  blockedEval @16 :Text;
  failedTgAllocs @17 :List(MetricEntry) $map $json("FailedTGAllocs");
  classEligibility @18 :List(Common.BoolEntry) $map;
  quotaLimitReached @19 :Text;
  escapedComputedClass @20 :Bool;
  annotatePlan @21 :Bool;
  queuedAllocations @22 :List(Common.IntEntry) $map;
  snapshotIndex @23 :UInt64;
  createIndex @24 :UInt64;
  modifyIndex @25 :UInt64;
  createTime @26 :Int64;
  modifyTime @27 :Int64;
  waitsForVolumes @28 :Bool $hidden;   # groups of its that found no place ask for CSI volumes
}
