// TemplateActions: what is done to a task after a change of its templates, and what users read of
// it, by way of the hook's agent. The template hook owns it and calls it in its own turns.
// Tests: template_hook_test.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "actors/client/hooks/hooked_task.hpp"
#include "runtime/template/change/change_plan.hpp"

namespace nomad::client {

class TemplateActions {
public:
  /// `self` and `scope` outlive it. `failed` hears of what has to end the task.
  TemplateActions(actor::Self* self,
                  PluginAgent agent,
                  UnixClock unix_now,
                  const HookScope& scope,
                  std::function<void(std::string)> failed)
      : task_{self, std::move(agent), std::move(unix_now), scope},
        scope_{scope},
        failed_{std::move(failed)} {}

  TemplateActions(const TemplateActions&) = delete;
  TemplateActions& operator=(const TemplateActions&) = delete;

  /// `then` comes when all of the plan has been done, or can't be.
  void carry_out(const templates::ChangePlan& plan, std::function<void()> then);

  const HookedTask& task() const { return task_; }

private:
  using Then = std::function<void()>;

  void signal(const templates::ChangePlan& plan, std::size_t at, Then then);
  void run(const templates::ChangeScript& script, Then then);
  void script_ended(const templates::ChangeScript& script, const templates::ScriptOutcome& outcome);

  HookedTask task_;
  const HookScope& scope_;
  std::function<void(std::string)> failed_;
};

}  // namespace nomad::client
