// What is done to a task when templates of it have got another text.
//
// Changes that come together are one plan: restarts of several templates are one restart, and where
// the task restarts nothing is signalled and no script is run, for it starts with the new texts
// anyway. The same signal is sent once. The longest splay counts for all.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::templates {

enum class ChangeMode : std::uint8_t { restart, signal, script, noop };

/// change_script of a template.
struct ChangeScript {
  std::string command;
  std::vector<std::string> arguments{};
  std::chrono::nanoseconds timeout{};
  bool fails_task = false;  ///< fail_on_error
  bool runs_first = false;  ///< run_on_first_render: also once the task runs with the first text.

  friend bool operator==(const ChangeScript&, const ChangeScript&) = default;
};

/// What a template says about its changes.
struct ChangeRule {
  ChangeMode mode = ChangeMode::restart;
  std::string signal{};   ///< Of mode signal: "SIGHUP".
  ChangeScript script{};  ///< Of mode script.
  std::chrono::nanoseconds splay{};
};

struct ChangePlan {
  bool restarts = false;
  std::vector<std::string> signals{};   ///< Sorted, each once.
  std::vector<ChangeScript> scripts{};  ///< In the order of the templates.
  std::chrono::nanoseconds splay{};     ///< The plan is carried out within this time, at random.

  bool is_empty() const { return !restarts && signals.empty() && scripts.empty(); }
};

/// What the templates whose texts changed ask for.
ChangePlan plan_changes(std::span<const ChangeRule> changed);

/// A time before `splay`, by 64 random bits.
std::chrono::nanoseconds splay_delay(std::chrono::nanoseconds splay, std::uint64_t random);

// What task events say about it.

inline constexpr std::string_view restart_message = "Template with change_mode restart re-rendered";
inline constexpr std::string_view signal_message = "Template re-rendered";

/// How a script ended: what to say, and whether it failed.
struct ScriptOutcome {
  std::string message;
  bool failed = false;
};

ScriptOutcome script_exited(const ChangeScript& script, int exit_code);
ScriptOutcome script_failed(const ChangeScript& script, std::string_view error, int exit_code);

/// The task's driver runs no commands.
ScriptOutcome script_not_supported(const ChangeScript& script);

}  // namespace nomad::templates
