# Registrations of Nomad's own service discovery.
@0xd5a1c1e3f5b2a908;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".json;

struct ServiceRegistration {
  id @0 :Text $json("ID");
  serviceName @1 :Text;
  namespace @2 :Text;
  nodeId @3 :Text $json("NodeID");
  datacenter @4 :Text;
  jobId @5 :Text $json("JobID");
  allocId @6 :Text $json("AllocID");
  tags @7 :List(Text);
  address @8 :Text;
  port @9 :Int64;
  createIndex @10 :UInt64;
  modifyIndex @11 :UInt64;
}
