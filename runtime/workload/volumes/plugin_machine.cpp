#include "runtime/workload/volumes/plugin_machine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/workload/volumes/row_fields.hpp"

namespace nomad::workload {

namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds healthy_pause = 30s;
constexpr Nanoseconds first_look_pause = 100ms;
constexpr Nanoseconds longest_look_pause = 5s;
constexpr Nanoseconds told_as_gone = 30s;
constexpr std::string_view plugin_mark = "1";  ///< The form of a row.

}  // namespace

std::string write_plugin(const PluginTask& plugin) {
  return join_fields({std::string{plugin_mark}, plugin.is_node ? "1" : "0",
                      plugin.is_controller ? "1" : "0",
                      std::to_string(plugin.health_timeout.count()), plugin.alloc, plugin.task,
                      plugin.id, plugin.socket, plugin.directory, plugin.base});
}

Result<PluginTask> read_plugin(std::string_view bytes) {
  const auto fields = split_fields(bytes, 10);
  std::int64_t timeout = 0;
  if (!fields || fields->front() != plugin_mark || !read_number((*fields)[3], timeout))
    return Error{Errc::corrupt, "it is no row of a plugin"};
  const auto text = [&fields](std::size_t at) { return std::string{(*fields)[at]}; };
  return PluginTask{.alloc = text(4),
                    .task = text(5),
                    .id = text(6),
                    .is_node = text(1) == "1",
                    .is_controller = text(2) == "1",
                    .socket = text(7),
                    .directory = text(8),
                    .base = text(9),
                    .health_timeout = Nanoseconds{timeout}};
}

PluginMachine::Standings PluginMachine::standings(bool PluginTask::*kind) const {
  std::map<std::string, const Known*> serving;
  for (const auto& [key, known] : all_) {
    if (!(known.plugin.*kind) || known.state == State::starting) continue;
    auto& best = serving[known.plugin.id];
    const bool is_better = best == nullptr
                           || (best->state == State::gone && known.state != State::gone)
                           || (best->state == known.state && best->number < known.number);
    if (is_better) best = &known;  // (2)
  }
  Standings all;
  for (const auto& [id, known] : serving)
    // What it is must be known before anything is said of it.
    if (known->has_facts)
      all.emplace(id,
                  PluginStanding{known->plugin, known->facts, known->healthy, known->description});
  return all;
}

// -- its task ------------------------------------------------------------------------------------

void PluginMachine::restore(std::vector<PluginTask> plugins,
                            const std::set<std::string>& allocs,
                            Time now) {
  for (auto& plugin : plugins) {
    const auto key = plugin.key();
    if (!allocs.contains(plugin.alloc)) {
      actions_.emplace_back(plugin_action::Erase{key});
      continue;
    }
    auto& known = all_[key];
    known.plugin = std::move(plugin);
    known.state = State::known;
    known.has_been_healthy = true;
    known.number = ++last_number_;
    begin(known, now);
  }
  wait();
}

void PluginMachine::started(PluginTask plugin, Time now) {
  const auto key = plugin.key();
  auto& known = all_[key];
  const bool is_registered = known.state == State::known && known.plugin == plugin;
  if (is_registered && known.runs) return;  // Found running by the next agent.
  if (!is_registered) known = Known{};
  known.plugin = std::move(plugin);
  known.runs = true;
  if (known.number == 0) known.number = ++last_number_;
  known.give_up = now + known.plugin.health_timeout;
  begin(known, now);
  wait();
}

void PluginMachine::exited(const std::string& key, Time now) {
  const auto found = all_.find(key);
  if (found == all_.end() || found->second.state == State::gone) return;
  auto& known = found->second;
  known.runs = false;
  known.operation = 0;
  known.due.reset();
  known.give_up.reset();
  if (known.state == State::known) failed(known, "its task has exited", now);
  known.due.reset();
  wait();
}

void PluginMachine::stopped(const std::string& key, Time now) {
  const auto found = all_.find(key);
  if (found == all_.end() || found->second.state == State::gone) return;
  auto& known = found->second;
  const bool was_known = known.state == State::known;
  if (!was_known) {
    all_.erase(found);
  } else {
    actions_.emplace_back(plugin_action::Erase{key});
    known.state = State::gone;
    known.healthy = false;
    known.description = "the plugin has been stopped";
    known.operation = 0;
    known.give_up.reset();
    known.due = now + told_as_gone;  // (4)
    actions_.emplace_back(plugin_action::Changed{});
  }
  wait();
}

// -- its health ----------------------------------------------------------------------------------

/// A round of questions, from now on.
void PluginMachine::begin(Known& known, Time now) {
  static_cast<void>(now);
  known.pause = first_look_pause;
  ask(known, Question::probe);
}

void PluginMachine::ask(Known& known, Question question) {
  known.due.reset();
  known.question = question;
  known.operation = ++last_number_;
  actions_.emplace_back(
      plugin_action::Ask{known.plugin.key(), question, known.plugin.socket, known.operation});
}

void PluginMachine::answered(std::uint64_t operation, const Result<Said>& said, Time now) {
  for (auto& [key, known] : all_) {
    if (known.operation != operation) continue;
    known.operation = 0;
    if (!said)
      failed(known, said.error().what, now);
    else if (known.question == Question::probe && !said->ready)
      failed(known, "it says that it is not ready", now);
    else
      heard(known, *said, now);
    break;
  }
  wait();
}

void PluginMachine::heard(Known& known, const Said& said, Time now) {
  auto& facts = known.facts;
  switch (known.question) {
    case Question::probe:
      break;
    case Question::info:
      facts.provider = said.facts.provider;
      facts.version = said.facts.version;
      break;
    case Question::capabilities:
      facts.plugin_capabilities = said.facts.plugin_capabilities;
      break;
    case Question::node_info:
      facts.node_id = said.facts.node_id;
      facts.max_volumes = said.facts.max_volumes;
      facts.topology = said.facts.topology;
      break;
    case Question::node_capabilities:
      facts.node_capabilities = said.facts.node_capabilities;
      break;
    case Question::controller_capabilities:
      facts.controller_capabilities = said.facts.controller_capabilities;
      break;
  }
  go_on(known, now);
}

/// The next question of the round, by the one that was answered.
void PluginMachine::go_on(Known& known, Time now) {
  const auto& plugin = known.plugin;
  const bool is_first = !known.has_facts;
  switch (known.question) {
    case Question::probe:
      if (is_first) return ask(known, Question::info);
      if (plugin.is_node) return ask(known, Question::node_capabilities);
      return ask(known, Question::controller_capabilities);
    case Question::info:
      return ask(known, Question::capabilities);
    case Question::capabilities:
      if (plugin.is_node) return ask(known, Question::node_info);
      return ask(known, Question::controller_capabilities);
    case Question::node_info:
      return ask(known, Question::node_capabilities);
    case Question::node_capabilities:
      if (plugin.is_controller) return ask(known, Question::controller_capabilities);
      return round_is_over(known, now);
    case Question::controller_capabilities:
      return round_is_over(known, now);
  }
}

void PluginMachine::round_is_over(Known& known, Time now) {
  known.has_facts = true;
  known.give_up.reset();
  known.pause = first_look_pause;
  known.due = now + healthy_pause;  // (3)
  if (known.state == State::starting) {
    known.state = State::known;  // (1)
    actions_.emplace_back(plugin_action::Save{known.plugin});
  }
  known.healthy = true;
  known.description = "healthy";
  if (!known.has_been_healthy)
    actions_.emplace_back(
        plugin_action::Event{known.plugin, true, fmt::format("plugin: {}", known.plugin.id)});
  known.has_been_healthy = true;
  actions_.emplace_back(plugin_action::Changed{});
}

void PluginMachine::failed(Known& known, const std::string& why, Time now) {
  const auto text = fmt::format("CSI plugin failed probe: {}", why);
  const bool was_healthy = std::exchange(known.healthy, false);
  known.description = text;
  if (known.give_up && *known.give_up <= now) {
    known.give_up.reset();
    known.due.reset();
    actions_.emplace_back(
        plugin_action::Event{known.plugin, false, fmt::format("Error: {}", text)});
    actions_.emplace_back(plugin_action::Kill{
        known.plugin,
        fmt::format("CSI plugin did not become healthy before configured {} health timeout",
                    format_duration(known.plugin.health_timeout))});
    return;
  }
  if (was_healthy) {
    known.has_been_healthy = false;
    actions_.emplace_back(
        plugin_action::Event{known.plugin, false, fmt::format("Error: {}", text)});
    actions_.emplace_back(plugin_action::Changed{});
  }
  known.due = now + known.pause;
  if (known.give_up) known.due = std::min(*known.due, *known.give_up);
  known.pause = std::min(2 * known.pause, longest_look_pause);
}

void PluginMachine::look(Time now) {
  waits_until_.reset();
  bool is_any_gone = false;
  for (auto each = all_.begin(); each != all_.end();) {
    auto& known = each->second;
    if (known.due && *known.due <= now) {
      if (known.state == State::gone) {
        each = all_.erase(each);
        is_any_gone = true;
        continue;
      }
      ask(known, Question::probe);
    }
    ++each;
  }
  if (is_any_gone) actions_.emplace_back(plugin_action::Changed{});
  wait();
}

void PluginMachine::wait() {
  std::optional<Time> due;
  for (const auto& [key, known] : all_)
    if (known.due) due = due ? std::min(*due, *known.due) : known.due;
  if (due == waits_until_) return;
  waits_until_ = due;
  if (due) actions_.emplace_back(plugin_action::Wait{*due});
}

}  // namespace nomad::workload
