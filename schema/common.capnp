# Pieces that many objects are made of.
@0xd5a1c1e3f5b2a902;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".omitEmpty;

struct TextEntry { key @0 :Text; value @1 :Text; }

struct TextListEntry { key @0 :Text; value @1 :List(Text); }

struct IntEntry { key @0 :Text; value @1 :Int64; }

struct BoolEntry { key @0 :Text; value @1 :Bool; }

struct FloatEntry { key @0 :Text; value @1 :Float64; }

struct Constraint {
  lTarget @0 :Text $json("LTarget");
  rTarget @1 :Text $json("RTarget");
  operand @2 :Text;
}

struct Affinity {
  lTarget @0 :Text $json("LTarget");
  rTarget @1 :Text $json("RTarget");
  operand @2 :Text;
  weight @3 :Int8;
}

struct SpreadTarget {
  value @0 :Text;
  percent @1 :UInt8;
}

struct Spread {
  attribute @0 :Text;
  weight @1 :Int8;
  spreadTarget @2 :List(SpreadTarget);
}

struct Port {
  label @0 :Text;
  value @1 :Int32;
  to @2 :Int32;
  hostNetwork @3 :Text;
}

struct DnsConfig {
  servers @0 :List(Text);
  searches @1 :List(Text);
  options @2 :List(Text);
}

struct NetworkResource {
  mode @0 :Text;
  device @1 :Text;
  cidr @2 :Text $json("CIDR");
  ip @3 :Text $json("IP");
  hostname @4 :Text $omitEmpty;
  mBits @5 :Int64 $json("MBits");
  dns @6 :DnsConfig $json("DNS");
  reservedPorts @7 :List(Port);
  dynamicPorts @8 :List(Port);
}

struct RequestedDevice {
  name @0 :Text;
  count @1 :UInt64;
  constraints @2 :List(Constraint);
  affinities @3 :List(Affinity);
}

struct Resources {
  cpu @0 :Int64 $json("CPU");              # MHz
  cores @1 :Int64;
  memoryMb @2 :Int64 $json("MemoryMB");    # MiB
  memoryMaxMb @3 :Int64 $json("MemoryMaxMB");
  diskMb @4 :Int64 $json("DiskMB");
  iops @5 :Int64 $json("IOPS");
  networks @6 :List(NetworkResource);
  devices @7 :List(RequestedDevice);
}
