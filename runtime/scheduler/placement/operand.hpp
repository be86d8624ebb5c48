// Operands: whether "left operand right" holds, for constraints and affinities. Both sides are
// texts already resolved against a node; a side that was not found is empty.
//
// May depend on: runtime/base and runtime/text. Pure apart from its cache.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/scheduler/placement/version.hpp"
#include "runtime/text/regex.hpp"

namespace nomad::scheduler {

/// What one regular expression may take on one node.
inline constexpr std::uint64_t regexp_work = std::uint64_t{1} << 26U;

/// Judges operands and remembers compiled regular expressions and version constraints, because one
/// evaluation asks the same question of many nodes. Not thread-safe; one for each evaluation.
class OperandChecker {
public:
  OperandChecker();
  ~OperandChecker();
  OperandChecker(const OperandChecker&) = delete;
  OperandChecker& operator=(const OperandChecker&) = delete;

  /// Unknown operands and unparsable right sides are false, and regular expressions that would take
  /// more than `regexp_work`. `distinct_hosts` and
  /// `distinct_property` are always true: they are judged elsewhere.
  bool holds(std::string_view operand,
             std::optional<std::string_view> left,
             std::optional<std::string_view> right);

private:
  bool matches_version(std::string_view left,
                       std::string_view right,
                       VersionConstraints::Kind kind);
  bool matches_regexp(std::string_view left, std::string_view right);

  std::map<std::string, std::optional<VersionConstraints>, std::less<>> versions_;
  std::map<std::string, std::optional<VersionConstraints>, std::less<>> semvers_;
  std::map<std::string, std::optional<Regex>, std::less<>> regexps_;
};

}  // namespace nomad::scheduler
