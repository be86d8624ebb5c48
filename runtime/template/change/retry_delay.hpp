// How long to wait before what a template asks for is asked for again, after an error.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace nomad::templates {

/// `nomad_retry` and its like in the client's configuration.
struct RetryRule {
  std::uint32_t attempts = 12;  ///< 0: without end.
  std::chrono::nanoseconds backoff = std::chrono::milliseconds{250};
  std::chrono::nanoseconds max_backoff = std::chrono::minutes{1};  ///< 0: none.
};

/// Before the next try, after so many that failed since the last that did not; each wait is twice
/// the one before. Nothing when there is to be no other try.
constexpr std::optional<std::chrono::nanoseconds> retry_delay(const RetryRule& rule,
                                                              std::uint32_t failed) {
  if (rule.attempts != 0 && failed >= rule.attempts) return std::nullopt;
  constexpr std::chrono::nanoseconds longest = std::chrono::hours{24 * 365};
  const auto most = rule.max_backoff.count() > 0 ? rule.max_backoff : longest;
  auto delay = rule.backoff;
  for (std::uint32_t i = 0; i < failed && delay < most && delay.count() > 0; ++i)
    delay += delay;
  return delay < most ? delay : most;
}

}  // namespace nomad::templates
