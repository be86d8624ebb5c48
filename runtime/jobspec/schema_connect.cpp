// The part of the table below `connect`: sidecars, gateways and their proxies.
#include "runtime/jobspec/schema.hpp"

namespace nomad::jobspec {

namespace {

using enum Kind;
using enum Trait;

constexpr Field expose_path_fields[] = {
    {"Path", "path", text},
    {"Protocol", "protocol", text},
    {"LocalPathPort", "local_path_port", integer},
    {"ListenerPort", "listener_port", text},
};
constexpr BlockType expose_path_type{"ConsulExposePath", expose_path_fields};

constexpr Field expose_fields[] = {
    {"Paths", "path", blocks, nullable, &expose_path_type},
    {"Path", "", blocks, nullable | api_only, &expose_path_type},
};
constexpr BlockType expose_type{"ConsulExposeConfig", expose_fields};

constexpr Field mesh_gateway_fields[] = {{"Mode", "mode", text}};
constexpr BlockType mesh_gateway_type{"ConsulMeshGateway", mesh_gateway_fields};

constexpr Field upstream_fields[] = {
    {"DestinationName", "destination_name", text},
    {"DestinationNamespace", "destination_namespace", text},
    {"DestinationPeer", "destination_peer", text},
    {"DestinationType", "destination_type", text},
    {"LocalBindPort", "local_bind_port", integer},
    {"Datacenter", "datacenter", text},
    {"LocalBindAddress", "local_bind_address", text},
    {"LocalBindSocketPath", "local_bind_socket_path", text},
    {"LocalBindSocketMode", "local_bind_socket_mode", text},
    {"MeshGateway", "mesh_gateway", block, nullable, &mesh_gateway_type},
    {"Config", "config", free_map, nullable},
};
constexpr BlockType upstream_type{"ConsulUpstream", upstream_fields};

constexpr Field proxy_fields[] = {
    {"LocalServiceAddress", "local_service_address", text},
    {"LocalServicePort", "local_service_port", integer},
    {"Expose", "expose", block, nullable, &expose_type},
    {"ExposeConfig", "", block, nullable | api_only, &expose_type},
    {"Upstreams", "upstreams", blocks, nullable, &upstream_type},
    {"Config", "config", free_map, nullable},
};
constexpr BlockType proxy_type{"ConsulProxy", proxy_fields};

constexpr Field sidecar_service_fields[] = {
    {"Tags", "tags", texts, nullable},
    {"Port", "port", text},
    {"Proxy", "proxy", block, nullable, &proxy_type},
    {"DisableDefaultTCPCheck", "disable_default_tcp_check", boolean},
    {"Meta", "meta", text_map, nullable},
};
constexpr BlockType sidecar_service_type{"ConsulSidecarService", sidecar_service_fields};

constexpr Field sidecar_task_fields[] = {
    {"Name", "name", text},
    {"Driver", "driver", text},
    {"User", "user", text},
    {"Config", "config", free_map, nullable},
    {"Env", "env", text_map, nullable},
    {"Resources", "resources", block, nullable, &resources_type},
    {"Meta", "meta", text_map, nullable},
    {"KillTimeout", "kill_timeout", duration, nullable | pointer},
    {"LogConfig", "logs", block, nullable, &logs_type},
    {"ShutdownDelay", "shutdown_delay", duration, nullable | pointer},
    {"KillSignal", "kill_signal", text},
};
constexpr BlockType sidecar_task_type{"SidecarTask", sidecar_task_fields};

constexpr Field bind_address_fields[] = {
    {"Name", "", text, label},
    {"Address", "address", text},
    {"Port", "port", integer},
};
constexpr BlockType bind_address_type{"ConsulGatewayBindAddress", bind_address_fields};

constexpr Field gateway_proxy_fields[] = {
    {"ConnectTimeout", "connect_timeout", duration, nullable | pointer},
    {"EnvoyGatewayBindTaggedAddresses", "envoy_gateway_bind_tagged_addresses", boolean},
    {"EnvoyGatewayBindAddresses", "envoy_gateway_bind_addresses", block_map, nullable,
     &bind_address_type},
    {"EnvoyGatewayNoDefaultBind", "envoy_gateway_no_default_bind", boolean},
    {"EnvoyDNSDiscoveryType", "envoy_dns_discovery_type", text},
    {"Config", "config", free_map, nullable},
};
constexpr BlockType gateway_proxy_type{"ConsulGatewayProxy", gateway_proxy_fields};

constexpr Field tls_fields[] = {
    {"Enabled", "enabled", boolean},
    {"TLSMinVersion", "tls_min_version", text},
    {"TLSMaxVersion", "tls_max_version", text},
    {"CipherSuites", "cipher_suites", texts, nullable},
};
constexpr BlockType tls_type{"ConsulGatewayTLSConfig", tls_fields};

constexpr Field ingress_service_fields[] = {
    {"Name", "name", text},
    {"Hosts", "hosts", texts, nullable},
};
constexpr BlockType ingress_service_type{"ConsulIngressService", ingress_service_fields};

constexpr Field listener_fields[] = {
    {"Port", "port", integer},
    {"Protocol", "protocol", text},
    {"Services", "service", blocks, nullable, &ingress_service_type},
};
constexpr BlockType listener_type{"ConsulIngressListener", listener_fields};

constexpr Field ingress_fields[] = {
    {"TLS", "tls", block, nullable, &tls_type},
    {"Listeners", "listener", blocks, nullable, &listener_type},
};
constexpr BlockType ingress_type{"ConsulIngressConfigEntry", ingress_fields};

constexpr Field linked_service_fields[] = {
    {"Name", "name", text},        {"CAFile", "ca_file", text}, {"CertFile", "cert_file", text},
    {"KeyFile", "key_file", text}, {"SNI", "sni", text},
};
constexpr BlockType linked_service_type{"ConsulLinkedService", linked_service_fields};

constexpr Field terminating_fields[] = {
    {"Services", "service", blocks, nullable, &linked_service_type},
};
constexpr BlockType terminating_type{"ConsulTerminatingConfigEntry", terminating_fields};

constexpr BlockType mesh_type{"ConsulMeshConfigEntry", {}};

constexpr Field gateway_fields[] = {
    {"Proxy", "proxy", block, nullable, &gateway_proxy_type},
    {"Ingress", "ingress", block, nullable, &ingress_type},
    {"Terminating", "terminating", block, nullable, &terminating_type},
    {"Mesh", "mesh", block, nullable, &mesh_type},
};
constexpr BlockType gateway_type{"ConsulGateway", gateway_fields};

constexpr Field connect_fields[] = {
    {"Native", "native", boolean},
    {"Gateway", "gateway", block, nullable, &gateway_type},
    {"SidecarService", "sidecar_service", block, nullable, &sidecar_service_type},
    {"SidecarTask", "sidecar_task", block, nullable, &sidecar_task_type},
};

}  // namespace

constinit const BlockType connect_type{"ConsulConnect", connect_fields};

}  // namespace nomad::jobspec
