#include "runtime/workload/node/task_action.hpp"

#include <fmt/format.h>

#include "runtime/workload/alloc_update.hpp"

namespace nomad::workload {
namespace {

std::vector<std::string> words_of(schema::Action::Reader action) {
  std::vector<std::string> words{copy(action.getCommand())};
  for (const auto argument : action.getArgs())
    words.push_back(copy(argument));
  return words;
}

}  // namespace

Result<std::vector<std::string>> command_of_action(const ActionAsked& asked) {
  const auto refused = [](std::string what) {
    return Error{Errc::invalid_argument, std::move(what)};
  };
  if (asked.alloc.job_id() != asked.job_id)
    return refused(
        fmt::format("job {} does not have allocation {}", asked.job_id, asked.alloc.id()));
  const auto task = find_task(asked.alloc, asked.job, asked.task);
  if (!task)
    return refused(fmt::format("task {} not found in allocation {}", asked.task, asked.alloc.id()));
  for (const auto action : task->getActions())
    if (view(action.getName()) == asked.action) return words_of(action);
  return refused(fmt::format("action {} not found in task {}", asked.action, asked.task));
}

}  // namespace nomad::workload
