// Rules about Consul Connect: what a connect block must look like, and which groups may have one.
//
// The mesh itself is not built here: sidecars and gateways would be injected as tasks at
// registration. A job that needs them is refused with a text that says so.
#include <algorithm>
#include <array>
#include <map>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/canonical/interpolation.hpp"
#include "runtime/jobspec/tree.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

using boost::json::object;
using boost::json::value;
using tree::each;

/// Calls `visit` for each object in a list until it answers something.
template <class Visit>
std::string first_of(const object& in, std::string_view name, Visit&& visit) {
  for (const value& element : tree::list(in, name)) {
    if (!element.is_object()) continue;
    if (std::string wrong = visit(element.get_object()); !wrong.empty()) return wrong;
  }
  return {};
}

std::string check_gateway_proxy(const object& proxy) {
  if (tree::find(proxy, "ConnectTimeout") == nullptr)
    return "Consul Gateway Proxy connection_timeout must be set";
  const std::string_view discovery = tree::text(proxy, "EnvoyDNSDiscoveryType");
  if (!discovery.empty() && discovery != "STRICT_DNS" && discovery != "LOGICAL_DNS")
    return "Consul Gateway Proxy Envoy DNS Discovery type must be STRICT_DNS or LOGICAL_DNS";
  const object* addresses = tree::child(proxy, "EnvoyGatewayBindAddresses");
  if (addresses == nullptr) return {};
  for (const auto& entry : *addresses) {
    if (!entry.value().is_object()) continue;
    const object& address = entry.value().get_object();
    if (tree::text(address, "Address").empty()) return "Consul Gateway Bind Address must be set";
    if (const std::int64_t port = tree::number(address, "Port"); port <= 0 && port != -1)
      return "Consul Gateway Bind Address must set valid Port";
  }
  return {};
}

std::string check_ingress_service(const object& service, std::string_view protocol) {
  const std::string_view name = tree::text(service, "Name");
  const bool hosts = !tree::list(service, "Hosts").empty();
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

std::string check_ingress(const object& ingress) {
  if (tree::list(ingress, "Listeners").empty())
    return "Consul Ingress Gateway requires at least one listener";
  return first_of(ingress, "Listeners", [](const object& listener) -> std::string {
    const std::string_view protocol = tree::text(listener, "Protocol");
    if (tree::number(listener, "Port") <= 0) return "Consul Ingress Listener requires valid Port";
    if (protocol != "tcp" && protocol != "http" && protocol != "http2" && protocol != "grpc")
      return "Consul Ingress Listener requires protocol of tcp, http, http2, grpc, got "
             + quote(protocol);
    if (tree::list(listener, "Services").empty())
      return "Consul Ingress Listener requires one or more services";
    return first_of(listener, "Services", [&](const object& service) {
      return check_ingress_service(service, protocol);
    });
  });
}

std::string check_terminating(const object& terminating) {
  if (tree::list(terminating, "Services").empty())
    return "Consul Terminating Gateway requires at least one service";
  return first_of(terminating, "Services", [](const object& service) -> std::string {
    const bool authority = !tree::text(service, "CAFile").empty();
    const bool certificate = !tree::text(service, "CertFile").empty();
    const bool key = !tree::text(service, "KeyFile").empty();
    if (tree::text(service, "Name").empty()) return "Consul Linked Service requires Name";
    if ((certificate || key) && !authority) return "Consul Linked Service TLS requires CAFile";
    if (certificate != key) return "Consul Linked Service TLS Cert and Key must both be set";
    if (!tree::text(service, "SNI").empty() && !authority)
      return "Consul Linked Service TLS SNI requires CAFile";
    return {};
  });
}

std::string check_gateway(const object& gateway) {
  const object* proxy = tree::child(gateway, "Proxy");
  const object* ingress = tree::child(gateway, "Ingress");
  const object* terminating = tree::child(gateway, "Terminating");
  const object* mesh = tree::child(gateway, "Mesh");
  if (proxy != nullptr)
    if (std::string wrong = check_gateway_proxy(*proxy); !wrong.empty()) return wrong;
  if (ingress != nullptr)
    if (std::string wrong = check_ingress(*ingress); !wrong.empty()) return wrong;
  if (terminating != nullptr)
    if (std::string wrong = check_terminating(*terminating); !wrong.empty()) return wrong;
  const int kinds = (ingress != nullptr) + (terminating != nullptr) + (mesh != nullptr);
  return kinds == 1 ? "" : "One Consul Gateway Configuration must be set";
}

bool has_upper_case(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

std::string_view network_mode(const object& group) {
  const auto& networks = tree::list(group, "Networks");
  return networks.empty() || !networks.front().is_object()
             ? std::string_view{}
             : tree::text(networks.front().get_object(), "Mode");
}

std::string check_sidecar(const object& group, const object& service) {
  const std::string_view group_name = tree::text(group, "Name");
  const std::string_view service_name = tree::text(service, "Name");
  const std::size_t networks = tree::list(group, "Networks").size();
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

std::string check_native(const object& group, const object& service) {
  const std::string_view task = tree::text(service, "TaskName");
  const std::string_view group_name = tree::text(group, "Name");
  const std::string_view service_name = tree::text(service, "Name");
  const auto& tasks = tree::list(group, "Tasks");
  if (task.empty())
    return tasks.size() == 1 ? ""
                             : fmt::format(
                                 "task for Consul Connect Native service {}->{} is "
                                 "ambiguous and must be set",
                                 group_name, service_name);
  for (const value& candidate : tasks)
    if (candidate.is_object() && tree::text(candidate.get_object(), "Name") == task) return {};
  return fmt::format("task {} named by Consul Connect Native service {}->{} does not exist", task,
                     group_name, service_name);
}

std::string check_gateway_network(const object& group) {
  const std::size_t networks = tree::list(group, "Networks").size();
  if (networks != 1)
    return fmt::format("Consul Connect gateways require exactly 1 network, found {} in group {}",
                       networks, quote(tree::text(group, "Name")));
  if (network_mode(group) != "bridge" && network_mode(group) != "host")
    return "Consul Connect Gateway service requires Task Group with network mode of type "
           "\"bridge\" or \"host\"";
  return {};
}

std::string check_upstreams(const object& group) {
  std::map<std::string, std::string_view> users;
  return first_of(group, "Services", [&](const object& service) -> std::string {
    const object* connect = tree::child(service, "Connect");
    const object* sidecar = connect == nullptr ? nullptr : tree::child(*connect, "SidecarService");
    const object* proxy = sidecar == nullptr ? nullptr : tree::child(*sidecar, "Proxy");
    if (proxy == nullptr) return {};
    const std::string_view name = tree::text(service, "Name");
    return first_of(*proxy, "Upstreams", [&](const object& upstream) -> std::string {
      const std::string_view host = tree::text(upstream, "LocalBindAddress");
      const bool brackets = host.find(':') != std::string_view::npos;
      const std::string address
          = fmt::format("{}{}{}:{}", brackets ? "[" : "", host, brackets ? "]" : "",
                        tree::number(upstream, "LocalBindPort"));
      const auto [user, fresh] = users.emplace(address, name);
      if (fresh) return {};
      return fmt::format(
          "Consul Connect services {} and {} in group {} using same address for "
          "upstreams ({})",
          quote(name), quote(user->second), quote(tree::text(group, "Name")), address);
    });
  });
}

std::string check_service_use(const object& group, const object& service) {
  const object* connect = tree::child(service, "Connect");
  if (connect == nullptr) return {};
  if (tree::child(*connect, "SidecarService") != nullptr) return check_sidecar(group, service);
  if (tree::flag(*connect, "Native")) return check_native(group, service);
  if (tree::child(*connect, "Gateway") != nullptr) return check_gateway_network(group);
  return {};
}

std::string refuse_mesh(const object& group, const object& service) {
  const object* connect = tree::child(service, "Connect");
  if (connect == nullptr) return {};
  return fmt::format(
      "Consul Connect is not supported: service {} in group {} must not have a "
      "connect block",
      quote(tree::text(service, "Name")), quote(tree::text(group, "Name")));
}

bool has_sidecar(const object& service) {
  const object* connect = tree::child(service, "Connect");
  return connect != nullptr && tree::child(*connect, "SidecarService") != nullptr;
}

std::string check_exposed_check(const object& group, const object& service) {
  if (has_sidecar(service)) return {};
  return first_of(service, "Checks", [&](const object& check) -> std::string {
    if (!tree::flag(check, "Expose")) return {};
    return fmt::format("exposed service check {}->{}->{} requires use of sidecar_proxy",
                       tree::text(group, "Name"), tree::text(service, "Name"),
                       tree::text(check, "Name"));
  });
}

bool exposes_checks(const object& group) {
  bool exposed = false;
  each(group, "Services", [&](const object& service) {
    each(service, "Checks",
         [&](const object& check) { exposed = exposed || tree::flag(check, "Expose"); });
  });
  return exposed;
}

}  // namespace

std::string check_connect(const object& connect) {
  const object* gateway = tree::child(connect, "Gateway");
  const int uses = (tree::child(connect, "SidecarService") != nullptr)
                   + tree::flag(connect, "Native") + (gateway != nullptr);
  if (uses != 1)
    return "Consul Connect must be exclusively native, make use of a sidecar, or represent a "
           "Gateway";
  return gateway == nullptr ? "" : check_gateway(*gateway);
}

std::string check_connect_use(const object& job) {
  std::string wrong = first_of(job, "TaskGroups", [](const object& group) {
    std::string found = first_of(group, "Services", [&](const object& service) {
      return check_service_use(group, service);
    });
    return found.empty() ? check_upstreams(group) : found;
  });
  if (!wrong.empty()) return wrong;
  return first_of(job, "TaskGroups", [](const object& group) {
    return first_of(group, "Services",
                    [&](const object& service) { return refuse_mesh(group, service); });
  });
}

std::string check_expose_use(const object& job) {
  return first_of(job, "TaskGroups", [](const object& group) -> std::string {
    if (exposes_checks(group)) {
      const std::string name = quote(tree::text(group, "Name"));
      if (tree::list(group, "Networks").size() != 1)
        return fmt::format("group {} must specify one bridge network for exposing service check(s)",
                           name);
      if (network_mode(group) != "bridge")
        return fmt::format("group {} must use bridge network for exposing service check(s)", name);
    }
    std::string wrong = first_of(group, "Services", [&](const object& service) {
      return check_exposed_check(group, service);
    });
    if (!wrong.empty()) return wrong;
    return first_of(group, "Tasks", [&](const object& task) {
      return first_of(task, "Services", [&](const object& service) {
        return first_of(service, "Checks", [&](const object& check) -> std::string {
          if (!tree::flag(check, "Expose")) return {};
          return fmt::format("exposed service check {}[{}]->{}->{} is not a task-group service",
                             tree::text(group, "Name"), tree::text(task, "Name"),
                             tree::text(service, "Name"), tree::text(check, "Name"));
        });
      });
    });
  });
}

}  // namespace nomad::jobspec
