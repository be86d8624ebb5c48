#include "actors/client/task/task_commands.hpp"

#include <utility>

#include "actors/core/turns.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::client {
namespace {

/// What a command has written; filled by the session's thread alone.
struct Written {
  std::string bytes;

  void add(std::string_view more) {
    bytes += more.substr(
        0, TaskCommands::max_output - std::min(bytes.size(), TaskCommands::max_output));
  }
};

}  // namespace

actor::Answer<plugin_agent::Answered> TaskCommands::run(const TaskRunner& task,
                                                        schema::plugin::Command::Reader command) {
  host::ExecCommand order{.command = {copy(command.getProgram())}, .in_task_directory = true};
  for (const auto argument : command.getArguments())
    order.command.push_back(copy(argument));
  const auto number = ++last_;
  auto promise = self_->make_response_promise<plugin_agent::Answered>();
  running_.emplace(number, Running{promise, {}});
  const Nanoseconds timeout{command.getTimeout()};
  actor::send_self_after(self_, timeout, alloc_runner::CommandTimeOver{number});
  self_->request(task, timeout, task_runner::Exec{std::move(order)})
      .then([this,
             number](client_api::ExecStarted& begun) { started(number, std::move(begun.session)); },
            [this, number](const Error& err) { answer(number, err); });
  return promise;
}

void TaskCommands::started(std::uint64_t number, std::shared_ptr<host::ExecSession> session) {
  const auto found = running_.find(number);
  if (found == running_.end()) return;  // Its time is over: dropping the session kills it.
  found->second.session = session;
  const auto written = std::make_shared<Written>();
  const std::weak_ptr<host::ExecSession> weak = session;
  session->start({.output =
                      [weak, written](host::ExecEvents::Output, std::string_view bytes) {
                        written->add(bytes);
                        if (const auto held = weak.lock()) held->taken(bytes.size());
                      },
                  .writable = [] {},
                  .exited = actor::turns_of(self_).callback(
                      [this, number, written](const host::ExecResult& result) {
                        ended(number, result, written->bytes);
                      })});
  session->end_input();
}

void TaskCommands::ended(std::uint64_t number,
                         const host::ExecResult& result,
                         const std::string& output) {
  if (!result.error.empty()) return answer(number, Error{Errc::rejected, result.error});
  Draft<schema::plugin::AgentAnswer> draft;
  auto ended = draft->initCommandEnded();
  ended.setExitCode(result.exit_code);
  ended.setOutput({reinterpret_cast<const capnp::byte*>(output.data()), output.size()});
  answer(number, draft.freeze());
}

void TaskCommands::time_over(const alloc_runner::CommandTimeOver& msg) {
  answer(msg.number, Error{Errc::timeout, "it took too long, and was killed"});
}

void TaskCommands::answer(std::uint64_t number,
                          const Result<Object<schema::plugin::AgentAnswer>>& outcome) {
  const auto known = running_.extract(number);
  if (known.empty()) return;
  if (outcome)
    known.mapped().promise.deliver(plugin_agent::Answered{*outcome});
  else
    known.mapped().promise.deliver(outcome.error());
}

}  // namespace nomad::client
