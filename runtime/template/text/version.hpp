// Versions and what is asked of them, as sprig's package semver (Masterminds/semver 3.2) has them:
// it takes "v1.2" for 1.2.0, and says its own words of what it refuses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::templates {

struct Version {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::string prerelease{};
  std::string metadata{};

  /// "1.2", "v1.2.3-rc.1+build": minor and patch may be left out.
  static Result<Version> parse(std::string_view text);

  /// All three numbers, without the "v".
  std::string text() const;

  /// -1, 0 or 1. Metadata does not count; a prerelease comes before its release.
  int compare(const Version& other) const;
};

/// What may be given to a version: parts of letters, digits and hyphens, with dots between them;
/// numbers of a prerelease do not begin with a zero. Empty parts are let through.
Result<void> check_prerelease(std::string_view text);
Result<void> check_metadata(std::string_view text);

/// "^1.2 || >=2.0, <3", "1.2 - 1.4", "~1.x".
class VersionConstraint {
public:
  static Result<VersionConstraint> parse(std::string_view text);

  bool allows(const Version& version) const;

private:
  enum class Operator : std::uint8_t {
    equal,
    differs,
    more,
    less,
    at_least,
    at_most,
    tilde,
    caret
  };

  struct One {
    Operator relation;
    Version version;
    /// Whether numbers were left open, and which is the first of them.
    bool is_open = false;
    bool is_minor_open = false;
    bool is_patch_open = false;

    bool allows(const Version& candidate) const;
    bool is_like(const Version& candidate) const;        ///< "~"
    bool is_compatible(const Version& candidate) const;  ///< "^"
    bool is_other_than(const Version& candidate) const;
  };

  static Result<One> parse_one(std::string_view text);
  static Operator operator_of(std::string_view text, bool is_open);

  /// One group has to hold, and all of it.
  std::vector<std::vector<One>> groups_;
};

}  // namespace nomad::templates
