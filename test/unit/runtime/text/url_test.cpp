#include "runtime/text/url.hpp"

#include <doctest/doctest.h>

using namespace nomad;

TEST_CASE("url: it comes apart and together") {
  const auto url = parse_url("HTTPS://me:pa%20ss@Host.Example:8443/a%20b/c.zip?x=1&y=2#5").value();
  CHECK(url.scheme == "https");
  CHECK(url.user() == "me");
  CHECK(url.password() == "pa ss");
  CHECK(url.host == "host.example:8443");
  CHECK(url.host_name() == "host.example");
  CHECK(url.port() == "8443");
  CHECK(url.path == "/a%20b/c.zip");
  CHECK(url.query == "x=1&y=2");
  CHECK(url.fragment == "5");
  CHECK(url.base_name() == "c.zip");
  CHECK(url.text() == "https://me:pa%20ss@host.example:8443/a%20b/c.zip?x=1&y=2#5");
  CHECK(parse_url("https://h")->base_name() == ".");
  CHECK(parse_url("https://h/")->base_name() == "/");
  CHECK(parse_url("https://h/a/b/")->base_name() == "b");
  CHECK(parse_url("http://[::1]:80/x")->host_name() == "::1");
  CHECK(parse_url("http://[::1]/x")->port() == "80");
  CHECK(parse_url("ssh://git@h/x")->port() == "22");
}

TEST_CASE("url: what is none is said without its secrets") {
  for (const char* bad : {"http://h/a\nb", "http://h/%zz", "http://a b/c", "http://h:99999/",
                          "http://h:x/", "http://[::1/", ":x", "a@b:c/d"})
    CHECK_MESSAGE(!parse_url(bad), bad);
  CHECK(parse_url("http://a<b/c").error().what
        == "parse \"http://a<b/c\": invalid character in host name");
  CHECK(resolve_url(parse_url("http://a/b").value(), "c%zz").error().what
        == "parse \"c%zz\": invalid character in path");
  const auto wrong = parse_url("http://me:hidden@h:x/?token=hidden");
  REQUIRE(!wrong);
  CHECK(wrong.error().what.find("hidden") == std::string::npos);
}

TEST_CASE("url: secrets are not shown") {
  const auto url = parse_url(
      "https://me:hidden@h/p?aws_access_key_secret=hidden&x=1&sshkey=hidden"
      "&X-Amz-Signature=hidden&sig=hidden&%74oken=hidden");
  CHECK(url->shown()
        == "https://me:xxxxx@h/p?aws_access_key_secret=xxxxx&x=1&sshkey=xxxxx&X-Amz-Signature=xxxxx"
           "&sig=xxxxx&%74oken=xxxxx");
  CHECK(redact_url("git::https://me:hidden@h/x.git?sshkey=hidden&ref=v1")
        == "git::https://me:xxxxx@h/x.git?sshkey=xxxxx&ref=v1");
  CHECK(redact_url("git@github.com:a/b.git") == "git@github.com:a/b.git");
}

TEST_CASE("url: references are resolved as RFC 3986 says") {
  const auto base = parse_url("http://a/b/c/d?q").value();
  for (const auto& [reference, wanted] : {std::pair{"g", "http://a/b/c/g"},
                                          {"./g", "http://a/b/c/g"},
                                          {"g/", "http://a/b/c/g/"},
                                          {"/g", "http://a/g"},
                                          {"//g", "http://g"},
                                          {"?y", "http://a/b/c/d?y"},
                                          {"g?y", "http://a/b/c/g?y"},
                                          {"", "http://a/b/c/d?q"},
                                          {".", "http://a/b/c/"},
                                          {"..", "http://a/b/"},
                                          {"../g", "http://a/b/g"},
                                          {"../../../g", "http://a/g"},
                                          {"https://x:1/y", "https://x:1/y"},
                                          {"/a:b", "http://a/a:b"}}) {
    const auto& shown = reference;
    CHECK_MESSAGE(resolve_url(base, reference)->text() == wanted, shown);
  }
}

TEST_CASE("url: an origin is scheme, host and port") {
  const auto same
      = [](const char* a, const char* b) { return same_origin(*parse_url(a), *parse_url(b)); };
  CHECK(same("http://a/x", "http://A:80/y"));
  CHECK(!same("http://a/x", "https://a/x"));
  CHECK(!same("http://a/x", "http://a:81/x"));
  CHECK(!same("http://a/x", "http://b.a/x"));
}

TEST_CASE("query: parameters are read, changed and encoded") {
  auto query = UrlQuery::parse("b=2&a=1+1&a=3&c=%26&d");
  CHECK(query.get("a") == "1 1");
  CHECK(query.get("d").empty());
  CHECK(query.has("d"));
  CHECK(query.take("c") == "&");
  CHECK(!query.has("c"));
  query.set("a", "x y&");
  CHECK(query.encode() == "a=x+y%26&b=2&d=");
}
