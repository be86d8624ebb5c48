// NodePlugins: the CSI plugins that run as tasks of this node: it asks them how they are, tells the
// client and the volumes, and has controllers do what servers ask. What it does when decides
// workload::PluginMachine. Part of the volume manager; works in its turns.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/client/volumes/volume_manager.hpp"

namespace nomad::client {

/// What servers make of an answer of a plugin's (schema/node_door.capnp).
Errc code_for_servers(csi::Cause cause, schema::csi::Method method);

class NodePlugins {
public:
  /// Hears how a node plugin stands: none, it is not healthy.
  using Stands = std::function<void(const std::string& id,
                                    const std::optional<workload::VolumeMachine::Plugin>& stands)>;

  /// `self` and `options` outlive it.
  NodePlugins(actor::Self* self, const VolumeManagerOptions& options, Stands stands)
      : self_{self}, options_{options}, stands_{std::move(stands)} {}

  NodePlugins(const NodePlugins&) = delete;
  NodePlugins& operator=(const NodePlugins&) = delete;

  void restore(std::vector<workload::PluginTask> plugins, const std::set<std::string>& allocs);
  void started(const volume_manager::Started& msg);
  void exited(const std::string& key);
  void stopped(const std::string& key);

  workload::PluginMachine::Standings nodes() const { return machine_.nodes(); }

  /// Has the node plugin know of a greater volume that is mounted. `unavailable`: it is not
  /// healthy.
  void expand(const workload::VolumeRow& row,
              const door::NodeAsk& msg,
              const actor::Promise<door::NodeReply>& promise);

  /// `not_found`: there is no such controller here that is healthy.
  void ask_controller(const door::NodeAsk& msg, const actor::Promise<door::NodeReply>& promise);

private:
  workload::PluginMachine::Time now() const { return self_->now().time_since_epoch(); }

  template <class Event>
  void on(Event event);
  void perform(const workload::plugin_action::Ask& it);
  void perform(const workload::plugin_action::Save& it);
  void perform(const workload::plugin_action::Erase& it);
  void perform(const workload::plugin_action::Event& it);
  void perform(const workload::plugin_action::Kill& it);

  void perform(const workload::plugin_action::Changed&) { standings_changed(); }

  void perform(const workload::plugin_action::Wait& it);
  void standings_changed();
  PluginAgent agent_of(const workload::PluginTask& plugin) const;
  void ask_controller(const door::NodeAsk& msg,
                      const actor::Promise<door::NodeReply>& promise,
                      unsigned tries);

  actor::Self* self_;
  const VolumeManagerOptions& options_;
  Stands stands_;
  workload::PluginMachine machine_;
  bool performing_ = false;
  std::map<std::string, PluginAgent> agents_;  ///< By plugin's key.
  std::shared_ptr<const CsiStandings> standings_ = std::make_shared<const CsiStandings>();
  actor::Timer timer_;
};

}  // namespace nomad::client
