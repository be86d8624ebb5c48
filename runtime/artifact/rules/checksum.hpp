// Checksums of artifacts: what `checksum` says, and which line of a file of checksums is meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/text/url.hpp"

namespace nomad::artifact {

struct Checksum {
  enum class Kind { md5, sha1, sha256, sha512 };

  Kind kind = Kind::sha256;
  std::string digits;  ///< Hexadecimal, in lower case.

  friend bool operator==(const Checksum&, const Checksum&) = default;
};

std::string_view to_string(Checksum::Kind kind);

struct ChecksumSpec {
  std::optional<Checksum> value;
  std::string file;  ///< A source of a file of checksums; empty: `value` is given.
};

/// "sha256:…", digits alone, whose number tells the kind, or "file:…". `invalid_argument`
/// otherwise.
Result<ChecksumSpec> parse_checksum(std::string_view text);

/// The checksum of `artifact` in the text of a file that `from` names, as `sha256sum` and the BSDs
/// write it. `not_found` if it has none.
Result<Checksum> find_checksum(std::string_view text, const Url& artifact, const Url& from);

}  // namespace nomad::artifact
