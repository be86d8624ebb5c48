# Client nodes: what they are, have and do.
@0xd5a1c1e3f5b2a905;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".raw;
using import "annotations.capnp".time;
using import "annotations.capnp".always;
using import "annotations.capnp".secret;
using import "annotations.capnp".hidden;
using Common = import "common.capnp";
using Csi = import "csi.capnp";

enum NodeStatus { initializing @0; ready @1; down @2; disconnected @3; }

enum SchedulingEligibility { eligible @0; ineligible @1; }

struct NodeNetworkAddress {
  family @0 :Text;
  alias @1 :Text;
  address @2 :Text;
  reservedPorts @3 :Text;
  gateway @4 :Text;
}

struct NodeNetwork {
  mode @0 :Text;
  device @1 :Text;
  macAddress @2 :Text;
  speed @3 :Int64;                     # Mbit/s
  addresses @4 :List(NodeNetworkAddress);
}

struct NodeDevice {
  id @0 :Text $json("ID");
  healthy @1 :Bool;
  healthDescription @2 :Text;
  locality @3 :Text $raw;
}

struct NodeDeviceGroup {
  vendor @0 :Text;
  type @1 :Text;
  name @2 :Text;
  instances @3 :List(NodeDevice);
  attributes @4 :Text $raw;
}

struct NodeResources {
  struct Cpu {
    cpuShares @0 :Int64;               # MHz
    totalCpuCores @1 :UInt16;
    reservableCpuCores @2 :List(UInt16);
  }
  struct Memory { memoryMb @0 :Int64 $json("MemoryMB"); }
  struct Disk { diskMb @0 :Int64 $json("DiskMB"); }
  cpu @0 :Cpu $always;
  memory @1 :Memory $always;
  disk @2 :Disk $always;
  devices @3 :List(NodeDeviceGroup);
  nodeNetworks @4 :List(NodeNetwork);
  networks @5 :List(Common.NetworkResource);
  minDynamicPort @6 :Int64;
  maxDynamicPort @7 :Int64;
}

struct NodeReservedResources {
  struct Cpu {
    cpuShares @0 :UInt64;
    reservedCpuCores @1 :List(UInt16);
  }
  struct Memory { memoryMb @0 :UInt64 $json("MemoryMB"); }
  struct Disk { diskMb @0 :UInt64 $json("DiskMB"); }
  struct Networks { reservedHostPorts @0 :Text; }
  cpu @0 :Cpu $always;
  memory @1 :Memory $always;
  disk @2 :Disk $always;
  networks @3 :Networks $always;
}

struct DriverInfo {
  attributes @0 :List(Common.TextEntry) $map;
  detected @1 :Bool;
  healthy @2 :Bool;
  healthDescription @3 :Text;
  updateTime @4 :Int64 $time;
}

struct DriverEntry { key @0 :Text; value @1 :DriverInfo; }

struct HostVolume {
  name @0 :Text;
  path @1 :Text;
  readOnly @2 :Bool;
}

struct HostVolumeEntry { key @0 :Text; value @1 :HostVolume; }

struct HostNetwork {
  name @0 :Text;
  cidr @1 :Text $json("CIDR");
  interface @2 :Text;
  reservedPorts @3 :Text;
}

struct HostNetworkEntry { key @0 :Text; value @1 :HostNetwork; }

struct DrainStrategy {
  deadline @0 :Int64;                  # ns; negative forces the drain now
  ignoreSystemJobs @1 :Bool;
  forceDeadline @2 :Int64 $time;
  startedAt @3 :Int64 $time;
}

struct DrainMetadata {
  startedAt @0 :Int64 $time;
  updatedAt @1 :Int64 $time;
  status @2 :Text;
  accessorId @3 :Text $json("AccessorID");
  meta @4 :List(Common.TextEntry) $map;
}

struct NodeEvent {
  message @0 :Text;
  subsystem @1 :Text;
  details @2 :List(Common.TextEntry) $map;
  timestamp @3 :Int64 $time;
  createIndex @4 :UInt64;
}

struct Node {
  id @0 :Text $json("ID");
  secretId @1 :Text $json("SecretID") $secret;
  datacenter @2 :Text;
  name @3 :Text;
  cgroupParent @4 :Text;
  httpAddr @5 :Text $json("HTTPAddr");
  tlsEnabled @6 :Bool $json("TLSEnabled");
  attributes @7 :List(Common.TextEntry) $map;
  nodeResources @8 :NodeResources;
  reservedResources @9 :NodeReservedResources;
  links @10 :List(Common.TextEntry) $map;
  meta @11 :List(Common.TextEntry) $map;
  nodeClass @12 :Text;
  nodePool @13 :Text;
  computedClass @14 :Text;
  drainStrategy @15 :DrainStrategy;
  schedulingEligibility @16 :SchedulingEligibility;
  status @17 :NodeStatus;
  statusDescription @18 :Text;
  statusUpdatedAt @19 :Int64;          # Unix seconds
  events @20 :List(NodeEvent);         # newest last, at most 10
  drivers @21 :List(DriverEntry) $map;
  hostVolumes @22 :List(HostVolumeEntry) $map;
  hostNetworks @23 :List(HostNetworkEntry) $map;
  csiControllersText @24 :Text $hidden;  # of earlier releases, which had none
  csiNodesText @25 :Text $hidden;        # likewise
  csiControllerPlugins @31 :List(Csi.CsiInfoEntry) $map $always $json("CSIControllerPlugins");
  csiNodePlugins @32 :List(Csi.CsiInfoEntry) $map $always $json("CSINodePlugins");
  lastDrain @26 :DrainMetadata;
  lastMissedHeartbeatIndex @27 :UInt64;
  lastAllocUpdateIndex @28 :UInt64;
  createIndex @29 :UInt64;
  modifyIndex @30 :UInt64;
}

# What a pool's nodes are scheduled by in place of the cluster's configuration.
struct NodePoolSchedulerConfiguration {
  schedulerAlgorithm @0 :Text;         # "": the cluster's
  memoryOversubscriptionEnabled :union $json("MemoryOversubscriptionEnabled") {
    unset @1 :Void;                    # the cluster's
    value @2 :Bool;
  }
}

struct NodePool {
  name @0 :Text;
  description @1 :Text;
  meta @2 :List(Common.TextEntry) $map;
  schedulerConfiguration @3 :NodePoolSchedulerConfiguration;
  hash @4 :Data;
  createIndex @5 :UInt64;
  modifyIndex @6 :UInt64;
  originIndex @7 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

# The task drivers of a namespace's jobs. None enabled: all that are not disabled.
struct NamespaceCapabilities {
  enabledTaskDrivers @0 :List(Text);
  disabledTaskDrivers @1 :List(Text);
}

# The node pools of a namespace's jobs. At most one of the lists has names, which may be globs.
struct NamespaceNodePoolConfiguration {
  default @0 :Text;                    # of jobs that name none
  allowed @1 :List(Text);
  denied @2 :List(Text);
}

struct Namespace {
  name @0 :Text;
  description @1 :Text;
  quota @2 :Text;
  capabilities @3 :NamespaceCapabilities;
  nodePoolConfiguration @4 :NamespaceNodePoolConfiguration;
  meta @5 :List(Common.TextEntry) $map;
  hash @6 :Data;
  createIndex @7 :UInt64;
  modifyIndex @8 :UInt64;
  originIndex @9 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}
