# What the selectors of binding rules are asked of: value.<name> and list.<name>. Never stored.
@0xe1b7c35a9d42f068;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using Common = import "common.capnp";

struct LoginClaims {
  value @0 :List(Common.TextEntry) $map $json("value");
  list @1 :List(Common.TextListEntry) $map $json("list");
}
