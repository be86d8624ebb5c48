#include "actors/client/hooks/template_actions.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "actors/client/tools/countdown.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {
namespace {

namespace event = workload::task_event;
using schema::plugin::HostRequest;

/// A process may take long to end.
constexpr auto task_restart_timeout = std::chrono::hours{24};
constexpr auto order_timeout = std::chrono::minutes{1};
/// What running a script may take besides its own time.
constexpr Nanoseconds script_slack = std::chrono::seconds{30};

plugin_host::Ask order_of(Draft<HostRequest>& draft) {
  return {draft.freeze()};
}

}  // namespace

HostRequest::Builder TemplateActions::address(Draft<HostRequest>& draft) const {
  draft->setAllocId(scope_.place->getAllocId());
  draft->setTask(scope_.place->getTask());
  return *draft;
}

void TemplateActions::tell(std::string_view type, std::string message) {
  Draft<schema::plugin::Notice> notice;
  notice->setAllocId(scope_.place->getAllocId());
  notice->setTask(scope_.place->getTask());
  auto event = notice->initEvent();
  event.setType(text(std::string{type}));
  event.setTime(unix_now_());
  event.setMessage(text(message));
  self_->send(host_, plugin_host::Notice{notice.freeze()});
}

void TemplateActions::fail(const std::string& message) {
  Draft<HostRequest> draft;
  auto event = address(draft).initKill();
  event.setType(text(std::string{event::killing}));
  event.setTime(unix_now_());
  event.setMessage(text(message));
  event.setFailsTask(true);
  self_->request(host_, order_timeout, order_of(draft))
      .then([](const plugin_host::Answered&) {}, [](const Error&) {});  // It has ended anyway.
}

void TemplateActions::carry_out(const templates::ChangePlan& plan, Then then) {
  if (plan.restarts) return restart(std::move(then));
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

void TemplateActions::restart(Then then) {
  Draft<HostRequest> draft;
  address(draft).initRestart().setReason(text(std::string{templates::restart_message}));
  self_->request(host_, task_restart_timeout, order_of(draft))
      .then([then](const plugin_host::Answered&) { then(); },
            [then](const Error&) { then(); });  // It does not run: it starts with the new texts.
}

void TemplateActions::signal(const templates::ChangePlan& plan, std::size_t at, Then then) {
  if (at == plan.signals.size()) return then();
  Draft<HostRequest> draft;
  auto order = address(draft).initSignal();
  order.setSignal(text(plan.signals[at]));
  order.setReason(text(std::string{templates::signal_message}));
  self_->request(host_, order_timeout, order_of(draft))
      .then([this, plan, at, then](const plugin_host::Answered&) { signal(plan, at + 1, then); },
            [this, plan, then](const Error& err) {
              // A task that does not run (any more) needs none.
              if (err.code != Errc::not_found)
                failed_(fmt::format("Template failed to send signals [{}]: {}",
                                    fmt::join(plan.signals, " "), err.what));
              then();
            });
}

void TemplateActions::run(const templates::ChangeScript& script, Then then) {
  if (!scope_.place->getDriver().getExec()) {
    script_ended(script, templates::script_not_supported(script));
    return then();
  }
  Draft<HostRequest> draft;
  auto command = address(draft).initRun();
  command.setProgram(text(script.command));
  auto arguments = command.initArguments(static_cast<unsigned>(script.arguments.size()));
  for (unsigned i = 0; i < arguments.size(); ++i)
    arguments.set(i, text(script.arguments[i]));
  command.setTimeout(script.timeout.count());
  self_->request(host_, script.timeout + script_slack, order_of(draft))
      .then(
          [this, script, then](const plugin_host::Answered& answered) {
            script_ended(script, templates::script_exited(
                                     script, answered.answer->getCommandEnded().getExitCode()));
            then();
          },
          [this, script, then](const Error& err) {
            if (err.code != Errc::not_found)  // The task has ended: it starts with the new texts.
              script_ended(script, templates::script_failed(script, err.what, 0));
            then();
          });
}

void TemplateActions::script_ended(const templates::ChangeScript& script,
                                   const templates::ScriptOutcome& outcome) {
  tell(outcome.failed ? event::hook_failed : event::hook_message, outcome.message);
  if (outcome.failed && script.fails_task) failed_("Template script failed, task is being killed");
}

}  // namespace nomad::client
