# When periodic jobs were last launched. Children are collected, so they can't tell.
@0x9f3c2ab7d1e04c65;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");

struct PeriodicLaunch {
  namespace @0 :Text;
  jobId @1 :Text;                      # of the parent
  time @2 :Int64;                      # Unix seconds, the time in the child's id
  createIndex @3 :UInt64;
  modifyIndex @4 :UInt64;
}
