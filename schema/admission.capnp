# Admission policies: what jobs that come in must be like. See docs/internals/access.md.
@0xc7d8a4156be20f93;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".hidden;

struct AdmissionPolicy $json("SentinelPolicy") {
  name @0 :Text;
  description @1 :Text;
  scope @2 :Text;                      # submit-job
  enforcementLevel @3 :Text;           # advisory, soft-mandatory, hard-mandatory
  policy @4 :Text;                     # HCL or JSON: runtime/cluster/admission
  hash @5 :Data;                       # of all that users say of it
  createIndex @6 :UInt64;
  modifyIndex @7 :UInt64;
  originIndex @8 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
  hasHead @9 :Bool $hidden;            # the text is one block `policy`; releases before rootKeyForcedDelete can't read that
}

# Who submits a job, as conditions see him. Never stored.
struct AdmissionCaller {
  accessor @0 :Text $json("accessor");
  name @1 :Text $json("name");
  type @2 :Text $json("type");         # client, management, workload, anonymous
  policies @3 :List(Text) $json("policies");  # those of his roles, too
  roles @4 :List(Text) $json("roles");
  allocation @5 :Text $json("allocation");
}

# What conditions are asked of, besides `job` and `namespace`. Never stored.
struct AdmissionRequest {
  caller @0 :AdmissionCaller $json("caller");
}
