// PluginStates: how the plugins of an agent stand, for whoever shows it, and for the start, which
// waits until each has said what it is.
//
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/object/object.hpp"
#include "schema/plugin_link.capnp.h"

namespace nomad::plugin {

enum class PluginState : std::uint8_t {
  starting,     ///< Its process has not said what it is.
  configuring,  ///< It looks at its configuration.
  running,
  restarting,  ///< Its process is gone, another one follows.
  refused,     ///< It is not used. Tried again later if time may mend why, else at SIGHUP.
};

std::string_view to_string(PluginState state);

struct PluginStatus {
  std::string name;
  std::string path;
  bool isolated = true;
  PluginState state = PluginState::starting;
  std::string problem{};  ///< Of a refused one, or why the last process ended.
  int pid = 0;
  std::uint64_t restarts = 0;
  std::int64_t since = 0;  ///< Unix, in nanoseconds: of the present state.
  std::uint64_t frames_in = 0;
  std::uint64_t frames_out = 0;
  std::uint64_t lines_dropped = 0;  ///< Of its log.
  std::uint64_t events_dropped = 0;
  std::uint64_t delays = 0;  ///< How often it has talked too much and had to wait.
  Object<schema::plugin::Declaration> declaration{};  ///< Empty until it has said what it is.
};

class PluginStates {
public:
  /// Changes what is known of a plugin; makes it known.
  void update(const std::string& name, const std::function<void(PluginStatus&)>& change);

  /// It is no plugin of the agent any more.
  void forget(const std::string& name);

  /// By their names.
  std::vector<PluginStatus> list() const;

  /// Nothing: there is no such plugin.
  std::optional<PluginState> state_of(const std::string& name) const;

  /// Returns when each has said what it is, or was refused; false: some have not by then.
  bool wait_for_all(std::chrono::steady_clock::time_point deadline) const;

private:
  mutable std::mutex guard_;
  mutable std::condition_variable changed_;
  std::map<std::string, PluginStatus> plugins_;
};

}  // namespace nomad::plugin
