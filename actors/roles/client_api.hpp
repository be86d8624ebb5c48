// ClientApi: what HTTP and RPC endpoints ask of the client node of this process: what servers may
// ask it from elsewhere, too (node_questions.hpp), and what stays within the process, streams among
// it. The Client actor plays it.
//
// An allocation that this client does not run is `Errc::not_found`, `Unknown allocation "<id>"`.
// What is asked of one names who asks, and the client judges him by the namespace of its own record
// of it: `permission_denied`.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/roles/node_questions.hpp"
#include "runtime/access/authorize.hpp"
#include "runtime/host/exec_session.hpp"
#include "runtime/host/usage.hpp"
#include "runtime/object/object.hpp"
#include "schema/node.capnp.h"

namespace nomad::client {

namespace client_api {

using host::CoreUsage;
using host::CpuUsage;
using host::DiskUsage;
using host::HostUsage;
using host::MemoryUsage;
using host::TaskUsage;

/// Usage of an allocation's running tasks by name, in its order.
struct AllocUsage {
  using is_message = void;
  std::vector<std::pair<std::string, TaskUsage>> tasks;
};

/// How a check of an allocation's services stands.
struct CheckReport {
  std::string id;
  std::string check;
  std::string group;  ///< The allocation's name: "web.front[0]".
  std::string task;   ///< "" for services of the group.
  std::string service;
  std::string mode;    ///< "healthiness" or "readiness"
  std::string status;  ///< "pending", "success" or "failure"
  int status_code = 0;
  std::string output;
  std::int64_t timestamp = 0;  ///< Unix seconds.
};

/// In the job's order; empty for an allocation without checks, or one that has ended.
struct CheckReports {
  using is_message = void;
  std::vector<CheckReport> checks;
};

/// An identity that a task, or a service, has now: nothing of its token.
struct IdentityReport {
  std::string task;     ///< "" of the group's services.
  std::string service;  ///< As the job's block names it; "": the task's own.
  std::string name;     ///< "": the default one.
  std::vector<std::string> audience{};
  std::int64_t issued_at = 0;   ///< Unix nanoseconds, by the node's clock: when it came.
  std::int64_t expires_at = 0;  ///< Likewise; 0: it lasts as long as its allocation.
};

/// Where an allocation's files are. Paths may be read; every access goes through the safe opening
/// of runtime/host, because tasks can put links there.
struct AllocDir {
  using is_message = void;

  struct Task {
    std::string name;
    bool started = false;  ///< It has been running at some time, so it has logs.
    bool running = false;
  };

  std::string path;  ///< "<alloc_dir>/<alloc id>", absolute.
  std::vector<Task> tasks;
  bool ended = false;  ///< All of its tasks are over for good: nothing more is written.
};

/// `not_found` also when the directory has been collected.
struct AllocDirOf {
  using is_message = void;
  std::string alloc_id;
  access::Asking asking;
};

/// The same for another node that is to go on with the allocation's ephemeral disk: whoever has the
/// migrate token of this allocation on this node may have it. `permission_denied` otherwise.
struct DiskOf {
  using is_message = void;
  std::string alloc_id;
  std::string migrate_token;
};

/// The node record as last registered.
struct LocalNode {
  using is_message = void;
  Object<schema::Node> node;
  std::int64_t last_heartbeat = 0;  ///< Unix nanoseconds of the last answered one; 0: none yet.
  std::chrono::milliseconds heartbeat_ttl{0};
};

struct GetNode {
  using is_message = void;
};

/// Allocations on this node by state, for metrics.
struct AllocCounts {
  using is_message = void;
  std::uint64_t pending = 0;
  std::uint64_t running = 0;
  std::uint64_t terminal = 0;
  std::uint64_t kept = 0;  ///< Whose directories are not removed yet.
  bool contacted = false;  ///< The servers' first answer has been applied.
};

struct CountAllocs {
  using is_message = void;
};

/// Promised to allocations, or to a task.
struct Amounts {
  std::int64_t cpu_mhz = 0;
  std::int64_t memory_mb = 0;
  std::int64_t memory_max_mb = 0;
  std::int64_t disk_mb = 0;
};

/// A running task, for metrics.
struct TaskMetrics {
  std::vector<std::pair<std::string, std::string>> labels;
  Amounts allocated;  ///< But for the disk, which is its group's.
  TaskUsage usage;
};

/// What the node and its tasks have and use now.
struct ClientMetrics {
  using is_message = void;
  Object<schema::Node> node;
  AllocCounts counts;
  Amounts allocated;  ///< To what has not ended.
  std::optional<HostUsage> host;
  std::vector<TaskMetrics> tasks;
};

/// Answered within three seconds, without what did not answer by then.
struct ReadMetrics {
  using is_message = void;
  bool of_tasks = false;
};

/// Runs a command beside a task, as its user and where it runs. `not_found` when the task does not
/// run, `permission_denied` when this client's configuration forbids it, `invalid_argument` without
/// a task or a command; `rejected` for a task that the allocation does not have, a driver that
/// cannot do it, and what kept the command from starting.
struct Exec {
  using is_message = void;
  std::string alloc_id;
  std::string task;
  host::ExecCommand command;
  access::Asking asking;
  /// The action of the task whose command it is; empty: none, the command comes with this.
  std::string action = {};
  std::string job_id = {};  ///< Of an action: the job that its allocation must be of.
};

/// It runs, for as long as somebody holds the session.
struct ExecStarted {
  using is_message = void;
  std::shared_ptr<host::ExecSession> session;
};

/// Whether `who` may have commands run beside that task, as `Exec` judges it: asked again while one
/// runs. `permission_denied` when not.
struct MayExec {
  using is_message = void;
  std::string alloc_id;
  std::string task;
  access::Principal who;
};

struct ExecAllowed {
  using is_message = void;
};

}  // namespace client_api

using ClientApi = actor::Interface<door::NodeReply(door::NodeAsk),
                                   client_api::AllocDir(client_api::AllocDirOf),
                                   client_api::AllocDir(client_api::DiskOf),
                                   client_api::ExecStarted(client_api::Exec),
                                   client_api::ExecAllowed(client_api::MayExec),
                                   client_api::LocalNode(client_api::GetNode),
                                   client_api::AllocCounts(client_api::CountAllocs),
                                   client_api::ClientMetrics(client_api::ReadMetrics)>;

}  // namespace nomad::client
