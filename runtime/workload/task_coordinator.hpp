// TaskCoordinator: decides which tasks of an allocation may start, by the hook of their lifecycle.
//
//   init ──all pending──▶ prestart ──ephemeral ones succeeded, sidecars run──▶ main
//   main ──none pending──▶ poststart ──ephemeral ones dead──▶ wait_alloc
//   any state ──all but the poststop tasks dead──▶ poststop, which is final until `restart`
//
// A task waits until its stage is open, before each of its starts; closing a stage stops nothing.
// A stage without tasks is passed at once. The machine can go round any number of times.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/workload/task_state.hpp"

namespace nomad::workload {

enum class Stage : std::uint8_t {
  prestart_ephemeral,
  prestart_sidecar,
  main,  ///< No hook; a main task that says "sidecar" is one all the same.
  poststart_ephemeral,
  poststart_sidecar,
  poststop,
};

/// The stage of a task whose lifecycle block has this hook ("" for none) and sidecar flag.
Stage stage_of(std::string_view hook, bool sidecar);

class TaskCoordinator {
public:
  enum class State : std::uint8_t { init, prestart, main, poststart, wait_alloc, poststop };

  /// `stages` are the tasks'; states are passed to the other methods in the same order.
  explicit TaskCoordinator(std::vector<Stage> stages);

  /// Takes new states of the tasks, and goes on as far as they allow.
  void update(std::span<const TaskView> tasks);

  /// All tasks are to run again: waits until each is pending, then starts over.
  void restart() { state_ = State::init; }

  /// After a restart of the agent: tasks that run are not pending, so `init` is left out.
  void restore(std::span<const TaskView> tasks);

  /// Whether a task of this stage may start now.
  bool is_open(Stage stage) const;

  State state() const { return state_; }

private:
  State next(std::span<const TaskView> tasks) const;
  bool all(Stage stage, std::span<const TaskView> tasks, bool (*holds)(const TaskView&)) const;

  std::vector<Stage> stages_;
  State state_ = State::init;
};

}  // namespace nomad::workload
