// simulate: the simulations as a program, for long runs and for replays.
//
//   simulate -seed S -hours H          one world for so many hours of its time
//   simulate -seeds N [-first S]       N worlds of `-seconds` each, `-jobs` at a time
//   simulate -seed S -story JOB         and what the log did to a job
//   simulate -world raft …             Raft cores and registers alone, instead of whole clusters
//
// Ends with 1 after a violation, whose seed it prints with what to type to see it again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "test/simulation/cluster_world.hpp"
#include "test/simulation/raft_world.hpp"

namespace {

using namespace nomad;
using namespace nomad::test;

struct Arguments {
  std::string world = "cluster";
  std::uint64_t first = 1;
  std::uint64_t seeds = 1;
  double seconds = 60;
  int servers = 0;  ///< 0: 3 or 5 by the seed in the raft world, 3 in the other.
  int nodes = 5;
  unsigned jobs = 1;
  double wall_seconds = 0;  ///< Begins no world after so long; 0: no limit.
  std::string story;        ///< A job, of which the log is told.
  bool verbose = false;     ///< The program's own log on stderr.
};

/// What one world met.
struct Outcome {
  std::optional<std::string> violation;
  std::vector<std::pair<const char*, std::uint64_t>> counts;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>, std::less<>> failpoints;
  std::uint64_t called = 0;
  std::uint64_t answered = 0;
  std::uint64_t faults = 0;
  std::uint64_t trace = 0;
  int servers = 0;
};

template <class Counts>
void take(Outcome& outcome, const Counts& counts) {
  outcome.counts = counts.all();
  outcome.called = counts.called;
  outcome.answered = counts.answered;
  outcome.faults = counts.faults();
}

/// 3 or 5 servers; every third seed is without membership changes, so that crashes hurt more.
Outcome run_raft(std::uint64_t seed, const Arguments& arguments, Time duration) {
  RaftWorldOptions options{.seed = seed, .servers = seed % 2 == 0 ? 3 : 5};
  if (arguments.servers > 0) options.servers = arguments.servers;
  if (seed % 3 == 0) options.faults.membership_changes = 0;
  RaftWorldCounts counts;
  Outcome outcome;
  outcome.servers = options.servers;
  outcome.violation = run_raft_world(options, duration, &counts);
  take(outcome, counts);
  return outcome;
}

Outcome run_cluster(std::uint64_t seed, const Arguments& arguments, Time duration) {
  ClusterWorldOptions options{.seed = seed};
  options.story = arguments.story;
  if (arguments.servers > 0) options.servers = arguments.servers;
  options.nodes = arguments.nodes;
  if (seed % 3 == 0) options.faults.membership_changes = 0;
  ClusterWorldCounts counts;
  Outcome outcome;
  outcome.servers = options.servers;
  outcome.violation = run_cluster_world(options, duration, &counts, &outcome.trace);
  take(outcome, counts);
  outcome.failpoints = counts.failpoints;
  return outcome;
}

/// Those in the code; a build without -Dfailpoints=enabled reaches none.
constexpr const char* all_failpoints[] = {
    "client.after_save",      "client.after_start",     "client.before_save",
    "client.before_start",    "raft.after_apply",       "raft.after_fsync",
    "raft.after_restore",     "raft.before_apply",      "raft.before_fsync",
    "raft.before_restore",    "raft.before_truncation", "snapshot.after_rename",
    "snapshot.before_rename",
};

/// What all worlds together met.
struct Sum {
  std::mutex mutex;
  Outcome all;
  std::uint64_t worlds = 0;
  std::uint64_t three_servers = 0;
  std::uint64_t enough = 0;  ///< Worlds of at least 20 faults and 500 operations under them.
  std::uint64_t fewest_faults = ~std::uint64_t{0};
  std::uint64_t fewest_operations = ~std::uint64_t{0};
  std::uint64_t violations = 0;

  void add(std::uint64_t seed, const Outcome& one, const Arguments& arguments) {
    const std::scoped_lock lock{mutex};
    if (all.counts.empty())
      all.counts = one.counts;
    else
      for (std::size_t at = 0; at < one.counts.size(); ++at)
        all.counts[at].second += one.counts[at].second;
    if (arguments.world == "cluster")
      for (const auto* name : all_failpoints)
        all.failpoints.try_emplace(name);
    for (const auto& [name, times] : one.failpoints) {
      all.failpoints[name].first += times.first;
      all.failpoints[name].second += times.second;
    }
    all.trace = one.trace;
    ++worlds;
    if (one.servers == 3) ++three_servers;
    all.called += one.called;
    all.answered += one.answered;
    all.faults += one.faults;
    fewest_faults = std::min(fewest_faults, one.faults);
    fewest_operations = std::min(fewest_operations, one.called);
    if (one.faults >= 20 && one.called >= 500) ++enough;
    if (!one.violation) return;
    ++violations;
    fmt::print(
        "seed {}: {}\n  again: simulate -world {} -seed {} -seconds {} -servers {} -nodes {}\n",
        seed, *one.violation, arguments.world, seed, arguments.seconds, one.servers,
        arguments.nodes);
    std::fflush(stdout);
  }

  void report(const Arguments& arguments, double wall) const {
    fmt::print(
        "{} worlds ({} of 3 servers{}), {:.1f} h of their time under faults in {:.0f} s: {} "
        "violations\n",
        worlds, three_servers,
        arguments.world == "cluster" ? fmt::format(", {} nodes each", arguments.nodes) : "",
        static_cast<double>(worlds) * arguments.seconds / 3'600, wall, violations);
    fmt::print("client operations under faults: {} called, {} answered (at least {} a world)\n",
               all.called, all.answered, fewest_operations);
    fmt::print(
        "faults besides single messages: {} (at least {} a world); {} worlds met at least 20 "
        "and 500 operations\n",
        all.faults, fewest_faults, enough);
    if (worlds == 1 && all.trace != 0) fmt::print("trace {:016x}\n", all.trace);
    for (const auto& [name, count] : all.counts)
      fmt::print("{:>14}  {}{}\n", count, name, count == 0 ? "   <-- never met" : "");
    for (const auto& [name, times] : all.failpoints)
      fmt::print("{:>14}  deaths at failpoint {} (reached {} times){}\n", times.second, name,
                 times.first, times.second == 0 ? "   <-- never met" : "");
  }
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  const auto wrong = [&] {
    fmt::print(stderr,
               "usage: {} [-world cluster|raft] [-seed S] [-hours H | -seconds N]\n"
               "       [-seeds N [-first S]] [-servers N] [-nodes N] [-jobs N] [-wall seconds] "
               "[-log 1] [-story JOB]\n",
               argv[0]);
    std::exit(2);
  };
  for (int at = 1; at < argc; at += 2) {
    if (at + 1 >= argc) wrong();
    const auto is = [&](const char* name) { return std::strcmp(argv[at], name) == 0; };
    const char* value = argv[at + 1];
    if (is("-world"))
      arguments.world = value;
    else if (is("-seed") || is("-first"))
      arguments.first = std::strtoull(value, nullptr, 10);
    else if (is("-seeds"))
      arguments.seeds = std::strtoull(value, nullptr, 10);
    else if (is("-hours"))
      arguments.seconds = std::strtod(value, nullptr) * 3'600;
    else if (is("-seconds"))
      arguments.seconds = std::strtod(value, nullptr);
    else if (is("-servers"))
      arguments.servers = static_cast<int>(std::strtol(value, nullptr, 10));
    else if (is("-nodes"))
      arguments.nodes = static_cast<int>(std::strtol(value, nullptr, 10));
    else if (is("-jobs"))
      arguments.jobs = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (is("-wall"))
      arguments.wall_seconds = std::strtod(value, nullptr);
    else if (is("-story"))
      arguments.story = value;
    else if (is("-log"))
      arguments.verbose = std::strcmp(value, "1") == 0;
    else
      wrong();
  }
  const bool known = arguments.world == "cluster" || arguments.world == "raft";
  if (!known || arguments.seconds <= 0 || arguments.jobs == 0 || arguments.seeds == 0
      || arguments.nodes < 1)
    wrong();
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  log::set_level(arguments.verbose ? log::Level::debug : log::Level::off);
  const auto begin = std::chrono::steady_clock::now();
  const auto passed = [begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  const auto duration
      = std::chrono::duration_cast<Time>(std::chrono::duration<double>(arguments.seconds));
  Sum sum;
  std::atomic<std::uint64_t> next{0};
  const auto work = [&] {
    for (auto number = next++; number < arguments.seeds; number = next++) {
      if (arguments.wall_seconds > 0 && passed() > arguments.wall_seconds) return;
      const auto seed = arguments.first + number;
      const auto outcome = arguments.world == "raft" ? run_raft(seed, arguments, duration)
                                                     : run_cluster(seed, arguments, duration);
      sum.add(seed, outcome, arguments);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned job = 1; job < arguments.jobs; ++job)
    threads.emplace_back(work);
  work();
  for (auto& thread : threads)
    thread.join();
  sum.report(arguments, passed());
  return sum.violations == 0 ? 0 : 1;
}
