// The part of executor_loop.hpp that runs commands beside a task.
#include "runtime/host/executor_loop.hpp"

namespace nomad::host {

void ExecutorClient::Loop::exec(const std::string& key,
                                const ExecCommand& command,
                                const std::string& directory,
                                const ExecReady& ready) {
  Task* task = find(key);
  if (task == nullptr) return ready(Error{Errc::not_found, "no task runs as " + key});
  switch (task->phase) {
    case Phase::looking:
    case Phase::greeting:
    case Phase::starting:
      task->when_settled.push_back(
          [this, key, command, directory, ready] { exec(key, command, directory, ready); });
      return;
    case Phase::running:
      return request(
          *task,
          [this, task, tty = command.tty, ready](const Result<>& outcome) {
            ready(take_session(*task, tty, outcome));
          },
          [&](executor::Message::Builder message) {
            auto order = message.initExec();
            auto words = order.initCommand(static_cast<unsigned>(command.command.size()));
            for (unsigned i = 0; i < words.size(); ++i)
              words.set(i, command.command[i]);
            order.setDirectory(directory);
            order.setTty(command.tty);
          });
    case Phase::ended:
    case Phase::leaving:
    case Phase::clearing:
      break;
  }
  ready(Error{Errc::conflict, "the task is not running"});
}

Result<std::shared_ptr<ExecSession>> ExecutorClient::Loop::take_session(Task& task,
                                                                        bool tty,
                                                                        const Result<>& outcome) {
  if (outcome.has_error()) {
    const Error& error = outcome.error();
    if (error.what == executor::unknown_request)
      return Error{Errc::rejected,
                   "the executor of this task is too old to run commands beside it; restart the "
                   "task"};
    if (error.code == Errc::unavailable) return error;
    return Error{Errc::rejected, error.what};
  }
  const std::size_t count = tty ? 2 : 4;
  if (task.received.size() < count) {
    task.received.clear();
    return Error{Errc::io, "the command's streams were lost: too many open files"};
  }
  if (!pump_) {
    pump_ = NOMAD_TRY(ExecPump::open());
  }
  ExecEnds ends;
  ends.socket = std::move(task.received[0]);
  if (tty) {
    ends.terminal = std::move(task.received[1]);
  } else {
    ends.input = std::move(task.received[1]);
    ends.output = std::move(task.received[2]);
    ends.errors = std::move(task.received[3]);
  }
  task.received.erase(task.received.begin(),
                      task.received.begin() + static_cast<std::ptrdiff_t>(count));
  return pump_->adopt(std::move(ends));
}

}  // namespace nomad::host
