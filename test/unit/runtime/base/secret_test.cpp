#include "runtime/base/secret.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("secret: two are the same only whole") {
  CHECK(same_secret("", ""));
  CHECK(same_secret("secret", "secret"));
  CHECK_FALSE(same_secret("secret", "secret2"));
  CHECK_FALSE(same_secret("secret", "Secret"));
  CHECK_FALSE(same_secret("secret", "secres"));
  CHECK_FALSE(same_secret("", "s"));
}
