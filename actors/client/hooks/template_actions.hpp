// TemplateActions: what is done to a task after a change of its templates, and what users read of
// it, by way of the hook's host. The template hook owns it and calls it in its own turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "actors/client/hooks/hook.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/template/change/change_plan.hpp"

namespace nomad::client {

class TemplateActions {
public:
  /// `self` and `scope` outlive it. `failed` hears of what has to end the task.
  TemplateActions(actor::Self* self,
                  PluginHost host,
                  UnixClock unix_now,
                  const HookScope& scope,
                  std::function<void(std::string)> failed)
      : self_{self},
        host_{std::move(host)},
        unix_now_{std::move(unix_now)},
        scope_{scope},
        failed_{std::move(failed)} {}

  TemplateActions(const TemplateActions&) = delete;
  TemplateActions& operator=(const TemplateActions&) = delete;

  /// `then` comes when all of the plan has been done, or can't be.
  void carry_out(const templates::ChangePlan& plan, std::function<void()> then);

  /// An event in the task's history.
  void tell(std::string_view type, std::string message);

  /// Ends the task as failed.
  void fail(const std::string& message);

private:
  using Then = std::function<void()>;

  void restart(Then then);
  void signal(const templates::ChangePlan& plan, std::size_t at, Then then);
  void run(const templates::ChangeScript& script, Then then);
  void script_ended(const templates::ChangeScript& script, const templates::ScriptOutcome& outcome);
  schema::plugin::HostRequest::Builder address(Draft<schema::plugin::HostRequest>& draft) const;

  actor::Self* self_;
  PluginHost host_;
  UnixClock unix_now_;
  const HookScope& scope_;
  std::function<void(std::string)> failed_;
};

}  // namespace nomad::client
