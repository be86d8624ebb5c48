// The simulation of whole clusters as part of the suite: a fixed set of seeds and a few fresh ones
// (as many as there is time for) without a violation, and a replay that is the same to the step.
// `--seed=N` runs one seed alone, `--seeds=N` and `--fresh=N` set how many there are, `--no-skip`
// looks for the deliberate mistakes, which takes minutes; `--mistake=NAME` for one of them,
// `--tries=N` in so many seeds at most; `--step=NAME` for deaths at one step of identities alone.
#define DOCTEST_CONFIG_IMPLEMENT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include <doctest/doctest.h>

#include "runtime/base/log.hpp"
#include "test/simulation/cluster_world.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace std::chrono_literals;

namespace {

std::uint64_t first_seed = 1;
std::uint64_t seed_count = 3;
std::uint64_t fresh_seeds = 1;
std::string only_mistake;
std::string only_step;
std::uint64_t most_tries = 100;

/// No fresh seed is begun later: what the machine is busy with otherwise must not fail the suite.
constexpr auto time_for_fresh_ones = 40s;

constexpr Time under_faults = 20s;

/// A renewal of each, at least.
constexpr Time under_kills = 30s;

/// Logs part from each other when leaders are cut off with writes under way and others follow them:
/// more of that, and less of what goes on at nodes.
ClusterWorldOptions with_parting_logs(Mistake mistake = Mistake::none) {
  ClusterWorldOptions options{.nodes = 2, .operators = 12, .mistake = mistake};
  options.faults.partitions = 0.5;
  options.faults.server_crashes = 0.3;
  options.faults.transfers = 0.2;
  options.faults.slow_disks = 0.4;
  options.faults.agent_crashes = options.faults.machine_crashes = 0.02;
  return options;
}

}  // namespace

TEST_CASE("cluster simulation: no seed breaks a rule") {
  const auto begin = std::chrono::steady_clock::now();
  auto fresh = Random::from_system();
  std::map<std::string, std::uint64_t> sum;
  for (std::uint64_t number = 0; number < seed_count + fresh_seeds; ++number) {
    const bool is_fresh = number >= seed_count;
    if (is_fresh && std::chrono::steady_clock::now() - begin > time_for_fresh_ones) break;
    const auto seed = is_fresh ? fresh.below(1'000'000'000) : first_seed + number;
    CAPTURE(seed);
    ClusterWorldCounts counts;
    const auto violation = run_cluster_world({.seed = seed}, under_faults, &counts);
    CHECK_MESSAGE(!violation, violation.value_or(""));
    for (const auto& [name, count] : counts.all())
      sum[name] += count;
    for (const auto& [name, times] : counts.failpoints)
      sum["failpoint " + name] += times.first;
  }
  std::string text;
  for (const auto& [name, count] : sum)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, count);
  MESSAGE(text);
  if (seed_count < 2) return;  // a replay
  // What only some seeds meet is counted by long runs of `simulate`.
  for (const char* name : {"lost messages",
                           "partitions",
                           "log entries",
                           "compared states",
                           "started tasks",
                           "started containers",
                           "failures of container engines",
                           "ended tasks",
                           "killed tasks",
                           "leaders",
                           "requests to the API passed on",
                           "writes by the HTTP API",
                           "answered",
                           "complete drains",
                           "preempted allocations",
                           "allocations replaced by updates",
                           "canaries",
                           "written identities",
                           "renewed identities",
                           "verified identities"})
    CHECK_MESSAGE(sum[name] > 0, name << " was never met");
}

TEST_CASE("cluster simulation: no seed breaks a rule where logs part") {
  for (std::uint64_t seed = first_seed; seed < first_seed + std::min<std::uint64_t>(seed_count, 20);
       ++seed) {
    CAPTURE(seed);
    auto options = with_parting_logs();
    options.seed = seed;
    const auto violation = run_cluster_world(options, under_faults);
    CHECK_MESSAGE(!violation, violation.value_or(""));
  }
}

namespace {

/// On the way of an identity and of a key.
constexpr std::array identity_steps{"client.identities_asked",   "server.identities_signed",
                                    "client.identities_signed",  "client.before_identities",
                                    "client.identities_written", "client.identities_noted",
                                    "server.before_key_write",   "server.after_key_write",
                                    "client.before_start",       "client.after_start"};

/// How many identities were renewed.
std::uint64_t die_at(const std::string& step, Victim victim, std::uint64_t seed) {
  CAPTURE(step);
  CAPTURE(static_cast<int>(victim));
  CAPTURE(seed);
  ClusterWorldCounts counts;
  const auto violation = run_cluster_world(only_kills({step, victim}, seed), under_kills, &counts);
  CHECK_MESSAGE(!violation, violation.value_or(""));
  CHECK(counts.kills > 0);
  MESSAGE(step << ", victim " << static_cast<int>(victim) << ", seed " << seed << ": "
               << counts.kills << " deaths, " << counts.renewed << " renewed identities");
  return counts.renewed;
}

}  // namespace

TEST_CASE("cluster simulation: who dies on the way of an identity leaves no task without one") {
  auto renewed = die_at("client.identities_written", Victim::itself, first_seed);
  renewed += die_at("server.identities_signed", Victim::leader, first_seed);
  renewed += die_at("client.identities_asked", Victim::servers, first_seed);
  // One that leads before others have given it the key.
  renewed += die_at("client.identities_noted", Victim::leader, 17);
  CHECK(renewed > 0);
}

TEST_CASE("cluster simulation: whoever dies at whichever step of an identity's way"
          * doctest::skip()) {
  std::uint64_t seed = first_seed;
  std::uint64_t renewed = 0;
  for (const auto* step : identity_steps)
    for (const auto victim : {Victim::itself, Victim::leader, Victim::servers}) {
      const auto own_seed = seed++;
      if (only_step.empty() || only_step == step) renewed += die_at(step, victim, own_seed);
    }
  CHECK(renewed > 0);
}

TEST_CASE("cluster simulation: a seed replays exactly") {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  run_cluster_world({.seed = 7}, 8s, nullptr, &first);
  run_cluster_world({.seed = 7}, 8s, nullptr, &second);
  CHECK(first == second);
  CHECK(first != 0);
}

namespace {

/// Those of the schedulers that some job here wants to be without; the properties find the others.
constexpr std::array scheduler_mistakes_here{
    Mistake::trust_plans,      Mistake::ignore_distinct_hosts,
    Mistake::preempt_equals,   Mistake::hurry_updates,
    Mistake::skip_canaries,    Mistake::repeat_canaries,
    Mistake::keep_surplus,     Mistake::keep_lost,
    Mistake::forget_blocked,   Mistake::forget_followups,
    Mistake::evaluate_again,   Mistake::hurry_system_updates,
    Mistake::fill_nodes_again, Mistake::hasty_drainer,
    Mistake::late_drainer,     Mistake::greedy_drainer,
    Mistake::hasty_watcher,    Mistake::late_watcher};

/// Others need coincidences that are rare here; the simulation of the core alone finds them.
constexpr std::array raft_mistakes_here{
    Mistake::forget_fsync,   Mistake::vote_for_short_log, Mistake::accept_any_previous,
    Mistake::keep_conflicts, Mistake::ack_unsaved,        Mistake::count_sent_as_matched};

std::vector<ClusterWorldOptions> mistakes() {
  std::vector<ClusterWorldOptions> all;
  for (const auto mistake : raft_mistakes_here)
    all.push_back(with_parting_logs(mistake));
  for (const auto mistake : cluster_mistakes)
    all.push_back({.mistake = mistake});
  for (const auto mistake : identity_mistakes)
    all.push_back({.mistake = mistake});
  for (const auto mistake : scheduler_mistakes_here)
    all.push_back({.mistake = mistake});
  return all;
}

}  // namespace

TEST_CASE("cluster simulation: every deliberate mistake is found" * doctest::skip()) {
  for (auto options : mistakes()) {
    const auto name = name_of(options.mistake);
    if (!only_mistake.empty() && name != only_mistake) continue;
    CAPTURE(name);
    std::optional<std::string> found;
    std::uint64_t seed = 0;
    while (!found && seed < most_tries) {
      options.seed = ++seed;
      found = run_cluster_world(options, under_faults);
    }
    MESSAGE(name << ": " << (found ? "seed " + std::to_string(seed) + ", " + *found : "NOT FOUND"));
    CHECK(found.has_value());
  }
}

int main(int argc, char** argv) {
  log::set_level(log::Level::off);
  doctest::Context context{argc, argv};
  for (int at = 1; at < argc; ++at) {
    if (std::strncmp(argv[at], "--seed=", 7) == 0) {
      first_seed = std::strtoull(argv[at] + 7, nullptr, 10);
      seed_count = 1;
      fresh_seeds = 0;
    }
    if (std::strncmp(argv[at], "--seeds=", 8) == 0)
      seed_count = std::strtoull(argv[at] + 8, nullptr, 10);
    if (std::strncmp(argv[at], "--mistake=", 10) == 0) only_mistake = argv[at] + 10;
    if (std::strncmp(argv[at], "--step=", 7) == 0) only_step = argv[at] + 7;
    if (std::strncmp(argv[at], "--tries=", 8) == 0)
      most_tries = std::strtoull(argv[at] + 8, nullptr, 10);
    if (std::strncmp(argv[at], "--fresh=", 8) == 0)
      fresh_seeds = std::strtoull(argv[at] + 8, nullptr, 10);
  }
  return context.run();
}
