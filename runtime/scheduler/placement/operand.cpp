#include "runtime/scheduler/placement/operand.hpp"

#include <set>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::scheduler {
namespace {

template <class Value>
bool in_order(std::string_view operand, const Value& left, const Value& right) {
  if (operand == "<") return left < right;
  if (operand == "<=") return left <= right;
  if (operand == ">") return left > right;
  return left >= right;
}

/// As integers if both are, else as floats if both are, else by bytes.
bool ordered(std::string_view operand, std::string_view left, std::string_view right) {
  const auto integer_left = signed_number<std::int64_t>(left);
  const auto integer_right = signed_number<std::int64_t>(right);
  if (integer_left && integer_right) return in_order(operand, *integer_left, *integer_right);
  const auto float_left = signed_number<double>(left);
  const auto float_right = signed_number<double>(right);
  if (float_left && float_right) return in_order(operand, *float_left, *float_right);
  return in_order(operand, left, right);
}

std::set<std::string_view> split_set(std::string_view text) {
  std::set<std::string_view> items;
  while (true) {
    const auto comma = text.find(',');
    items.insert(trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return items;
    text.remove_prefix(comma + 1);
  }
}

bool contains_all(std::string_view left, std::string_view right) {
  const auto have = split_set(left);
  for (const auto& wanted : split_set(right)) {
    if (!have.contains(wanted)) return false;
  }
  return true;
}

bool contains_any(std::string_view left, std::string_view right) {
  const auto have = split_set(left);
  for (const auto& wanted : split_set(right)) {
    if (have.contains(wanted)) return true;
  }
  return false;
}

}  // namespace

OperandChecker::OperandChecker() = default;
OperandChecker::~OperandChecker() = default;

bool OperandChecker::holds(std::string_view operand,
                           std::optional<std::string_view> left,
                           std::optional<std::string_view> right) {
  if (operand == "distinct_hosts" || operand == "distinct_property") return true;
  if (operand == "!=" || operand == "not") return left.value_or("") != right.value_or("");
  if (operand == "is_set") return left.has_value();
  if (operand == "is_not_set") return !left.has_value();
  if (!left || !right) return false;
  if (operand == "=" || operand == "==" || operand == "is") return *left == *right;
  if (operand == "<" || operand == "<=" || operand == ">" || operand == ">=")
    return ordered(operand, *left, *right);
  if (operand == "version")
    return matches_version(*left, *right, VersionConstraints::Kind::version);
  if (operand == "semver") return matches_version(*left, *right, VersionConstraints::Kind::semver);
  if (operand == "regexp") return matches_regexp(*left, *right);
  if (operand == "set_contains" || operand == "set_contains_all")
    return contains_all(*left, *right);
  if (operand == "set_contains_any") return contains_any(*left, *right);
  return false;
}

bool OperandChecker::matches_version(std::string_view left,
                                     std::string_view right,
                                     VersionConstraints::Kind kind) {
  const auto version = parse_version(left);
  if (!version) return false;
  auto& cache = kind == VersionConstraints::Kind::version ? versions_ : semvers_;
  auto known = cache.find(right);
  if (known == cache.end()) {
    auto parsed = VersionConstraints::parse(right, kind);
    std::optional<VersionConstraints> usable;
    if (parsed) usable = std::move(*parsed);
    known = cache.emplace(std::string{right}, std::move(usable)).first;
  }
  return known->second && known->second->check(*version);
}

bool OperandChecker::matches_regexp(std::string_view left, std::string_view right) {
  Work work{regexp_work};
  auto known = regexps_.find(right);
  if (known == regexps_.end()) {
    auto compiled = Regex::compile(right, work);
    std::optional<Regex> usable;
    if (compiled) usable = std::move(*compiled);
    known = regexps_.emplace(std::string{right}, std::move(usable)).first;
  }
  return known->second && known->second->matches(left, work).value_or(false);
}

}  // namespace nomad::scheduler
