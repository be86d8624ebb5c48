// TaskEnv: the environment of a task (the NOMAD_* variables, its meta, ports, its own `env`, what
// hooks and templates add) and the interpolation of `${...}` with it and with the node's facts.
//
// Built from values by one function; equal inputs give equal results. Where a variable refers to
// another, those of earlier steps are known, and within one step those that sort before it.
// Precedence, lowest first: built-in and ports, meta, host environment (only names not set yet),
// the task's `env`, hooks in their order, templates.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/object/alloc_view.hpp"
#include "runtime/object/object.hpp"
#include "runtime/workload/interpolation.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/plugin.capnp.h"

namespace nomad::workload {

using Variables = std::map<std::string, std::string, std::less<>>;

/// What `${...}` may name of the node: `node.unique.id`, `attr.…`, `meta.…`. Made once per change
/// of the node and shared by its tasks.
std::shared_ptr<const Variables> node_variables(schema::Node::Reader node, std::string_view region);

/// A task's directories as one side sees them.
struct TaskPaths {
  std::string alloc_dir;  ///< Shared by the group.
  std::string local_dir;  ///< The task's own, `local`.
  std::string secrets_dir;

  friend bool operator==(const TaskPaths&, const TaskPaths&) = default;
};

/// What a driver found out about the network it made for a task.
struct DriverNetwork {
  std::map<std::string, int, std::less<>> port_map;  ///< Label to the port inside.
  std::string ip;
  bool auto_advertise = false;

  bool is_empty() const { return port_map.empty() && ip.empty() && !auto_advertise; }
};

struct TaskEnvInput {
  AllocView alloc;
  schema::Job::Reader job;
  std::string_view task;
  std::string_view region;
  std::string_view datacenter;     ///< The node's.
  std::string_view cgroup_parent;  ///< The node's.
  std::shared_ptr<const Variables> node;
  TaskPaths task_paths;         ///< As the task sees them.
  TaskPaths client_paths;       ///< As this process sees them.
  std::string client_task_dir;  ///< "<alloc_dir>/<task>" as this process sees it.
  Variables host;               ///< The agent's own environment, filtered; empty for images.
  std::vector<std::pair<std::string, Variables>> hooks;  ///< By hook, in their order.
  Variables templates;
  DriverNetwork network;
};

class TaskEnv {
public:
  static TaskEnv build(const TaskEnvInput& input);

  /// As hooks of other processes get it.
  void write(schema::plugin::TaskEnvironment::Builder to) const;

  const Variables& variables() const { return variables_; }

  /// What `${…}` may name of the node.
  const Variables& node() const { return *node_; }

  /// The task's directory, and what its group shares, as this process sees them.
  const std::string& task_directory() const { return client_task_dir_; }

  const std::string& alloc_directory() const { return client_alloc_dir_; }

  /// "NAME=value", sorted by name.
  std::vector<std::string> list() const;

  /// `text` as the task sees it.
  std::string replace(std::string_view text) const;

  /// `text` with directories as this process sees them.
  std::string replace_client(std::string_view text) const;

  /// Where a path of the job (a template's destination, a payload's file) is on this machine:
  /// interpolated, relative to the task's directory, lexically cleaned. With `join_escaping`, a
  /// path that leads outside is taken as relative too, so that "/local/x" means the task's own; and
  /// "/alloc/x" what is of its group, where the task sees that there.
  struct ClientPath {
    std::string path;
    bool escapes = false;  ///< It is outside the task's and the group's directories.
  };

  ClientPath client_path(std::string_view raw, bool join_escaping) const;

private:
  /// With directories as this process sees them.
  const Variables& client_variables() const {
    return client_variables_ ? *client_variables_ : variables_;
  }

  Variables variables_;
  std::optional<Variables> client_variables_;  ///< Nothing: the same.
  std::shared_ptr<const Variables> node_;
  std::string client_task_dir_;
  std::string client_alloc_dir_;
};

/// The index in an allocation's name "job.group[3]"; -1 when there is none.
int alloc_index(std::string_view alloc_name);

}  // namespace nomad::workload
