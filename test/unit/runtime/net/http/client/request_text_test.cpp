#include "runtime/net/http/client/request_text.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::net;

namespace {

HttpRequest request_to(const char* address, std::string target = "/a/b?c=d") {
  HttpRequest request;
  request.to = Endpoint::parse(address).value();
  request.target = std::move(target);
  return request;
}

/// Where a redirect leads, as `Get "http://…"`; "" for none, or why it leads nowhere.
std::string led_to(const HttpRequest& request, unsigned status, const char* location) {
  const auto next
      = redirected(request, {.status = status, .headers = {{"location", location}}, .body = {}});
  if (!next) return next.error().what;
  return *next ? asked_text(**next) : "";
}

}  // namespace

TEST_CASE("request_text: a request is sent with what it says and what HTTP wants") {
  auto request = request_to("http://web:80");
  CHECK(render(request) == "GET /a/b?c=d HTTP/1.1\r\nHost: web\r\nUser-Agent: nomadctl\r\n\r\n");
  request = request_to("https://[::1]:8443");
  request.method = "POST";
  request.keeps_connection = false;
  request.headers = {{"user-agent", "test"}, {"X-Empty", ""}};
  request.body = "hello";
  CHECK(render(request)
        == "POST /a/b?c=d HTTP/1.1\r\nHost: [::1]:8443\r\nConnection: close\r\nuser-agent: "
           "test\r\nX-Empty:\r\nContent-Length: 5\r\n\r\nhello");
  request = request_to("unix:///run/x.sock");
  request.method = "PUT";
  CHECK(render(request)
        == "PUT /a/b?c=d HTTP/1.1\r\nHost: localhost\r\nUser-Agent: nomadctl\r\nContent-Length: "
           "0\r\n\r\n");
}

TEST_CASE("request_text: what is no HTTP is found before it is sent") {
  auto good = request_to("http://web");
  good.headers = {{"X", "tabs\tand \xc3\xbc"}};
  CHECK(flaw_of(good).empty());
  for (const auto* method : {"", "GET /", "GET\r\nX:y"}) {
    auto bad = good;
    bad.method = method;
    CHECK(flaw_of(bad).starts_with("net/http: invalid method"));
  }
  for (const auto* target : {"", "x", "/a b", "/a\r\nX: y", "http://x/"}) {
    auto bad = good;
    bad.target = target;
    CHECK(flaw_of(bad).starts_with("net/http: invalid path"));
  }
  auto bad = good;
  bad.to.host = "web\r\nX: y";
  CHECK(flaw_of(bad) == "net/http: invalid host \"web\\r\\nX: y\"");
  bad = good;
  bad.headers = {{"X Y", "z"}};
  CHECK(flaw_of(bad) == "net/http: invalid header field name \"X Y\"");
  bad.headers = {{"X", "z\r\nInjected: yes"}};
  CHECK(flaw_of(bad) == "net/http: invalid header field value for \"X\"");
}

TEST_CASE("request_text: redirects lead to where Go's client goes, and nowhere else") {
  const auto from = request_to("http://web:8080");
  CHECK(led_to(from, 302, "next?x=1") == "Get \"http://web:8080/a/next?x=1\"");
  CHECK(led_to(from, 301, "/last") == "Get \"http://web:8080/last\"");
  CHECK(led_to(from, 303, "//other/x y") == "Get \"http://other:80/x%20y\"");
  CHECK(led_to(from, 307, "https://other") == "Get \"https://other:443/\"");
  CHECK(led_to(from, 308, "http://[::1]:1/\xc3\xbc#part") == "Get \"http://[::1]:1/%C3%BC\"");
  for (const auto* bad : {"http://[/", "http://x:99999/", "/%zz", "http://a b/"})
    CHECK(led_to(from, 302, bad).starts_with("failed to parse Location header \""));
  CHECK(led_to(from, 302, "file:///etc/passwd") == "unsupported protocol scheme \"file\"");
  for (const unsigned status : {300U, 307U, 308U}) {
    auto without_body = from;
    without_body.repeats_body = false;
    CHECK(led_to(without_body, status, "file:///etc/passwd")
          == "unsupported protocol scheme \"file\"");
    CHECK(led_to(without_body, status, "/x").empty());
  }
  CHECK(led_to(from, 302, "ftp://x/") == "unsupported protocol scheme \"ftp\"");
  CHECK(led_to(from, 302, "http:///x") == "http: no Host in request URL");
  CHECK(led_to(from, 302, "").empty());
  for (const unsigned other : {200U, 300U, 304U, 400U})
    CHECK(led_to(from, other, "/x").empty());
  CHECK(led_to(request_to("unix:///run/x.sock"), 302, "/x").empty());
}

TEST_CASE("request_text: who asks is told to the first host alone, also on the way back") {
  auto request = request_to("http://web:80");
  request.method = "POST";
  request.body = "hello";
  request.headers = {{"authorization", "secret"}, {"Host", "web.example"}, {"X-Kept", "yes"}};
  const auto next = [](const HttpRequest& from, unsigned status, const char* location) {
    return redirected(from, {.status = status, .headers = {{"Location", location}}, .body = {}})
        .value()
        .value();
  };
  const auto same = next(request, 307, "/x");
  CHECK(same.method == "POST");
  CHECK(same.body == "hello");
  CHECK(same.headers.size() == 3);
  CHECK(next(request, 302, "/x?next=http://other/").headers.size() == 3);
  const auto got = next(request, 302, "http://web/x");
  CHECK(got.method == "GET");
  CHECK(got.body.empty());
  CHECK(got.headers.size() == 2);  // without the Host
  const auto away = next(got, 302, "http://web:81/x");
  const auto back = next(away, 302, "http://web:80/x");
  REQUIRE(back.headers.size() == 1);
  CHECK(back.headers[0].name == "X-Kept");
  request.method = "HEAD";
  CHECK(next(request, 303, "/x").method == "HEAD");
}
