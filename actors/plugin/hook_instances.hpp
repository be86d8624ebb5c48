// HookInstances: the instances of a plugin's hooks, each for one task or allocation, and what of
// these the plugin's process has been told. Part of the PluginLink, called in its turns.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "actors/client/hooks/hook.hpp"
#include "actors/plugin/questions.hpp"

namespace nomad::plugin {

namespace plugin_link {
struct RunHook;
struct TasksChanged;
}  // namespace plugin_link

class HookInstances {
public:
  /// So many questions to hosts may be open.
  static constexpr std::size_t most_asked = 256;

  /// `life` tells the plugin's processes apart. All outlive it.
  HookInstances(actor::Self* self, Questions& questions, const std::uint64_t& life)
      : self_{self}, questions_{questions}, life_{life} {}

  HookInstances(const HookInstances&) = delete;
  HookInstances& operator=(const HookInstances&) = delete;

  /// Sends the phase; the promise gets what comes of it. `title` is what errors begin with.
  void run(const plugin_link::RunHook& msg,
           actor::Promise<client::hook::Answered> promise,
           const std::string& title);
  /// Answered when the plugin has answered what is open.
  actor::Answer<client::hook::Settled> cancel(
      std::uint64_t instance, const std::function<actor::Promise<client::hook::Settled>()>& later);

  /// It is over: what is open of it fails.
  void close(std::uint64_t instance);
  void tasks_changed(const plugin_link::TasksChanged& msg);

  /// Whatever ids it bears, it is about whom the hook is for.
  void take_notice(schema::plugin::HookNotice::Reader notice, std::int64_t unix_now);
  void take_question(std::uint64_t number, schema::plugin::AskAgent::Reader question);

private:
  struct Instance {
    client::PluginAgent agent;
    std::string alloc_id;
    std::string task;
    std::vector<std::uint64_t> open;  ///< Numbers of questions about it.
    std::uint64_t life = 0;           ///< Of the process that knows what follows.
    Object<schema::Allocation> alloc;
    Object<schema::Job> job;
    Object<schema::plugin::HookTarget> target;
  };

  /// Null if the present process does not know it.
  Instance* find(std::uint64_t instance);

  actor::Self* self_;
  Questions& questions_;
  const std::uint64_t& life_;
  std::map<std::uint64_t, Instance> instances_;
  std::size_t asked_ = 0;  ///< By the plugin of hosts, and not answered yet.
};

}  // namespace nomad::plugin
