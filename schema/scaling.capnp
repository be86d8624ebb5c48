# What was asked of a job's groups by those who scale them, and what job files said of a job. The
# policies themselves stand in the job's groups and tasks (job.capnp).
@0xd5a1c1e3f5b2a918;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".raw;
using Common = import "common.capnp";

struct ScalingEvent {
  time @0 :Int64;                      # Unix nanoseconds
  previousCount @1 :Int64;
  count :union $json("Count") {
    unset @2 :Void;                    # only something to tell
    value @3 :Int64;
  }
  message @4 :Text;
  error @5 :Bool;
  meta @6 :Text $raw;                  # an object of anything
  evalId @7 :Text $json("EvalID");     # "": none, which the API shows as null
  createIndex @8 :UInt64;
}

struct GroupScalingEvents { key @0 :Text; value @1 :List(ScalingEvent); }

# The newest events of each group that there were any for.
struct JobScalingEvents {
  namespace @0 :Text;
  jobId @1 :Text $json("JobID");
  scalingEvents @2 :List(GroupScalingEvents) $map;  # newest first
  modifyIndex @3 :UInt64;
}

# What a version of a job was registered from. Variables may be secrets: this is in answers to those
# who may read the job, in the log and in snapshots, and nowhere else.
struct JobSubmission {
  source @0 :Text;
  format @1 :Text;                     # hcl1, hcl2 or json
  variableFlags @2 :List(Common.TextEntry) $map;
  variables @3 :Text;
  namespace @4 :Text;
  jobId @5 :Text $json("JobID");
  version @6 :UInt64;
  jobModifyIndex @7 :UInt64;
}
