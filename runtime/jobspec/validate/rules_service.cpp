// Rules about services and their checks.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/jobspec/canonical/interpolation.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

constexpr std::int64_t min_check_time = 1'000'000'000;

enum class UrlKind : std::uint8_t { relative, absolute, invalid };

bool has_bad_escape(std::string_view text) {
  const auto hexadecimal = [](char c) { return is_hex_digit(c); };
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (at + 2 >= text.size() || !hexadecimal(text[at + 1]) || !hexadecimal(text[at + 2]))
      return true;
  return false;
}

/// How Go's url.Parse takes a check's path.
UrlKind classify_url(std::string_view url) {
  for (char c : url)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return UrlKind::invalid;
  std::string_view path = url;
  if (const std::size_t hash = path.find('#'); hash != std::string_view::npos) {
    if (has_bad_escape(path.substr(hash + 1))) return UrlKind::invalid;
    path = path.substr(0, hash);
  }
  for (std::size_t at = 0; at < path.size(); ++at) {
    const char c = path[at];
    if (c == ':') return at == 0 ? UrlKind::invalid : UrlKind::absolute;
    const bool letter = is_letter(c);
    const bool later = is_digit(c) || c == '+' || c == '-' || c == '.';
    if (!letter && (!later || at == 0)) break;
  }
  path = path.substr(0, path.find('?'));
  if (!path.starts_with('/') && path.substr(0, path.find('/')).find(':') != std::string_view::npos)
    return UrlKind::invalid;
  return has_bad_escape(path) ? UrlKind::invalid : UrlKind::relative;
}

bool requires_port(std::string_view check_type) {
  return check_type == "grpc" || check_type == "http" || check_type == "tcp";
}

bool is_http_method(std::string_view method) {
  constexpr std::array<std::string_view, 9> methods
      = {"get", "head", "post", "put", "patch", "delete", "connect", "options", "trace"};
  return std::find(methods.begin(), methods.end(), to_lower(method)) != methods.end();
}

bool is_on_update(std::string_view value) {
  return value.empty() || value == "ignore" || value == "require_healthy"
         || value == "ignore_warnings";
}

std::string check_type_rules(const DraftBlock& check, std::string_view type) {
  if (type == "http") {
    const std::string_view path = check.text("Path");
    if (path.empty()) return "http type must have http path";
    switch (classify_url(path)) {
      case UrlKind::invalid:
        return "http type must have valid http path";
      case UrlKind::absolute:
        return "http type must have relative http path";
      case UrlKind::relative:
        break;
    }
  }
  if (type == "script" && check.text("Command").empty())
    return "script type must have a valid script path";
  return {};
}

std::string check_times(const DraftBlock& check) {
  const std::int64_t interval = check.number("Interval");
  const std::int64_t timeout = check.number("Timeout");
  const std::string least = duration_text(min_check_time);
  if (interval == 0)
    return "missing required value interval. Interval cannot be less than " + least;
  if (interval < min_check_time)
    return fmt::format("interval ({}) cannot be lower than {}", duration_text(interval), least);
  if (timeout == 0) return "missing required value timeout. Timeout cannot be less than " + least;
  if (timeout < min_check_time)
    return fmt::format("timeout ({}) is lower than required minimum timeout {}",
                       duration_text(timeout), least);
  return {};
}

std::string check_modes(const DraftBlock& check) {
  const std::string_view status = check.text("InitialStatus");
  if (!status.empty() && status != "passing" && status != "warning" && status != "critical")
    return fmt::format(
        "invalid initial check state ({}), must be one of \"passing\", "
        "\"warning\", \"critical\" or empty",
        status);
  const std::string_view mode = check.text("AddressMode");
  if (mode == "auto") return "invalid address_mode \"auto\" - auto only valid for services";
  if (!mode.empty() && mode != "host" && mode != "driver" && mode != "alloc")
    return "invalid address_mode " + quote(mode);
  const std::string_view on_update = check.text("OnUpdate");
  if (!is_on_update(on_update))
    return fmt::format(
        "on_update must be \"require_healthy\", \"ignore_warnings\", or "
        "\"ignore\"; got {}",
        quote(on_update));
  return {};
}

std::string check_check_restart(const DraftBlock& check) {
  const DraftBlock restart = check.child("CheckRestart");
  if (!restart) return {};
  const std::string_view on_update = check.text("OnUpdate");
  if (on_update == "ignore")
    return "on_update value \"ignore\" is not compatible with check_restart";
  if (on_update == "ignore_warnings" && !restart.flag("IgnoreWarnings"))
    return "on_update value \"ignore_warnings\" not supported with check_restart ignore_warnings "
           "value \"false\"";
  Mistakes out;
  const std::int64_t limit = restart.number("Limit");
  const std::int64_t grace = restart.number("Grace");
  if (limit < 0)
    out.add(fmt::format("limit must be greater than or equal to 0 but found {}", limit));
  if (grace < 0)
    out.add(fmt::format("grace period must be greater than or equal to 0 but found {}", grace));
  return out.text();
}

/// "" or the first thing wrong with a check, whoever runs it.
std::string check_common(const DraftBlock& check, std::string_view type) {
  if (std::string wrong = check_type_rules(check, type); !wrong.empty()) return wrong;
  if (std::string wrong = check_times(check); !wrong.empty()) return wrong;
  if (std::string wrong = check_modes(check); !wrong.empty()) return wrong;
  return check_check_restart(check);
}

std::string bad_type(std::string_view type, std::string_view allowed) {
  return fmt::format("invalid check type ({}), must be one of {}", quote(type), allowed);
}

/// Checks of Nomad's own provider that Nomad itself does not run, but this client does.
bool is_beyond_nomad(std::string_view type) {
  return type == "grpc" || type == "script";
}

/// Of a check that Nomad's own provider runs: what only scripts can, or gRPC besides HTTP, may be
/// said of those.
std::string check_nomad_check(const DraftBlock& check) {
  const std::string type = to_lower(check.text("Type"));
  if (type != "tcp" && type != "http" && !is_beyond_nomad(type))
    return bad_type(type, "tcp, http, grpc, script");
  const bool warns = type == "script";  // by its exit code
  if (std::string wrong = check_common(check, type); !wrong.empty()) return wrong;
  if (check.flag("Expose")) return "expose may only be set for Consul service checks";
  if (check.text("OnUpdate") == "ignore_warnings" && !warns)
    return "on_update may only be set to ignore_warnings for Consul service checks";
  if (const DraftBlock restart = check.child("CheckRestart");
      restart && restart.flag("IgnoreWarnings") && !warns)
    return "ignore_warnings on check_restart only supported for Consul service checks";
  if (check.text("AddressMode") == "driver")
    return "address_mode = driver may only be set for Consul service checks";
  if (const std::string_view method = check.text("Method");
      check.text("Type") == "http" && !method.empty() && !is_http_method(method))
    return fmt::format("method type {} not supported in Nomad http check", quote(method));
  if (check.number("SuccessBeforePassing") != 0)
    return "success_before_passing may only be set for Consul service checks";
  if (check.number("FailuresBeforeCritical") != 0)
    return "failures_before_critical may only be set for Consul service checks";
  if (!check.text("TLSServerName").empty() && type != "grpc")
    return "tls_server_name may only be set for Consul service checks";
  if (check.flag("TLSSkipVerify") && type != "grpc")
    return "tls_skip_verify may only be set for Consul service checks";
  return {};
}

std::string check_consul_check(const DraftBlock& check) {
  const std::string type = to_lower(check.text("Type"));
  if (type != "grpc" && type != "tcp" && type != "http" && type != "script")
    return bad_type(type, "grpc, tcp, http, script");
  if (std::string wrong = check_common(check, type); !wrong.empty()) return wrong;
  if (check.flag("Expose") && type != "grpc" && type != "http")
    return "expose may only be set on HTTP or gRPC checks";
  const auto check_number = [&check](FieldName member, std::string_view name) -> std::string {
    const std::string_view given = check.text("Type");
    const std::int64_t number = check.number(member);
    if (number < 0) return fmt::format("{} must be non-negative", name);
    if (number > 0 && given != "tcp" && given != "http" && given != "grpc")
      return fmt::format("{} not supported for check of type {}", name, quote(given));
    return {};
  };
  if (std::string wrong = check_number("SuccessBeforePassing", "success_before_passing");
      !wrong.empty())
    return wrong;
  return check_number("FailuresBeforeCritical", "failures_before_critical");
}

/// Whether the check needs a port and there is none, of which it tells.
bool lacks_port(const DraftBlock& service, const DraftBlock& check, Mistakes& out) {
  if (!service.text("PortLabel").empty() || !check.text("PortLabel").empty()
      || !requires_port(check.text("Type")))
    return false;
  out.add([&] {
    return fmt::format(
        "Check {} invalid: check requires a port but neither check nor service {} "
        "have a port",
        check.text("Name"), quote_ascii(service.text("Name")));
  });
  return true;
}

void check_consul_service(const DraftBlock& service, Mistakes& out) {
  const DraftBlock connect = service.child("Connect");
  const bool sidecar = connect && connect.has("SidecarService");
  service.each("Checks", [&](const DraftBlock& check) {
    const std::string_view name = check.text("Name");
    if (lacks_port(service, check, out)) return;
    if (sidecar && check.text("Type") == "tcp")
      out.add(fmt::format("Check {} invalid: tcp checks are not valid for Connect enabled services",
                          name));
    else if (const std::string wrong = check_consul_check(check); !wrong.empty())
      out.add(fmt::format("Check {} invalid: {}", name, wrong));
  });
  if (!connect) return;
  if (std::string wrong = check_connect(connect); !wrong.empty()) out.add(std::move(wrong));
  if (connect.flag("Native") && service.text("TaskName").empty())
    out.add(fmt::format("Service {} is Connect Native and requires setting the task",
                        service.text("Name")));
}

/// Of a provider whose checks clients run.
void check_served_service(const DraftBlock& service, Mistakes& out) {
  service.each("Checks", [&](const DraftBlock& check) {
    if (lacks_port(service, check, out)) return;
    if (std::string wrong = check_nomad_check(check); !wrong.empty()) out.add(std::move(wrong));
  });
  if (service.has("Connect"))
    out.add(fmt::format("Service with provider {} cannot include Connect blocks",
                        service.text("Provider")));
}

/// Ports that a task's services and checks refer to, with the services that do.
using UsedPorts = std::map<std::string_view, std::set<std::string_view>>;

void check_task_check(const DraftBlock& service,
                      const DraftBlock& check,
                      UsedPorts& used,
                      Mistakes& out) {
  const std::string_view name = check.text("Name");
  if (check.text("AddressMode") == "alloc")
    out.add([&] {
      return fmt::format(
          "check {} cannot use address_mode=\"alloc\", only checks defined in a "
          "\"group\" service block can use this mode",
          quote(service.text("Name")));
    });
  if (!requires_port(check.text("Type"))) return;
  std::string_view port = check.text("PortLabel");
  if (port.empty()) port = service.text("PortLabel");
  if (port.empty()) {
    out.add(fmt::format("check {} is missing a port", quote(name)));
    return;
  }
  std::int64_t number = 0;
  const bool numeric = parse_whole(port, number);
  if (numeric && check.text("AddressMode") == "driver") {
    if (number <= 0)
      out.add(fmt::format("check {} has invalid numeric port {}", quote(name), number));
  } else if (numeric) {
    out.add(
        fmt::format("check {} cannot use a numeric port {} without setting "
                    "address_mode=\"driver\"",
                    quote(name), number));
  } else {
    used[port].insert(service.text("Name"));
  }
}

void check_task_service(const DraftBlock& service,
                        int index,
                        const ValidateOptions& options,
                        UsedPorts& used,
                        Mistakes& out) {
  const std::string_view name = service.text("Name");
  const std::string_view mode = service.text("AddressMode");
  const std::string_view port = service.text("PortLabel");
  out.add_joined(fmt::format("service[{}] {} validation failed: ", index, quote_ascii(name)),
                 check_service(service, options));
  if (mode == "alloc")
    out.add(
        fmt::format("service {} cannot use address_mode=\"alloc\", only services defined in a "
                    "\"group\" block can use this mode",
                    quote(name)));
  std::int64_t number = 0;
  if (!port.empty() && (mode != "driver" || !parse_whole(port, number))) used[port].insert(name);
}

void add_labels(const DraftBlock& network, std::set<std::string_view>& labels) {
  const auto add = [&labels](const DraftBlock& port) { labels.insert(port.text("Label")); };
  network.each("ReservedPorts", add);
  network.each("DynamicPorts", add);
}

void check_used_ports(const DraftBlock& task,
                      const DraftBlock& group,
                      const UsedPorts& used,
                      Mistakes& out) {
  if (used.empty()) return;
  std::set<std::string_view> known;
  const DraftBlocks networks = group.list("Networks");
  if (!networks.empty()) add_labels(networks.front(), known);
  if (const DraftBlock resources = task.child("Resources"))
    resources.each("Networks", [&](const DraftBlock& network) { add_labels(network, known); });
  for (const auto& [port, services] : used)
    if (!known.contains(port))
      out.add(fmt::format("port label {} referenced by services {} does not exist", quote(port),
                          fmt::join(services, ", ")));
}

/// What identifies a service within a group: task, name and port.
class ServiceRegister {
public:
  void add(const DraftBlock& service, std::string_view task) {
    const auto id = std::tuple{task, service.text("Name"), service.text("PortLabel")};
    if (!seen_.insert(id).second) twice_.insert(id);
    providers_.insert(service.text("Provider"));
  }

  void report(Mistakes& out) const {
    std::set<std::string> names;
    for (const auto& [task, name, port] : twice_)
      names.insert(fmt::format("{}->{}{}{}", task, name, port.empty() ? "" : ":", port));
    if (!names.empty())
      out.add(fmt::format("Services are not unique: [{}]", fmt::join(names, " ")));
    if (providers_.size() > 1)
      out.add("Multiple service providers used: task group services must use the same provider");
  }

private:
  using Id = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::set<Id> seen_;
  std::set<Id> twice_;
  std::set<std::string_view> providers_;
};

void check_owner(const DraftBlock& task, const DraftBlock& service, Mistakes& out) {
  const std::string_view owner = task.text("Name");
  const std::string_view named = service.text("TaskName");
  if (!named.empty() && named != owner)
    out.add(
        fmt::format("Service {} is invalid: may only specify task the service belongs to, got "
                    "{}",
                    service.text("Name"), quote(named)));
  service.each("Checks", [&](const DraftBlock& check) {
    const std::string_view in_check = check.text("TaskName");
    if (!in_check.empty() && in_check != owner)
      out.add(fmt::format("Check {} is invalid: may only specify task the check belongs to, got {}",
                          check.text("Name"), quote(in_check)));
  });
}

bool has_task(const DraftBlock& group, std::string_view name) {
  bool found = false;
  group.each("Tasks", [&](const DraftBlock& task) { found = found || task.text("Name") == name; });
  return found;
}

void check_group_service(const DraftBlock& service,
                         int index,
                         const DraftBlock& group,
                         const ValidateOptions& options,
                         Mistakes& out) {
  const std::string_view name = service.text("Name");
  if (const Mistakes found = check_service(service, options); !found.empty()) {
    out.add(fmt::format("Service[{}] {} validation failed: {}", index, name, found.text()));
    return;
  }
  if (service.text("AddressMode") == "driver")
    out.add(
        fmt::format("service {} cannot use address_mode=\"driver\", only services defined in "
                    "a \"task\" block can use this mode",
                    quote(name)));
  service.each("Checks", [&](const DraftBlock& check) {
    const std::string_view task = check.text("TaskName");
    if (task.empty()) return;
    if (check.text("AddressMode") == "driver")
      out.add(
          fmt::format("Check {} invalid: cannot use address_mode=\"driver\", only checks "
                      "defined in a \"task\" service block can use this mode",
                      quote(name)));
    if (!has_task(group, task))
      out.add(fmt::format("Check {} invalid: refers to non-existent task {}", check.text("Name"),
                          task));
  });
}

bool is_known_provider(std::string_view provider, const ValidateOptions& options) {
  return !options.providers
         || std::ranges::find(*options.providers, provider) != options.providers->end();
}

/// In Nomad's words, with those that there are here.
std::string unknown_provider(std::string_view provider, const ValidateOptions& options) {
  std::vector<std::string> known{"consul"};
  if (options.providers)
    known.insert(known.end(), options.providers->begin(), options.providers->end());
  std::string names;
  for (const auto& each : known)
    names += quote(each) + ", ";
  known.emplace_back("nomad");
  const auto meant = closest_name(provider, {known.begin(), known.end()});
  return fmt::format("Service provider must be {}or \"nomad\"; not {}{}", names, quote(provider),
                     meant.empty() ? std::string{} : "; did you mean " + quote(meant) + '?');
}

}  // namespace

Mistakes check_service(const DraftBlock& service, const ValidateOptions& options) {
  Mistakes out;
  const std::string_view name = service.text("Name");
  const std::string_view mode = service.text("AddressMode");
  const std::string_view on_update = service.text("OnUpdate");
  const std::string_view provider = service.text("Provider");
  if (!is_dns_label(has_reference(name) ? replace_references(name, "ENV-VAR") : std::string{name}))
    out.add(
        "Service name must be valid per RFC 1123 and can contain only alphanumeric characters "
        "or dashes and must be no longer than 63 characters: "
        + quote(name));
  if (mode == "host" || mode == "driver" || mode == "alloc") {
    if (!service.text("Address").empty())
      out.add("Service address_mode must be \"auto\" if address is set");
  } else if (!mode.empty() && mode != "auto") {
    out.add("Service address_mode must be \"auto\", \"host\", or \"driver\"; not " + quote(mode));
  }
  if (!is_on_update(on_update))
    out.add(
        "Service on_update must be \"require_healthy\", \"ignore_warnings\", or \"ignore\"; "
        "not "
        + quote(on_update));
  if (provider == "consul")
    check_consul_service(service, out);
  else if (provider == "nomad" || is_known_provider(provider, options))
    check_served_service(service, out);
  else
    out.add(unknown_provider(provider, options));
  if (const DraftBlock identity = service.child("Identity"))
    out.add_joined("Identity is invalid: ",
                   check_identity(identity, !identity.text("Name").empty()));
  return out;
}

Mistakes check_group_services(const DraftBlock& group, const ValidateOptions& options) {
  Mistakes out;
  ServiceRegister services;
  group.each("Tasks", [&](const DraftBlock& task) {
    task.each("Services", [&](const DraftBlock& service) {
      check_owner(task, service, out);
      services.add(service, task.text("Name"));
    });
  });
  int index = 0;
  group.each("Services", [&](const DraftBlock& service) {
    services.add(service, "group");
    check_group_service(service, index++, group, options, out);
  });
  services.report(out);
  return out;
}

void warn_of_checks(const DraftBlock& owner, Mistakes& out) {
  owner.each("Services", [&](const DraftBlock& service) {
    if (!is_served_by_clients(service.text("Provider"))) return;
    service.each("Checks", [&](const DraftBlock& check) {
      if (const std::string type = to_lower(check.text("Type")); is_beyond_nomad(type))
        out.add([&] {
          return fmt::format(
              "Check {} of service {} is of type {}, which Nomad runs for Consul only: it refuses "
              "this job",
              quote(check.text("Name")), quote(service.text("Name")), type);
        });
    });
  });
}

Mistakes check_script_checks(const DraftBlock& group) {
  Mistakes out;
  group.each("Services", [&](const DraftBlock& service) {
    if (!service.text("TaskName").empty()) return;
    service.each("Checks", [&](const DraftBlock& check) {
      if (check.text("Type") == "script" && check.text("TaskName").empty())
        out.add([&] {
          return fmt::format("Service [{}]->{} or Check {} must specify task parameter",
                             group.text("Name"), service.text("Name"), check.text("Name"));
        });
    });
  });
  return out;
}

void warn_of_providers(const DraftBlock& job, Mistakes& out) {
  std::set<std::string_view> named;
  const auto look = [&named](const DraftBlock& owner) {
    owner.each("Services", [&named](const DraftBlock& service) {
      if (is_plugin_provider(service.text("Provider"))) named.insert(service.text("Provider"));
    });
  };
  job.each("TaskGroups", [&look](const DraftBlock& group) {
    look(group);
    group.each("Tasks", look);
  });
  for (const auto provider : named)
    out.add("Service provider " + quote(provider)
            + " is known only to servers with a plugin that brings it");
}

Mistakes check_task_services(const DraftBlock& task,
                             const DraftBlock& group,
                             const ValidateOptions& options) {
  Mistakes out;
  UsedPorts used;
  std::set<std::string> known;
  int index = 0;
  task.each("Services", [&](const DraftBlock& service) {
    const std::string_view name = service.text("Name");
    check_task_service(service, index++, options, used, out);
    if (!known.insert(std::string{name} + std::string{service.text("PortLabel")}).second)
      out.add(fmt::format("service {} is duplicate", quote(name)));
    if (service.has("Connect"))
      out.add(
          fmt::format("service {} cannot have \"connect\" block, only services defined in a "
                      "\"group\" block can",
                      quote(name)));
    std::set<std::string_view> check_names;
    service.each("Checks", [&](const DraftBlock& check) {
      const std::string_view check_name = check.text("Name");
      if (!check_names.insert(check_name).second)
        out.add(fmt::format("check {} is duplicate", quote(check_name)));
      check_task_check(service, check, used, out);
    });
  });
  check_used_ports(task, group, used, out);
  return out;
}

}  // namespace nomad::jobspec
