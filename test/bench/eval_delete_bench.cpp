// eval_delete_bench: an operator deletes pending evaluations by a filter, through the log with its
// fsyncs, while others write beside it.
//
//   eval_delete_bench [evaluations, 50000] [jobs, 1000] [directory]
//
// Printed are the time of the deletion (finding, and removing everything), and how much of it was
// finding; the longest time for which applying a batch kept the log's thread, by the clock and by
// its processor time, which other programs don't stretch, and all of the latter; and how long the
// writes beside it took, which go one at a time, compared with the same writes alone. What was
// deleted is counted before it is timed.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/core/system.hpp"
#include "actors/raft/raft_node.hpp"
#include "actors/raft/state_fsm.hpp"
#include "actors/server/writer.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/cluster/eval_deletion.hpp"
#include "test/support/anybody.hpp"

using namespace nomad;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

namespace {

double ms(Clock::duration time) {
  return Milliseconds{time}.count();
}

/// The processor time of this thread.
Clock::duration thread_time() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec};
}

/// Knows for how long it kept the log's thread.
class TimedFsm : public raft::StateFsm {
public:
  using raft::StateFsm::StateFsm;

  std::vector<raft::Outcome> apply(std::span<const raft::Entry> entries,
                                   raft::Index applied) override {
    const auto since = Clock::now();
    const auto used_since = thread_time();
    auto outcomes = raft::StateFsm::apply(entries, applied);
    const auto took = (Clock::now() - since).count();
    const auto used = (thread_time() - used_since).count();
    if (took > longest_.load()) longest_ = took;
    if (used > longest_used_.load()) longest_used_ = used;
    all_used_ += used;
    return outcomes;
  }

  /// Since the last call.
  double longest_ms() { return ms(Clock::duration{longest_.exchange(0)}); }

  double longest_used_ms() { return ms(Clock::duration{longest_used_.exchange(0)}); }

  double all_used_ms() { return ms(Clock::duration{all_used_.exchange(0)}); }

private:
  std::atomic<Clock::rep> longest_{0};
  std::atomic<Clock::rep> longest_used_{0};
  std::atomic<Clock::rep> all_used_{0};
};

struct Bench {
  std::shared_ptr<state::Store> store;
  server::Writer writer;
  access::Allowed allowed = access::own_work("eval_delete_bench");
  double finding = 0;  ///< What of the deletion was it, in ms.

  /// Waits until the command is applied.
  void write(const std::function<void(schema::Command::Builder)>& fill) const {
    Draft<schema::Command> draft;
    fill(*draft);
    std::promise<Result<server::Committed>> done;
    writer.propose(
        allowed, draft.freeze(), Turns::here(),
        [&done](const Result<server::Committed>& committed) { done.set_value(committed); });
    const auto outcome = done.get_future().get();
    if (outcome) return;
    fmt::print(stderr, "a write failed: {}\n", outcome.error().what);
    std::exit(1);
  }

  void fill(unsigned evals, unsigned jobs) const {
    Random random{7};
    for (unsigned job = 0; job < jobs; ++job)
      write([&](schema::Command::Builder command) {
        auto body = command.initJobRegister().initJob();
        body.setId(text("job-" + std::to_string(job)));
        body.setNamespace("default");
        body.setType("service");
        body.initTaskGroups(1)[0].setName("group");
      });
    for (unsigned made = 0; made < evals;) {
      const auto some = std::min(1'000U, evals - made);
      write([&](schema::Command::Builder command) {
        for (auto eval : command.initEvalUpdate().initEvaluations(some)) {
          eval.setId(text(make_uuid(random)));
          eval.setNamespace("default");
          eval.setJobId(text("job-" + std::to_string(made++ % jobs)));
          eval.setType("service");
          eval.setStatus(schema::EvalStatus::PENDING);
          eval.setTriggeredBy(schema::EvalTrigger::NODE_UPDATE);
        }
      });
    }
    write([](auto command) { command.initSchedulerConfiguration().setPauseEvalBroker(true); });
  }

  /// How many were deleted.
  std::uint64_t delete_all() {
    const auto since = Clock::now();
    auto deletion = cluster::decide_delete_by_filter(store->snapshot(), test::anybody(),
                                                     "Status == \"pending\"");
    finding = ms(Clock::now() - since);
    if (!deletion || deletion->commands.empty()) return 0;
    std::uint64_t deleted = 0;
    std::promise<bool> done;
    writer.propose_all(
        deletion->allowed, std::move(deletion->commands), Turns::here(),
        [&](const Result<server::Committed>& last) { done.set_value(last.has_value()); },
        [&](const server::Committed& one) { deleted += one.outcome->evals_deleted; });
    return done.get_future().get() ? deleted : 0;
  }

  /// Writes, one at a time, until `stop`; how long each took, in ms, the longest last.
  std::vector<double> write_until(const std::atomic<bool>& stop) const {
    std::vector<double> times;
    while (!stop) {
      const auto since = Clock::now();
      write([](schema::Command::Builder command) {
        auto status = command.initJobStability();
        status.setNamespace("default");
        status.setJobId("job-0");
        status.setStable(times_are_even());
      });
      times.push_back(ms(Clock::now() - since));
    }
    std::ranges::sort(times);
    return times;
  }

  static bool times_are_even() {
    static std::atomic<bool> even = false;
    return even = !even;
  }
};

std::string shown(const std::vector<double>& times) {
  if (times.empty()) return "none";
  return fmt::format("n={} p50_ms={:.2f} p99_ms={:.2f} max_ms={:.2f}", times.size(),
                     times[times.size() / 2], times[times.size() * 99 / 100], times.back());
}

int run(unsigned evals, unsigned jobs, const std::filesystem::path& directory) {
  actor::SystemConfig config;
  actor::System system{config};
  const auto store = std::make_shared<state::Store>();
  const auto fsm = std::make_shared<TimedFsm>(store);
  const auto raft = raft::start_raft(system, {.directory = directory, .self = "bench"}, fsm, {});
  if (!raft) {
    fmt::print(stderr, "{}\n", raft.error().what);
    return 1;
  }
  while (!raft->lease->holds())
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  Bench bench{store, server::Writer{store, raft->proposer, raft->leader}};
  bench.fill(evals, jobs);

  const auto beside = [&bench](const std::function<void()>& what) {
    std::atomic<bool> stop = false;
    auto writes = std::async(std::launch::async, [&] { return bench.write_until(stop); });
    what();
    stop = true;
    return writes.get();
  };
  const auto alone = beside([] { std::this_thread::sleep_for(std::chrono::seconds{1}); });
  for (const auto read :
       {&TimedFsm::longest_ms, &TimedFsm::longest_used_ms, &TimedFsm::all_used_ms})
    static_cast<void>((*fsm.*read)());
  std::uint64_t deleted = 0;
  double took = 0;
  const auto meanwhile = beside([&] {
    const auto since = Clock::now();
    deleted = bench.delete_all();
    took = ms(Clock::now() - since);
  });
  const auto longest = fsm->longest_ms();
  actor::stop(raft->node);
  if (deleted != evals || store->snapshot().evals_map().size() != 0) {
    fmt::print(stderr, "{} of {} evaluations were deleted\n", deleted, evals);
    return 1;
  }
  fmt::print(
      "eval_delete_bench evals={} jobs={} deletion_ms={:.1f} finding_ms={:.1f} "
      "longest_apply_ms={:.2f} longest_apply_cpu_ms={:.2f} apply_cpu_ms={:.1f}\n",
      evals, jobs, took, bench.finding, longest, fsm->longest_used_ms(), fsm->all_used_ms());
  fmt::print("eval_delete_bench writes_alone {}\n", shown(alone));
  fmt::print("eval_delete_bench writes_beside {}\n", shown(meanwhile));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
  };
  const std::filesystem::path directory
      = argc > 3 ? argv[3] : std::filesystem::current_path() / "eval_delete_bench.data";
  std::filesystem::remove_all(directory);
  const int code = run(number(1, 50'000), number(2, 1'000), directory);
  std::filesystem::remove_all(directory);
  return code;
}
