#include "runtime/template/change/quiet_time.hpp"

#include <doctest/doctest.h>

#include "runtime/template/change/retry_delay.hpp"

using namespace nomad::templates;
using namespace std::chrono_literals;

TEST_CASE("quiet_time: renders once nothing has changed for its least time") {
  QuietTime wait{1s, 10s};
  CHECK_FALSE(wait.due());

  wait.change(100s);
  wait.change(100s + 500ms);

  CHECK(wait.due() == 101s + 500ms);
  CHECK_FALSE(wait.take(101s));
  CHECK(wait.take(101s + 500ms));
  CHECK_FALSE(wait.take(200s));
}

TEST_CASE("quiet_time: ten changes in a second are one rendering") {
  QuietTime wait{1s, 4min};
  int rendered = 0;
  for (auto now = 0ms; now < 5s; now += 50ms) {
    if (now < 1s && now % 100ms == 0ms) wait.change(now);
    rendered += wait.take(now) ? 1 : 0;
  }
  CHECK(rendered == 1);
}

TEST_CASE("quiet_time: what never rests is rendered after its longest time all the same") {
  QuietTime wait{1s, 3s};
  for (auto now = 0ms; now < 3s; now += 500ms) {
    CHECK_FALSE(wait.take(now));
    wait.change(now);
  }
  CHECK(wait.due() == 3s);
  CHECK(wait.take(3s));

  wait.change(4s);
  CHECK(wait.due() == 5s);
}

TEST_CASE("quiet_time: without a time each change is due at once") {
  QuietTime wait{0s, 0s};
  wait.change(7s);
  CHECK(wait.take(7s));
}

TEST_CASE("retry_delay: doubles up to its greatest, and ends after its attempts") {
  const RetryRule rule{.attempts = 12, .backoff = 250ms, .max_backoff = 1min};
  CHECK(retry_delay(rule, 0) == 250ms);
  CHECK(retry_delay(rule, 1) == 500ms);
  CHECK(retry_delay(rule, 7) == 32s);
  CHECK(retry_delay(rule, 8) == 1min);
  CHECK(retry_delay(rule, 11) == 1min);
  CHECK_FALSE(retry_delay(rule, 12));
}

TEST_CASE("retry_delay: without an end of attempts it goes on, and never overflows") {
  CHECK(retry_delay({.attempts = 0}, 4'000'000'000) == 1min);
  CHECK(retry_delay({.attempts = 0, .backoff = 1s, .max_backoff = 0s}, 4'000'000'000) <= 24h * 365);
}
