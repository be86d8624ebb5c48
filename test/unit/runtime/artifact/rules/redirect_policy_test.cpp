#include "runtime/artifact/rules/redirect_policy.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;

TEST_CASE("redirects: what was for one origin is told no other, coming back included") {
  RedirectPolicy policy{*parse_url("http://me:pw@a/x")};
  CHECK(policy.carries_secrets());
  REQUIRE(policy.follow(302, "/y"));
  CHECK(policy.carries_secrets());
  CHECK(policy.here().text() == "http://me:pw@a/y");
  REQUIRE(policy.follow(301, "http://you:own@b/z"));
  CHECK(!policy.carries_secrets());
  CHECK(policy.here().text() == "http://b/z");
  REQUIRE(policy.follow(307, "http://a/back"));
  CHECK(!policy.carries_secrets());
  CHECK(policy.here().userinfo.empty());
}

TEST_CASE("redirects: another scheme or port is another origin") {
  for (const char* location : {"https://a/x", "http://a:81/x", "//b/x"}) {
    RedirectPolicy policy{*parse_url("http://a/x")};
    REQUIRE(policy.follow(302, location));
    CHECK_MESSAGE(!policy.carries_secrets(), location);
  }
}

TEST_CASE("redirects: what leads nowhere is said whole") {
  for (const auto& [location, wanted] :
       {std::pair{"", "302 response of http://a/x has no Location"},
        {"file:///etc/shadow", "http://a/x redirects to the scheme 'file', which is not followed"},
        {"http:///x", "http://a/x redirects to an address without a host"},
        {"http://a:x/",
         "http://a/x redirects badly: parse \"http://a:x/\": invalid port \":x\" after host"}}) {
    RedirectPolicy policy{*parse_url("http://a/x")};
    CHECK(policy.follow(302, location).error().what == wanted);
  }
}

TEST_CASE("redirects: loops end, and so does what leads nowhere") {
  RedirectPolicy policy{*parse_url("http://a/x")};
  for (int i = 0; i < RedirectPolicy::most; ++i)
    REQUIRE(policy.follow(302, "/x"));
  CHECK(policy.follow(302, "/x").error().what
        == "stopped after 10 redirects, the last at http://a/x");
  for (const char* location :
       {"", "file:///etc/shadow", "gopher://a/x", "http:///x", "http://a:x/"}) {
    RedirectPolicy other{*parse_url("http://a/x")};
    CHECK_MESSAGE(!other.follow(302, location), location);
  }
}
