#include "runtime/net/http/page_guard.hpp"

#include <doctest/doctest.h>

#include "runtime/net/socket.hpp"

using namespace nomad::net;

namespace {

Request request_with(const Headers& headers, const std::string& remote = "127.0.0.1:5000") {
  Request request;
  request.remote = remote;
  for (const auto& [name, value] : headers)
    request.add_header(name, value);
  return request;
}

bool takes(const Headers& headers, bool acts, const HostRules& rules = {.known_only = true}) {
  return !refuse_page(request_with(headers), rules, acts);
}

}  // namespace

TEST_CASE("page_guard: the host of an authority") {
  CHECK(host_of("a.example:4646") == "a.example");
  CHECK(host_of("a.example") == "a.example");
  CHECK(host_of("127.0.0.1:4646") == "127.0.0.1");
  CHECK(host_of("[::1]:4646") == "::1");
  CHECK(host_of("[::1]") == "::1");
  CHECK(host_of("[") == "");
  CHECK(host_of("") == "");
}

TEST_CASE("page_guard: programs name an agent by its address or a known name") {
  for (const bool acts : {false, true}) {
    for (const auto* host :
         {"127.0.0.1:4646", "localhost:4646", "LOCALHOST", "[::1]:4646", "10.1.2.3"})
      CHECK(takes({{"Host", host}}, acts));
    for (const auto* host : {"evil.example", "evil.example:4646", "127.0.0.1.evil.example:4646",
                             "localhost.evil.example", "[::1].evil.example", "[::1]x:80", "x",
                             "[::1", "::1]", "[localhost", "localhost:80@evil.example",
                             "127.0.0.1:evil.example", "localhost:80:80", "::1", "localhost.", ""})
      CHECK_FALSE(takes({{"Host", host}}, acts));
    CHECK(takes({}, acts));  // HTTP/1.0, which no browser sends
    CHECK(takes({{"Host", "Nomad.Example:80"}}, acts,
                {.known_only = true, .names = {"nomad.example"}}));
    CHECK(takes({{"Host", "any.example"}}, acts, {}));
    CHECK_FALSE(refuse_page(request_with({{"Host", "any"}}, "@"), {.known_only = true}, acts));
  }
}

TEST_CASE("page_guard: a page of another origin may not act") {
  const Header host{"Host", "127.0.0.1:4646"};
  CHECK(takes({host, {"Origin", "http://127.0.0.1:4646"}}, true));
  CHECK(
      takes({host, {"Origin", "https://127.0.0.1:4646"}, {"Sec-Fetch-Site", "same-origin"}}, true));
  for (const auto* origin :
       {"http://evil.example", "http://127.0.0.1:3000", "null", "x", "file://"}) {
    CHECK_FALSE(takes({host, {"Origin", origin}}, true));
    CHECK(takes({host, {"Origin", origin}}, false));  // it cannot read the answer
  }
  for (const auto* site : {"cross-site", "same-site"})
    CHECK_FALSE(takes({host, {"Sec-Fetch-Site", site}}, true));
  for (const auto* site : {"none", "same-origin"})
    CHECK(takes({host, {"Sec-Fetch-Site", site}}, true));
  for (const auto* site : {"cross-site", "same-site", "cross-site, none", "x"})
    CHECK_FALSE(takes({host, {"Origin", "http://127.0.0.1:4646"}, {"Sec-Fetch-Site", site}}, true));
}

TEST_CASE("page_guard: what a browser says once is not said twice") {
  const Header host{"Host", "127.0.0.1:4646"};
  const Header own{"Origin", "http://127.0.0.1:4646"};
  CHECK_FALSE(takes({host, own, {"Origin", "http://evil.example"}}, true));
  CHECK_FALSE(takes({host, {"Sec-Fetch-Site", "none"}, {"Sec-Fetch-Site", "cross-site"}}, true));
}

TEST_CASE("page_guard: a browser that says nothing of the page may not act by reading") {
  const Header host{"Host", "10.0.0.1:4646"};
  const Header browser{"User-Agent", "Mozilla/5.0 (X11; Linux x86_64) Firefox/128.0"};
  for (const auto* method : {"GET", "HEAD", "PUT"}) {
    const auto refused = [&](const Headers& headers, bool acts) {
      auto request = request_with(headers);
      request.method = method;
      return refuse_page(request, {}, acts).has_value();
    };
    CHECK(refused({host, browser}, true) == (method != std::string_view{"PUT"}));
    CHECK_FALSE(refused({host, browser}, false));
    CHECK_FALSE(refused({host, browser, {"Sec-Fetch-Site", "none"}}, true));
    CHECK_FALSE(refused({host, {"User-Agent", "curl/8.0"}}, true));
    CHECK_FALSE(refused({host}, true));
  }
}

TEST_CASE("page_guard: what is advertised names the agent, and lets no page act") {
  const HostRules rules{.known_only = true, .names = {}, .advertised = {"nomad.example"}};
  CHECK(takes({{"Host", "nomad.example:4646"}}, true, rules));
  CHECK(takes({{"Host", "nomad.example:4646"}, {"Origin", "http://nomad.example:4646"}}, true,
              rules));
  CHECK_FALSE(
      takes({{"Host", "nomad.example:4646"}, {"Origin", "http://nomad.example:1"}}, true, rules));
}

TEST_CASE("page_guard: behind a proxy the page's host can be named") {
  const HostRules rules{.known_only = true, .names = {"nomad.example"}};
  CHECK(takes({{"Host", "127.0.0.1:4646"},
               {"Origin", "https://nomad.example"},
               {"Sec-Fetch-Site", "same-origin"}},
              true, rules));
  CHECK_FALSE(takes({{"Host", "127.0.0.1:4646"}, {"Origin", "https://evil.example"}}, true, rules));
}
