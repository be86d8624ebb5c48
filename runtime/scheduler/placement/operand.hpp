// Operands: whether "left operand right" holds, for constraints and affinities. Both sides are
// texts already resolved against a node; a side that was not found is empty.
//
// May depend on: runtime/base and RE2. Pure apart from its cache.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/scheduler/placement/version.hpp"

namespace re2 {
class RE2;
}

namespace nomad::scheduler {

/// Judges operands and remembers compiled regular expressions and version constraints, because one
/// evaluation asks the same question of many nodes. Not thread-safe; one for each evaluation.
class OperandChecker {
public:
  OperandChecker();
  ~OperandChecker();
  OperandChecker(const OperandChecker&) = delete;
  OperandChecker& operator=(const OperandChecker&) = delete;

  /// Unknown operands and unparsable right sides are false. `distinct_hosts` and
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
  std::map<std::string, std::unique_ptr<re2::RE2>, std::less<>> regexps_;
};

}  // namespace nomad::scheduler
