#include "runtime/net/rpc/rpc_link.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/base/log.hpp"
#include "runtime/net/tls/certificate.hpp"
#include "test/support/result_text.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

namespace {

/// The warnings of the area "rpc" that were logged while it lived.
class Warnings {
public:
  Warnings() {
    listener_ = log::add_listener(log::Level::warn, [this](log::Level, const std::string& line) {
      const std::lock_guard lock{guard_};
      lines_.push_back(line);
      changed_.notify_all();
    });
  }

  ~Warnings() { log::remove_listener(listener_); }

  /// Waits for a line that contains `text`; false after 5 s.
  bool has(const std::string& text) {
    std::unique_lock lock{guard_};
    return changed_.wait_for(lock, 5s, [&] {
      return std::any_of(lines_.begin(), lines_.end(),
                         [&](const auto& line) { return line.find(text) != std::string::npos; });
    });
  }

private:
  std::mutex guard_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  decltype(log::add_listener(log::Level::warn, {})) listener_;
};

RpcOptions options(RpcRole role, std::string region = "global") {
  RpcOptions made;
  made.hello.role = role;
  made.hello.region = std::move(region);
  made.hello.name = "test";
  return made;
}

/// A server that answers: method 1 echoes, 2 never, 3 fails, 4 echoes its byte stream.
struct LinkServer {
  explicit LinkServer(RpcOptions given = options(RpcRole::server)) {
    RpcCallbacks callbacks;
    callbacks.on_request = [this](RpcResponder responder) { serve(std::move(responder)); };
    network = RpcNetwork::start(std::move(given), std::move(callbacks)).value();
    address = network->listen("127.0.0.1:0").value();
  }

  ~LinkServer() { network->stop(); }

  void serve(RpcResponder responder) {
    const auto method = responder.request().method;
    if (method == 1) {
      responder.respond(responder.request().body);
    } else if (method == 2) {
      responder.on_cancelled([this] { ++cancelled; });
      const std::lock_guard lock{guard};
      kept.push_back(std::move(responder));
    } else if (method == 3) {
      responder.fail({Errc::conflict, "no"});
    } else if (method == 4) {
      echo(std::move(responder));
    } else if (responder.request().one_way) {
      ++posted;
    }
  }

  static void echo(RpcResponder given) {
    const auto responder = std::make_shared<RpcResponder>(std::move(given));
    const auto stream = responder->stream();
    const auto backlog = std::make_shared<std::string>();
    const auto ended = std::make_shared<bool>(false);
    const auto push = [responder, weak = std::weak_ptr{stream}, backlog, ended] {
      const auto out = weak.lock();
      if (!out) return;
      if (!backlog->empty()) {
        const auto size = backlog->size();
        if (!out->write(Bytes::copy(*backlog))) return;
        backlog->clear();
        out->taken(size);
      }
      if (std::exchange(*ended, false)) {
        out->end();
        responder->respond(Bytes::copy("done"));
      }
    };
    stream->on_writable(push);
    stream->on_data([push, backlog, ended](Bytes bytes, bool last) {
      *backlog += bytes.text();
      *ended |= last;
      push();
    });
  }

  std::unique_ptr<RpcNetwork> network;
  std::string address;
  std::mutex guard;
  std::vector<RpcResponder> kept;
  std::atomic<int> cancelled{0};
  std::atomic<int> posted{0};
};

struct Client {
  explicit Client(RpcOptions given = options(RpcRole::client)) {
    RpcCallbacks callbacks;
    callbacks.on_request
        = [](RpcResponder responder) { responder.respond(Bytes::copy("from the client")); };
    network = RpcNetwork::start(std::move(given), std::move(callbacks)).value();
  }

  ~Client() { network->stop(); }

  Result<RpcConnectionRef> dial(const std::string& address, bool for_raft = false) {
    std::promise<Result<RpcConnectionRef>> outcome;
    network->dial({.address = address, .for_raft = for_raft},
                  [&](Result<RpcConnectionRef> made) { outcome.set_value(std::move(made)); });
    return outcome.get_future().get();
  }

  std::unique_ptr<RpcNetwork> network;
};

RpcReply ask(const RpcConnectionRef& connection,
             std::uint16_t method,
             std::string_view body,
             std::chrono::milliseconds timeout = 5s) {
  std::promise<RpcReply> outcome;
  connection->call({.method = method, .timeout = timeout, .head = {}, .body = Bytes::copy(body)},
                   [&](RpcReply reply) { outcome.set_value(std::move(reply)); });
  return outcome.get_future().get();
}

/// A raw TCP connection.
struct Raw {
  explicit Raw(const std::string& address) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port
        = htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0);
  }

  ~Raw() { ::close(fd); }

  void send(std::string_view bytes) const {
    REQUIRE(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL)
            == static_cast<ssize_t>(bytes.size()));
  }

  /// Whether the other side has closed within 5 s.
  bool is_closed() const {
    const timeval patience{5, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char buffer[4096];
    for (;;) {
      const auto got = ::recv(fd, buffer, sizeof buffer, 0);
      if (got == 0 || (got < 0 && errno == ECONNRESET)) return true;
      if (got < 0) return false;
    }
  }

  int fd;
};

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

std::string raw_frame(RpcFrameHeader header, std::string_view payload) {
  if (header.length == 0) header.length = static_cast<std::uint32_t>(payload.size());
  const auto head = encode(header);
  return std::string{reinterpret_cast<const char*>(head.data()), head.size()}
         + std::string{payload};
}

/// Certificates of one cluster in files.
struct Pki {
  Pki() : authority{make_authority({}).value()} { write("ca.pem", authority.certificate); }

  std::shared_ptr<TlsContext> context(const std::string& name) {
    const auto made = make_certificate(authority, {.common_name = name,
                                                   .dns_names = {name, "localhost"},
                                                   .ip_addresses = {"127.0.0.1"}})
                          .value();
    write(name + ".pem", made.certificate);
    write(name + "-key.pem", made.key);
    return TlsContext::make({.ca_file = path("ca.pem"),
                             .cert_file = path(name + ".pem"),
                             .key_file = path(name + "-key.pem")})
        .value();
  }

  std::string path(const std::string& file) const { return directory.path() + '/' + file; }

  void write(const std::string& file, const std::string& text) const {
    std::ofstream{path(file)} << text;
  }

  test::TempDir directory;
  CertifiedKey authority;
};

RpcOptions secured(RpcRole role, std::shared_ptr<TlsContext> tls, std::string region = "global") {
  auto made = options(role, std::move(region));
  made.tls = std::move(tls);
  made.verify_role = true;
  return made;
}

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
  for (int i = 0; i < 100 && server.cancelled == 0; ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(server.cancelled == 1);

  std::promise<Result<>> posted;
  connection->post({.method = 9, .head = {}, .body = Bytes::copy("x")},
                   [&](Result<> outcome) { posted.set_value(outcome); });
  CHECK(posted.get_future().get());
  for (int i = 0; i < 100 && server.posted == 0; ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(server.posted == 1);
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
  std::string sent;
  for (int i = 0; i < 200; ++i)
    sent += std::string(10'000 + i, static_cast<char>('a' + i % 26));

  for (std::size_t at = 0; at < sent.size(); at += 10'000) {
    const auto piece = Bytes::copy(std::string_view{sent}.substr(at, 10'000));
    while (!call.stream->write(piece))
      std::this_thread::sleep_for(1ms);
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
  server.reset();

  const auto reply = outcome.get_future().get();
  CHECK_FALSE(reply.outcome);
  CHECK(reply.was_sent);
  CHECK_FALSE(connection->is_open());
  const auto later = ask(connection, 1, "");
  CHECK(later.outcome.error().code == Errc::unavailable);
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
  bool again = false;
  for (int i = 0; i < 100 && !again; ++i) {
    std::this_thread::sleep_for(10ms);
    again = client.dial(server.address).has_value();
  }
  CHECK(again);
}

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

TEST_CASE("rpc_link: check_claims") {
  const auto allowed = [](RpcRole role, const std::string& region, bool raft, bool tls,
                          std::vector<std::string> names, bool verify) {
    RpcPeer peer;
    peer.hello = {.role = role, .for_raft = raft, .region = region};
    peer.is_tls = tls;
    peer.certificate.names = std::move(names);
    return check_claims(peer, verify, "global").has_value();
  };
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
