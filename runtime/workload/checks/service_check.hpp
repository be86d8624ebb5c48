// ServiceCheck: a check of a service as its client runs it: where it goes, how often, and what it
// is called in results. Worked out of an allocation and its job when the allocation begins or
// changes; a value.
//
// Only checks of provider "nomad" and of those that plugins bring; Consul's are not the client's to
// run.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/object/alloc_view.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"

namespace nomad::workload {

enum class CheckKind : std::uint8_t { http, tcp, grpc, script };

/// When a failing check has its tasks restarted. See CheckRestart.
struct CheckRestartRules {
  std::int64_t limit = 0;  ///< Failures in a row; 0: never.
  Nanoseconds grace{0};
  bool ignore_warnings = false;

  friend bool operator==(const CheckRestartRules&, const CheckRestartRules&) = default;
};

struct ServiceCheck {
  /// 32 hexadecimal digits, the same for the same check of the same allocation whenever it is made.
  std::string id;
  CheckKind kind = CheckKind::tcp;
  std::string name;
  std::string service;
  std::string group;          ///< As results have it: the allocation's name, "web.front[0]".
  std::string task;           ///< As results have it; "" for services of a group.
  std::string script_task;    ///< Beside which task a script runs.
  std::string restarts_task;  ///< What `restart` restarts; "": every running task.
  bool is_readiness = false;  ///< `on_update = "ignore"`: failing does not make it unhealthy.
  bool ignores_warnings = false;
  Nanoseconds interval{0};
  Nanoseconds timeout{0};
  CheckRestartRules restart;

  /// Why there is nothing that could be asked: every run fails with it. "" as a rule.
  std::string impossible;
  std::string host;  ///< An address or a name, without brackets.
  std::uint16_t port = 0;

  std::string protocol;  ///< "http" or "https".
  std::string method;
  std::string path;  ///< With its query.
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string tls_server_name;
  bool tls_skip_verify = false;
  std::string grpc_service;
  bool grpc_use_tls = false;
  std::string command;
  std::vector<std::string> args;

  friend bool operator==(const ServiceCheck&, const ServiceCheck&) = default;
};

/// A text of the job as `task` sees it, or as the whole group does when that is "".
using ReplaceForTask = std::function<std::string(std::string_view task, std::string_view text)>;

/// The checks of the group's services and of its tasks', in the job's order. An allocation whose
/// group the job does not have has none.
std::vector<ServiceCheck> checks_of(AllocView alloc,
                                    schema::Job::Reader job,
                                    const ReplaceForTask& replace);

}  // namespace nomad::workload
