# Pieces that many objects are made of.
@0xd5a1c1e3f5b2a902;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".byValue;
using import "annotations.capnp".default;
using import "annotations.capnp".hcl;
using import "annotations.capnp".json;
using import "annotations.capnp".label;
using import "annotations.capnp".map;
using import "annotations.capnp".nullable;
using import "annotations.capnp".omitEmpty;
using import "annotations.capnp".update;

struct TextEntry { key @0 :Text; value @1 :Text; }

struct TextListEntry { key @0 :Text; value @1 :List(Text); }

struct IntEntry { key @0 :Text; value @1 :Int64; }

struct BoolEntry { key @0 :Text; value @1 :Bool; }

struct FloatEntry { key @0 :Text; value @1 :Float64; }

struct Constraint {
  lTarget @0 :Text $json("LTarget") $hcl("attribute");
  rTarget @1 :Text $json("RTarget") $hcl("value");
  operand @2 :Text $hcl("operator");
}

struct Affinity {
  lTarget @0 :Text $json("LTarget") $hcl("attribute");
  rTarget @1 :Text $json("RTarget") $hcl("value");
  operand @2 :Text $hcl("operator");
  weight @3 :Int8 $nullable(true) $default("50");
}

struct SpreadTarget {
  value @0 :Text $label $hcl("");
  percent @1 :UInt8;
}

struct Spread {
  attribute @0 :Text;
  weight @1 :Int8 $nullable(true) $default("50");
  spreadTarget @2 :List(SpreadTarget) $hcl("target");
}

struct Port {
  label @0 :Text $label $hcl("");
  value @1 :Int32 $hcl("static");
  to @2 :Int32;
  hostNetwork @3 :Text;
}

struct DnsConfig $json("DNSConfig") {
  servers @0 :List(Text);
  searches @1 :List(Text);
  options @2 :List(Text);
}

struct NetworkResource {
  mode @0 :Text;
  device @1 :Text;
  cidr @2 :Text $json("CIDR");
  ip @3 :Text $json("IP");
  dns @6 :DnsConfig $json("DNS");
  reservedPorts @7 :List(Port) $byValue;
  dynamicPorts @8 :List(Port) $hcl("port") $byValue;
  hostname @4 :Text $omitEmpty;
  mBits @5 :Int64 $json("MBits") $hcl("mbits") $nullable(true);
}

struct RequestedDevice {
  name @0 :Text $label $hcl("");
  count @1 :UInt64 $nullable(true) $default("1");
  constraints @2 :List(Constraint) $hcl("constraint");
  affinities @3 :List(Affinity) $hcl("affinity");
}

struct Resources $nullable(true) {
  cpu @0 :Int64 $json("CPU");  # MHz
  cores @1 :Int64;
  memoryMb @2 :Int64 $json("MemoryMB") $hcl("memory") $default("300");  # MiB
  memoryMaxMb @3 :Int64 $json("MemoryMaxMB") $hcl("memory_max");
  diskMb @4 :Int64 $json("DiskMB") $hcl("disk") $update(inPlace);
  networks @6 :List(NetworkResource) $hcl("network") $update(special);
  devices @7 :List(RequestedDevice) $hcl("device");
  iops @5 :Int64 $json("IOPS") $update(inPlace);
}
