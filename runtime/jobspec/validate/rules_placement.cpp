// Rules about constraints, affinities and spreads.
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {

namespace {

// Versions as go-version reads them; group 1 is the numbers. The second form demands a dash before
// a prerelease.
constexpr const char* version_pattern
    = R"(v?([0-9]+(?:\.[0-9]+)*?)(?:-[0-9]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*|)"
      R"(-?[A-Za-z\-~]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*)?)"
      R"((?:\+[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?)";
constexpr const char* semver_pattern
    = R"(v?([0-9]+(?:\.[0-9]+)*?)(?:-[0-9]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*|)"
      R"(-[A-Za-z\-~]+[0-9A-Za-z\-~]*(?:\.[0-9A-Za-z\-~]+)*)?)"
      R"((?:\+[0-9A-Za-z\-~]+(?:\.[0-9A-Za-z\-~]+)*)?)";

/// Bytes of the right side of a constraint. A scheduler would not judge longer ones, either.
constexpr std::size_t longest_right_side = 64 * 1024;

std::string longer_than_allowed() {
  return fmt::format("it has more than {} bytes", longest_right_side);
}

std::string check_versions(std::string_view text, const re2::RE2& constraint) {
  if (text.size() > longest_right_side) return longer_than_allowed();
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view one = text.substr(at, comma - at);
    re2::StringPiece numbers;
    if (!re2::RE2::FullMatch(re2::StringPiece{one.data(), one.size()}, constraint, &numbers))
      return "Malformed constraint: " + std::string{one};
    for (std::size_t start = 0; start < numbers.size();) {
      std::size_t end = numbers.find('.', start);
      if (end == re2::StringPiece::npos) end = numbers.size();
      const std::string_view digits{numbers.data() + start, end - start};
      std::int64_t ignored = 0;
      if (!parse_whole(digits, ignored))
        return fmt::format(
            "Error parsing version: strconv.ParseInt: parsing {}: value out of range",
            quote(digits));
      start = end + 1;
    }
    at = comma + 1;
  }
  return {};
}

/// Go's words for RE2's reasons.
std::string_view go_reason(re2::RE2::ErrorCode code) {
  switch (code) {
    case re2::RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case re2::RE2::ErrorBadCharClass:
      return "invalid character class";
    case re2::RE2::ErrorBadCharRange:
      return "invalid character class range";
    case re2::RE2::ErrorMissingBracket:
      return "missing closing ]";
    case re2::RE2::ErrorMissingParen:
      return "missing closing )";
    case re2::RE2::ErrorUnexpectedParen:
      return "unexpected )";
    case re2::RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case re2::RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case re2::RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case re2::RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case re2::RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case re2::RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case re2::RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case re2::RE2::ErrorPatternTooLarge:
      return "expression too large";
    case re2::RE2::NoError:
    case re2::RE2::ErrorInternal:
      break;
  }
  return "internal error";
}

bool is_comparison(std::string_view operand) {
  return operand == "=" || operand == "==" || operand == "is" || operand == "!=" || operand == "not"
         || operand == "<" || operand == "<=" || operand == ">" || operand == ">=";
}

bool is_set_operator(std::string_view operand) {
  return operand == "set_contains" || operand == "set_contains_all"
         || operand == "set_contains_any";
}

/// What both kinds say about the operators they share. False: not one of these.
bool check_shared_operand(std::string_view operand,
                          std::string_view right,
                          std::string_view noun,
                          Mistakes& out) {
  if (operand == "regexp") {
    if (std::string wrong = check_regular_expression(right); !wrong.empty())
      out.add("Regular expression failed to compile: " + wrong);
  } else if (operand == "version") {
    if (std::string wrong = check_version_constraint(right); !wrong.empty())
      out.add(fmt::format("Version {} is invalid: {}", noun, wrong));
  } else if (operand == "semver") {
    if (std::string wrong = check_semver_constraint(right); !wrong.empty())
      out.add(fmt::format("Semver {} is invalid: {}", noun, wrong));
  } else if (is_comparison(operand)) {
    if (right.empty()) out.add(fmt::format("Operator {} requires an RTarget", quote(operand)));
  } else {
    return false;
  }
  return true;
}

void check_distinct_property(std::string_view right, Mistakes& out) {
  if (right.empty()) return;
  std::uint64_t count = 0;
  if (const std::string wrong = parse_unsigned(right, 10, 64, count); !wrong.empty())
    out.add(fmt::format("Failed to convert RTarget {} to uint64: {}", quote(right), wrong));
  else if (count < 1)
    out.add("Distinct Property must have an allowed count of 1 or greater: 0 < 1");
}

}  // namespace

std::string check_version_constraint(std::string_view text) {
  static const re2::RE2 pattern{std::string{R"(\s*(?:|=|!=|>|<|>=|<=|~>)\s*(?:)"} + version_pattern
                                + R"()\s*)"};
  return check_versions(text, pattern);
}

std::string check_semver_constraint(std::string_view text) {
  static const re2::RE2 pattern{std::string{R"(\s*(?:|=|!=|>|<|>=|<=)\s*(?:)"} + semver_pattern
                                + R"()\s*)"};
  return check_versions(text, pattern);
}

std::string check_regular_expression(std::string_view text) {
  if (text.size() > longest_right_side) return longer_than_allowed();
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const re2::RE2 compiled{re2::StringPiece{text.data(), text.size()}, options};
  if (compiled.ok()) return {};
  const bool whole = compiled.error_code() == re2::RE2::ErrorMissingParen
                     || compiled.error_code() == re2::RE2::ErrorUnexpectedParen;
  return fmt::format("error parsing regexp: {}: `{}`", go_reason(compiled.error_code()),
                     whole ? std::string{text} : compiled.error_arg());
}

Mistakes check_constraint(const DraftBlock& constraint) {
  Mistakes out;
  const std::string_view left = constraint.text("LTarget");
  const std::string_view right = constraint.text("RTarget");
  const std::string_view operand = constraint.text("Operand");
  if (operand.empty()) out.add("Missing constraint operand");

  if (is_set_operator(operand)) {
    if (right.empty()) out.add("Set contains constraint requires an RTarget");
  } else if (operand == "distinct_property") {
    check_distinct_property(right, out);
  } else if (operand == "is_set" || operand == "is_not_set") {
    if (!right.empty())
      out.add(fmt::format("Operator {} does not support an RTarget", quote(operand)));
  } else if (operand != "distinct_hosts"
             && !check_shared_operand(operand, right, "constraint", out)) {
    out.add("Unknown constraint type " + quote(operand));
  }
  if (left.empty() && operand != "distinct_hosts")
    out.add("No LTarget provided but is required by constraint");
  return out;
}

Mistakes check_affinity(const DraftBlock& affinity) {
  Mistakes out;
  const std::string_view right = affinity.text("RTarget");
  const std::string_view operand = affinity.text("Operand");
  const std::int64_t weight = affinity.number("Weight");
  if (operand.empty()) out.add("Missing affinity operand");
  if (is_set_operator(operand)) {
    if (right.empty()) out.add("Set contains operators require an RTarget");
  } else if (!check_shared_operand(operand, right, "affinity", out)) {
    out.add("Unknown affinity operator " + quote(operand));
  }
  if (affinity.text("LTarget").empty()) out.add("No LTarget provided but is required");
  if (weight == 0) out.add("Affinity weight cannot be zero");
  if (weight > 100 || weight < -100) out.add("Affinity weight must be within the range [-100,100]");
  return out;
}

Mistakes check_spread(const DraftBlock& spread) {
  Mistakes out;
  if (spread.text("Attribute").empty()) out.add("Missing spread attribute");
  if (const std::int64_t weight = spread.number("Weight"); weight <= 0 || weight > 100)
    out.add("Spread block must have a positive weight from 0 to 100");
  std::set<std::string_view> seen;
  std::int64_t sum = 0;
  spread.each("SpreadTarget", [&](const DraftBlock& target) {
    const std::string_view name = target.text("Value");
    const std::int64_t percent = target.number("Percent");
    if (!seen.insert(name).second)
      out.add(fmt::format("Spread target value {} already defined", quote(name)));
    if (percent > 100)
      out.add(fmt::format("Spread target percentage for value {} must be between 0 and 100",
                          quote(name)));
    sum += percent;
  });
  if (sum > 100)
    out.add(fmt::format("Sum of spread target percentages must not be greater than 100%; got {}%",
                        sum));
  return out;
}

void check_constraints(const DraftBlock& in, Mistakes& out) {
  int position = 0;
  in.each("Constraints", [&](const DraftBlock& constraint) {
    out.add_joined(fmt::format("Constraint {} validation failed: ", ++position),
                   check_constraint(constraint));
  });
}

void check_affinities(const DraftBlock& in, bool system_job, Mistakes& out) {
  if (system_job) {
    if (!in.list("Affinities").empty()) out.add("System jobs may not have an affinity block");
    return;
  }
  int position = 0;
  in.each("Affinities", [&](const DraftBlock& affinity) {
    out.add_joined(fmt::format("Affinity {} validation failed: ", ++position),
                   check_affinity(affinity));
  });
}

void check_spreads(const DraftBlock& in, bool system_job, Mistakes& out) {
  if (system_job) {
    if (!in.list("Spreads").empty()) out.add("System jobs may not have a spread block");
    return;
  }
  int position = 0;
  in.each("Spreads", [&](const DraftBlock& spread) {
    out.add_joined(fmt::format("Spread {} validation failed: ", ++position), check_spread(spread));
  });
}

}  // namespace nomad::jobspec
