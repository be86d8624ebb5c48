// properties: the properties of the schedulers over many random cases, and the replay of one.
//
//   properties [-cases N] [-seed S] [-jobs J] [-without feature,…] [-with feature,…] [-stop 0|1]
//
// Cases S, S+1, … (1,000 from 1 on). Ends with 1 after a violation; each is printed with its seed,
// made smaller. `-stop 0` goes on after one.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/log.hpp"
#include "test/properties/case.hpp"

namespace {

using namespace nomad;
using namespace nomad::properties;

struct Arguments {
  std::uint64_t cases = 1'000;
  std::uint64_t seed = 1;
  unsigned jobs = 1;
  Features features = Features::all();
  bool stop = true;
};

[[noreturn]] void refuse(const char* program) {
  std::fprintf(stderr,
               "usage: %s [-cases N] [-seed S] [-jobs J] [-without feature,…] [-with feature,…] "
               "[-stop 0|1]\nfeatures:",
               program);
  for (const auto name : feature_names)
    std::fprintf(stderr, " %.*s", static_cast<int>(name.size()), name.data());
  std::fprintf(stderr, "\n");
  std::exit(2);
}

std::vector<Feature> read_features(const char* program, std::string_view list) {
  std::vector<Feature> found;
  while (true) {
    const auto comma = list.find(',');
    const auto feature = Features::find(list.substr(0, comma));
    if (!feature) refuse(program);
    found.push_back(*feature);
    if (comma == std::string_view::npos) return found;
    list.remove_prefix(comma + 1);
  }
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int at = 1; at < argc; at += 2) {
    if (at + 1 >= argc) refuse(argv[0]);
    const auto is = [&](const char* name) { return std::strcmp(argv[at], name) == 0; };
    const auto number = std::strtoull(argv[at + 1], nullptr, 10);
    if (is("-cases"))
      arguments.cases = number;
    else if (is("-seed"))
      arguments.seed = number;
    else if (is("-jobs"))
      arguments.jobs = static_cast<unsigned>(number);
    else if (is("-stop"))
      arguments.stop = number != 0;
    else if (is("-without"))
      for (const auto feature : read_features(argv[0], argv[at + 1]))
        arguments.features = arguments.features.without(feature);
    else if (is("-with"))
      for (const auto feature : read_features(argv[0], argv[at + 1]))
        arguments.features = arguments.features.with(feature);
    else
      refuse(argv[0]);
  }
  if (arguments.cases == 0 || arguments.jobs == 0) refuse(argv[0]);
  return arguments;
}

constexpr std::size_t most_told = 3;    ///< Of one property; more of the same say nothing new.
constexpr std::size_t most_named = 25;  ///< Of one property, by their seeds.

/// The cases that violate one property.
struct Violated {
  std::uint64_t cases = 0;
  std::vector<std::uint64_t> seeds;  ///< Of the first ones.
};

struct Sum {
  std::mutex mutex;
  Counts counts;
  std::map<std::string, Violated> violations;

  void add(const Counts& more) {
    const std::scoped_lock lock{mutex};
    counts.add(more);
  }

  /// Returns whether it is one of the first, which are told of.
  bool add(const Failure& failure) {
    const std::scoped_lock lock{mutex};
    auto& violated = violations[failure.property];
    if (violated.seeds.size() < most_named) violated.seeds.push_back(failure.smallest.seed);
    return ++violated.cases <= most_told;
  }

  void tell(const Failure& failure) {
    const std::scoped_lock lock{mutex};
    std::printf("%s\n", describe(failure).c_str());
    std::fflush(stdout);
  }

  void report(double seconds) const {
    std::uint64_t failed = 0;
    for (const auto& [property, violated] : violations) {
      std::printf("%9llu  cases violate: %s (seeds",
                  static_cast<unsigned long long>(violated.cases), property.c_str());
      for (const auto seed : violated.seeds)
        std::printf(" %llu", static_cast<unsigned long long>(seed));
      std::printf("%s)\n", violated.seeds.size() < violated.cases ? " …" : "");
      failed += violated.cases;
    }
    std::printf("%llu cases in %.0f s, %llu violations\n",
                static_cast<unsigned long long>(counts.cases), seconds,
                static_cast<unsigned long long>(failed));
    for (const auto& each : count_names())
      std::printf("%12llu  %s%s\n", static_cast<unsigned long long>(counts.*each.count), each.name,
                  counts.*each.count == 0 ? "   <-- never met" : "");
  }
};

}  // namespace

int main(int argc, char** argv) {
  const auto arguments = read_arguments(argc, argv);
  log::set_level(log::Level::off);
  const auto begin = std::chrono::steady_clock::now();
  Sum sum;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> over{false};
  const auto work = [&] {
    Counts counts;
    for (auto at = next++; at < arguments.cases && !over; at = next++) {
      const CaseOptions options{.seed = arguments.seed + at, .features = arguments.features};
      auto failure = try_case(options, counts);
      if (!failure) failure = run_choice(options.seed);
      if (!failure) failure = run_quota_race(options.seed);
      if (!failure) continue;
      over = arguments.stop;
      if (!sum.add(*failure)) continue;
      Counts ignored;
      const auto smaller = run_case(options, ignored);
      sum.tell(smaller ? *smaller : *failure);
    }
    sum.add(counts);
  };
  std::vector<std::thread> threads;
  for (unsigned job = 1; job < arguments.jobs; ++job)
    threads.emplace_back(work);
  work();
  for (auto& thread : threads)
    thread.join();
  sum.report(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return sum.violations.empty() ? 0 : 1;
}
