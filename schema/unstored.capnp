# Parts of jobs that are stored as the JSON text they come in ($raw in job.capnp), declared so that
# job files, requests and plans know their fields. Never stored in this form.
@0xd5a1c1e3f5b2a912;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".default;
using import "annotations.capnp".duration;
using import "annotations.capnp".hcl;
using import "annotations.capnp".json;
using import "annotations.capnp".label;
using import "annotations.capnp".map;
using import "annotations.capnp".nullable;
using import "annotations.capnp".raw;
using import "annotations.capnp".requestOnly;
using Common = import "common.capnp";
using Job = import "job.capnp";

struct MultiregionStrategy $nullable(true) {
  maxParallel @0 :Int64 $default("0");
  onFailure @1 :Text $default("");
}

struct MultiregionRegion {
  name @0 :Text $label $hcl("");
  count @1 :Int64 $nullable(true) $default("1");
  datacenters @2 :List(Text);
  nodePool @3 :Text;
  meta @4 :List(Common.TextEntry) $map;
}

struct Multiregion {
  strategy @0 :MultiregionStrategy;
  regions @1 :List(MultiregionRegion) $hcl("region");
}

struct ConsulExposePath {
  path @0 :Text;
  protocol @1 :Text;
  localPathPort @2 :Int64;
  listenerPort @3 :Text;
}

struct ConsulExposeConfig {
  paths @0 :List(ConsulExposePath) $hcl("path");
  path @1 :List(ConsulExposePath) $hcl("") $requestOnly;
}

struct ConsulMeshGateway { mode @0 :Text; }

struct ConsulUpstream {
  destinationName @0 :Text;
  destinationNamespace @1 :Text;
  destinationPeer @2 :Text;
  destinationType @3 :Text;
  localBindPort @4 :Int64;
  datacenter @5 :Text;
  localBindAddress @6 :Text;
  localBindSocketPath @7 :Text;
  localBindSocketMode @8 :Text;
  meshGateway @9 :ConsulMeshGateway;
  config @10 :Text $raw;
}

struct ConsulProxy {
  localServiceAddress @0 :Text;
  localServicePort @1 :Int64;
  expose @2 :ConsulExposeConfig;
  exposeConfig @3 :ConsulExposeConfig $hcl("") $requestOnly;
  upstreams @4 :List(ConsulUpstream);
  config @5 :Text $raw;
}

struct ConsulSidecarService {
  tags @0 :List(Text);
  port @1 :Text;
  proxy @2 :ConsulProxy;
  disableDefaultTcpCheck @3 :Bool $json("DisableDefaultTCPCheck");
  meta @4 :List(Common.TextEntry) $map;
}

struct SidecarTask {
  name @0 :Text;
  driver @1 :Text;
  user @2 :Text;
  config @3 :Text $raw;
  env @4 :List(Common.TextEntry) $map;
  resources @5 :Common.Resources;
  meta @6 :List(Common.TextEntry) $map;
  killTimeout :union $duration $default("5s") { unset @7 :Void; value @8 :Int64; }
  logConfig @9 :Job.LogConfig $hcl("logs");
  shutdownDelay :union $duration $default("0s") { unset @10 :Void; value @11 :Int64; }
  killSignal @12 :Text;
}

struct ConsulGatewayBindAddress {
  name @0 :Text $label $hcl("");
  address @1 :Text;
  port @2 :Int64;
}

struct ConsulGatewayProxy {
  connectTimeout :union $duration $default("5s") { unset @0 :Void; value @1 :Int64; }
  envoyGatewayBindTaggedAddresses @2 :Bool;
  envoyGatewayBindAddresses @3 :List(AddressEntry) $map;
  envoyGatewayNoDefaultBind @4 :Bool;
  envoyDnsDiscoveryType @5 :Text $json("EnvoyDNSDiscoveryType");
  config @6 :Text $raw;

  struct AddressEntry { key @0 :Text; value @1 :ConsulGatewayBindAddress; }
}

struct ConsulGatewayTlsConfig $json("ConsulGatewayTLSConfig") {
  enabled @0 :Bool;
  tlsMinVersion @1 :Text $json("TLSMinVersion");
  tlsMaxVersion @2 :Text $json("TLSMaxVersion");
  cipherSuites @3 :List(Text);
}

struct ConsulIngressService {
  name @0 :Text;
  hosts @1 :List(Text);
}

struct ConsulIngressListener {
  port @0 :Int64;
  protocol @1 :Text $default("tcp");
  services @2 :List(ConsulIngressService) $hcl("service");
}

struct ConsulIngressConfigEntry {
  tls @0 :ConsulGatewayTlsConfig $json("TLS");
  listeners @1 :List(ConsulIngressListener) $hcl("listener");
}

struct ConsulLinkedService {
  name @0 :Text;
  caFile @1 :Text $json("CAFile");
  certFile @2 :Text;
  keyFile @3 :Text;
  sni @4 :Text $json("SNI");
}

struct ConsulTerminatingConfigEntry {
  services @0 :List(ConsulLinkedService) $hcl("service");
}

struct ConsulMeshConfigEntry {}

struct ConsulGateway {
  proxy @0 :ConsulGatewayProxy;
  ingress @1 :ConsulIngressConfigEntry;
  terminating @2 :ConsulTerminatingConfigEntry;
  mesh @3 :ConsulMeshConfigEntry;
}

struct ConsulConnect {
  native @0 :Bool;
  gateway @1 :ConsulGateway;
  sidecarService @2 :ConsulSidecarService;
  sidecarTask @3 :SidecarTask;
}
