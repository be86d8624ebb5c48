#include "runtime/workload/checks/service_check.hpp"

#include <charconv>
#include <optional>
#include <set>

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include "runtime/base/text.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::workload {
namespace {

struct CheckAddress {
  std::string host;
  std::uint16_t port = 0;
};

std::optional<std::uint16_t> port_number(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (failure != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

/// The port of an allocation's group network that has this label.
std::optional<schema::PortMapping::Reader> port_of(schema::Allocation::Reader alloc,
                                                   std::string_view label) {
  for (const auto port : alloc.getAllocatedResources().getShared().getPorts())
    if (view(port.getLabel()) == label) return port;
  return std::nullopt;
}

Error unknown_port(std::string_view label) {
  return {Errc::invalid_argument,
          label.empty()
              ? std::string{"the check has no port; give it or its service one"}
              : fmt::format("invalid port {}: port label not found; name a port of the group's "
                            "network or a number",
                            quote(label))};
}

/// By `address_mode`: the address that the service tells others (auto), that of the machine (host)
/// or that of the allocation's own network (alloc).
Result<CheckAddress> address_of(schema::Allocation::Reader alloc,
                                std::string_view mode,
                                std::string_view custom_address,
                                std::string_view label) {
  if (mode.empty()) mode = custom_address.empty() ? "host" : "auto";
  const auto port = port_of(alloc, label);
  const auto number = port_number(label);
  if (!port && !number) return unknown_port(label);
  const auto outside
      = port ? static_cast<std::uint16_t>(port->getValue()) : number.value_or(std::uint16_t{0});
  if (mode == "auto" && !custom_address.empty())
    return CheckAddress{std::string{custom_address}, outside};
  if (mode == "auto" || mode == "host")
    return CheckAddress{port ? copy(port->getHostIp()) : std::string{}, outside};
  if (mode == "alloc") {
    const auto address = view(alloc.getNetworkStatus().getAddress());
    if (address.empty())
      return Error{Errc::invalid_argument,
                   "cannot use address_mode=\"alloc\": no allocation network status reported"};
    const bool is_mapped = port && port->getTo() > 0;
    return CheckAddress{std::string{address},
                        is_mapped ? static_cast<std::uint16_t>(port->getTo()) : outside};
  }
  return Error{Errc::invalid_argument,
               fmt::format("address_mode {} is not one that a check can use", quote(mode))};
}

std::optional<CheckKind> kind_of(std::string_view type) {
  if (type == "http") return CheckKind::http;
  if (type == "tcp") return CheckKind::tcp;
  if (type == "grpc") return CheckKind::grpc;
  if (type == "script") return CheckKind::script;
  return std::nullopt;
}

/// Makes the checks of one allocation; one object for all, because ids must differ.
class CheckMaker {
public:
  CheckMaker(schema::Allocation::Reader alloc, const ReplaceForTask& replace)
      : alloc_{alloc}, replace_{replace} {}

  /// `task`: whose service it is; "" for one of the group.
  void add(schema::Service::Reader service, std::string_view task) {
    if (view(service.getProvider()) != "nomad") return;
    task_ = task;
    for (const auto check : service.getChecks())
      out_.push_back(make(service, check));
  }

  std::vector<ServiceCheck> take() && { return std::move(out_); }

private:
  std::string text(capnp::Text::Reader raw) const { return replace_(task_, view(raw)); }

  ServiceCheck make(schema::Service::Reader service, schema::ServiceCheck::Reader check) {
    ServiceCheck made;
    made.name = text(check.getName());
    made.service = text(service.getName());
    made.group = copy(alloc_.getName());
    made.task = service.getTaskName().size() > 0 ? copy(service.getTaskName()) : std::string{task_};
    made.script_task = check.getTaskName().size() > 0 ? copy(check.getTaskName()) : made.task;
    made.restarts_task = task_;
    made.is_readiness = view(check.getOnUpdate()) == "ignore";
    made.ignores_warnings = view(check.getOnUpdate()) == "ignore_warnings";
    made.interval = Nanoseconds{check.getInterval()};
    made.timeout = Nanoseconds{check.getTimeout()};
    if (check.hasCheckRestart())
      made.restart = {.limit = check.getCheckRestart().getLimit(),
                      .grace = Nanoseconds{check.getCheckRestart().getGrace()},
                      .ignore_warnings = check.getCheckRestart().getIgnoreWarnings()};
    fill_request(check, made);
    fill_target(service, check, made);
    made.id = id_of(service, check, made);
    return made;
  }

  void fill_request(schema::ServiceCheck::Reader check, ServiceCheck& made) const {
    made.protocol = to_lower(text(check.getProtocol()));
    if (made.protocol.empty()) made.protocol = "http";
    made.method = to_upper(text(check.getMethod()));
    if (made.method.empty()) made.method = "GET";
    made.path = text(check.getPath());
    made.body = text(check.getBody());
    for (const auto header : check.getHeader())
      for (const auto value : header.getValue())
        made.headers.emplace_back(text(header.getKey()), text(value));
    made.tls_server_name = text(check.getTlsServerName());
    made.tls_skip_verify = check.getTlsSkipVerify();
    made.grpc_service = text(check.getGrpcService());
    made.grpc_use_tls = check.getGrpcUseTls();
    made.command = text(check.getCommand());
    for (const auto argument : check.getArgs())
      made.args.push_back(text(argument));
  }

  void fill_target(schema::Service::Reader service,
                   schema::ServiceCheck::Reader check,
                   ServiceCheck& made) const {
    const auto type = to_lower(text(check.getType()));
    const auto kind = kind_of(type);
    if (!kind) {
      made.impossible = fmt::format("there are no checks of type {}", quote(type));
      return;
    }
    made.kind = *kind;
    if (made.kind == CheckKind::http && made.protocol != "http" && made.protocol != "https")
      made.impossible = fmt::format("protocol {} is neither http nor https", quote(made.protocol));
    if (made.kind == CheckKind::script) {
      if (made.script_task.empty())
        made.impossible
            = "a script of a group's service needs a task to run beside; set the "
              "check's task";
      return;
    }
    const auto own_label = text(check.getPortLabel());
    auto address = address_of(alloc_, view(check.getAddressMode()), text(service.getAddress()),
                              own_label.empty() ? text(service.getPortLabel()) : own_label);
    if (!address) {
      made.impossible = address.error().what;
      return;
    }
    made.host = address->host.empty() ? "127.0.0.1" : address->host;
    made.port = address->port;
  }

  /// Of what makes it this check, as the job writes it: values that are put in may differ between
  /// two runs of the agent.
  std::string id_of(schema::Service::Reader service,
                    schema::ServiceCheck::Reader check,
                    const ServiceCheck& made) {
    const auto text = fmt::format(
        "{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", view(alloc_.getId()), task_,
        view(service.getName()), view(service.getPortLabel()), view(check.getName()),
        view(check.getType()), view(check.getPortLabel()), view(check.getOnUpdate()),
        view(check.getAddressMode()), made.interval.count(), made.timeout.count(),
        view(check.getProtocol()), view(check.getPath()), view(check.getMethod()));
    for (std::uint64_t again = 0;; ++again) {
      const auto hash = XXH3_128bits_withSeed(text.data(), text.size(), again);
      auto id = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
      if (ids_.insert(id).second) return id;
    }
  }

  schema::Allocation::Reader alloc_;
  const ReplaceForTask& replace_;
  std::string_view task_;
  std::set<std::string> ids_;
  std::vector<ServiceCheck> out_;
};

}  // namespace

std::vector<ServiceCheck> checks_of(schema::Allocation::Reader alloc,
                                    schema::Job::Reader job,
                                    const ReplaceForTask& replace) {
  const auto group = find_group(job, view(alloc.getTaskGroup()));
  if (!group) return {};
  CheckMaker maker{alloc, replace};
  for (const auto service : group->getServices())
    maker.add(service, "");
  for (const auto task : group->getTasks())
    for (const auto service : task.getServices())
      maker.add(service, view(task.getName()));
  return std::move(maker).take();
}

}  // namespace nomad::workload
