// Requests against servers that answer, hang, hang up, talk nonsense and send too much.
#include "runtime/net/http/client/async_http_client.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>

#include <netinet/in.h>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/net/tls/certificate.hpp"
#include "test/support/eventually.hpp"
#include "test/support/scripted_server.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace nomad::test;
using namespace std::chrono_literals;

using Cause = HttpClientError::Kind;

namespace {

HttpRequest to(const ScriptedServer& server, std::string target = "/x") {
  HttpRequest request;
  request.to = Endpoint::parse(server.url("")).value();
  request.target = std::move(target);
  return request;
}

/// Hangs until the peer goes.
void hang(Visitor& visitor) {
  while (!visitor.read().empty())
    continue;
}

/// Answers each request of a connection with the same.
ScriptedServer::Treat keeps_answering(std::string bytes) {
  return [bytes = std::move(bytes)](Visitor& visitor) {
    while (!visitor.read_request().empty())
      visitor.write(bytes);
  };
}

/// An answer as it is told.
struct Told {
  std::promise<HttpOutcome> promise;
  std::future<HttpOutcome> future = promise.get_future();

  std::function<void(HttpOutcome)> ended() {
    return [this](HttpOutcome outcome) { promise.set_value(std::move(outcome)); };
  }

  HttpOutcome wait() {
    REQUIRE(future.wait_for(30s) == std::future_status::ready);
    return future.get();
  }
};

HttpOutcome ask(AsyncHttpClient& client,
                HttpRequest request,
                HttpLimits limits = {.whole = 30s},
                HttpHandlers handlers = {}) {
  Told told;
  handlers.ended = told.ended();
  client.send(std::move(request), limits, std::move(handlers));
  return told.wait();
}

HttpOutcome ask(HttpRequest request, HttpLimits limits = {.whole = 30s}) {
  AsyncHttpClient client;
  return ask(client, std::move(request), limits);
}

Cause failure_of(const HttpOutcome& outcome) {
  REQUIRE(outcome.failure.has_value());
  return outcome.failure->kind;
}

std::string body_of(const HttpOutcome& outcome) {
  REQUIRE_MESSAGE(!outcome.failure, outcome.failure->what);
  return outcome.answer.body;
}

/// An authority and contexts of its certificates.
struct Authority {
  TempDir folder;
  CertifiedKey authority = make_authority({}).value();

  std::shared_ptr<TlsContext> make(const std::string& name) const {
    const auto path = [this](const std::string& file) { return folder.path() + '/' + file; };
    const auto made = make_certificate(
                          authority, {.common_name = name, .dns_names = {name}, .ip_addresses = {}})
                          .value();
    std::ofstream{path("cert")} << made.certificate;
    std::ofstream{path("key")} << made.key;
    std::ofstream{path("ca")} << authority.certificate;
    return TlsContext::make({.ca_file = path("ca"),
                             .cert_file = path("cert"),
                             .key_file = path("key"),
                             .verify_incoming = false})
        .value();
  }
};

}  // namespace

// -- answers --------------------------------------------------------------------------------------

TEST_CASE("async_http_client: a question and its answer") {
  std::string seen;
  const ScriptedServer server{[&](Visitor& visitor) {
    seen = visitor.read_request();
    visitor.write("HTTP/1.1 201 Created\r\nX-One: 1\r\nContent-Length: 2\r\n\r\n{}");
  }};
  auto request = to(server, "/a?b=c");
  request.method = "POST";
  request.body = "[1]";
  const auto outcome = ask(request);
  CHECK(body_of(outcome) == "{}");
  CHECK(outcome.answer.status == 201);
  CHECK(outcome.answer.header("x-one") == "1");
  CHECK(seen.starts_with("POST /a?b=c HTTP/1.1\r\n"));
  CHECK(seen.ends_with("\r\n\r\n[1]"));
}

TEST_CASE("async_http_client: an answer in pieces of every size, after interim ones") {
  std::string bytes
      = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\n"
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  std::string body;
  for (std::size_t i = 0; i < 30; ++i) {
    const auto piece = fmt::format("piece {}{}", i, std::string(i, '.'));
    bytes += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
    body += piece;
  }
  bytes += "0\r\n\r\n";
  for (const std::size_t size : {1, 2, 7, 50}) {
    const ScriptedServer server{[&](Visitor& visitor) {
      visitor.read_request();
      for (std::size_t at = 0; at < bytes.size(); at += size)
        visitor.write(bytes.substr(at, size));
    }};
    CHECK(body_of(ask(to(server))) == body);
  }
}

TEST_CASE("async_http_client: an answer of a script, with bare line ends") {
  const ScriptedServer script{answers_with("HTTP/1.1 200 OK\n\nok")};
  CHECK(body_of(ask(to(script))) == "ok");
  const ScriptedServer terse{
      answers_with("HTTP/1.1 103\n\nHTTP/1.1 200\nContent-Length: 3\n\n\nok")};
  CHECK(body_of(ask(to(terse))) == "\nok");
}

TEST_CASE("async_http_client: a body that ends with the connection, and none of HEAD's") {
  const ScriptedServer server{answers_with("HTTP/1.1 200 OK\r\n\r\nall of it")};
  CHECK(body_of(ask(to(server))) == "all of it");
  const ScriptedServer of_head{keeps_answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")};
  auto request = to(of_head);
  request.method = "HEAD";
  CHECK(body_of(ask(request)).empty());
}

TEST_CASE("async_http_client: by a Unix socket, and where there is none") {
  const TempDir folder;
  const auto path = folder.path() + "/http.sock";
  const ScriptedServer server{path, answers_with(http_answer(200, "hello"))};
  HttpRequest request;
  request.to = Endpoint::parse("unix://" + path).value();
  CHECK(body_of(ask(request)) == "hello");
  request.to.host = folder.path() + "/none.sock";
  const auto none = ask(request);
  CHECK(failure_of(none) == Cause::connect);
  CHECK(none.failure->what
        == "dial unix " + request.to.host + ": connect: no such file or directory");
  request.to.host = std::string(200, 'x');
  CHECK(failure_of(ask(request)) == Cause::invalid);
}

TEST_CASE("async_http_client: what is no HTTP is not sent") {
  const ScriptedServer server{answers_with(http_answer(200, ""))};
  auto request = to(server);
  request.headers = {{"X", "1\r\nInjected: yes"}};
  CHECK(failure_of(ask(request)) == Cause::invalid);
  CHECK(server.visits() == 0);
}

TEST_CASE("async_http_client: redirects are followed as far as the request says") {
  const ScriptedServer other{answers_with(http_answer(200, "there"))};
  const ScriptedServer server{
      answers_with(http_answer(302, "here", "Location: " + other.url("/y") + "\r\n"))};
  CHECK(body_of(ask(to(server))) == "here");
  auto request = to(server);
  request.most_redirects = 2;
  CHECK(body_of(ask(request)) == "there");
  const ScriptedServer round{answers_with(http_answer(302, "", "Location: /x\r\n"))};
  request = to(round);
  request.most_redirects = 3;
  const auto outcome = ask(request);
  CHECK(failure_of(outcome) == Cause::redirects);
  CHECK(outcome.failure->error().what
        == fmt::format("Get \"{}\": stopped after 3 redirects", round.url("/x")));
  CHECK(round.visits() == 3);
}

// -- what peers do --------------------------------------------------------------------------------

TEST_CASE("async_http_client: peers that hang up, and nonsense") {
  for (const auto& [bytes, kind, status] :
       {std::tuple{"", Cause::closed, 0U}, std::tuple{"HTTP/1.1 200 OK\r\nX: ", Cause::closed, 0U},
        std::tuple{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", Cause::closed, 200U},
        std::tuple{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Cause::malformed,
                   200U},
        std::tuple{"220 mail.example.com ESMTP\r\n", Cause::malformed, 0U},
        std::tuple{"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", Cause::malformed, 0U}}) {
    const ScriptedServer server{answers_with(bytes)};
    const auto outcome = ask(to(server));
    CHECK(failure_of(outcome) == kind);
    CHECK(outcome.answer.status == status);
  }
  std::uint16_t closed_port = 0;
  {
    const ScriptedServer gone{hang};
    closed_port = gone.port();
  }
  HttpRequest request;
  request.to = {
      .scheme = "http", .host = "127.0.0.1", .port = std::to_string(closed_port), .base_path = {}};
  const auto refused = ask(request);
  CHECK(failure_of(refused) == Cause::connect);
  CHECK(refused.failure->error().what
        == fmt::format("Get \"http://127.0.0.1:{0}/\": dial tcp 127.0.0.1:{0}: connect: "
                       "connection refused",
                       closed_port));
}

TEST_CASE("async_http_client: too much is cut, unless it is a stream") {
  const ScriptedServer server{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 200 OK\r\n\r\n");
    while (visitor.write(std::string(10'000, 'x')))
      continue;
  }};
  const auto cut = ask(to(server), {.whole = 30s, .body_bytes = 15'000});
  CHECK(failure_of(cut) == Cause::too_large);
  CHECK(cut.answer.body == std::string(15'000, 'x'));

  AsyncHttpClient client;
  std::size_t size = 0;
  const auto stream = ask(client, to(server), {.whole = 30s, .body_bytes = 15'000},
                          {.piece = [&](std::string_view piece) -> Result<> {
                            size += piece.size();
                            if (size > 100'000) return Error{Errc::overloaded, "enough"};
                            return {};
                          }});
  CHECK(failure_of(stream) == Cause::refused);
  CHECK(stream.failure->code == Errc::overloaded);
  CHECK(size > 100'000);

  const ScriptedServer header{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 200 OK\r\n");
    while (visitor.write("X-More: " + std::string(1000, 'y') + "\r\n"))
      continue;
  }};
  CHECK(failure_of(ask(to(header))) == Cause::malformed);
}

TEST_CASE("async_http_client: the body of what is no success is no stream") {
  const ScriptedServer server{answers_with(http_answer(404, "no such page"))};
  AsyncHttpClient client;
  const auto outcome = ask(client, to(server), {.whole = 30s}, {.piece = [](std::string_view) {
                             FAIL_CHECK("this is no piece of a stream");
                             return Result<>{};
                           }});
  CHECK(outcome.answer.body == "no such page");
}

TEST_CASE("async_http_client: every phase has its time") {
  const ScriptedServer hangs{hang};
  auto request = to(hangs);
  CHECK(failure_of(ask(request, {.header = 50ms})) == Cause::timeout);
  CHECK(failure_of(ask(request, {.whole = 50ms})) == Cause::timeout);
  request.to.scheme = "https";  // the handshake is not answered
  request.tls = TlsContext::make({.verify_outgoing = false}).value();
  CHECK(failure_of(ask(request, {.connect = 50ms})) == Cause::timeout);
  request.tls = nullptr;
  CHECK(failure_of(ask(request)) == Cause::tls);

  const ScriptedServer stops{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    hang(visitor);
  }};
  const auto silent = ask(to(stops), {.connect = 30s, .header = 30s, .silence = 50ms});
  CHECK(failure_of(silent) == Cause::timeout);
  CHECK(silent.answer.body == "half");
  CHECK(failure_of(ask(to(stops), {.header = 30s, .whole = 50ms})) == Cause::timeout);
}

TEST_CASE("async_http_client: who has enough with the header waits for no more") {
  const ScriptedServer server{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhalf");
    hang(visitor);
  }};
  AsyncHttpClient client;
  const auto outcome = ask(client, to(server), {.whole = 30s},
                           {.head = [](const ClientResponse& head) { return head.status != 200; }});
  CHECK(outcome.answer.status == 200);
  CHECK_FALSE(outcome.failure);
}

// -- connections ----------------------------------------------------------------------------------

TEST_CASE("async_http_client: connections are kept for reads, in bounds") {
  const ScriptedServer server{keeps_answering(http_answer(200, "hello"))};
  AsyncHttpClient client;
  for (int i = 0; i < 3; ++i)
    CHECK(body_of(ask(client, to(server))) == "hello");
  CHECK(server.visits() == 1);
  auto write = to(server);
  write.method = "POST";
  CHECK(body_of(ask(client, write)) == "hello");
  CHECK(server.visits() == 2);
  auto alone = to(server);
  alone.keeps_connection = false;
  CHECK(body_of(ask(client, alone)) == "hello");
  CHECK(server.visits() == 3);
  AsyncHttpClient keeps_none{{.most_kept = 0}};
  CHECK(body_of(ask(keeps_none, to(server))) == "hello");
  CHECK(body_of(ask(keeps_none, to(server))) == "hello");
  CHECK(server.visits() == 5);
}

TEST_CASE(
    "async_http_client: a kept connection that the peer closes is asked anew if that is safe") {
  std::atomic<int> answers = 0;
  const ScriptedServer server{[&](Visitor& visitor) {
    visitor.read_request();
    visitor.write(http_answer(200, std::to_string(++answers)));
    visitor.read_request();  // and hangs up without an answer
  }};
  AsyncHttpClient client;
  CHECK(body_of(ask(client, to(server))) == "1");
  CHECK(body_of(ask(client, to(server))) == "2");
  CHECK(server.visits() == 2);

  const ScriptedServer fickle{[&](Visitor& visitor) { visitor.read_request(); }};
  CHECK(failure_of(ask(client, to(fickle))) == Cause::closed);  // a new one is not asked twice
  CHECK(fickle.visits() == 1);
}

TEST_CASE("async_http_client: what comes unasked ends a kept connection") {
  const ScriptedServer server{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write(http_answer(200, "one") + http_answer(200, "smuggled"));
    visitor.read();
  }};
  AsyncHttpClient client;
  CHECK(body_of(ask(client, to(server))) == "one");
  CHECK(body_of(ask(client, to(server))) == "one");
  CHECK(server.visits() == 2);
}

TEST_CASE("async_http_client: names are resolved, and the next address is tried") {
  const ScriptedServer server{answers_with(http_answer(200, "hello"))};
  auto request = to(server);
  request.to.host = "localhost";  // perhaps ::1 first, where nobody listens
  CHECK(body_of(ask(request)) == "hello");
  request.to.host = "no-such-host.invalid";
  CHECK(failure_of(ask(request)) == Cause::resolve);
}

TEST_CASE("async_http_client: addresses are judged after they are resolved, of redirects too") {
  const ScriptedServer server{answers_with(http_answer(200, "hello"))};
  AsyncHttpClient client{{.allows = [](const sockaddr& address) {
    if (address.sa_family != AF_INET) return false;
    const auto ip = ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr);
    return ip == 0x7f000001;
  }}};
  CHECK(body_of(ask(client, to(server))) == "hello");
  const ScriptedServer leads{answers_with(
      http_answer(302, "", fmt::format("Location: http://127.0.0.2:{}/\r\n", server.port())))};
  auto request = to(leads);
  request.most_redirects = 5;
  const auto outcome = ask(client, request);
  CHECK(failure_of(outcome) == Cause::forbidden);
  CHECK(outcome.failure->code == Errc::permission_denied);
}

TEST_CASE("async_http_client: TLS with the right name of the right authority") {
  const Authority authority;
  const auto context = authority.make("web.example");
  const ScriptedServer server{keeps_answering(http_answer(200, "hello")), context};
  AsyncHttpClient client;
  auto request = to(server);
  request.tls = context;
  CHECK(failure_of(ask(client, request)) == Cause::tls);  // it is not for 127.0.0.1
  request.tls_name = "other.example";
  CHECK(failure_of(ask(client, request)) == Cause::tls);
  request.tls_name = "web.example";
  CHECK(body_of(ask(client, request)) == "hello");
  CHECK(body_of(ask(client, request)) == "hello");
  CHECK(server.visits() == 3);
  const Authority stranger;
  request.tls = stranger.make("web.example");
  const auto outcome = ask(client, request);
  CHECK(failure_of(outcome) == Cause::tls);
  CHECK(outcome.failure->what.find("certificate") != std::string::npos);
}

// -- tunnels --------------------------------------------------------------------------------------

namespace {

/// Sends back what comes, and its end.
void echo(Visitor& visitor) {
  for (auto bytes = visitor.read(); !bytes.empty(); bytes = visitor.read())
    visitor.write(bytes);
}

/// Writes, is paused and goes on, until all has come back.
struct TunnelUser {
  const std::string sent = std::string(300'000, 'x') + "end";
  std::string got;
  std::atomic<bool> was_drained = false;
  HttpTunnel* tunnel = nullptr;
  Told told;

  HttpHandlers handlers() {
    return {.ended = told.ended(),
            .piece = [this](std::string_view piece) -> Result<> {
              got += piece;
              tunnel->pause(true);
              tunnel->pause(false);
              if (got.ends_with("end")) tunnel->end_output();
              return {};
            },
            .opened =
                [this](HttpTunnel& opened) {
                  tunnel = &opened;
                  tunnel->write(sent);
                },
            .drained = [this] { was_drained = true; }};
  }
};

}  // namespace

TEST_CASE("async_http_client: an upgraded connection carries bytes both ways") {
  const ScriptedServer server{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\nearly,");
    echo(visitor);
  }};
  auto request = to(server);
  request.upgrades = true;
  request.headers = {{"Connection", "Upgrade"}, {"Upgrade", "tcp"}};
  TunnelUser user;
  AsyncHttpClient client;
  client.send(request, {.connect = 30s, .header = 30s}, user.handlers());
  CHECK_FALSE(user.told.wait().failure);
  CHECK(user.got == "early," + user.sent);
  CHECK(user.was_drained);

  const ScriptedServer refuses{answers_with(http_answer(409, "not now"))};
  request = to(refuses);
  request.upgrades = true;
  CHECK(body_of(ask(request)) == "not now");

  const ScriptedServer stalls{[](Visitor& visitor) {
    visitor.read_request();
    visitor.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    hang(visitor);
  }};
  request = to(stalls);
  request.upgrades = true;
  const auto stalled = ask(client, request, {.header = 300ms}, {.piece = [](std::string_view) {
                             FAIL_CHECK("there is no tunnel");
                             return Result<>{};
                           }});
  CHECK(failure_of(stalled) == Cause::timeout);
  CHECK(stalled.answer.body == "half");
}

TEST_CASE("async_http_client: a connection that speaks no HTTP") {
  const ScriptedServer server{echo};
  TunnelUser user;
  AsyncHttpClient client;
  client.dial(to(server), {.connect = 30s}, user.handlers());
  CHECK_FALSE(user.told.wait().failure);
  CHECK(user.got == user.sent);

  std::promise<void> opened;
  client.dial(to(server), {.connect = 30s},
              {.ended = [](const HttpOutcome&) { FAIL("it was closed"); },
               .opened =
                   [&](HttpTunnel& tunnel) {
                     tunnel.close();
                     opened.set_value();
                   }});
  opened.get_future().get();
}

// -- ends -----------------------------------------------------------------------------------------

TEST_CASE("async_http_client: a withdrawn request is told of nothing and keeps nothing") {
  const ScriptedServer server{hang};
  AsyncHttpClient client;
  std::promise<void> let_go;
  std::shared_ptr<void> kept{nullptr, [&](void*) { let_go.set_value(); }};
  const auto call = client.send(
      to(server), {}, {.ended = [kept](const HttpOutcome&) { FAIL("it was withdrawn"); }});
  kept.reset();
  client.cancel(call);
  client.cancel(call);
  client.cancel(12345);
  CHECK(let_go.get_future().wait_for(test::patience) == std::future_status::ready);
}

TEST_CASE("async_http_client: who withdraws on the client's thread is told nothing more") {
  const ScriptedServer server{answers_with(http_answer(200, "hello"))};
  AsyncHttpClient client;
  const auto stranger = [](const HttpOutcome&) { FAIL_CHECK("it was withdrawn"); };
  const auto piece = [](std::string_view) {
    FAIL_CHECK("it was withdrawn");
    return Result<>{};
  };
  for (const bool is_enough : {false, true}) {
    AsyncHttpClient::CallId call = 0;
    std::promise<void> withdrawn;
    client.post([&] {
      client.cancel(
          client.send({.to = {.scheme = "http", .host = "a b", .port = "1", .base_path = {}}}, {},
                      {.ended = stranger}));
      call = client.send(to(server), {.whole = 30s},
                         {.ended = stranger, .piece = piece, .head = [&](const ClientResponse&) {
                            client.cancel(call);
                            client.post([&] { withdrawn.set_value(); });
                            return !is_enough;
                          }});
    });
    withdrawn.get_future().get();
  }
}

TEST_CASE("async_http_client: it ends while requests are on their way") {
  const ScriptedServer server{hang};
  auto kept = std::make_shared<int>();
  const std::weak_ptr<int> watched = kept;
  for (int i = 0; i < 20; ++i) {
    AsyncHttpClient client;
    for (int j = 0; j < 5; ++j) {
      auto request = to(server);
      if (j == 4) request.to.host = "localhost";
      client.send(std::move(request), {.whole = 1h},
                  {.ended = [kept](const HttpOutcome&) { FAIL("nobody is told"); }, .tick = [] {}});
    }
  }
  kept.reset();
  CHECK(watched.expired());
}
