#include "runtime/net/rpc/rpc_link.hpp"

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/unit/runtime/net/rpc/rpc_link_fixture.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace nomad::test;
using namespace std::chrono_literals;

namespace {

/// A listener whose queue is full: who dials it hears nothing.
struct Crowded {
  Crowded(const char* host, const std::string& port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<std::uint16_t>(std::stoi(port)));
    inet_pton(AF_INET, host, &at.sin_addr);
    const auto* address = reinterpret_cast<const sockaddr*>(&at);
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    open.push_back(listener);
    REQUIRE(::bind(listener, address, sizeof at) == 0);
    REQUIRE(::listen(listener, 0) == 0);
    for (bool is_full = false; !is_full;) {
      REQUIRE(open.size() < 100);
      open.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const int begun = ::connect(open.back(), address, sizeof at);
      pollfd wanted{.fd = open.back(), .events = POLLOUT, .revents = 0};
      is_full = begun != 0 && ::poll(&wanted, 1, 100) == 0;
    }
  }

  Crowded(const Crowded&) = delete;

  ~Crowded() {
    for (const auto fd : open)
      ::close(fd);
  }

  std::vector<int> open;
};

}  // namespace

TEST_CASE("rpc_link: calls of both sides, errors, deadlines and one-way messages") {
  LinkServer server;
  Client client;
  const auto connection = client.dial(server.address).value();

  CHECK(ask(connection, 1, "hello").outcome.value().text() == "hello");
  const std::string large(5'000'000, 'x');
  CHECK(ask(connection, 1, large).outcome.value().text() == large);
  const auto failed = ask(connection, 3, "");
  CHECK(failed.outcome.error() == Error{Errc::conflict, "no"});
  CHECK(failed.by_peer);
  const auto late = ask(connection, 2, "", 150ms);
  CHECK(late.outcome.error().code == Errc::timeout);
  CHECK(late.was_sent);
  CHECK(eventually([&] { return server.cancelled == 1; }));

  std::promise<Result<>> posted;
  connection->post({.method = 9, .head = {}, .body = Bytes::copy("x")},
                   [&](Result<> outcome) { posted.set_value(outcome); });
  CHECK(posted.get_future().get());
  CHECK(eventually([&] { return server.posted == 1; }));
}

TEST_CASE("rpc_link: the accepting side calls over the same connection") {
  std::promise<RpcConnectionRef> opened;
  RpcCallbacks callbacks;
  callbacks.on_request = [](RpcResponder) {};
  callbacks.on_open = [&](const RpcConnectionRef& connection) { opened.set_value(connection); };
  auto network = RpcNetwork::start(options(RpcRole::server), callbacks).value();
  const auto address = network->listen("127.0.0.1:0").value();
  Client client;
  const auto connection = client.dial(address).value();

  const auto back = opened.get_future().get();
  CHECK(ask(back, 1, "").outcome.value().text() == "from the client");
  CHECK(back->peer().accepted);
  CHECK(back->peer().hello.role == RpcRole::client);
  network->stop();
}

TEST_CASE("rpc_link: a byte stream of many windows comes back whole") {
  LinkServer server;
  Client client;
  const auto connection = client.dial(server.address).value();
  std::promise<RpcReply> answered;
  std::string got;
  const auto call = connection->call_with_stream(
      {.method = 4, .priority = RpcPriority::bulk, .head = {}, .body = {}},
      [&](RpcReply reply) { answered.set_value(std::move(reply)); });
  call.stream->on_data([&](Bytes bytes, bool) {
    got += bytes.text();
    call.stream->taken(bytes.size());
  });
  call.stream->on_writable(note_change);
  std::string sent;
  for (int i = 0; i < 200; ++i)
    sent += std::string(10'000 + i, static_cast<char>('a' + i % 26));

  for (std::size_t at = 0; at < sent.size(); at += 10'000) {
    const auto piece = Bytes::copy(std::string_view{sent}.substr(at, 10'000));
    REQUIRE(eventually([&] { return call.stream->write(piece); }));
  }
  call.stream->end();

  CHECK(answered.get_future().get().outcome.value().text() == "done");
  CHECK(got == sent);
}

TEST_CASE("rpc_link: a lost connection answers what is open, and says that it had left") {
  auto server = std::make_unique<LinkServer>();
  Client client;
  const auto connection = client.dial(server->address).value();
  std::promise<RpcReply> outcome;
  connection->call({.method = 2, .timeout = 30s, .head = {}, .body = {}},
                   [&](RpcReply reply) { outcome.set_value(std::move(reply)); });
  CHECK(ask(connection, 1, "").outcome.has_value());  // the other call has arrived
  const auto address = server->address;
  server.reset();

  const auto reply = outcome.get_future().get();
  CHECK_FALSE(reply.outcome);
  CHECK(reply.was_sent);
  CHECK_FALSE(connection->is_open());
  const auto later = ask(connection, 1, "");
  CHECK(later.outcome.error()
        == Error{Errc::unavailable, "the connection with " + address + " is closed"});
  CHECK_FALSE(later.was_sent);
}

TEST_CASE("rpc_link: nobody listens") {
  Client client;
  const auto outcome = client.dial("127.0.0.1:1");
  CHECK(outcome.error()
        == Error{Errc::unavailable,
                 "127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"});
}

TEST_CASE("rpc_link: all addresses of a name are tried, within one deadline") {
  LinkServer server;
  const auto port = server.address.substr(server.address.rfind(':') + 1);
  auto given = options(RpcRole::client);
  given.connect_timeout = 2s;
  given.resolve = [](const std::string& host) -> std::vector<std::string> {
    if (host == "both") return {"::1", "127.0.0.2", "127.0.0.1"};
    if (host == "silent") return {"127.0.0.3", "127.0.0.1"};
    if (host == "nowhere") return {"127.0.0.2", "127.0.0.4"};
    return {};
  };
  Client client{given};
  // Only the last one listens.
  const auto connection = client.dial("both:" + port);
  REQUIRE(connection);
  CHECK(ask(*connection, 1, "hello").outcome.value().text() == "hello");

  const auto refused = client.dial("nowhere:" + port);
  CHECK(
      refused.error().what.ends_with("dial tcp nowhere:" + port + ": connect: connection refused"));
  CHECK(client.dial("unknown:" + port).error()
        == Error{Errc::unavailable, "dial tcp unknown:" + port + ": no such host"});

  // One that takes no connection and refuses none costs its share of the time, not all of it.
  const Crowded crowded{"127.0.0.3", port};
  const auto begin = std::chrono::steady_clock::now();
  const auto late = client.dial("silent:" + port);
  REQUIRE(late);
  CHECK(ask(*late, 1, "hello").outcome.value().text() == "hello");
  const auto taken = std::chrono::steady_clock::now() - begin;
  CHECK(taken >= 900ms);
}

TEST_CASE("rpc_link: strangers are sent away with one line, and nobody else notices") {
  Warnings warnings;
  auto given = options(RpcRole::server);
  given.handshake_timeout = 300ms;
  LinkServer server{given};
  Client client;
  const auto connection = client.dial(server.address).value();
  const auto hello = raw_frame({.kind = RpcFrameKind::hello, .first = true, .last = true},
                               encode(RpcHello{.region = "global"}));

  Raw random{server.address};
  random.send("\x07\x13\x99\x42 whatever this may be, it is no frame");
  CHECK(random.is_closed());
  CHECK(warnings.has("these are no frames of ours"));

  Raw huge{server.address};
  huge.send(
      hello
      + raw_frame({.kind = RpcFrameKind::request, .first = true, .stream = 1, .length = 0xffffffff},
                  ""));
  CHECK(huge.is_closed());
  CHECK(warnings.has("a frame of 4294967295 bytes"));

  Raw unexpected{server.address};
  unexpected.send(hello
                  + raw_frame({.kind = RpcFrameKind::response, .first = true, .stream = 2}, "x"));
  CHECK(unexpected.is_closed());
  CHECK(warnings.has("response: of a stream that never was"));

  Raw half_open{server.address};
  CHECK(half_open.is_closed());
  CHECK(warnings.has("no complete handshake in time"));

  CHECK(ask(connection, 1, "still here").outcome.value().text() == "still here");
}

TEST_CASE("rpc_link: a peer that fell silent is given up") {
  Warnings warnings;
  auto given = options(RpcRole::server);
  given.limits.ping_after = 100ms;
  given.limits.dead_after = 400ms;
  LinkServer server{given};
  Raw silent{server.address};
  silent.send(raw_frame({.kind = RpcFrameKind::hello, .first = true, .last = true},
                        encode(RpcHello{.region = "global"})));
  Client client;
  const auto connection = client.dial(server.address).value();

  CHECK(silent.is_closed());
  CHECK(warnings.has("the peer has been silent for 400 ms"));
  CHECK(ask(connection, 1, "alive").outcome.value().text() == "alive");  // it answers pings
}

TEST_CASE("rpc_link: a client of another region is told why it is refused") {
  Warnings warnings;
  LinkServer server;
  Client client{options(RpcRole::client, "eu")};
  const auto outcome = client.dial(server.address);
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().what.find("a client of region \"eu\" where this is \"global\"")
        != std::string::npos);
  CHECK(warnings.has("a client of region"));
}

TEST_CASE("rpc_link: too many connections of an address are turned away") {
  Warnings warnings;
  auto given = options(RpcRole::server);
  given.connections_per_address = 2;
  LinkServer server{given};
  Client client;
  const auto one = client.dial(server.address).value();
  const auto two = client.dial(server.address).value();
  CHECK_FALSE(client.dial(server.address));
  CHECK(warnings.has("too many connections"));
  CHECK(ask(one, 1, "x").outcome.has_value());
  one->close("enough");
  REQUIRE(server.network->wait_for_connections(1, patience));
  CHECK(client.dial(server.address));
}

TEST_CASE("rpc_link: check_claims") {
  const auto allowed = [](RpcRole role, const std::string& region, bool raft, bool tls,
                          std::vector<std::string> names, bool verify) {
    RpcPeer peer;
    peer.hello = {.role = role, .for_raft = raft, .region = region};
    peer.is_tls = tls;
    peer.certificate.names = std::move(names);
    return check_claims(peer, verify, "global").has_value();
  };
  CHECK(check_claims({.hello = {.role = RpcRole::client, .for_raft = true, .region = "global"}},
                     false, "global")
            .error()
        == Error{Errc::permission_denied, "a client that speaks Raft"});
  CHECK(allowed(RpcRole::server, "eu", true, false, {}, true));
  CHECK_FALSE(allowed(RpcRole::client, "eu", false, false, {}, false));
  CHECK_FALSE(allowed(RpcRole::client, "global", true, false, {}, false));
  CHECK(allowed(RpcRole::server, "global", false, true, {"some.host"}, false));
  CHECK_FALSE(allowed(RpcRole::server, "global", false, true, {"some.host"}, true));
  CHECK_FALSE(allowed(RpcRole::server, "global", false, true, {"client.global.nomad"}, false));
  CHECK_FALSE(allowed(RpcRole::server, "global", false, true, {"server.eu.nomad"}, false));
  CHECK(allowed(RpcRole::server, "eu", false, true, {"server.eu.nomad"}, false));
  CHECK(allowed(RpcRole::client, "global", false, true, {"client.global.nomad"}, true));
}
