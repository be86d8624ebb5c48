#include "actors/client/hooks/hooked_task.hpp"

#include "runtime/object/entries.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::client {
namespace {

using schema::plugin::AgentRequest;

/// A process may take long to end.
constexpr auto task_restart_timeout = std::chrono::hours{24};
constexpr auto order_timeout = std::chrono::minutes{1};
/// What running a command may take besides its own time.
constexpr Nanoseconds command_slack = std::chrono::seconds{30};

plugin_agent::Ask order_of(Draft<AgentRequest>& draft) {
  return {draft.freeze()};
}

}  // namespace

AgentRequest::Builder HookedTask::order(Draft<AgentRequest>& draft) const {
  draft->setAllocId(scope_.target->getAllocId());
  draft->setTask(scope_.target->getTask());
  return *draft;
}

void HookedTask::tell(std::string_view type,
                      std::string_view message,
                      const Details& details) const {
  Draft<schema::plugin::Notice> notice;
  notice->setAllocId(scope_.target->getAllocId());
  notice->setTask(scope_.target->getTask());
  auto event = notice->initEvent();
  event.setType(text(type));
  event.setTime(unix_now_());
  event.setMessage(text(message));
  fill_entries(event.initDetails(static_cast<unsigned>(details.size())), details);
  self_->send(agent_, plugin_agent::Notice{notice.freeze()});
}

void HookedTask::fail(std::string_view message) const {
  Draft<AgentRequest> draft;
  auto event = order(draft).initKill();
  event.setType(text(workload::task_event::killing));
  event.setTime(unix_now_());
  event.setMessage(text(message));
  event.setFailsTask(true);
  self_->request(agent_, order_timeout, order_of(draft))
      .then([](const plugin_agent::Answered&) {}, [](const Error&) {});  // It has ended anyway.
}

void HookedTask::restart(std::string_view reason, std::function<void()> then) const {
  Draft<AgentRequest> draft;
  order(draft).initRestart().setReason(text(reason));
  self_->request(agent_, task_restart_timeout, order_of(draft))
      .then([then](const plugin_agent::Answered&) { then(); }, [then](const Error&) { then(); });
}

void HookedTask::signal(std::string_view signal,
                        std::string_view reason,
                        std::function<void(const Result<>&)> then) const {
  Draft<AgentRequest> draft;
  auto request = order(draft).initSignal();
  request.setSignal(text(signal));
  request.setReason(text(reason));
  self_->request(agent_, order_timeout, order_of(draft))
      .then([then](const plugin_agent::Answered&) { then({}); },
            [then](const Error& err) {
              then(err.code == Errc::not_found ? Result<>{} : Result<>{err});
            });
}

void HookedTask::run(const std::string& program,
                     const std::vector<std::string>& arguments,
                     std::chrono::nanoseconds timeout,
                     std::function<void(const Result<std::int64_t>&)> then) const {
  Draft<AgentRequest> draft;
  auto command = order(draft).initRun();
  command.setProgram(text(program));
  auto words = command.initArguments(static_cast<unsigned>(arguments.size()));
  for (unsigned i = 0; i < words.size(); ++i)
    words.set(i, text(arguments[i]));
  command.setTimeout(timeout.count());
  self_->request(agent_, timeout + command_slack, order_of(draft))
      .then(
          [then](const plugin_agent::Answered& answered) {
            then(std::int64_t{answered.answer->getCommandEnded().getExitCode()});
          },
          [then](const Error& err) { then(err); });
}

}  // namespace nomad::client
