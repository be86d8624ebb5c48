// TaskRuns: the runs of tasks that a driver looks after, and who waits for them. Every driver whose
// tasks are processes has one: how they are started, found and ended is the driver's; what is
// begun, what is answered and when an end is told is decided here.
//
// (1) A run is begun once. Who asks for it again, to start or to find it, waits for what comes of
//     it, or hears that it is there.
// (2) One task has one run at a time: another one is refused, recoverably, until the run has ended,
//     and takes its place then.
// (3) The end of a run is told behind the answer that it is there, and again behind each such
// answer
//     that follows. One that comes before anybody could know what runs waits for that.
// (4) Nothing is told of a run that was destroyed, replaced or never came to be, whatever comes of
// it
//     later: its number is no other's.
// (5) Everybody who asks is answered once: at the latest when the run is destroyed.
//
//   (nothing) ─start, recover─▶ starting ─began─▶ running ─ended─▶ ended
//                                  └─ failed ─▶ (nothing) ◀─ destroy, another run ─┘
//
// It calls back before it returns; what is called must not call it. Usage streams go with the run.
//
// May depend on: runtime/base.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/workload/runs/refusal.hpp"
#include "runtime/workload/runs/task_id.hpp"
#include "runtime/workload/runs/usage_streams.hpp"
#include "runtime/workload/task_event.hpp"

namespace nomad::workload {

class TaskRuns {
public:
  /// Of a run; never 0.
  using Number = std::uint64_t;

  enum class Stage : std::uint8_t { starting, running, ended };

  struct Run;
  /// The run is there; null: it is not, for that reason.
  using Answer = std::function<void(const Run*, const Refusal&)>;

  struct Run {
    Number number = 0;
    TaskId id;
    std::string run_id;  ///< The agent's name for it; empty while any is looked for.
    Stage stage = Stage::starting;
    std::optional<ExitResult> result{};  ///< When it has ended, or will have when it is there.
    std::vector<Answer> waiting{};
  };

  /// A run is to be begun.
  struct Begun {
    Number number = 0;
    Number replaced = 0;  ///< Not 0: whose place it takes, of which nothing more is wanted.
  };

  explicit TaskRuns(std::function<void(const Run&)> tell_end) : tell_end_{std::move(tell_end)} {}

  TaskRuns(const TaskRuns&) = delete;
  TaskRuns& operator=(const TaskRuns&) = delete;

  // Orders. Nothing: there is no more to do.

  std::optional<Begun> start(const TaskId& id, std::string_view run_id, Answer answer);

  /// Without a run's id: whichever there is.
  std::optional<Begun> recover(const TaskId& id, std::string_view run_id, Answer answer);

  /// What it was, if there was anything.
  std::optional<Run> destroy(const TaskId& id);

  /// For what is done without a run.
  Number next_number() { return ++numbers_; }

  // What came of what was begun.

  void began(Number number, std::string_view run_id);
  void failed(Number number, const Refusal& why);
  void ended(Number number, ExitResult result);

  /// Null: there is none.
  const Run* find(const TaskId& id) const;
  const Run* find(Number number) const;

  bool is_running(Number number) const;

  const std::map<TaskId, Number>& all() const { return current_; }

  UsageStreams& usage() { return usage_; }

private:
  Begun begin(const TaskId& id, std::string_view run_id, Answer answer);
  std::optional<Begun> attach(Run& run, Answer answer);
  Run take_out(Number number);

  std::function<void(const Run&)> tell_end_;
  std::map<Number, Run> runs_;
  std::map<TaskId, Number> current_;
  Number numbers_ = 0;
  UsageStreams usage_;
};

}  // namespace nomad::workload
