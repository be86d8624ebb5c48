#include "actors/client/alloc/task_orders.hpp"

#include "actors/client/hooks/hook_objects.hpp"

namespace nomad::client {
namespace {

constexpr auto signal_timeout = std::chrono::minutes{1};

Error not_running() {
  return {Errc::not_found, "the task does not run"};
}

}  // namespace

actor::Answer<plugin_agent::Answered> signal_task(AllocSelf::pointer self,
                                                  const TaskRunner& task,
                                                  schema::plugin::Signal::Reader signal) {
  if (!task) return not_running();
  const auto promise = self->make_response_promise<plugin_agent::Answered>();
  self->request(task, signal_timeout,
                task_runner::Signal{copy(signal.getSignal()), copy(signal.getReason())})
      .then([promise](const task_runner::Done&) { promise.deliver(plugin_agent::Answered{}); },
            [promise](const Error& err) { promise.deliver(err); });
  return promise;
}

actor::Answer<plugin_agent::Answered> kill_task(AllocSelf::pointer self,
                                                const TaskRunner& task,
                                                schema::plugin::Event::Reader event) {
  if (!task) return not_running();
  self->send(task, task_runner::Kill{.event = read_event(event)});
  return plugin_agent::Answered{};
}

}  // namespace nomad::client
