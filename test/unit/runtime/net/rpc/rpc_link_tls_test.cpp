// runtime/net/rpc/rpc_link.hpp: links with certificates.
#include <algorithm>

#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <doctest/doctest.h>

#include "test/support/result_text.hpp"
#include "test/unit/runtime/net/rpc/rpc_link_fixture.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace nomad::test;
using namespace std::chrono_literals;

TEST_CASE("rpc_link: TLS on both sides, each with a certificate of its role") {
  Pki pki;
  LinkServer server{secured(RpcRole::server, pki.context("server.global.nomad"))};
  Client client{secured(RpcRole::client, pki.context("client.global.nomad"))};
  const auto connection = client.dial(server.address).value();

  CHECK(connection->peer().is_tls);
  CHECK(connection->peer().certificate.has("server.global.nomad"));
  const std::string large(3'000'000, 'x');
  CHECK(ask(connection, 1, large).outcome.value().text() == large);
}

TEST_CASE("rpc_link: certificates of the wrong CA, role or region, and none at all, are refused") {
  Warnings warnings;
  Pki pki;
  Pki other;
  LinkServer server{secured(RpcRole::server, pki.context("server.global.nomad"))};
  Client good{secured(RpcRole::client, pki.context("client.global.nomad"))};
  const auto connection = good.dial(server.address).value();

  Client stranger{secured(RpcRole::client, other.context("client.global.nomad"))};
  CHECK_FALSE(stranger.dial(server.address));

  Client impostor{secured(RpcRole::server, pki.context("client.global.nomad"))};
  CHECK_FALSE(impostor.dial(server.address));
  CHECK(warnings.has("not for server.global.nomad"));

  Client foreigner{secured(RpcRole::server, pki.context("server.eu.nomad"))};
  CHECK_FALSE(foreigner.dial(server.address));
  Client federated{secured(RpcRole::server, pki.context("server.eu.nomad"), "eu")};
  CHECK(federated.dial(server.address));

  Client plain;
  CHECK_FALSE(plain.dial(server.address));
  CHECK(warnings.has("TLS handshake"));

  LinkServer fake{secured(RpcRole::server, pki.context("client.global.nomad"))};
  CHECK_FALSE(good.dial(fake.address));  // a client's certificate makes no server

  CHECK(ask(connection, 1, "still here").outcome.value().text() == "still here");
}

TEST_CASE("rpc_link: what TLS has read ahead is not forgotten when input had to wait") {
  Pki pki;
  auto given = secured(RpcRole::server, pki.context("server.global.nomad"));
  given.limits.max_queue_bytes = 4'000;
  LinkServer server{given};

  // A peer that sends a dozen requests at once, each in a record of its own, then only listens.
  const auto context = pki.context("client.global.nomad");
  const Raw raw{server.address};
  auto tls = context->connect(raw.fd, "").value();
  while (tls.handshake().value().state != TlsSession::State::done) {
  }
  RpcMux mux{RpcMux::Side::dialer, options(RpcRole::client).hello, {}, RpcClock::now()};
  RpcEvents events;
  constexpr int requests = 12;
  for (int i = 0; i < requests; ++i)
    REQUIRE(mux.call({.method = 1, .head = {}, .body = Bytes::copy(std::string(1'000, 'x'))},
                     RpcClock::now()));
  const auto cork
      = [&](int on) { REQUIRE(::setsockopt(raw.fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on) == 0); };
  cork(1);
  while (mux.has_output()) {
    const auto piece = mux.next_output(events);
    REQUIRE(piece);
    std::string bytes{reinterpret_cast<const char*>(piece->header.data()), piece->header.size()};
    bytes += piece->payload.text();
    REQUIRE(tls.write(bytes.data(), bytes.size()).value().count == bytes.size());
  }
  cork(0);

  std::string buffer(64 * 1024, '\0');
  const auto patience = std::chrono::steady_clock::now() + 3s;
  const auto answers = [&] {
    return std::ranges::count_if(
        events, [](const RpcEvent& event) { return std::holds_alternative<RpcAnswered>(event); });
  };
  while (answers() < requests && std::chrono::steady_clock::now() < patience) {
    pollfd wanted{.fd = raw.fd, .events = POLLIN, .revents = 0};
    if (!tls.has_pending() && ::poll(&wanted, 1, 100) == 0) continue;
    const auto step = tls.read(buffer.data(), buffer.size());
    REQUIRE(step);
    if (step->state != TlsSession::State::done) continue;
    REQUIRE(
        mux.receive(std::as_bytes(std::span{buffer}.first(step->count)), RpcClock::now(), events));
  }
  CHECK(answers() == requests);
}

TEST_CASE("rpc_link: a TLS handshake that stops half way ends in time") {
  Warnings warnings;
  Pki pki;
  auto given = secured(RpcRole::server, pki.context("server.global.nomad"));
  given.handshake_timeout = 300ms;
  LinkServer server{given};
  Raw half{server.address};
  half.send(std::string_view{"\x16\x03\x01\x02\x00\x01", 6});
  CHECK(half.is_closed());
  CHECK(warnings.has("no complete handshake in time"));
}

TEST_CASE("rpc_link: a reloaded certificate serves new connections, open ones keep theirs") {
  Pki pki;
  const auto context = pki.context("server.global.nomad");
  LinkServer server{secured(RpcRole::server, context)};
  Client client{secured(RpcRole::client, pki.context("client.global.nomad"))};
  const auto before = client.dial(server.address).value();

  const auto renewed
      = make_certificate(pki.authority, {.common_name = "server.global.nomad",
                                         .dns_names = {"server.global.nomad", "renewed"},
                                         .ip_addresses = {}})
            .value();
  pki.write("server.global.nomad.pem", renewed.certificate);
  CHECK_FALSE(context->reload());  // the key is still the old one: nothing changes
  CHECK(client.dial(server.address));
  pki.write("server.global.nomad-key.pem", renewed.key);
  REQUIRE(context->reload());

  const auto after = client.dial(server.address).value();
  CHECK(after->peer().certificate.has("renewed"));
  CHECK_FALSE(before->peer().certificate.has("renewed"));
  CHECK(ask(before, 1, "x").outcome.has_value());
}
