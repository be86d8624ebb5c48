// Case: one random cluster with its jobs, what happens to it, and how it comes to rest. All of it
// follows from the seed; each step draws from numbers of its own, so that others stay the same when
// one is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "test/properties/features.hpp"

namespace nomad::properties {

inline constexpr std::size_t most_steps = 24;

struct CaseOptions {
  std::uint64_t seed = 1;
  Features features = Features::all();
  std::vector<bool> left_out = std::vector<bool>(most_steps);  ///< By step.
};

/// What was met while cases ran; all of it should be.
struct Counts {
  std::uint64_t cases = 0;
  std::uint64_t steps = 0;
  std::uint64_t evaluations = 0;
  std::uint64_t most_evaluations = 0;  ///< While one case came to rest.
  std::uint64_t placements = 0;
  std::uint64_t canaries = 0;
  std::uint64_t rescheduled = 0;
  std::uint64_t ports = 0;
  std::uint64_t cores = 0;
  std::uint64_t devices = 0;
  std::uint64_t in_place = 0;
  std::uint64_t unknown = 0;
  std::uint64_t replacements = 0;  ///< By a new version.
  std::uint64_t lost = 0;
  std::uint64_t migrated = 0;
  std::uint64_t preempted = 0;
  std::uint64_t promoted = 0;
  std::uint64_t rejections = 0;  ///< Nodes' parts of plans that did not fit any more.
  std::uint64_t waiting = 0;     ///< Jobs that waited for capacity in the end.

  void add(const Counts& other);
};

struct CountName {
  const char* name;
  std::uint64_t Counts::*count;
};

/// All but `cases`.
std::span<const CountName> count_names();

struct Failure {
  std::string property;
  std::string text;
  CaseOptions smallest;
  std::vector<std::string> trace;  ///< What happened in the smallest case.
};

/// Runs a case; a failing one is made smaller by leaving features and steps out, while the same
/// property fails.
std::optional<Failure> run_case(const CaseOptions& options, Counts& counts);

/// For people: property, seed, features that it takes, trace.
std::string describe(const Failure& failure);

/// A fresh cluster in which preferences alone decide: spread, affinity, the penalty of a node where
/// an allocation has failed.
std::optional<Failure> run_choice(std::uint64_t seed);

}  // namespace nomad::properties
