#include "runtime/workload/checks/service_check.hpp"

#include <optional>
#include <set>

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/service_provider.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "runtime/workload/services/service_address.hpp"

namespace nomad::workload {
namespace {

/// What a check without an `address_mode` of its own has: the address that its service tells
/// others, if that has one of its own, or else the machine's.
std::string_view default_mode(std::string_view own_address) {
  return own_address.empty() ? "host" : "auto";
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
  CheckMaker(AllocView alloc, const ReplaceForTask& replace) : alloc_{alloc}, replace_{replace} {}

  /// `task`: whose service it is; "" for one of the group.
  void add(schema::Service::Reader service, std::string_view task) {
    if (!jobspec::is_served_by_clients(view(service.getProvider()))) return;
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
    made.group = std::string{alloc_.name()};
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
    AddressRequest request{.mode = copy(check.getAddressMode()),
                           .address = text(service.getAddress()),
                           .port = text(check.getPortLabel())};
    if (request.mode.empty()) request.mode = default_mode(request.address);
    if (request.port.empty()) request.port = text(service.getPortLabel());
    if (request.port.empty()) {
      made.impossible = "the check has no port; give it or its service one";
      return;
    }
    const auto target = service_address({.alloc = alloc_}, request);
    if (!target) {
      made.impossible = target.error().what;
      return;
    }
    made.host = target->address.empty() ? "127.0.0.1" : target->address;
    made.port = static_cast<std::uint16_t>(target->port);
  }

  /// Of what makes it this check, as the job writes it: values that are put in may differ between
  /// two runs of the agent.
  std::string id_of(schema::Service::Reader service,
                    schema::ServiceCheck::Reader check,
                    const ServiceCheck& made) {
    const auto text
        = fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}\n{}", alloc_.id(), task_,
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

  AllocView alloc_;
  const ReplaceForTask& replace_;
  std::string_view task_;
  std::set<std::string> ids_;
  std::vector<ServiceCheck> out_;
};

}  // namespace

std::vector<ServiceCheck> checks_of(AllocView alloc,
                                    schema::Job::Reader job,
                                    const ReplaceForTask& replace) {
  const auto group = find_group(job, alloc.task_group());
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
