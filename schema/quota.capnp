# Quotas: how much the allocations and variables of some namespaces may take together.
@0xd5a1c1e3f5b2a91d;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".hidden;
using import "annotations.capnp".always;
using import "annotations.capnp".map;

# Of all amounts 0 is no limit, and less than 0 that nothing may be used.
struct QuotaDevice {
  name @0 :Text;                       # a type, "vendor/type" or "vendor/type/name"
  count @1 :Int64;
}

struct QuotaResources {
  cpu @0 :Int64 $json("CPU");          # MHz
  cores @1 :Int64;
  memoryMb @2 :Int64 $json("MemoryMB");
  memoryMaxMb @3 :Int64 $json("MemoryMaxMB");
  devices @4 :List(QuotaDevice) $always;
  allocations @5 :Int64;               # how many may run; Nomad has no such limit
}

struct QuotaLimit {
  region @0 :Text;
  regionLimit @1 :QuotaResources $always;
  variablesLimit @2 :Int64;            # MiB that variables take as they are stored
  hash @3 :Data;                       # by which the use of this limit is told
}

struct QuotaSpec {
  name @0 :Text;
  description @1 :Text;
  limits @2 :List(QuotaLimit) $always;
  hash @3 :Data;
  createIndex @4 :UInt64;
  modifyIndex @5 :UInt64;
  originIndex @6 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

# What is in use of each limit of this region, by the limit's hash.
struct QuotaUsage {
  struct UsedEntry { key @0 :Text; value @1 :QuotaLimit; }
  name @0 :Text;
  used @1 :List(UsedEntry) $map;
  createIndex @2 :UInt64;
  modifyIndex @3 :UInt64;
}
