// PluginMachine: decides about the CSI plugins that run as tasks of this node: when they are asked
// how they are, when their tasks are given up, and what servers and volumes hear of them. What
// happened goes in as calls; what to do about it comes out of `take`. No I/O, no clock, no thread,
// no actor.
//
// (1) A plugin is registered once it has said that it is ready and what it is, and then written
//     down; the next agent asks it at once. One that is not ready within its health_timeout after a
//     start of its task has its task killed.
// (2) Of the registered ones with one id and kind the newest one serves; when it goes, the next
//     newest does.
// (3) One question to a plugin at a time. A healthy one is asked each 30 s, another one sooner.
// (4) What is told of a plugin that has gone: once that it is not healthy, and later nothing.
//
//   starting ─ready, named─▶ known ─asked each 30 s─▶ healthy ◀─▶ unhealthy
//      └─health_timeout─▶ the task is killed
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::workload {

/// A plugin as a task's `csi_plugin` block has it.
struct PluginTask {
  std::string alloc;
  std::string task;
  std::string id;
  bool is_node = false;        ///< Types node and monolith.
  bool is_controller = false;  ///< Types controller and monolith.
  std::string socket;          ///< On the host.
  std::string directory;       ///< Its directory on the host.
  std::string base;            ///< The same as the plugin sees it.
  Nanoseconds health_timeout{};

  std::string key() const { return alloc + '/' + task; }

  friend bool operator==(const PluginTask&, const PluginTask&) = default;
};

std::string write_plugin(const PluginTask& plugin);
Result<PluginTask> read_plugin(std::string_view bytes);

/// What a plugin says of itself. Capabilities have a bit each at CSI's number.
struct PluginFacts {
  std::string provider;
  std::string version;
  std::uint64_t plugin_capabilities = 0;
  std::uint64_t controller_capabilities = 0;
  std::uint64_t node_capabilities = 0;
  std::string node_id;
  std::int64_t max_volumes = 0;
  std::map<std::string, std::string> topology;

  bool has_controller_service() const { return (plugin_capabilities & (1U << 1)) != 0; }

  bool has_topologies() const { return (plugin_capabilities & (1U << 2)) != 0; }

  bool stages() const { return (node_capabilities & (1U << 1)) != 0; }

  friend bool operator==(const PluginFacts&, const PluginFacts&) = default;
};

/// How the plugin stands that serves.
struct PluginStanding {
  PluginTask plugin;
  PluginFacts facts;
  bool healthy = false;
  std::string description;

  friend bool operator==(const PluginStanding&, const PluginStanding&) = default;
};

namespace plugin_action {

enum class Question : std::uint8_t {
  probe,
  info,
  capabilities,
  node_info,
  node_capabilities,
  controller_capabilities,
};

/// Answer: `answered`.
struct Ask {
  std::string key;
  Question question;
  std::string socket;
  std::uint64_t operation;
};

struct Save {
  PluginTask plugin;
};

struct Erase {
  std::string key;
};

/// For the history of its task.
struct Event {
  PluginTask plugin;
  bool healthy;
  std::string message;
};

/// End its task as failed.
struct Kill {
  PluginTask plugin;
  std::string why;
};

/// `standings` are others.
struct Changed {};

/// Call `look` then. It replaces the last one.
struct Wait {
  Nanoseconds until;
};

}  // namespace plugin_action

using PluginAction = std::variant<plugin_action::Ask,
                                  plugin_action::Save,
                                  plugin_action::Erase,
                                  plugin_action::Event,
                                  plugin_action::Kill,
                                  plugin_action::Changed,
                                  plugin_action::Wait>;

class PluginMachine {
public:
  using Time = Nanoseconds;  ///< Of a steady clock.
  using Question = plugin_action::Question;

  /// What was answered; of the facts those that the question is about.
  struct Said {
    bool ready = true;
    PluginFacts facts{};
  };

  std::vector<PluginAction> take() { return std::exchange(actions_, {}); }

  /// What an earlier agent has registered; once. Those of other allocations than `allocs` are gone.
  void restore(std::vector<PluginTask> plugins, const std::set<std::string>& allocs, Time now);

  // What becomes of its task.

  void started(PluginTask plugin, Time now);
  void exited(const std::string& key, Time now);
  void stopped(const std::string& key, Time now);

  void answered(std::uint64_t operation, const Result<Said>& said, Time now);
  void look(Time now);

  /// Of the two kinds: by plugin id, who serves.
  using Standings = std::map<std::string, PluginStanding>;

  Standings nodes() const { return standings(&PluginTask::is_node); }

  Standings controllers() const { return standings(&PluginTask::is_controller); }

private:
  enum class State : std::uint8_t { starting, known, gone };

  struct Known {
    PluginTask plugin;
    State state = State::starting;
    bool runs = true;        ///< Its task does.
    bool has_facts = false;  ///< What does not change was asked.
    bool healthy = false;
    bool has_been_healthy = false;  ///< Since its task has started; users were told so.
    std::string description{};
    PluginFacts facts{};
    std::uint64_t number = 0;     ///< Greater ones are newer.
    std::uint64_t operation = 0;  ///< Of the question that is open; 0: none.
    Question question = Question::probe;
    std::optional<Time> due{};      ///< To be asked, or to be forgotten.
    std::optional<Time> give_up{};  ///< Its health_timeout is over then.
    Nanoseconds pause{};
  };

  Standings standings(bool PluginTask::*kind) const;
  void begin(Known& known, Time now);
  void ask(Known& known, Question question);
  void heard(Known& known, const Said& said, Time now);
  void go_on(Known& known, Time now);
  void round_is_over(Known& known, Time now);
  void failed(Known& known, const std::string& why, Time now);
  void wait();

  std::map<std::string, Known> all_;  ///< By key.
  std::vector<PluginAction> actions_;
  std::uint64_t last_number_ = 0;
  std::optional<Time> waits_until_;
};

}  // namespace nomad::workload
