#include "runtime/net/http/http_client.hpp"

#include <filesystem>

#include <unistd.h>

#include <doctest/doctest.h>

#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

TEST_CASE("http_client: addresses are taken apart") {
  const auto plain = Endpoint::parse("http://127.0.0.1:4646/");
  CHECK(plain->host == "127.0.0.1");
  CHECK(plain->port == "4646");
  CHECK(plain->base_path == "");
  const auto v6 = Endpoint::parse("https://[::1]/base/");
  CHECK(v6->host == "::1");
  CHECK(v6->port == "443");
  CHECK(v6->base_path == "/base");
  CHECK(Endpoint::parse("unix:///run/x.sock")->host == "/run/x.sock");
  for (const auto* bad : {"", "127.0.0.1:4646", "ftp://x", "http://", "http://[::1", "unix://"}) {
    CAPTURE(bad);
    CHECK(Endpoint::parse(bad).has_error());
  }
  CHECK(Endpoint::parse("http://[::1]x").error().what
        == "invalid address \"http://[::1]x\": unexpected text behind the host");
  CHECK(HttpClient::make({.address = "https://127.0.0.1:4646"}).error().what
        == "address \"https://127.0.0.1:4646\": TLS is not supported by this client");
}

TEST_CASE("http_client: a refused connection reads as Go says it") {
  std::string address;
  {
    const TestServer server;
    address = server.address();
  }
  auto client = HttpClient::make({.address = "http://" + address});

  const auto response = client->send({.target = "/v1/jobs"});

  REQUIRE(response.has_error());
  CHECK(response.error().code == Errc::unavailable);
  CHECK(response.error().what
        == "Get \"http://" + address + "/v1/jobs\": dial tcp " + address
               + ": connect: connection refused");
}

TEST_CASE("http_client: of several addresses the first one that can be reached is spoken to") {
  std::string gone;
  {
    const TestServer server;
    gone = server.address();
  }
  TestServer server;
  auto client = HttpClient::make({.address = "http://" + gone + ", http://" + server.address()});
  REQUIRE(client.has_value());
  CHECK(client->send({.target = "/hello"})->body == "hello");
  CHECK(client->address() == "http://" + server.address());
  CHECK(client->send({.method = "PUT", .target = "/echo", .body = "again"})->body == "again");
  CHECK(client->open({.target = "/hello"})->status() == 200);
}

TEST_CASE("http_client: that none of several addresses can be reached names them all") {
  std::string first;
  std::string second;
  {
    const TestServer one;
    const TestServer other;
    first = one.address();
    second = other.address();
  }
  auto client = HttpClient::make({.address = "http://" + first + ",http://" + second});
  const auto refused = client->send({.target = "/v1/jobs"});
  REQUIRE(refused.has_error());
  CHECK(refused.error().code == Errc::unavailable);
  CHECK(refused.error().what
        == "Get \"http://" + first + "/v1/jobs\": none of the addresses can be reached: http://"
               + first + ": dial tcp " + first + ": connect: connection refused; http://" + second
               + ": dial tcp " + second + ": connect: connection refused");
}

TEST_CASE("http_client: a list of addresses is taken apart, but for commas in a socket's path") {
  CHECK(split_addresses("http://a:1, https://b ,")
        == std::vector<std::string>{"http://a:1", "https://b"});
  CHECK(split_addresses("unix:///run/a,b.sock,http://c")
        == std::vector<std::string>{"unix:///run/a,b.sock", "http://c"});
  CHECK(split_addresses("") == std::vector<std::string>{""});
  CHECK(HttpClient::make({.address = "http://a:1,b:2"}).has_error());
}

TEST_CASE("http_client: requests carry their headers and bodies, large ones too") {
  TestServer server;
  auto client = server.client();
  const std::string body(3 << 20, 'b');

  const auto response = client.send({.method = "PUT", .target = "/echo", .body = body});

  REQUIRE(response.has_value());
  CHECK(response->body == body);
  CHECK(client.send({.method = "PUT", .target = "/echo"})->body == "");
}

TEST_CASE("http_client: no header can begin another one, and no path a second request") {
  TestServer server;
  const auto address = "http://" + server.address();
  auto client = HttpClient::make(
      {.address = address, .headers = {{"X-Nomad-Token", "x\r\nX-Nomad-Token: y"}}});
  const auto flaw
      = "Get \"" + address + "/hello\": net/http: invalid header field value for \"X-Nomad-Token\"";
  CHECK(client->send({.target = "/hello"}).error().what == flaw);
  CHECK(client->open({.target = "/hello"}).error().what == flaw);
  CHECK(client->upgrade({.target = "/hello"}).error().what == flaw);

  auto other = server.client();
  CHECK(other.send({.target = "/hello", .headers = {{"A", "b\n"}}}).has_error());
  CHECK(other.send({.target = "/hello HTTP/1.1\r\n\r\nGET /hello"}).has_error());
  CHECK(other.send({.method = "GET /echo HTTP/1.1\r\n\r\nGET", .target = "/hello"}).has_error());
  CHECK(other.send({.target = "/hello", .headers = {{"A", "b \xc3\xa4"}}})->body == "hello");
}

TEST_CASE("http_client: a kept connection that the server closed is replaced") {
  TestServer server{{.idle_timeout = 20ms, .tick = 5ms}};
  auto client = server.client();
  CHECK(client.send({.target = "/hello"})->body == "hello");
  REQUIRE(server.has_connections(0));

  CHECK(client.send({.method = "PUT", .target = "/echo", .body = "again"})->body == "again");
}

TEST_CASE("http_client: gives up when the answer takes too long") {
  TestServer server;
  auto client = HttpClient::make({.address = "http://" + server.address(), .answer_timeout = 50ms});

  const auto response = client->send({.target = "/hold"});

  REQUIRE(response.has_error());
  CHECK(response.error().code == Errc::timeout);
}

TEST_CASE("http_client: speaks over a Unix socket, which is taken over when stale") {
  const auto path = "/tmp/nomadctl-http-test-" + std::to_string(::getpid()) + ".sock";
  for (int round = 0; round < 2; ++round) {
    const TestServer server{{.listen = {"unix:" + path}}};
    auto client = HttpClient::make({.address = "unix://" + path});
    CHECK(client->send({.target = "/hello"})->body == "hello");
    const auto second = HttpServer::start({.listen = {"unix:" + path}}, HttpRouter{});
    REQUIRE(second.has_error());
    CHECK(second.error().what == "listen unix " + path + ": bind: address already in use");
  }
  CHECK_FALSE(std::filesystem::exists(path));
}
