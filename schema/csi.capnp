# Volumes of storage plugins that speak CSI: what is stored of them, who uses them, and what nodes
# say of the plugins that run there. See docs/internals/volumes.md.
@0x85d0409c01fd672f;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".always;
using import "annotations.capnp".hidden;
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".omitEmpty;
using import "annotations.capnp".raw;
using import "annotations.capnp".secret;
using import "annotations.capnp".time;
using Common = import "common.capnp";
using Job = import "job.capnp";

enum CsiAccessMode {
  unknown @0 $json("");
  singleNodeReaderOnly @1 $json("single-node-reader-only");
  singleNodeWriter @2 $json("single-node-writer");
  multiNodeReaderOnly @3 $json("multi-node-reader-only");
  multiNodeSingleWriter @4 $json("multi-node-single-writer");
  multiNodeMultiWriter @5 $json("multi-node-multi-writer");
}

enum CsiAttachmentMode {
  unknown @0 $json("");
  blockDevice @1 $json("block-device");
  fileSystem @2 $json("file-system");
}

struct CsiCapability $json("CSIVolumeCapability") {
  accessMode @0 :CsiAccessMode;
  attachmentMode @1 :CsiAttachmentMode;
}

# A place. A node is there if it has all of the segments.
struct CsiTopology $json("CSITopology") { segments @0 :List(Common.TextEntry) $map; }

struct CsiTopologyRequest $json("CSITopologyRequest") {
  required @0 :List(CsiTopology);
  preferred @1 :List(CsiTopology);
}

struct SecretEntry { key @0 :Text; value @1 :Text $secret; }

# A volume's secrets as they are sealed, and beside an answer of the door.
struct CsiSecrets { entries @0 :List(SecretEntry) $map; }

enum CsiClaimMode { read @0; write @1; }

# How far giving a claim back is. Each step may be done again from the state before it.
enum CsiClaimState {
  taken @0;                            # in use
  unpublishing @1;                     # out of use; whether its node still has it mounted is not known
  nodeDetached @2;                     # nothing of it is left on its node, or that node is gone
  controllerDetached @3;               # nor at the controller, or there was nothing to detach: it goes
}

# What an allocation has of a volume, or had: one claim for each of the two.
struct CsiClaim {
  allocId @0 :Text $json("AllocID");
  nodeId @1 :Text $json("NodeID");
  externalNodeId @2 :Text $json("ExternalNodeID");  # as the plugin calls the node
  mode @3 :CsiClaimMode;
  accessMode @4 :CsiAccessMode;
  attachmentMode @5 :CsiAttachmentMode;
  state @6 :CsiClaimState;
}

struct Nothing {}

struct NothingEntry { key @0 :Text; value @1 :Nothing; }

# A volume, in the order and with the names of Nomad's API. What is not stored is filled into
# answers, by what is true when they are given.
struct CsiVolume $json("CSIVolume") {
  id @0 :Text $json("ID");
  name @1 :Text;
  externalId @2 :Text $json("ExternalID");          # as the plugin calls it
  namespace @3 :Text;
  requestedTopologies @4 :CsiTopologyRequest;
  topologies @5 :List(CsiTopology);                 # it is reached from any one of them; none: from everywhere
  accessMode @6 :CsiAccessMode;                     # of its claims; unknown while there are none
  attachmentMode @7 :CsiAttachmentMode;             # likewise
  mountOptions @8 :Job.MountOptions;                # answers show no flags
  secrets @9 :List(SecretEntry) $map;               # of requests: stored ones are sealed
  parameters @10 :List(Common.TextEntry) $map;
  context @11 :List(Common.TextEntry) $map;
  capacity @12 :Int64;                              # bytes, as the next two
  requestedCapacityMin @13 :Int64;
  requestedCapacityMax @14 :Int64;
  requestedCapabilities @15 :List(CsiCapability);
  cloneId @16 :Text $json("CloneID");
  snapshotId @17 :Text $json("SnapshotID");
  readAllocs @18 :List(NothingEntry) $map $always;  # not stored
  writeAllocs @19 :List(NothingEntry) $map $always; # not stored
  allocations @20 :Text $raw;                       # not stored: stubs of both
  schedulable @21 :Bool;                            # not stored
  pluginId @22 :Text $json("PluginID");
  provider @23 :Text;                               # not stored, as the next six
  providerVersion @24 :Text;
  controllerRequired @25 :Bool;
  controllersHealthy @26 :Int64;
  controllersExpected @27 :Int64;
  nodesHealthy @28 :Int64;
  nodesExpected @29 :Int64;
  resourceExhausted @30 :Int64 $time;               # since when the plugin has no room for it
  createIndex @31 :UInt64;
  modifyIndex @32 :UInt64;
  claims @33 :List(CsiClaim) $hidden;               # by allocation
  keyId @34 :Text $hidden;                          # the root key that sealed the secrets; empty without any
  sealed @35 :Data $hidden;                         # CsiSecrets
}

# A line of a list of volumes. Never stored.
struct CsiVolumeStub $json("CSIVolListStub") {
  id @0 :Text $json("ID");
  namespace @1 :Text;
  name @2 :Text;
  externalId @3 :Text $json("ExternalID");
  topologies @4 :List(CsiTopology);
  accessMode @5 :CsiAccessMode;
  attachmentMode @6 :CsiAttachmentMode;
  currentReaders @7 :Int64;
  currentWriters @8 :Int64;
  schedulable @9 :Bool;
  pluginId @10 :Text $json("PluginID");
  provider @11 :Text;
  controllerRequired @12 :Bool;
  controllersHealthy @13 :Int64;
  controllersExpected @14 :Int64;
  nodesHealthy @15 :Int64;
  nodesExpected @16 :Int64;
  resourceExhausted @17 :Int64 $time;
  createIndex @18 :UInt64;
  modifyIndex @19 :UInt64;
}

# A volume as its plugin lists it, known to the servers or not. Never stored.
struct CsiExternalVolume $json("CSIVolumeExternalStub") {
  externalId @0 :Text $json("ExternalID");
  capacityBytes @1 :Int64;
  volumeContext @2 :List(Common.TextEntry) $map;
  cloneId @3 :Text $json("CloneID");
  snapshotId @4 :Text $json("SnapshotID");
  publishedExternalNodeIds @5 :List(Text) $json("PublishedExternalNodeIDs");
  isAbnormal @6 :Bool;
  status @7 :Text;
}

# Never stored.
struct CsiSnapshot $json("CSISnapshot") {
  id @0 :Text $json("ID");
  externalSourceVolumeId @1 :Text $json("ExternalSourceVolumeID");
  sizeBytes @2 :Int64;
  createTime @3 :Int64;                             # Unix seconds
  isReady @4 :Bool;
  sourceVolumeId @5 :Text $json("SourceVolumeID");
  pluginId @6 :Text $json("PluginID");
  name @7 :Text;
  secrets @8 :List(SecretEntry) $map;
  parameters @9 :List(Common.TextEntry) $map;
}

struct CsiControllerInfo $json("CSIControllerInfo") {
  supportsCreateDelete @0 :Bool;
  supportsAttachDetach @1 :Bool;
  supportsListVolumes @2 :Bool;
  supportsGetCapacity @3 :Bool;
  supportsCreateDeleteSnapshot @4 :Bool;
  supportsListSnapshots @5 :Bool;
  supportsClone @6 :Bool;
  supportsReadOnlyAttach @7 :Bool;
  supportsExpand @8 :Bool;
  supportsListVolumesAttachedNodes @9 :Bool;
  supportsCondition @10 :Bool;
  supportsGet @11 :Bool;
}

struct CsiNodeInfo $json("CSINodeInfo") {
  id @0 :Text $json("ID");                          # as the plugin calls the node
  maxVolumes @1 :Int64;                             # 9223372036854775807: as many as there are
  accessibleTopology @2 :CsiTopology;
  requiresNodeStageVolume @3 :Bool;
  supportsStats @4 :Bool;
  supportsExpand @5 :Bool;
  supportsCondition @6 :Bool;
}

# What a node knows of a plugin that runs there, of one of its kinds.
struct CsiInfo $json("CSIInfo") {
  pluginId @0 :Text $json("PluginID");
  allocId @1 :Text $json("AllocID");                # the allocation that it runs in
  healthy @2 :Bool;
  healthDescription @3 :Text;
  updateTime @4 :Int64 $time;                       # of the last change of what stands here
  provider @5 :Text;                                # the plugin's name and version for itself
  providerVersion @6 :Text;
  requiresControllerPlugin @7 :Bool;
  requiresTopologies @8 :Bool;
  controllerInfo @9 :CsiControllerInfo $omitEmpty;
  nodeInfo @10 :CsiNodeInfo $omitEmpty;
}

struct CsiInfoEntry { key @0 :Text; value @1 :CsiInfo; }

struct CsiPluginJob $json("JobDescription") {
  namespace @0 :Text;
  id @1 :Text $json("ID");
  expected @2 :Int64;
}

# A plugin as all nodes and jobs together know it. Never stored: runtime/cluster/csi derives it.
struct CsiPlugin $json("CSIPlugin") {
  id @0 :Text $json("ID");
  provider @1 :Text;
  version @2 :Text;
  controllerRequired @3 :Bool;
  controllers @4 :List(CsiInfoEntry) $map $always;  # by node
  nodes @5 :List(CsiInfoEntry) $map $always;        # likewise
  allocations @6 :Text $raw;
  controllersHealthy @7 :Int64;
  controllersExpected @8 :Int64;
  nodesHealthy @9 :Int64;
  nodesExpected @10 :Int64;
  createIndex @11 :UInt64;
  modifyIndex @12 :UInt64;
}

struct CsiPluginStub $json("CSIPluginListStub") {
  id @0 :Text $json("ID");
  provider @1 :Text;
  controllerRequired @2 :Bool;
  controllersHealthy @3 :Int64;
  controllersExpected @4 :Int64;
  nodesHealthy @5 :Int64;
  nodesExpected @6 :Int64;
  createIndex @7 :UInt64;
  modifyIndex @8 :UInt64;
}
