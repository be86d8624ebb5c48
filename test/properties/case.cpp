#include "test/properties/case.hpp"

#include <algorithm>

#include "test/properties/script.hpp"
#include "test/properties/violation.hpp"

namespace nomad::properties {

std::optional<Failure> try_case(const CaseOptions& options, Counts& counts) {
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

namespace {

void shrink(Failure& failure) {
  Counts ignored;
  const auto try_out = [&](const CaseOptions& smaller) {
    auto found = try_case(smaller, ignored);
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
  auto told = failure.smallest;
  told.tells_all = true;
  try_out(told);
}

}  // namespace

std::optional<Failure> run_case(const CaseOptions& options, Counts& counts) {
  auto failure = try_case(options, counts);
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
