#include "runtime/template/text/version.hpp"

#include <algorithm>
#include <array>

#include <re2/re2.h>

#include "runtime/base/text.hpp"
#include "runtime/template/eval/context.hpp"
#include "runtime/text/number_text.hpp"

namespace nomad::templates {
namespace {

using re2::StringPiece;

std::string_view view(const StringPiece& piece) {
  return {piece.data(), piece.size()};
}

StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

const std::string version_tail = R"((?:-([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?)"
                                 R"((?:\+([0-9A-Za-z\-]+(?:\.[0-9A-Za-z\-]+)*))?)";

/// A version in a constraint: numbers may be "x" or "*" (a bar is taken by the package, too).
const std::string open_version = R"(v?([0-9|xX*]+)(\.[0-9|xX*]+)?(\.[0-9|xX*]+)?)" + version_tail;

const std::string relations = R"(=||!=|>|<|>=|=>|<=|=<|~|~>|\^)";

/// Bytes of a version or constraint: reading one takes the square of it.
constexpr std::size_t most_read = 4096;

Error bad_constraint(std::string_view text) {
  return function_error("improper constraint: " + std::string{text});
}

bool is_word(std::string_view part) {
  return std::ranges::all_of(part, [](char c) { return is_alphanumeric(c) || c == '-'; });
}

/// A number of a version; a dot before it is none of it.
Result<std::uint64_t> segment(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  if (text.empty()) return std::uint64_t{0};
  const auto number = parse_natural(text, 10);
  if (number.fault)
    return function_error("Error parsing version segment: strconv.ParseUint: parsing " + quote(text)
                          + ": value out of range");
  return number.value;
}

/// "a" and "2" of prereleases: numbers come before words, and nothing before all.
int compare_parts(std::string_view a, std::string_view b) {
  if (a == b) return 0;
  if (a.empty() || b.empty()) return a.empty() ? -1 : 1;
  const auto number_a = parse_natural(a, 10);
  const auto number_b = parse_natural(b, 10);
  if (number_a.fault && number_b.fault) return a > b ? 1 : -1;
  if (number_b.fault) return -1;
  if (number_a.fault) return 1;
  return number_a.value > number_b.value ? 1 : -1;
}

int compare_prereleases(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a == b ? 0 : a.empty() ? 1 : -1;
  const auto parts_a = split(a, '.');
  const auto parts_b = split(b, '.');
  for (std::size_t i = 0; i < std::max(parts_a.size(), parts_b.size()); ++i) {
    const int order = compare_parts(i < parts_a.size() ? parts_a[i] : std::string_view{},
                                    i < parts_b.size() ? parts_b[i] : std::string_view{});
    if (order != 0) return order;
  }
  return 0;
}

bool is_open_number(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  return text.empty() || text == "x" || text == "X" || text == "*";
}

/// "1.2 - 1.4.5" is ">= 1.2, <= 1.4.5".
std::string without_ranges(std::string_view text) {
  static const RE2 range{R"(\s*()" + open_version + R"()\s+-\s+()" + open_version + R"()\s*)"};
  std::string out{text};
  StringPiece rest = piece(text);
  constexpr std::size_t second = 7;  // The whole, a version and its five parts come before it.
  std::array<StringPiece, second + 1> found;
  while (range.Match(rest, 0, rest.size(), RE2::UNANCHORED, found.data(),
                     static_cast<int>(found.size()))) {
    const std::string_view whole = view(found[0]);
    out.replace(out.find(whole), whole.size(),
                ">= " + std::string{view(found[1])} + ", <= " + std::string{view(found[second])});
    rest.remove_prefix(static_cast<std::size_t>(whole.data() + whole.size() - rest.data()));
  }
  return out;
}

}  // namespace

Result<Version> Version::parse(std::string_view text) {
  if (text.size() > most_read) return function_error("Invalid Semantic Version");
  static const RE2 form{R"(v?([0-9]+)(\.[0-9]+)?(\.[0-9]+)?)" + version_tail};
  StringPiece major;
  StringPiece minor;
  StringPiece patch;
  StringPiece prerelease;
  StringPiece metadata;
  if (!RE2::FullMatch(piece(text), form, &major, &minor, &patch, &prerelease, &metadata))
    return function_error("Invalid Semantic Version");
  Version version{.major = NOMAD_TRY(segment(view(major))),
                  .minor = NOMAD_TRY(segment(view(minor))),
                  .patch = NOMAD_TRY(segment(view(patch))),
                  .prerelease = std::string{view(prerelease)},
                  .metadata = std::string{view(metadata)}};
  NOMAD_TRY(check_prerelease(version.prerelease));
  return version;
}

std::string Version::text() const {
  std::string out
      = std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(patch);
  if (!prerelease.empty()) out += '-' + prerelease;
  if (!metadata.empty()) out += '+' + metadata;
  return out;
}

int Version::compare(const Version& other) const {
  for (const auto number : {&Version::major, &Version::minor, &Version::patch})
    if (this->*number != other.*number) return this->*number < other.*number ? -1 : 1;
  return compare_prereleases(prerelease, other.prerelease);
}

Result<void> check_prerelease(std::string_view text) {
  for (const std::string_view part : split(text, '.')) {
    if (part.size() > 1 && part.front() == '0' && is_digits(part))
      return function_error("Version segment starts with 0");
    if (!is_word(part)) return function_error("Invalid Prerelease string");
  }
  return {};
}

Result<void> check_metadata(std::string_view text) {
  for (const std::string_view part : split(text, '.'))
    if (!is_word(part)) return function_error("Invalid Metadata string");
  return {};
}

// -- Constraints

VersionConstraint::Operator VersionConstraint::operator_of(std::string_view text, bool is_open) {
  if (text == "!=") return Operator::differs;
  if (text == ">") return Operator::more;
  if (text == "<") return Operator::less;
  if (text == ">=" || text == "=>") return Operator::at_least;
  if (text == "<=" || text == "=<") return Operator::at_most;
  if (text == "~" || text == "~>") return Operator::tilde;
  if (text == "^") return Operator::caret;
  return is_open ? Operator::tilde : Operator::equal;
}

Result<VersionConstraint::One> VersionConstraint::parse_one(std::string_view text) {
  static const RE2 form{R"(\s*()" + relations + R"()\s*)" + open_version + R"(\s*)"};
  StringPiece relation;
  std::array<StringPiece, 3> numbers;
  StringPiece prerelease;
  StringPiece metadata;
  if (!RE2::FullMatch(piece(text), form, &relation, &numbers[0], &numbers[1], &numbers[2],
                      &prerelease, &metadata))
    return bad_constraint(text);
  const auto open = static_cast<std::size_t>(
      std::ranges::find_if(numbers, [](StringPiece n) { return is_open_number(view(n)); })
      - numbers.begin());
  One one{.relation = operator_of(view(relation), open < numbers.size()),
          .version = {},
          .is_open = open < numbers.size(),
          .is_minor_open = open == 1,
          .is_patch_open = open == 2};
  // What stands behind an open number counts no more, but a prerelease does.
  std::string known;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    known += i < open ? std::string{view(numbers[i])} : i == 0 ? "0" : ".0";
  if (!prerelease.empty()) known += '-' + std::string{view(prerelease)};
  if (!metadata.empty() && !one.is_open) known += '+' + std::string{view(metadata)};
  auto version = Version::parse(known);
  if (!version) return function_error("constraint Parser Error");
  one.version = std::move(version).take();
  return one;
}

Result<VersionConstraint> VersionConstraint::parse(std::string_view text) {
  static const RE2 form{R"((?:\s*(?:)" + relations + R"()\s*(?:)" + open_version
                        + R"()\s*)(?:(?:\s+|,\s*)(?:)" + relations + R"()\s*(?:)" + open_version
                        + R"()\s*)*)"};
  static const RE2 one{R"(((?:)" + relations + R"()\s*(?:)" + open_version + R"()))"};
  if (text.size() > most_read) return bad_constraint(text.substr(0, most_read));
  VersionConstraint constraint;
  const std::string whole = without_ranges(text);
  std::string_view rest = whole;
  for (bool more = true; more;) {
    const std::size_t bars = rest.find("||");
    const std::string_view group = rest.substr(0, bars);
    more = bars != std::string_view::npos;
    if (more) rest.remove_prefix(bars + 2);
    if (!RE2::FullMatch(piece(group), form)) return bad_constraint(group);
    auto& all = constraint.groups_.emplace_back();
    StringPiece left = piece(group);
    for (StringPiece found; RE2::FindAndConsume(&left, one, &found);)
      all.push_back(NOMAD_TRY(parse_one(view(found))));
  }
  return constraint;
}

bool VersionConstraint::allows(const Version& version) const {
  return std::ranges::any_of(groups_, [&](const std::vector<One>& all) {
    return std::ranges::all_of(all, [&](const One& one) { return one.allows(version); });
  });
}

bool VersionConstraint::One::allows(const Version& candidate) const {
  // Who names no prerelease gets none, but for "!=" of a whole version.
  const bool is_surprise = !candidate.prerelease.empty() && version.prerelease.empty();
  if (is_surprise && (relation != Operator::differs || is_open)) return false;
  const int order = candidate.compare(version);
  switch (relation) {
    case Operator::equal:
      return order == 0;
    case Operator::differs:
      return is_other_than(candidate);
    case Operator::less:
      return order < 0;
    case Operator::at_least:
      return order >= 0;
    case Operator::more:
      if (!is_open || candidate.major != version.major)
        return is_open ? candidate.major > version.major : order > 0;
      if (is_minor_open) return false;
      return is_patch_open ? candidate.minor > version.minor : order > 0;
    case Operator::at_most:
      if (!is_open) return order <= 0;
      return candidate.major < version.major
             || (candidate.major == version.major
                 && (is_minor_open || candidate.minor <= version.minor));
    case Operator::tilde:
      return order >= 0 && is_like(candidate);
    case Operator::caret:
      return order >= 0 && is_compatible(candidate);
  }
  return false;
}

bool VersionConstraint::One::is_other_than(const Version& candidate) const {
  if (is_open) {
    if (version.major != candidate.major) return true;
    if (is_minor_open) return false;
    if (version.minor != candidate.minor) return true;
    if (is_patch_open) return compare_prereleases(candidate.prerelease, version.prerelease) != 0;
    if (version.patch != candidate.patch) return true;
  }
  return candidate.compare(version) != 0;
}

bool VersionConstraint::One::is_like(const Version& candidate) const {
  const bool is_any = version.major == 0 && version.minor == 0 && version.patch == 0
                      && !is_minor_open && !is_patch_open;
  return is_any
         || (candidate.major == version.major
             && (is_minor_open || candidate.minor == version.minor));
}

bool VersionConstraint::One::is_compatible(const Version& candidate) const {
  if (candidate.major != version.major) return false;
  if (version.major > 0 || is_minor_open) return true;
  if (version.minor > 0 || is_patch_open) return candidate.minor == version.minor;
  return candidate.minor == 0 && candidate.patch == version.patch;
}

}  // namespace nomad::templates
