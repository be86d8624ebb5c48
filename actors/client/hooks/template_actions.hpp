// TemplateActions: what is done to a task after a change of its templates, and what users read of
// it, by way of the hook's host. The template hook owns it and calls it in its own turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "actors/client/hooks/hook.hpp"
#include "runtime/template/change/change_plan.hpp"

namespace nomad::client {

class TemplateActions {
public:
  /// Both outlive it.
  TemplateActions(actor::Self* self, const HookTools& tools, const HookScope& scope)
      : self_{self}, tools_{tools}, scope_{scope} {}

  TemplateActions(const TemplateActions&) = delete;
  TemplateActions& operator=(const TemplateActions&) = delete;

  /// `then` comes when all of the plan has been done, or can't be.
  void carry_out(const templates::ChangePlan& plan, std::function<void()> then);

  /// An event in the task's history.
  void tell(std::string_view type, std::string message);

  /// Ends the task as failed; once.
  void fail(std::string message);

  bool has_failed() const { return failed_; }

  /// The task starts (again).
  void begin() { failed_ = false; }

private:
  using Then = std::function<void()>;

  void restart(Then then);
  void signal(const templates::ChangePlan& plan, std::size_t at, Then then);
  void run(const templates::ChangeScript& script, Then then);
  void script_ended(const templates::ChangeScript& script, const templates::ScriptOutcome& outcome);
  schema::plugin::HostRequest::Builder address(Draft<schema::plugin::HostRequest>& draft) const;

  actor::Self* self_;
  const HookTools& tools_;
  const HookScope& scope_;
  bool failed_ = false;
};

}  // namespace nomad::client
