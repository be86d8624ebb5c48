# What an agent has nomadctl-csi ask plugins of the Container Storage Interface, and what it hears of
# them. Frames over the socket that is the program's descriptor 3: the agent sends Orders, the program
# Answers, each behind its length (runtime/csi/protocol). Both are of one release. Which fields count
# says the method; names and numbers of methods, access modes and capabilities are CSI's.
@0xc4a7d3f0b1952e68;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema::csi");

enum Method {
  getPluginInfo @0;
  getPluginCapabilities @1;
  probe @2;
  createVolume @3;
  deleteVolume @4;
  controllerPublishVolume @5;
  controllerUnpublishVolume @6;
  validateVolumeCapabilities @7;
  listVolumes @8;
  controllerGetCapabilities @9;
  createSnapshot @10;
  deleteSnapshot @11;
  listSnapshots @12;
  controllerExpandVolume @13;
  nodeStageVolume @14;
  nodeUnstageVolume @15;
  nodePublishVolume @16;
  nodeUnpublishVolume @17;
  nodeGetVolumeStats @18;
  nodeExpandVolume @19;
  nodeGetCapabilities @20;
  nodeGetInfo @21;
}

struct Entry {
  key @0 :Text;
  value @1 :Text;
}

struct Capability {
  accessMode @0 :UInt8;       # 1: single node writer … 5: multi node, multi writer
  block @1 :Bool;             # Otherwise it is mounted.
  fsType @2 :Text;
  mountFlags @3 :List(Text);  # Secrets may be among them.
}

struct Topology {
  segments @0 :List(Entry);
}

struct Order {
  union {
    call @0 :Call;
    cancel @1 :UInt64;        # The number of a call. It is answered all the same.
  }
}

struct Call {
  number @0 :UInt64;
  socket @1 :Text;            # Path.
  timeoutMs @2 :UInt64;
  method @3 :Method;
  volumeId @4 :Text;
  nodeId @5 :Text;
  stagingPath @6 :Text;
  targetPath @7 :Text;
  capabilities @8 :List(Capability);  # One, where a method takes one.
  readOnly @9 :Bool;
  volumeContext @10 :List(Entry);
  publishContext @11 :List(Entry);
  parameters @12 :List(Entry);
  secrets @13 :List(Entry);
  name @14 :Text;
  requiredBytes @15 :Int64;
  limitBytes @16 :Int64;
  sourceSnapshot @17 :Text;   # createVolume: from that, or
  sourceVolume @18 :Text;     # from that; createSnapshot, listSnapshots: of that
  requisite @19 :List(Topology);
  preferred @20 :List(Topology);
  snapshotId @21 :Text;
  maxEntries @22 :Int32;
  startingToken @23 :Text;
}

struct Volume {
  id @0 :Text;
  capacityBytes @1 :Int64;
  context @2 :List(Entry);
  sourceSnapshot @3 :Text;
  sourceVolume @4 :Text;
  topologies @5 :List(Topology);
  publishedNodes @6 :List(Text);
  abnormal @7 :Bool;
  condition @8 :Text;
}

struct Snapshot {
  id @0 :Text;
  sourceVolume @1 :Text;
  sizeBytes @2 :Int64;
  createTime @3 :Int64;       # Unix seconds
  isReady @4 :Bool;
}

struct Usage {
  unit @0 :UInt8;             # 1: bytes, 2: inodes
  available @1 :Int64;
  total @2 :Int64;
  used @3 :Int64;
}

# All of it is what a plugin says, within bounds: strings that are UTF-8, and no more of anything than
# runtime/csi/caller/answers.cpp lets through.
struct Answer {
  number @0 :UInt64;
  cause @1 :UInt16;           # 0: there is an answer; otherwise runtime/csi/cause.hpp
  text @2 :Text;              # Why not: one line.
  name @3 :Text;
  version @4 :Text;
  capabilities @5 :UInt64;    # A bit for each, at its number.
  expansion @6 :UInt64;       # Likewise, of a plugin's VolumeExpansion.
  ready @7 :Bool;
  nodeId @8 :Text;
  maxVolumes @9 :Int64;
  topology @10 :List(Entry);
  volumes @11 :List(Volume);  # createVolume: one
  snapshots @12 :List(Snapshot);  # createSnapshot: one
  nextToken @13 :Text;
  publishContext @14 :List(Entry);
  isConfirmed @15 :Bool;
  confirmed @16 :List(Capability);
  message @17 :Text;          # Why it is not confirmed.
  capacityBytes @18 :Int64;
  nodeExpansionRequired @19 :Bool;
  usage @20 :List(Usage);
}
