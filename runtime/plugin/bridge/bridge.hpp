// Bridge: a plugin of Nomad's as a plugin of this agent: its program, what it is, and its
// configuration. What its driver does is BridgeDriver's.
//
// Threads: the plugin's; it blocks until the program has said what it is, and while it is
// configured.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/threads/turn_queue.hpp"
#include "runtime/plugin/bridge/config_spec.hpp"
#include "runtime/plugin/bridge/go_program.hpp"
#include "runtime/plugin/bridge/remote.hpp"
#include "runtime/plugin/sdk/plugin.hpp"

namespace nomad::plugin::bridge {

class Bridge {
public:
  struct Options {
    std::string name;                ///< Of the plugin: that of its file.
    std::string executor;            ///< nomadctl-executor, which keeps logs.
    std::vector<std::string> words;  ///< The program and its arguments.
  };

  /// Starts the program and asks what it is.
  static Result<std::unique_ptr<Bridge>> begin(Options options);

  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  /// Says the same to the agent.
  void describe(Plugin& plugin);

  /// Lets the program end, if need be by force.
  void end();

private:
  explicit Bridge(Options options);

  Result<> ask_what_it_is();
  Result<> configure(const Config& config);
  void hear(LogLine line);
  void program_ended(const std::string& how);

  Options options_;
  std::shared_ptr<TurnQueue> turns_;
  std::unique_ptr<GoProgram> program_;
  std::unique_ptr<Remote> remote_;
  base::PluginInfoResponse info_;
  std::optional<ConfigSpec> config_, task_config_;
  drivers::DriverCapabilities capabilities_;
  std::atomic<Agent*> agent_{nullptr};  ///< Set when there is a driver, and then lines are logged.
  std::atomic<bool> ends_{false};
  std::string panic_;  ///< Of the thread that hears.
};

}  // namespace nomad::plugin::bridge
