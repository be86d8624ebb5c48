// Rules about Consul Connect: what a connect block must look like, and which groups may have one.
//
// The mesh itself is not built here: sidecars and gateways would be injected as tasks at
// registration. A job that needs them is refused with a text that says so.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

/// Calls `visit` for each block of a list until it answers something.
template <class Visit>
std::string first_of(const DraftBlock& in, FieldName name, Visit&& visit) {
  for (const DraftBlock element : in.list(name))
    if (std::string wrong = visit(element); !wrong.empty()) return wrong;
  return {};
}

std::string check_gateway_proxy(const DraftBlock& proxy) {
  if (!proxy.has("ConnectTimeout")) return "Consul Gateway Proxy connection_timeout must be set";
  const std::string_view discovery = proxy.text("EnvoyDNSDiscoveryType");
  if (!discovery.empty() && discovery != "STRICT_DNS" && discovery != "LOGICAL_DNS")
    return "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS";
  for (const DraftBlock entry : proxy.list("EnvoyGatewayBindAddresses")) {
    const DraftBlock address = entry.child("Value");
    if (address.text("Address").empty()) return "Consul Gateway Bind Address must be set";
    if (const std::int64_t port = address.number("Port"); port <= 0 && port != -1)
      return "Consul Gateway Bind Address must set valid Port";
  }
  return {};
}

std::string check_ingress_service(const DraftBlock& service, std::string_view protocol) {
  const std::string_view name = service.text("Name");
  const bool hosts = service.texts("Hosts").size() != 0;
  if (name.empty()) return "Consul Ingress Service requires a name";
  if (protocol == "tcp") {
    if (name == "*")
      return "Consul Ingress Service doesn't support wildcard name for \"tcp\" protocol";
    if (hosts)
      return "Consul Ingress Service doesn't support associating hosts to a service for the "
             "\"tcp\" protocol";
  } else if (name == "*" && hosts) {
    return "Consul Ingress Service with a wildcard \"*\" service name can not also specify hosts";
  }
  return {};
}

std::string check_ingress(const DraftBlock& ingress) {
  if (ingress.list("Listeners").empty())
    return "Consul Ingress Gateway requires at least one listener";
  return first_of(ingress, "Listeners", [](const DraftBlock& listener) -> std::string {
    const std::string_view protocol = listener.text("Protocol");
    if (listener.number("Port") <= 0) return "Consul Ingress Listener requires valid Port";
    if (protocol != "tcp" && protocol != "http" && protocol != "http2" && protocol != "grpc")
      return "Consul Ingress Listener requires protocol of tcp, http, http2, grpc, got "
             + quote(protocol);
    if (listener.list("Services").empty())
      return "Consul Ingress Listener requires one or more services";
    return first_of(listener, "Services", [&](const DraftBlock& service) {
      return check_ingress_service(service, protocol);
    });
  });
}

std::string check_terminating(const DraftBlock& terminating) {
  if (terminating.list("Services").empty())
    return "Consul Terminating Gateway requires at least one service";
  return first_of(terminating, "Services", [](const DraftBlock& service) -> std::string {
    const bool authority = !service.text("CAFile").empty();
    const bool certificate = !service.text("CertFile").empty();
    const bool key = !service.text("KeyFile").empty();
    if (service.text("Name").empty()) return "Consul Linked Service requires Name";
    if ((certificate || key) && !authority) return "Consul Linked Service TLS requires CAFile";
    if (certificate != key) return "Consul Linked Service TLS Cert and Key must both be set";
    if (!service.text("SNI").empty() && !authority)
      return "Consul Linked Service TLS SNI requires CAFile";
    return {};
  });
}

std::string check_gateway(const DraftBlock& gateway) {
  const DraftBlock proxy = gateway.child("Proxy");
  const DraftBlock ingress = gateway.child("Ingress");
  const DraftBlock terminating = gateway.child("Terminating");
  const DraftBlock mesh = gateway.child("Mesh");
  if (proxy)
    if (std::string wrong = check_gateway_proxy(proxy); !wrong.empty()) return wrong;
  if (ingress)
    if (std::string wrong = check_ingress(ingress); !wrong.empty()) return wrong;
  if (terminating)
    if (std::string wrong = check_terminating(terminating); !wrong.empty()) return wrong;
  const int kinds = bool{ingress} + bool{terminating} + bool{mesh};
  return kinds == 1 ? "" : "One Consul Gateway Configuration must be set";
}

bool has_upper_case(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string_view network_mode(const DraftBlock& group) {
  const DraftBlocks networks = group.list("Networks");
  return networks.empty() ? std::string_view{} : networks.front().text("Mode");
}

std::string check_sidecar(const DraftBlock& group, const DraftBlock& service) {
  const std::string_view group_name = group.text("Name");
  const std::string_view service_name = service.text("Name");
  const std::size_t networks = group.list("Networks").size();
  if (networks != 1)
    return fmt::format("Consul Connect sidecars require exactly 1 network, found {} in group {}",
                       networks, quote(group_name));
  if (network_mode(group) != "bridge")
    return fmt::format("Consul Connect sidecar requires bridge network, found {} in group {}",
                       quote(network_mode(group)), quote(group_name));
  if (has_upper_case(service_name))
    return fmt::format(
        "Consul Connect service name {} in group {} must not contain uppercase "
        "characters",
        quote(service_name), quote(group_name));
  if (has_upper_case(group_name))
    return fmt::format(
        "Consul Connect group {} with service {} must not contain uppercase "
        "characters",
        quote(group_name), quote(service_name));
  return {};
}

std::string check_native(const DraftBlock& group, const DraftBlock& service) {
  const std::string_view task = service.text("TaskName");
  const std::string_view group_name = group.text("Name");
  const std::string_view service_name = service.text("Name");
  const DraftBlocks tasks = group.list("Tasks");
  if (task.empty())
    return tasks.size() == 1 ? ""
                             : fmt::format(
                                 "task for Consul Connect Native service {}->{} is "
                                 "ambiguous and must be set",
                                 group_name, service_name);
  for (const DraftBlock candidate : tasks)
    if (candidate.text("Name") == task) return {};
  return fmt::format("task {} named by Consul Connect Native service {}->{} does not exist", task,
                     group_name, service_name);
}

std::string check_gateway_network(const DraftBlock& group) {
  const std::size_t networks = group.list("Networks").size();
  if (networks != 1)
    return fmt::format("Consul Connect gateways require exactly 1 network, found {} in group {}",
                       networks, quote(group.text("Name")));
  if (network_mode(group) != "bridge" && network_mode(group) != "host")
    return "Consul Connect Gateway service requires Task Group with network mode of type "
           "\"bridge\" or \"host\"";
  return {};
}

std::string check_upstreams(const DraftBlock& group) {
  std::map<std::string, std::string_view> users;
  return first_of(group, "Services", [&](const DraftBlock& service) -> std::string {
    const DraftBlock proxy = service.child("Connect").child("SidecarService").child("Proxy");
    if (!proxy) return {};
    const std::string_view name = service.text("Name");
    return first_of(proxy, "Upstreams", [&](const DraftBlock& upstream) -> std::string {
      const std::string_view host = upstream.text("LocalBindAddress");
      const bool brackets = host.find(':') != std::string_view::npos;
      const std::string address
          = fmt::format("{}{}{}:{}", brackets ? "[" : "", host, brackets ? "]" : "",
                        upstream.number("LocalBindPort"));
      const auto [user, fresh] = users.emplace(address, name);
      if (fresh) return {};
      return fmt::format(
          "Consul Connect services {} and {} in group {} using same address for "
          "upstreams ({})",
          quote(name), quote(user->second), quote(group.text("Name")), address);
    });
  });
}

std::string check_service_use(const DraftBlock& group, const DraftBlock& service) {
  const DraftBlock connect = service.child("Connect");
  if (!connect) return {};
  if (connect.has("SidecarService")) return check_sidecar(group, service);
  if (connect.flag("Native")) return check_native(group, service);
  if (connect.has("Gateway")) return check_gateway_network(group);
  return {};
}

std::string refuse_mesh(const DraftBlock& group, const DraftBlock& service) {
  const DraftBlock connect = service.child("Connect");
  if (!connect) return {};
  return fmt::format(
      "Consul Connect is not supported: service {} in group {} must not have a "
      "connect block",
      quote(service.text("Name")), quote(group.text("Name")));
}

bool has_sidecar(const DraftBlock& service) {
  return service.child("Connect").has("SidecarService");
}

std::string check_exposed_check(const DraftBlock& group, const DraftBlock& service) {
  if (has_sidecar(service)) return {};
  return first_of(service, "Checks", [&](const DraftBlock& check) -> std::string {
    if (!check.flag("Expose")) return {};
    return fmt::format("exposed service check {}->{}->{} requires use of sidecar_proxy",
                       group.text("Name"), service.text("Name"), check.text("Name"));
  });
}

bool exposes_checks(const DraftBlock& group) {
  bool exposed = false;
  group.each("Services", [&](const DraftBlock& service) {
    service.each("Checks",
                 [&](const DraftBlock& check) { exposed = exposed || check.flag("Expose"); });
  });
  return exposed;
}

}  // namespace

std::string check_connect(const DraftBlock& connect) {
  const DraftBlock gateway = connect.child("Gateway");
  const int uses = connect.has("SidecarService") + connect.flag("Native") + bool{gateway};
  if (uses != 1)
    return "Consul Connect must be exclusively native, make use of a sidecar, or represent a "
           "Gateway";
  return !gateway ? "" : check_gateway(gateway);
}

std::string check_connect_use(const DraftBlock& job) {
  std::string wrong = first_of(job, "TaskGroups", [](const DraftBlock& group) {
    std::string found = first_of(group, "Services", [&](const DraftBlock& service) {
      return check_service_use(group, service);
    });
    return found.empty() ? check_upstreams(group) : found;
  });
  if (!wrong.empty()) return wrong;
  return first_of(job, "TaskGroups", [](const DraftBlock& group) {
    return first_of(group, "Services",
                    [&](const DraftBlock& service) { return refuse_mesh(group, service); });
  });
}

std::string check_expose_use(const DraftBlock& job) {
  return first_of(job, "TaskGroups", [](const DraftBlock& group) -> std::string {
    if (exposes_checks(group)) {
      const std::string name = quote(group.text("Name"));
      if (group.list("Networks").size() != 1)
        return fmt::format("group {} must specify one bridge network for exposing service check(s)",
                           name);
      if (network_mode(group) != "bridge")
        return fmt::format("group {} must use bridge network for exposing service check(s)", name);
    }
    std::string wrong = first_of(group, "Services", [&](const DraftBlock& service) {
      return check_exposed_check(group, service);
    });
    if (!wrong.empty()) return wrong;
    return first_of(group, "Tasks", [&](const DraftBlock& task) {
      return first_of(task, "Services", [&](const DraftBlock& service) {
        return first_of(service, "Checks", [&](const DraftBlock& check) -> std::string {
          if (!check.flag("Expose")) return {};
          return fmt::format("exposed service check {}[{}]->{}->{} is not a task-group service",
                             group.text("Name"), task.text("Name"), service.text("Name"),
                             check.text("Name"));
        });
      });
    });
  });
}

}  // namespace nomad::jobspec
