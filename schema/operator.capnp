# Cluster-wide settings that operators change at run time.
@0xd5a1c1e3f5b2a909;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".always;
using import "annotations.capnp".durationText;

struct PreemptionConfig {
  systemSchedulerEnabled @0 :Bool;
  sysBatchSchedulerEnabled @1 :Bool;
  batchSchedulerEnabled @2 :Bool;
  serviceSchedulerEnabled @3 :Bool;
}

# How the leader looks after the servers.
struct AutopilotConfiguration {
  cleanupDeadServers @0 :Bool;
  createIndex @8 :UInt64;
  disableUpgradeMigration @6 :Bool;    # this and the next two are kept and shown, no more
  enableCustomUpgrades @7 :Bool;
  enableRedundancyZones @5 :Bool;
  lastContactThreshold @1 :Int64 $durationText $always;
  maxTrailingLogs @2 :UInt64;
  minQuorum @3 :UInt64;
  modifyIndex @9 :UInt64;
  serverStabilizationTime @4 :Int64 $durationText $always;
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
