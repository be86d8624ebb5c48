// Regular expressions as Go's package regexp has them, on RE2.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace re2 {
class RE2;
}

namespace nomad {

class Regex {
public:
  /// Fails in Go's words: "error parsing regexp: missing closing ): `(`".
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  bool matches(std::string_view text) const;

  /// `with` may name groups by "$1" and "${name}", if `expands`. Fails with `too_large` beyond
  /// `limit` bytes.
  Result<std::string> replace_all(std::string_view text,
                                  std::string_view with,
                                  bool expands,
                                  std::size_t limit) const;

  /// The first `most` matches; all, if it is negative.
  std::vector<std::string_view> find_all(std::string_view text, std::int64_t most) const;

  /// At most `most` parts; all, if it is negative.
  std::vector<std::string_view> split(std::string_view text, std::int64_t most) const;

private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled);

  std::unique_ptr<re2::RE2> compiled_;
};

/// regexp.QuoteMeta.
std::string quote_meta(std::string_view text);

}  // namespace nomad
