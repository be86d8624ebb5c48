// The part of executor_loop.hpp that runs commands beside a task.
#include <iterator>

#include "runtime/host/executor_loop.hpp"

namespace nomad::host {

void ExecutorClient::Loop::exec(const std::string& key,
                                const ExecCommand& command,
                                const std::string& directory,
                                const ExecReady& ready) {
  if (has_null(command.command)) return ready(null_error());
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
          [task, tty = command.tty, ready](const Result<>& outcome) {
            ready(take_streams(*task, tty, outcome));
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

Result<std::vector<UniqueFd>> ExecutorClient::Loop::take_streams(Task& task,
                                                                 bool tty,
                                                                 const Result<>& outcome) {
  if (outcome.has_error()) {
    const Error& error = outcome.error();
    if (error.code == Errc::invalid_argument)
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
  const auto end = task.received.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<UniqueFd> streams{std::make_move_iterator(task.received.begin()),
                                std::make_move_iterator(end)};
  task.received.erase(task.received.begin(), end);
  return streams;
}

}  // namespace nomad::host
