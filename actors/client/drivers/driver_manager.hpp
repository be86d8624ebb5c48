// DriverManager: keeps the drivers of the node. It starts them, asks each what it is and how it
// feels, starts another when one has died, and hands on what they tell of tasks. Runners ask the
// drivers themselves.
//
// Owns:   the drivers; which runner looks after which task.
// Takes:  Serve and Leave of the runners, SetCatalog of the parent, and what drivers tell and ask
//         as their PluginAgent.
// Asks:   the drivers (describe, fingerprint).
// Parent: client, restart: drivers begin anew, runners recover their tasks.
// Ends:   by the parent's exit message; the tasks of drivers that outlive the agent go on.
//
// A driver that dies, or cannot say what it is, has no handle until another one has described
// itself: after five seconds at first, two minutes at most (workload::RespawnDelay). Its node row
// is unhealthy meanwhile. How it feels is asked each 30 seconds; drivers tell it at once, too.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "actors/client/driver.hpp"
#include "actors/client/plugin_catalog.hpp"
#include "actors/core/actor.hpp"

namespace nomad::client {

/// A driver as it is now.
struct KnownDriver {
  Driver driver{};  ///< Empty: there is none at the moment; another one follows.
  Object<schema::plugin::DriverDescription> description{};  ///< Empty: it never said what it is.
  Object<schema::plugin::Fingerprint> health{};
  bool retired = false;  ///< It may run nothing here (any more), and ends what it ran before.

  schema::plugin::Capabilities::Reader capabilities() const {
    return description ? description->getCapabilities() : schema::plugin::Capabilities::Reader{};
  }

  schema::plugin::Fingerprint::Reader feels() const {
    return health ? *health : schema::plugin::Fingerprint::Reader{};
  }
};

using KnownDrivers = std::map<std::string, KnownDriver>;

/// Null: there is none that may run something here.
inline const KnownDriver* find_driver(const KnownDrivers& drivers, const std::string& name) {
  const auto found = drivers.find(name);
  return found == drivers.end() || found->second.retired ? nullptr : &found->second;
}

/// Who hears what a driver tells of a task.
using TaskAgent = actor::Interface<void(plugin_agent::Notice)>;

namespace driver_manager {

/// `agent` looks after the task. Sent urgently, before the driver hears of the task.
struct Serve {
  using is_message = void;
  driver::TaskId id;
  TaskAgent agent;
};

/// Nobody does any more. Sent urgently, so that it does not come after somebody else's Serve.
struct Leave {
  using is_message = void;
  driver::TaskId id;
};

/// There are other drivers from now on: new ones are started, those that are gone are ended.
struct SetCatalog {
  using is_message = void;
  std::shared_ptr<const PluginCatalog> plugins;
};

/// To the parent: for the first time when every driver has said how it feels or was waited for long
/// enough; then at each change.
struct Changed {
  using is_message = void;
  std::shared_ptr<const KnownDrivers> drivers;
};

}  // namespace driver_manager

using DriverManager = actor::Interface<void(driver_manager::Serve),
                                       void(driver_manager::Leave),
                                       void(driver_manager::SetCatalog)>;
using DriverManagerParent = actor::Interface<void(driver_manager::Changed)>;

struct DriverManagerOptions {
  std::shared_ptr<const PluginCatalog> plugins;
  DriverOptions common;  ///< Of every driver; without `config`, `agent` and `name`.
  std::map<std::string, std::map<std::string, std::string>> configs{};  ///< By driver.
  std::function<bool(const std::string&)> is_allowed{};                 ///< Empty: all of them are.
  DriverManagerParent parent;
};

DriverManager spawn_driver_manager(const actor::Owner& owner, DriverManagerOptions options);

}  // namespace nomad::client
