#include "runtime/keyring/unwrap_attempts.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::keyring;
using namespace std::chrono_literals;

namespace {

const UnwrapAttempts::Name of_first{"k1", "keyring first"};
const UnwrapAttempts::Name of_second{"k1", "keyring second"};
const Error refused{Errc::unavailable, "connection refused"};

}  // namespace

TEST_CASE("unwrap_attempts: one is asked once at a time, and left alone after a failure") {
  UnwrapAttempts attempts;
  CHECK(attempts.begin(of_first, false, 1s));
  CHECK(attempts.is_under_way(of_first));
  CHECK_FALSE(attempts.begin(of_first, false, 1s));
  CHECK(attempts.begin(of_second, false, 1s));

  attempts.failed(of_first, refused, 2s);
  CHECK_FALSE(attempts.is_under_way(of_first));
  CHECK(attempts.is_any_under_way());
  CHECK(attempts.last_failure(of_first) == refused);
  CHECK_FALSE(attempts.begin(of_first, false, 7s - 1ns));
  CHECK(attempts.begin(of_first, false, 7s));
  CHECK(attempts.last_failure(of_first) == refused);  // until there is another answer
}

TEST_CASE("unwrap_attempts: what answers itself is asked each time, as is all without a clock") {
  UnwrapAttempts attempts;
  CHECK(attempts.begin(of_first, true, 1s));
  attempts.failed(of_first, refused, 1s);
  CHECK(attempts.begin(of_first, true, 1s));
  CHECK(attempts.begin(of_second, false, std::nullopt));
  attempts.failed(of_second, refused, 0s);
  CHECK(attempts.begin(of_second, false, std::nullopt));
}

TEST_CASE("unwrap_attempts: of an open key nothing is known, and late answers change nothing") {
  UnwrapAttempts attempts;
  CHECK(attempts.begin(of_first, false, 1s));
  CHECK(attempts.begin(of_second, false, 1s));
  CHECK(attempts.begin({"k2", "keyring first"}, false, 1s));
  attempts.opened("k1");
  attempts.failed(of_second, refused, 2s);
  CHECK_FALSE(attempts.is_under_way(of_first));
  CHECK_FALSE(attempts.last_failure(of_second));
  CHECK(attempts.is_any_under_way());
  attempts.tried({"k2", "keyring first"});
  CHECK_FALSE(attempts.is_any_under_way());
}

TEST_CASE("unwrap_attempts: a wrapping key is proven by its name") {
  UnwrapAttempts attempts;
  CHECK_FALSE(attempts.is_proven("keyring first"));
  attempts.prove("keyring first");
  CHECK(attempts.is_proven("keyring first"));
  CHECK_FALSE(attempts.is_proven("keyring second"));
}
