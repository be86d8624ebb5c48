// simulate: the Raft simulation as a program, for long runs and for replays.
//
//   simulate -seed S -hours H          one world for so many hours of its time
//   simulate -seeds N [-first S]       N worlds of `-seconds` each, `-jobs` at a time
//
// Ends with 1 after a violation, whose seed it prints with what to type to see it again.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "test/simulation/raft_world.hpp"

namespace {

using namespace nomad;
using namespace nomad::test;

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 1;
  double seconds = 60;
  int servers = 0;  ///< 0: 3 or 5, by the seed.
  unsigned jobs = 1;
  double wall_seconds = 0;  ///< Begins no world after so long; 0: no limit.
};

/// 3 or 5 servers; every third seed is without membership changes, so that crashes hurt more.
RaftWorldOptions options_of(std::uint64_t seed, const Arguments& arguments) {
  RaftWorldOptions options{.seed = seed, .servers = seed % 2 == 0 ? 3 : 5};
  if (arguments.servers > 0) options.servers = arguments.servers;
  if (seed % 3 == 0) options.faults.membership_changes = 0;
  return options;
}

/// What all worlds together met.
struct Sum {
  std::mutex mutex;
  std::vector<std::pair<const char*, std::uint64_t>> counts;
  std::uint64_t worlds = 0;
  std::uint64_t three_servers = 0;
  std::uint64_t called = 0;
  std::uint64_t answered = 0;
  std::uint64_t faults = 0;
  std::uint64_t enough = 0;  ///< Worlds of at least 20 faults and 500 operations under them.
  std::uint64_t fewest_faults = ~std::uint64_t{0};
  std::uint64_t fewest_operations = ~std::uint64_t{0};
  std::uint64_t violations = 0;

  void add(const RaftWorldOptions& options,
           const RaftWorldCounts& one,
           const std::optional<std::string>& violation,
           double seconds) {
    const std::scoped_lock lock{mutex};
    const auto all = one.all();
    if (counts.empty()) counts.assign(all.begin(), all.end());
    if (worlds > 0)
      for (std::size_t at = 0; at < all.size(); ++at)
        counts[at].second += all[at].second;
    ++worlds;
    if (options.servers == 3) ++three_servers;
    called += one.called;
    answered += one.answered;
    faults += one.faults();
    fewest_faults = std::min(fewest_faults, one.faults());
    fewest_operations = std::min(fewest_operations, one.called);
    if (one.faults() >= 20 && one.called >= 500) ++enough;
    if (!violation) return;
    ++violations;
    fmt::print("seed {}: {}\n  again: simulate -seed {} -seconds {} -servers {}\n", options.seed,
               *violation, options.seed, seconds, options.servers);
    std::fflush(stdout);
  }

  void report(double seconds, double wall) const {
    fmt::print(
        "{} worlds ({} of 3 servers), {:.0f} h of their time under faults in {:.0f} s: {} "
        "violations\n",
        worlds, three_servers, static_cast<double>(worlds) * seconds / 3'600, wall, violations);
    fmt::print("client operations under faults: {} called, {} answered (at least {} a world)\n",
               called, answered, fewest_operations);
    fmt::print(
        "faults besides single messages: {} (at least {} a world); {} worlds met at least 20 "
        "and 500 operations\n",
        faults, fewest_faults, enough);
    for (const auto& [name, count] : counts)
      fmt::print("{:>14}  {}{}\n", count, name, count == 0 ? "   <-- never met" : "");
  }
};

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  const auto wrong = [&] {
    fmt::print(stderr,
               "usage: {} [-seed S] [-hours H | -seconds N] [-seeds N [-first S]] [-servers N] "
               "[-jobs N] [-wall seconds]\n",
               argv[0]);
    std::exit(2);
  };
  for (int at = 1; at < argc; at += 2) {
    if (at + 1 >= argc) wrong();
    const auto is = [&](const char* name) { return std::strcmp(argv[at], name) == 0; };
    const char* value = argv[at + 1];
    if (is("-seed") || is("-first"))
      arguments.first = std::strtoull(value, nullptr, 10);
    else if (is("-seeds"))
      arguments.seeds = std::strtoull(value, nullptr, 10);
    else if (is("-hours"))
      arguments.seconds = std::strtod(value, nullptr) * 3'600;
    else if (is("-seconds"))
      arguments.seconds = std::strtod(value, nullptr);
    else if (is("-servers"))
      arguments.servers = static_cast<int>(std::strtol(value, nullptr, 10));
    else if (is("-jobs"))
      arguments.jobs = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    else if (is("-wall"))
      arguments.wall_seconds = std::strtod(value, nullptr);
    else
      wrong();
  }
  if (arguments.seconds <= 0 || arguments.jobs == 0 || arguments.seeds == 0) wrong();
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
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
      const auto options = options_of(arguments.first + number, arguments);
      RaftWorldCounts counts;
      const auto violation = run_raft_world(options, duration, &counts);
      sum.add(options, counts, violation, arguments.seconds);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned job = 1; job < arguments.jobs; ++job)
    threads.emplace_back(work);
  work();
  for (auto& thread : threads)
    thread.join();
  sum.report(arguments.seconds, passed());
  return sum.violations == 0 ? 0 : 1;
}
