// runtime/workload/runs/task_runs: transcripts, and worlds of processes that begin late, end before
// anybody knows them, and are destroyed at any moment.
#include "runtime/workload/runs/task_runs.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/random.hpp"
#include "test/support/transcript.hpp"

using namespace nomad;
using namespace nomad::workload;

namespace {

class RunsPlayer {
public:
  std::vector<std::string> play(const std::string& line) {
    std::istringstream in{line};
    std::string what, name;
    in >> what >> name;
    if (what == "start" || what == "recover")
      order(what, name, in);
    else if (what == "destroy")
      destroy(name);
    else
      outcome(what, std::stoul(name), in);
    return std::exchange(lines_, {});
  }

private:
  void order(const std::string& what, const std::string& task, std::istringstream& in) {
    std::string run_id;
    in >> run_id;
    const auto answer = [this, asked = ++asked_](const TaskRuns::Run* run, const Refusal& why) {
      lines_.push_back(run != nullptr
                           ? fmt::format("answer {}: {} is there", asked, run->run_id)
                           : fmt::format("answer {}{}: {}", asked,
                                         why.recoverable ? ", may pass" : "", why.error.what));
    };
    const auto begun = what == "start" ? runs_.start({"a", task}, run_id, answer)
                                       : runs_.recover({"a", task}, run_id, answer);
    if (!begun) return;
    if (begun->replaced != 0) lines_.push_back(fmt::format("forget {}", begun->replaced));
    lines_.push_back(fmt::format("begin {}", begun->number));
  }

  void destroy(const std::string& task) {
    const auto run = runs_.destroy({"a", task});
    lines_.push_back(run ? fmt::format("forget {}", run->number) : "nothing is there");
  }

  void outcome(const std::string& what, TaskRuns::Number number, std::istringstream& in) {
    std::string how;
    in >> how;
    if (what == "began")
      runs_.began(number, how);
    else if (what == "failed")
      runs_.failed(number, {{Errc::unavailable, how}, true});
    else if (what == "ended")
      runs_.ended(number, {.code = std::stoi(how)});
    else
      throw std::invalid_argument{"unknown event: " + what};
  }

  std::vector<std::string> lines_;
  int asked_ = 0;
  TaskRuns runs_{[this](const TaskRuns::Run& run) {
    lines_.push_back(fmt::format("end of {}: {}", run.run_id, run.result->code));
  }};
};

/// A driver whose processes are known late and out of order, and an agent that asks for anything.
class RunsWorld {
public:
  explicit RunsWorld(std::uint64_t seed) : random_{seed} {}

  void step() {
    const TaskId id{"a", random_.chance(0.5) ? "web" : "db"};
    const auto run_id = fmt::format("r{}", random_.below(3));
    const auto dice = random_.below(100);
    if (dice < 25)
      order(id, run_id, /*starts=*/true);
    else if (dice < 40)
      order(id, random_.chance(0.3) ? "" : run_id, /*starts=*/false);
    else if (dice < 50)
      destroy(id);
    else
      happen();
  }

  /// Whatever is under way comes to something.
  void drain() {
    for (auto& [number, process] : processes_)
      if (!process.is_known) come(number, process, random_.chance(0.5));
    REQUIRE(open_.empty());
  }

private:
  struct Process {
    TaskId id;
    std::string run_id;     ///< Which it turns out to be.
    bool is_known = false;  ///< What came of it.
    bool is_there = false;
    bool is_wanted = true;  ///< Neither destroyed nor replaced.
    int end = 0;            ///< Its code; 0: it goes on.
    int ends_owed = 0;      ///< Answers and ends behind which its end is to be told.
  };

  void order(const TaskId& id, const std::string& run_id, bool starts) {
    const auto ticket = ++tickets_;
    open_.insert(ticket);
    const auto answer = [this, ticket, id, run_id](const TaskRuns::Run* run, const Refusal& why) {
      REQUIRE(open_.erase(ticket) == 1);
      REQUIRE((run != nullptr || !why.error.what.empty()));
      if (run == nullptr) return;
      auto& process = processes_.at(run->number);
      REQUIRE((process.is_there && process.is_wanted));
      REQUIRE(run->id == id);
      REQUIRE(run->run_id == process.run_id);
      REQUIRE((run_id.empty() || run_id == run->run_id));
      if (process.end != 0) ++process.ends_owed;
    };
    const auto living = std::ranges::count_if(processes_, [&id](const auto& entry) {
      const auto& process = entry.second;
      return process.id == id && process.is_wanted && process.end == 0
             && (process.is_there || !process.is_known);
    });
    const auto begun = starts ? runs_.start(id, run_id, answer) : runs_.recover(id, run_id, answer);
    for (const auto& [number, process] : processes_)
      REQUIRE(process.ends_owed == 0);
    if (!begun) return;
    REQUIRE(living == 0);
    if (begun->replaced != 0) forget(begun->replaced);
    REQUIRE_FALSE(processes_.contains(begun->number));
    processes_[begun->number] = {.id = id, .run_id = run_id.empty() ? "r9" : run_id};
  }

  void destroy(const TaskId& id) {
    if (const auto run = runs_.destroy(id)) forget(run->number);
    REQUIRE(runs_.find(id) == nullptr);
  }

  void forget(TaskRuns::Number number) {
    auto& process = processes_.at(number);
    REQUIRE(std::exchange(process.is_wanted, false));
  }

  /// Of any process that there ever was.
  void happen() {
    if (processes_.empty()) return;
    const auto number = 1 + random_.below(processes_.rbegin()->first);
    auto& process = processes_.at(number);
    if (random_.chance(0.5))
      come(number, process, random_.chance(0.7));
    else
      end(number, process);
    const auto* const run = runs_.find(number);
    REQUIRE((run != nullptr) == (process.is_wanted && (!process.is_known || process.is_there)));
  }

  void come(TaskRuns::Number number, Process& process, bool is_there) {
    if (!std::exchange(process.is_known, true)) process.is_there = is_there;
    // Once more makes no difference.
    if (process.is_there)
      runs_.began(number, process.run_id);
    else
      runs_.failed(number, {{Errc::unavailable, "no luck"}, false});
    REQUIRE(process.ends_owed == 0);
  }

  void end(TaskRuns::Number number, Process& process) {
    if (process.is_known && !process.is_there) return;
    const bool is_first = process.end == 0;
    if (is_first) process.end = static_cast<int>(1 + random_.below(100));
    if (is_first && process.is_wanted && process.is_there) ++process.ends_owed;
    runs_.ended(number, {.code = is_first ? process.end : 1000});
    REQUIRE(process.ends_owed == 0);
  }

  void tell_end(const TaskRuns::Run& run) {
    auto& process = processes_.at(run.number);
    REQUIRE((process.is_there && process.is_wanted));
    REQUIRE(run.result->code == process.end);
    REQUIRE(process.ends_owed > 0);
    process.ends_owed = 0;
  }

  Random random_;
  std::map<TaskRuns::Number, Process> processes_;
  std::set<int> open_;  ///< Tickets.
  int tickets_ = 0;
  TaskRuns runs_{[this](const TaskRuns::Run& run) { tell_end(run); }};
};

}  // namespace

TEST_CASE("task_runs: transcripts") {
  test::check_transcripts(NOMAD_TRANSCRIPTS "/../runs/transcripts", test::replay<RunsPlayer>);
}

TEST_CASE("task_runs: whatever happens, all are answered, and an end is told behind each answer") {
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    CAPTURE(seed);
    RunsWorld world{seed};
    for (auto steps = Random{seed}.below(100); steps > 0; --steps)
      world.step();
    world.drain();
  }
}

TEST_CASE("task_runs: the usage of a run is not told any more when it has ended or is destroyed") {
  TaskRuns runs{[](const TaskRuns::Run&) {}};
  const TaskId web{"a", "web"};
  const auto answer = [](const TaskRuns::Run*, const Refusal&) {};
  const auto follow = [&](const char* run_id) {
    const auto begun = runs.start(web, run_id, answer);
    REQUIRE(begun);
    runs.began(begun->number, run_id);
    runs.usage().follow(web, std::chrono::seconds{1}, Nanoseconds{0});
    REQUIRE(runs.usage().follows(web));
    return begun->number;
  };
  runs.ended(follow("r1"), {});
  CHECK_FALSE(runs.usage().follows(web));
  follow("r2");
  runs.destroy(web);
  CHECK_FALSE(runs.usage().follows(web));
}
