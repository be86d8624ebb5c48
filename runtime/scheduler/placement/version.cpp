#include "runtime/scheduler/placement/version.hpp"

#include <algorithm>

#include "runtime/base/text.hpp"
#include "runtime/base/whole_number.hpp"

namespace nomad::scheduler {
namespace {

/// A character of a prerelease or metadata identifier.
bool is_identifier(char c) {
  return is_alphanumeric(c) || c == '-' || c == '~';
}

/// Takes dot-separated, non-empty identifiers off the front of `text`; empty if there are none.
std::string_view take_identifiers(std::string_view& text) {
  std::size_t end = 0;
  while (true) {
    const auto start = end;
    while (end < text.size() && is_identifier(text[end]))
      ++end;
    if (end == start) return {};
    if (end == text.size() || text[end] != '.') break;
    ++end;
  }
  const auto taken = text.substr(0, end);
  text.remove_prefix(end);
  return taken;
}

/// Takes "1.2.3" off the front of `text`. False if there is none, or a number is too large.
bool take_segments(std::string_view& text, Version& version) {
  while (true) {
    std::size_t end = 0;
    while (end < text.size() && is_digit(text[end]))
      ++end;
    const auto number = whole_number<std::int64_t>(text.substr(0, end));
    if (!number) return false;
    version.segments.push_back(*number);
    text.remove_prefix(end);
    if (text.size() < 2 || text[0] != '.' || !is_digit(text[1])) break;
    text.remove_prefix(1);
  }
  version.given_segments = version.segments.size();
  if (version.segments.size() < 3) version.segments.resize(3);
  return true;
}

std::optional<Version> parse(std::string_view text, bool dash_required) {
  Version version;
  if (text.starts_with('v')) text.remove_prefix(1);
  if (!take_segments(text, version)) return std::nullopt;
  if (!text.empty() && text[0] != '+') {
    const bool dashed = text[0] == '-' && text.size() > 1 && is_identifier(text[1]);
    if (dashed)
      text.remove_prefix(1);
    else if (dash_required || is_digit(text[0]))
      return std::nullopt;
    const auto taken = take_identifiers(text);
    if (taken.empty()) return std::nullopt;
    version.prerelease = taken;
  }
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    const auto taken = take_identifiers(text);
    if (taken.empty()) return std::nullopt;
    version.metadata = taken;
  }
  if (!text.empty()) return std::nullopt;
  return version;
}

int sign(bool less) {
  return less ? -1 : 1;
}

/// Numbers come before words, and whether a missing identifier is smaller depends on the other.
int compare_identifier(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  const auto number_a = whole_number<std::int64_t>(a);
  const auto number_b = whole_number<std::int64_t>(b);
  if (a.empty()) return sign(number_b.has_value());
  if (b.empty()) return sign(!number_a.has_value());
  if (number_a && !number_b) return -1;
  if (!number_a && number_b) return 1;
  if (number_a) return sign(*number_a <= *number_b);
  return sign(a < b);
}

std::string_view take_part(std::string_view& text) {
  const auto dot = text.find('.');
  const auto part = text.substr(0, dot);
  text = dot == std::string_view::npos ? std::string_view{} : text.substr(dot + 1);
  return part;
}

int compare_prerelease(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const auto part_a = take_part(a);
    const auto part_b = take_part(b);
    if (const int order = compare_identifier(part_a, part_b); order != 0) return order;
  }
  return 0;
}

/// Whether the prerelease of `version` lets the constraint look at it at all.
bool prerelease_matches(const Version& version, const Version& bound) {
  if (version.prerelease.empty()) return true;
  return !bound.prerelease.empty() && version.segments == bound.segments;
}

bool pessimistic(const Version& version, const Version& bound) {
  if (!prerelease_matches(version, bound)) return false;
  if (!bound.prerelease.empty() && version.prerelease.empty()) return false;
  if (compare(version, bound) < 0 || bound.segments.size() > version.segments.size()) return false;
  for (std::size_t i = 0; i + 1 < bound.given_segments; ++i) {
    if (version.segments[i] != bound.segments[i]) return false;
  }
  const auto last = bound.segments.size() - 1;
  return bound.segments[last] <= version.segments[last];
}

}  // namespace

std::optional<Version> parse_version(std::string_view text) {
  return parse(text, false);
}

std::optional<Version> parse_semver(std::string_view text) {
  return parse(text, true);
}

int compare(const Version& a, const Version& b) {
  if (a.segments == b.segments) {
    if (a.prerelease == b.prerelease) return 0;
    if (a.prerelease.empty()) return 1;
    if (b.prerelease.empty()) return -1;
    return compare_prerelease(a.prerelease, b.prerelease);
  }
  const auto count = std::max(a.segments.size(), b.segments.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto left = i < a.segments.size() ? a.segments[i] : 0;
    const auto right = i < b.segments.size() ? b.segments[i] : 0;
    if (left != right) return sign(left < right);
  }
  return 0;
}

std::optional<VersionConstraints::Operator> VersionConstraints::take_operator(
    std::string_view& text, Kind kind) {
  static constexpr std::pair<std::string_view, Operator> operators[]
      = {{"!=", Operator::not_equal},
         {">=", Operator::greater_or_equal},
         {"<=", Operator::less_or_equal},
         {"~>", Operator::pessimistic},
         {"=", Operator::equal},
         {">", Operator::greater},
         {"<", Operator::less}};
  for (const auto& [name, op] : operators) {
    if (!text.starts_with(name)) continue;
    if (op == Operator::pessimistic && kind == Kind::semver) return std::nullopt;
    text.remove_prefix(name.size());
    return op;
  }
  return Operator::equal;
}

Result<VersionConstraints> VersionConstraints::parse(std::string_view text, Kind kind) {
  VersionConstraints result;
  result.kind_ = kind;
  std::size_t start = 0;
  while (true) {
    const auto comma = text.find(',', start);
    const auto single = text.substr(start, comma == std::string_view::npos ? comma : comma - start);
    auto rest = trim(single, regex_space);
    const auto op = take_operator(rest, kind);
    rest = trim(rest, regex_space);
    auto bound = !op                    ? std::nullopt
                 : kind == Kind::semver ? parse_semver(rest)
                                        : parse_version(rest);
    if (!bound)
      return Error{Errc::invalid_argument, "Malformed constraint: " + std::string{single}};
    result.parts_.push_back({*op, std::move(*bound)});
    if (comma == std::string_view::npos) return result;
    start = comma + 1;
  }
}

bool VersionConstraints::holds(const Part& part, const Version& version, Kind kind) {
  const int order = compare(version, part.bound);
  const bool comparable = kind == Kind::semver || prerelease_matches(version, part.bound);
  switch (part.op) {
    case Operator::equal:
      return order == 0;
    case Operator::not_equal:
      return order != 0;
    case Operator::greater:
      return comparable && order > 0;
    case Operator::less:
      return comparable && order < 0;
    case Operator::greater_or_equal:
      return comparable && order >= 0;
    case Operator::less_or_equal:
      return comparable && order <= 0;
    case Operator::pessimistic:
      return pessimistic(version, part.bound);
  }
  return false;
}

bool VersionConstraints::check(const Version& version) const {
  return std::ranges::all_of(parts_, [&](const Part& part) { return holds(part, version, kind_); });
}

}  // namespace nomad::scheduler
