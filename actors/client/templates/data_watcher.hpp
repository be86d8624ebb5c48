// DataWatcher: follows services and variables for the templates of this node's tasks. Whatever is
// followed is asked of the servers by one question of each task that they hold, however many of its
// templates follow it.
//
// Owns:   the newest answers, the questions that are held, the waits after failed ones.
// Takes:  Follow, answered when there is something else than the follower has, with `timeout` and
//         the servers' words when the tries of `nomad_retry` are used up; before that only with
//         `permission_denied`, after which the watcher goes on asking: follow again. A
//         follower has one question about the same thing; a newer one takes the older one's place,
//         which is answered `cancelled`. Unfollow. What nobody follows is forgotten when the
//         servers answer next.
// Parent: client, restart. Who waits is told `unavailable`, and asks again.
// Ends:   by the parent's exit message.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/core/actor.hpp"
#include "actors/roles/node_door.hpp"
#include "runtime/template/cluster_query.hpp"

namespace nomad::client {

struct TemplateSettings;

/// An answer, in the form that templates read.
struct ClusterData {
  std::uint64_t digest = 0;
  std::vector<templates::ServiceName> names{};          ///< Of Kind::services.
  std::vector<templates::ServiceInstance> instances{};  ///< Of Kind::service.
  std::optional<templates::Variable> variable{};        ///< Of Kind::variable; none: there is none.
  std::vector<templates::VariableMeta> metas{};         ///< Of Kind::variables.
};

using ClusterDataPtr = std::shared_ptr<const ClusterData>;

namespace data_watcher {

/// A question of a task, whose rights decide about the answer.
struct TaskQuery {
  templates::ClusterQuery query{};
  std::string alloc_id{};
  std::string task{};

  auto operator<=>(const TaskQuery&) const = default;
};

struct News {
  using is_message = void;
  ClusterDataPtr data;  ///< Never null.
};

struct Follow {
  using is_message = void;
  TaskQuery query;
  std::uint64_t known = 0;     ///< The digest of what the follower has; 0: nothing.
  std::uint64_t follower = 0;  ///< Any number that no other follower has.
};

struct Unfollow {
  using is_message = void;
  TaskQuery query;
  std::uint64_t follower = 0;
};

}  // namespace data_watcher

using DataWatcher
    = actor::Interface<data_watcher::News(data_watcher::Follow), void(data_watcher::Unfollow)>;

struct DataWatcherOptions {
  std::string node_id;
  NodeDoor servers;
  std::shared_ptr<const TemplateSettings> settings;
};

DataWatcher spawn_data_watcher(const actor::Owner& owner, DataWatcherOptions options);

/// `answer` as templates read it. `corrupt` where a variable's items are none.
Result<ClusterDataPtr> read_cluster_data(const templates::ClusterQuery& query,
                                         const door::Reply& answer);

}  // namespace nomad::client
