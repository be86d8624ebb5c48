#include "actors/client/hooks/templates/template_actions.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/client/tools/countdown.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {
namespace {

namespace event = workload::task_event;

}  // namespace

void TemplateActions::carry_out(const templates::ChangePlan& plan, Then then) {
  if (plan.restarts) return task_.restart(templates::restart_message, std::move(then));
  const Countdown all{std::move(then)};
  for (const auto& script : plan.scripts) {
    all.await();
    run(script, all);
  }
  if (!plan.signals.empty()) {
    all.await();
    signal(plan, 0, all);
  }
  all();
}

void TemplateActions::signal(const templates::ChangePlan& plan, std::size_t at, Then then) {
  if (at == plan.signals.size()) return then();
  task_.signal(plan.signals[at], templates::signal_message,
               [this, plan, at, then](const Result<>& sent) {
                 if (sent) return signal(plan, at + 1, then);
                 failed_(fmt::format("Template failed to send signals [{}]: {}",
                                     fmt::join(plan.signals, " "), sent.error().what));
                 then();
               });
}

void TemplateActions::run(const templates::ChangeScript& script, Then then) {
  if (!scope_.target->getDriver().getExec()) {
    script_ended(script, templates::script_not_supported(script));
    return then();
  }
  task_.run(script.command, script.arguments, script.timeout,
            [this, script, then](const Result<std::int64_t>& exited) {
              if (exited)
                script_ended(script, templates::script_exited(script, *exited));
              else if (exited.error().code != Errc::not_found)  // It starts with the new texts.
                script_ended(script, templates::script_failed(script, exited.error().what, 0));
              then();
            });
}

void TemplateActions::script_ended(const templates::ChangeScript& script,
                                   const templates::ScriptOutcome& outcome) {
  task_.tell(outcome.failed ? event::hook_failed : event::hook_message, outcome.message);
  if (outcome.failed && script.fails_task) failed_("Template script failed, task is being killed");
}

}  // namespace nomad::client
