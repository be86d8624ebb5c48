// Versions and version constraints, for the operands `version` and `semver` of constraints.
//
// May depend on: runtime/base. Pure.
//
// `version` follows go-version: lenient input ("v1.2", "1.2beta"), any number of segments, `~>`,
// and a prerelease is matched only by a constraint that itself names one of the same segments.
// `semver` takes the same lenient left side, but orders prereleases as SemVer does without that
// rule, has no `~>`, and wants well-formed versions on the right.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::scheduler {

struct Version {
  std::vector<std::int64_t> segments;  ///< At least three; missing ones are zero.
  std::size_t given_segments = 0;      ///< How many the text had.
  std::string prerelease;              ///< Without the dash; empty if none.
  std::string metadata;                ///< Ignored in comparisons.
};

/// Reads a version as go-version's NewVersion does; nothing when it is malformed.
std::optional<Version> parse_version(std::string_view text);

/// The stricter NewSemver: a prerelease needs its dash.
std::optional<Version> parse_semver(std::string_view text);

/// Negative, zero or positive as `a` is before, equal to or after `b`.
int compare(const Version& a, const Version& b);

/// Comma-separated comparisons that all must hold: ">= 1.2, < 2.0".
class VersionConstraints {
public:
  enum class Kind : std::uint8_t { version, semver };

  /// Error: "Malformed constraint: <part>", as job validation reports it.
  static Result<VersionConstraints> parse(std::string_view text, Kind kind);

  bool check(const Version& version) const;

private:
  enum class Operator : std::uint8_t {
    equal,
    not_equal,
    greater,
    less,
    greater_or_equal,
    less_or_equal,
    pessimistic,
  };

  struct Part {
    Operator op;
    Version bound;
  };

  static std::optional<Operator> take_operator(std::string_view& text, Kind kind);
  static bool holds(const Part& part, const Version& version, Kind kind);

  Kind kind_ = Kind::version;
  std::vector<Part> parts_;
};

}  // namespace nomad::scheduler
