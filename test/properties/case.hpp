// Case: one random cluster with its jobs, what happens to it, and how it comes to rest. All of it
// follows from the seed; each step draws from numbers of its own, so that others stay the same when
// one is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "test/properties/cluster.hpp"
#include "test/properties/counts.hpp"
#include "test/properties/features.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

inline constexpr std::size_t most_steps = 24;

struct CaseOptions {
  std::uint64_t seed = 1;
  Features features = Features::all();
  std::vector<bool> left_out = std::vector<bool>(most_steps);  ///< By step.
  bool tells_all = false;                                      ///< Each decision is in the trace.
};

struct Failure {
  std::string property;
  std::string text;
  CaseOptions smallest;
  std::vector<std::string> trace;  ///< What happened in the smallest case.
};

/// Runs `World`, which throws a Violation, from that seed.
template <class World>
std::optional<Failure> run_world(std::uint64_t seed) {
  try {
    World{seed}.run();
    return std::nullopt;
  } catch (const Violation& violation) {
    Failure failure;
    failure.property = violation.property;
    failure.text = violation.what();
    failure.smallest.seed = seed;
    return failure;
  }
}

/// Runs a case; a failing one is made smaller by leaving features and steps out, while the same
/// property fails. Its trace tells each decision.
std::optional<Failure> run_case(const CaseOptions& options, Counts& counts);

/// The same, but a failing case stays as it is.
std::optional<Failure> try_case(const CaseOptions& options, Counts& counts);

/// For people: property, seed, features that it takes, trace.
std::string describe(const Failure& failure);

/// A fresh cluster in which preferences alone decide: spread, affinity, the penalty of a node where
/// an allocation has failed.
std::optional<Failure> run_choice(std::uint64_t seed);

/// Schedulers that take of one quota at the same time.
std::optional<Failure> run_quota_race(std::uint64_t seed);

}  // namespace nomad::properties
