#include "test/properties/case.hpp"

#include <algorithm>

#include "test/properties/script.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {
namespace {

/// The property that fails, if one does.
std::optional<Failure> attempt(const CaseOptions& options, Counts& counts) {
  Failure failure;
  failure.smallest = options;
  try {
    Script{options, counts, failure.trace}.run();
    return std::nullopt;
  } catch (const Violation& violation) {
    failure.property = violation.property;
    failure.text = violation.what();
  } catch (const std::exception& err) {
    failure.property = "nothing throws";
    failure.text = failure.property + ": " + err.what();
  }
  return failure;
}

void shrink(Failure& failure) {
  Counts ignored;
  const auto try_out = [&](const CaseOptions& smaller) {
    auto found = attempt(smaller, ignored);
    if (found && found->property == failure.property) failure = std::move(*found);
  };
  for (std::size_t i = 0; i < feature_names.size(); ++i) {
    const auto feature = static_cast<Feature>(i);
    if (!failure.smallest.features.has(feature)) continue;
    auto smaller = failure.smallest;
    smaller.features = smaller.features.without(feature);
    try_out(smaller);
  }
  for (std::size_t step = most_steps; step-- > 0;) {
    if (failure.smallest.left_out[step]) continue;
    auto smaller = failure.smallest;
    smaller.left_out[step] = true;
    try_out(smaller);
  }
}

}  // namespace

namespace {

constexpr CountName all_counts[] = {
    {"steps", &Counts::steps},
    {"evaluations", &Counts::evaluations},
    {"evaluations of one case while it came to rest, at most", &Counts::most_evaluations},
    {"allocations placed", &Counts::placements},
    {"  of them canaries", &Counts::canaries},
    {"  of them in place of failed ones", &Counts::rescheduled},
    {"ports given out", &Counts::ports},
    {"cores given out", &Counts::cores},
    {"devices given out", &Counts::devices},
    {"updated in place, or unknown or back", &Counts::in_place},
    {"  of them unknown", &Counts::unknown},
    {"replaced by a new version", &Counts::replacements},
    {"lost", &Counts::lost},
    {"migrated", &Counts::migrated},
    {"preempted", &Counts::preempted},
    {"promotions by hand", &Counts::promoted},
    {"nodes' parts of plans refused", &Counts::rejections},
    {"jobs that waited for capacity in the end", &Counts::waiting},
};

}  // namespace

std::span<const CountName> count_names() {
  return all_counts;
}

void Counts::add(const Counts& other) {
  const auto most = std::max(most_evaluations, other.most_evaluations);
  cases += other.cases;
  for (const auto& [name, count] : all_counts)
    this->*count += other.*count;
  most_evaluations = most;
}

std::optional<Failure> run_case(const CaseOptions& options, Counts& counts) {
  auto failure = attempt(options, counts);
  if (failure) shrink(*failure);
  return failure;
}

std::string describe(const Failure& failure) {
  std::string all
      = failure.text + "\n  seed " + std::to_string(failure.smallest.seed) + "; it takes";
  for (std::size_t i = 0; i < feature_names.size(); ++i)
    if (failure.smallest.features.has(static_cast<Feature>(i)))
      all += " " + std::string{feature_names[i]};
  for (const auto& line : failure.trace)
    all += "\n    " + line;
  return all;
}

}  // namespace nomad::properties
