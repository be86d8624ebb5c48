#include "runtime/workload/runs/task_runs.hpp"

#include <utility>

namespace nomad::workload {

// -- orders ---------------------------------------------------------------------------------------

std::optional<TaskRuns::Begun> TaskRuns::start(const TaskId& id,
                                               std::string_view run_id,
                                               Answer answer) {
  const auto current = current_.find(id);
  if (current == current_.end()) return begin(id, run_id, std::move(answer));
  auto& run = runs_.at(current->second);
  if (run.run_id == run_id) return attach(run, std::move(answer));
  if (run.stage != Stage::ended) {  // (2)
    answer(nullptr, {{Errc::conflict, "task is already running"}, /*recoverable=*/true});
    return std::nullopt;
  }
  const auto replaced = take_out(run.number).number;
  auto begun = begin(id, run_id, std::move(answer));
  begun.replaced = replaced;
  return begun;
}

std::optional<TaskRuns::Begun> TaskRuns::recover(const TaskId& id,
                                                 std::string_view run_id,
                                                 Answer answer) {
  const auto current = current_.find(id);
  if (current == current_.end()) return begin(id, run_id, std::move(answer));
  auto& run = runs_.at(current->second);
  if (run_id.empty() || run.run_id == run_id) return attach(run, std::move(answer));
  answer(nullptr, {{Errc::not_found, "another run of the task is there"}});
  return std::nullopt;
}

std::optional<TaskRuns::Run> TaskRuns::destroy(const TaskId& id) {
  const auto current = current_.find(id);
  if (current == current_.end()) return std::nullopt;
  auto run = take_out(current->second);
  for (const auto& answer : std::exchange(run.waiting, {}))  // (5)
    answer(nullptr, {{Errc::cancelled, "the task was destroyed before it ran"}});
  return run;
}

TaskRuns::Begun TaskRuns::begin(const TaskId& id, std::string_view run_id, Answer answer) {
  const auto number = next_number();
  current_[id] = number;
  auto& run = runs_[number];
  run.number = number;
  run.id = id;
  run.run_id = run_id;
  run.waiting.push_back(std::move(answer));
  return {.number = number};
}

/// (1)
std::optional<TaskRuns::Begun> TaskRuns::attach(Run& run, Answer answer) {
  if (run.stage == Stage::starting) {
    run.waiting.push_back(std::move(answer));
    return std::nullopt;
  }
  answer(&run, {});
  if (run.stage == Stage::ended) tell_end_(run);  // (3)
  return std::nullopt;
}

/// (4)
TaskRuns::Run TaskRuns::take_out(Number number) {
  auto run = std::move(runs_.extract(number).mapped());
  current_.erase(run.id);
  usage_.drop(run.id);
  return run;
}

// -- what came of what was begun ------------------------------------------------------------------

void TaskRuns::began(Number number, std::string_view run_id) {
  const auto found = runs_.find(number);
  if (found == runs_.end() || found->second.stage != Stage::starting) return;
  auto& run = found->second;
  run.run_id = run_id;
  run.stage = run.result ? Stage::ended : Stage::running;
  for (const auto& answer : std::exchange(run.waiting, {}))
    answer(&run, {});
  if (run.result) tell_end_(run);  // (3)
}

void TaskRuns::failed(Number number, const Refusal& why) {
  const auto found = runs_.find(number);
  if (found == runs_.end() || found->second.stage != Stage::starting) return;
  const auto run = take_out(number);
  for (const auto& answer : run.waiting)
    answer(nullptr, why);
}

void TaskRuns::ended(Number number, ExitResult result) {
  const auto found = runs_.find(number);
  if (found == runs_.end() || found->second.result) return;
  auto& run = found->second;
  run.result = std::move(result);
  if (run.stage == Stage::starting) return;  // (3)
  run.stage = Stage::ended;
  usage_.drop(run.id);
  tell_end_(run);
}

// -- what there is --------------------------------------------------------------------------------

const TaskRuns::Run* TaskRuns::find(const TaskId& id) const {
  const auto current = current_.find(id);
  return current == current_.end() ? nullptr : &runs_.at(current->second);
}

const TaskRuns::Run* TaskRuns::find(Number number) const {
  const auto found = runs_.find(number);
  return found == runs_.end() ? nullptr : &found->second;
}

bool TaskRuns::is_running(Number number) const {
  const auto* const run = find(number);
  return run != nullptr && run->stage == Stage::running;
}

}  // namespace nomad::workload
