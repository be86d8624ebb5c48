#include "runtime/template/change/change_plan.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"

namespace nomad::templates {
namespace {

/// "[a b]", as Go shows a list.
std::string shown(const ChangeScript& script) {
  return script.command + " with arguments [" + join(script.arguments, " ") + ']';
}

}  // namespace

ChangePlan plan_changes(std::span<const ChangeRule> changed) {
  ChangePlan plan;
  for (const ChangeRule& rule : changed) {
    switch (rule.mode) {
      case ChangeMode::restart:
        plan.restarts = true;
        break;
      case ChangeMode::signal:
        plan.signals.push_back(rule.signal);
        break;
      case ChangeMode::script:
        plan.scripts.push_back(rule.script);
        break;
      case ChangeMode::noop:
        continue;
    }
    plan.splay = std::max(plan.splay, rule.splay);
  }
  if (plan.restarts) {
    plan.signals.clear();
    plan.scripts.clear();
  }
  std::ranges::sort(plan.signals);
  // Clang 14, which makes the fuzzers, can't take what std::ranges::unique answers apart.
  plan.signals.erase(std::unique(plan.signals.begin(), plan.signals.end()), plan.signals.end());
  return plan;
}

std::chrono::nanoseconds splay_delay(std::chrono::nanoseconds splay, std::uint64_t random) {
  if (splay.count() <= 0) return {};
  return std::chrono::nanoseconds{
      static_cast<std::int64_t>(random % static_cast<std::uint64_t>(splay.count()))};
}

ScriptOutcome script_exited(const ChangeScript& script, int exit_code) {
  const std::string code = std::to_string(exit_code);
  if (exit_code != 0)
    return {
        "Template ran script " + shown(script) + " on change but it exited with code code: " + code,
        true};
  return {"Template successfully ran script " + script.command + " with arguments: ["
              + join(script.arguments, " ") + "]. Exit code: " + code,
          false};
}

ScriptOutcome script_failed(const ChangeScript& script, std::string_view error, int exit_code) {
  return {"Template failed to run script " + shown(script) + " on change: " + std::string{error}
              + " Exit code: " + std::to_string(exit_code),
          true};
}

ScriptOutcome script_not_supported(const ChangeScript& script) {
  return {"Template failed to run script " + shown(script)
              + " because task driver doesn't support the exec operation",
          true};
}

}  // namespace nomad::templates
