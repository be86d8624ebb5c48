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

TEST_CASE("secret_text: it can be copied, moved and compared, and is revealed only by name") {
  SecretText one{"a secret that is longer than a short text"};
  const auto copied = one;
  CHECK(copied == one);
  const auto moved = std::move(one);
  CHECK(moved == copied);
  CHECK(moved.reveal() == "a secret that is longer than a short text");
  SecretText other{"short"};
  CHECK_FALSE(other == moved);
  other = moved;
  CHECK(other == moved);
  CHECK(SecretText{}.empty());
}
