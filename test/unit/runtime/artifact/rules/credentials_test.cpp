#include "runtime/artifact/rules/credentials.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;

namespace {

constexpr std::string_view netrc = R"(# machine example.org login commented password out
machine example.org login ann password p#1
machine example.org:8080
  login bob
  account none
  password two  # Bob's
macdef init
machine inner.example login not password one

machine EXAMPLE.com password three login cat
machine example.org login second password second
)";

constexpr std::string_view profiles = R"([default]
aws_access_key_id = AKID
aws_secret_access_key = SECRET

[ other ]
AWS_ACCESS_KEY_ID=OTHER
aws_secret_access_key=s/e=c
aws_session_token = TOKEN
[half]
aws_access_key_id = HALF
)";

}  // namespace

TEST_CASE("credentials: a login is its host's, with the port that the address has") {
  CHECK(find_login(netrc, "example.org").value() == Login{"ann", "p#1"});
  CHECK(find_login(netrc, "example.org:8080").value() == Login{"bob", "two"});
  CHECK(find_login(netrc, "example.com").value() == Login{"cat", "three"});
  CHECK_FALSE(find_login(netrc, "inner.example").value());
  CHECK_FALSE(find_login(netrc, "example.org:80").value());
  CHECK_FALSE(find_login("", "example.org").value());
}

TEST_CASE("credentials: a default is for all other hosts") {
  const std::string with_default = std::string{netrc} + "default login any password one";
  CHECK(find_login(with_default, "nowhere").value() == Login{"any", "one"});
  CHECK(find_login(with_default, "example.org").value() == Login{"ann", "p#1"});
}

TEST_CASE("credentials: what is no netrc file is refused, and not shown") {
  for (const std::string_view text : {"login early", "machine a secret", "{\"a\": 1}"}) {
    CAPTURE(text);
    const auto found = find_login(text, "a");
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == Errc::invalid_argument);
    CHECK(found.error().what.find("secret") == std::string::npos);
  }
}

TEST_CASE("credentials: a profile's keys are those below its name") {
  const auto keys = find_profile(profiles, "default");
  REQUIRE(keys.has_value());
  CHECK(keys->id == "AKID");
  CHECK(keys->secret == "SECRET");
  CHECK(keys->token.empty());
  const auto other = find_profile(profiles, "other");
  REQUIRE(other.has_value());
  CHECK(other->id == "OTHER");
  CHECK(other->secret == "s/e=c");
  CHECK(other->token == "TOKEN");
  for (const std::string_view name : {"half", "none", ""})
    CHECK(find_profile(profiles, name).error().code == Errc::not_found);
}
