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
using import "annotations.capnp".omitNull;
using import "annotations.capnp".only;
using import "annotations.capnp".partly;
using import "annotations.capnp".refused;
using import "annotations.capnp".update;
using import "annotations.capnp".works;

struct TextEntry { key @0 :Text; value @1 :Text; }

struct TextListEntry { key @0 :Text; value @1 :List(Text); }

struct IntEntry { key @0 :Text; value @1 :Int64; }

struct BoolEntry { key @0 :Text; value @1 :Bool; }

struct FloatEntry { key @0 :Text; value @1 :Float64; }

struct Constraint {
  lTarget @0 :Text $json("LTarget") $hcl("attribute") $works;
  rTarget @1 :Text $json("RTarget") $hcl("value") $works;
  operand @2 :Text $hcl("operator") $works;
}

struct Affinity {
  lTarget @0 :Text $json("LTarget") $hcl("attribute") $works;
  rTarget @1 :Text $json("RTarget") $hcl("value") $works;
  operand @2 :Text $hcl("operator") $works;
  weight @3 :Int8 $nullable(true) $default("50") $works;
}

struct SpreadTarget {
  value @0 :Text $label $hcl("") $works;
  percent @1 :UInt8 $works;
}

struct Spread {
  attribute @0 :Text $works;
  weight @1 :Int8 $nullable(true) $default("50") $works;
  spreadTarget @2 :List(SpreadTarget) $hcl("target") $works;
}

struct Port {
  label @0 :Text $label $hcl("") $works;
  value @1 :Int32 $hcl("static") $works;
  to @2 :Int32 $works;
  hostNetwork @3 :Text $works;
  ignoreCollision @4 :Bool $omitEmpty $omitNull $works;  # of later releases
}

struct DnsConfig $json("DNSConfig") {
  servers @0 :List(Text) $works;
  searches @1 :List(Text) $works;
  options @2 :List(Text) $works;
}

struct NetworkResource {
  mode @0 :Text $works;
  device @1 :Text $partly("chosen by the scheduler, whatever the job says, as in Nomad");
  cidr @2 :Text $json("CIDR")
      $partly("chosen by the scheduler, whatever the job says, as in Nomad");
  ip @3 :Text $json("IP") $partly("chosen by the scheduler, whatever the job says, as in Nomad");
  dns @6 :DnsConfig $json("DNS")
      $partly("for drivers that mount; with raw_exec tasks have the name servers of their host, as in Nomad");
  reservedPorts @7 :List(Port) $byValue $works;
  dynamicPorts @8 :List(Port) $hcl("port") $byValue $works;
  hostname @4 :Text $omitEmpty $partly("needs a driver of images, as in Nomad");
  mBits @5 :Int64 $json("MBits") $hcl("mbits") $nullable(true) $works;
}

struct RequestedDevice {
  name @0 :Text $label $hcl("") $works;
  count @1 :UInt64 $nullable(true) $default("1") $works;
  constraints @2 :List(Constraint) $hcl("constraint") $works;
  affinities @3 :List(Affinity) $hcl("affinity") $works;
}

struct Resources $nullable(true) {
  cpu @0 :Int64 $json("CPU") $works;  # MHz
  cores @1 :Int64 $works;
  memoryMb @2 :Int64 $json("MemoryMB") $hcl("memory") $default("300") $works;  # MiB
  memoryMaxMb @3 :Int64 $json("MemoryMaxMB") $hcl("memory_max") $works;
  diskMb @4 :Int64 $json("DiskMB") $hcl("disk") $update(inPlace)
      $partly("without effect since Nomad 0.5: ephemeral_disk has the size");
  networks @6 :List(NetworkResource) $hcl("network") $update(special) $works;
  devices @7 :List(RequestedDevice) $hcl("device")
      $partly("nodes have the devices that plugins find; without such a plugin the group is not placed");
  iops @5 :Int64 $json("IOPS") $update(inPlace) $partly("without effect since Nomad 0.9");
}
