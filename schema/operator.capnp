# Cluster-wide settings that operators change at run time.
@0xd5a1c1e3f5b2a909;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".always;

struct PreemptionConfig {
  systemSchedulerEnabled @0 :Bool;
  sysBatchSchedulerEnabled @1 :Bool;
  batchSchedulerEnabled @2 :Bool;
  serviceSchedulerEnabled @3 :Bool;
}

struct SchedulerConfiguration {
  schedulerAlgorithm @0 :Text;
  preemptionConfig @1 :PreemptionConfig $always;
  memoryOversubscriptionEnabled @2 :Bool;
  rejectJobRegistration @3 :Bool;
  pauseEvalBroker @4 :Bool;
  createIndex @5 :UInt64;
  modifyIndex @6 :UInt64;
}
