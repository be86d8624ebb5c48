// Regular expressions as Go's package regexp has them, on RE2. Each is linear in its text, but with
// a factor that the pattern says, and nothing stops it inside; looking for all matches is quadratic
// where a pattern has to read to the end for each. So a pass is paid for before it is done (Work),
// and the matches after the first by the time that they took.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"

namespace re2 {
class RE2;
}

namespace nomad {

class Regex {
public:
  /// Bytes of a pattern; of what one is compiled to, which its matching may use as well.
  static constexpr std::size_t max_pattern = 64 * 1024;
  static constexpr std::int64_t usual_memory = std::int64_t{8} << 20U;

  /// Fails in Go's words: "error parsing regexp: missing closing ): `(`", and with `too_large`.
  static Result<Regex> compile(std::string_view pattern,
                               Work& work,
                               std::int64_t memory = usual_memory);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  Result<bool> matches(std::string_view text, Work& work) const;

  /// `with` may name groups by "$1" and "${name}", if `expands`. Fails with `too_large` beyond
  /// `limit` bytes.
  Result<std::string> replace_all(std::string_view text,
                                  std::string_view with,
                                  bool expands,
                                  std::size_t limit,
                                  Work& work) const;

  /// The first `most` matches; all, if it is negative.
  Result<std::vector<std::string_view>> find_all(std::string_view text,
                                                 std::int64_t most,
                                                 Work& work) const;

  /// At most `most` parts; all, if it is negative.
  Result<std::vector<std::string_view>> split(std::string_view text,
                                              std::int64_t most,
                                              Work& work) const;

private:
  explicit Regex(std::unique_ptr<re2::RE2> compiled);

  Result<void> pay(std::string_view text, Work& work) const;
  template <class Found>
  Result<void> each_match(std::string_view text, int groups, Work& work, Found found) const;

  std::unique_ptr<re2::RE2> compiled_;
};

/// regexp.QuoteMeta.
std::string quote_meta(std::string_view text);

}  // namespace nomad
